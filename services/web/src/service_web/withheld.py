"""What the API's operator withholds: pages of these pages' own memory are shown only where it is not among that.

What was verified is kept here for long, since its bytes never change; so the list is read again every second.
"""

from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.withheld import Withheld, WithheldKind, WithheldText
from service_common.recent import Recent

from service_web.api.answers import Api
from service_web.api.client import ApiAbsent, ApiOverloaded, ApiRefused, ApiUnavailable

WITHHELD_SECONDS: Final = 1.0
MOST_PAGES: Final = 40
"""Pages of the list that are read: 20,000 texts."""


@dataclass(frozen=True)
class _Known:
    pages: dict[Bytes32, Withheld] = field(default_factory=dict)
    verdicts: dict[Bytes32, Withheld] = field(default_factory=dict)
    accounts: dict[Address, Withheld] = field(default_factory=dict)


class WithheldTexts:
    """The list of one process. Thread-safe."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._recent: Recent[None, _Known] = Recent(WITHHELD_SECONDS / 2, 1, clock)
        self._last = _Known()

    def page(self, commitment: Bytes32, poster: Address) -> Withheld | None:
        """Why a bounty's page is not shown; None where it is."""
        known = self._known()
        return known.pages.get(commitment) or known.accounts.get(poster)

    def verdict(self, commitment: Bytes32, guardian: Address) -> Withheld | None:
        """Why a written Verdict is not shown; None where it is."""
        known = self._known()
        return known.verdicts.get(commitment) or known.accounts.get(guardian)

    def _known(self) -> _Known:
        try:
            return self._recent.get(None, self._read)
        except ApiOverloaded:  # for one reader: the next one has it read
            return self._last

    def _read(self) -> _Known:
        """The list; the last one while the API does not answer, or one of its pods is of an earlier release."""
        try:
            found = _known_of(self._all())
        except ApiOverloaded:
            raise
        except (ApiAbsent, ApiRefused, ApiUnavailable):
            return self._last
        self._last = found
        return found

    def _all(self) -> list[WithheldText]:
        items: list[WithheldText] = []
        after = 0
        for _ in range(MOST_PAGES):
            found = self._api.withheld(after).value
            items += found.items
            if not found.has_more or found.next_after <= after:
                break
            after = found.next_after
        return items


def _known_of(items: list[WithheldText]) -> _Known:
    known = _Known()
    for each in items:
        shown = Withheld(each.reason, each.since, each.until)
        if each.kind is WithheldKind.BOUNTY and each.spec_commitment is not None:
            known.pages[each.spec_commitment] = shown
        elif each.kind is WithheldKind.VERDICT and each.report_commitment is not None:
            known.verdicts[each.report_commitment] = shown
        elif each.account_address is not None:
            known.accounts[each.account_address] = shown
    return known
