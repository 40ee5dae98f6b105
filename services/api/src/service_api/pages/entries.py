"""Events as entries of feeds.

An entry's id is made of what the chain identifies (chain, Hub, bounty, kind, account), never of a block: when a reorg
moves or replaces an event, the entry with the same id has another text or time, and a reader program shows the
correction. Ids do not change with the address of the pages either.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.domain.lifecycle.states import Outcome, VerdictKind
from bounty_protocol.types import Address, BountyId, UnixSeconds
from bounty_protocol.wire.deployment import TokenDescription
from bounty_protocol.wire.withheld import Withheld
from service_common.chain.settings import ChainSettings

from service_api.pages import formatting
from service_api.pages.money import KINDS
from service_api.pages.rows import BountyRow, ClaimRow, ReplacementRow, SubmissionRow, VerdictRow
from service_api.pages.titles import NO_TITLE, Title

MAX_ENTRIES: Final = 100
Happening = BountyRow | SubmissionRow | VerdictRow | ReplacementRow | ClaimRow


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened at ``at``. ``path`` is the page to read on; ``changed_at`` is later than ``at`` where the
    page is withheld since: a reader program replaces what it has by that time."""

    id: str
    title: str
    text: str
    path: str
    at: UnixSeconds
    changed_at: UnixSeconds
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chronicle:
    """Makes entries of rows."""

    chain: ChainSettings
    token: TokenDescription
    titles: Mapping[BountyId, Title]

    def created(self, row: BountyRow) -> Entry:
        """Make the entry for a created bounty."""
        award = formatting.amount(row.escrow_amount - row.protocol_fee - row.guardian_fee, self.token)
        escrow, deadline = formatting.amount(row.escrow_amount, self.token), formatting.moment(row.submission_deadline)
        text = f"The winner gets {award} of an escrow of {escrow}. Submissions close at {deadline}."
        if row.title.withheld is not None:
            text = f"{text} {withheld_line(row.title.withheld)}"
        return self._entry(row, "created", "New", text)

    def submitted(self, row: SubmissionRow) -> Entry:
        """Make the entry for a recorded Submission; a later one replaces it under the same id."""
        text = f"By {row.solver_address}. It is sealed until the reveal point."
        return self._entry(row, f"submission:{row.solver_address}", "Submission", text)

    def judged(self, row: VerdictRow) -> Entry:
        """Make the entry for a recorded Verdict; a later one replaces it."""
        text = f"The Verdict of the Guardian {row.guardian_address}: {verdict_text(row.kind, row.solver_address)}."
        return self._entry(row, f"verdict:{row.guardian_address}", "Verdict", text)

    def replaced(self, row: ReplacementRow) -> Entry:
        """Make a separate entry for a replaced Verdict, since anyone who stole the key can replace it as well."""
        before = verdict_text(row.replaced_kind, row.replaced_solver_address)
        text = (
            f"The Verdict of the Guardian {row.guardian_address} was replaced: before, {before}; now, "
            f"{verdict_text(row.kind, row.solver_address)}. Anyone who stole the Guardian's key can do that as well."
        )
        kind = f"replaced:{row.guardian_address}:{row.tx_hash}"
        return self._entry(row, kind, "Verdict replaced", text)

    def lost(self, row: SubmissionRow) -> Entry:
        """Make the entry for a Submission whose sealed bytes the storage has lost; it disappears once they are uploaded
        again.
        """
        text = (
            f"The service no longer has the sealed bytes of the Submission {row.submission_commitment} by "
            f"{row.solver_address}, so no Guardian can open it. Its Solver can upload them again from the machine that "
            f"sealed them: service-cli solver:submit {row.bounty_id} DIRECTORY."
        )
        kind = f"lost:{row.solver_address}:{row.submission_commitment}"
        return self._entry(row, kind, "Sealed work lost", text, row.lost_since)

    def claimed(self, row: ClaimRow) -> Entry:
        """Make the entry for a paid amount."""
        text = f"{KINDS[row.kind]}: {formatting.amount(row.amount, self.token)} to {row.recipient}."
        return self._entry(row, f"claim:{row.kind}:{row.recipient}", "Paid", text)

    def decided(self, row: BountyRow) -> Entry:
        """Make the entry for a final bounty."""
        text = (
            f"Awarded to {row.winner_solver_address}." if row.outcome is Outcome.AWARDED else "Ended without an award."
        )
        return self._entry(row, "decided", "Decided", text, row.settled_at)

    def _entry(self, row: Happening, kind: str, heading: str, text: str, at: UnixSeconds | None = None) -> Entry:
        found, number = self.titles.get(row.bounty_id, NO_TITLE), row.bounty_id
        if found.title is not None:
            name = found.title
        elif found.withheld is not None:
            name = f"bounty {number}, whose page is withheld here"
        else:
            name = f"bounty {number}"
        identifier = f"urn:bounty-escrow:{self.chain.chain_id}:{self.chain.hub_address}:{number}:{kind}"
        at = at or row.time
        changed_at = at if found.withheld is None else max(at, found.withheld.since)
        return Entry(identifier, f"{heading}: {name}", text, f"/bounties/{number}", at, changed_at, found.tags)


def verdict_text(kind: VerdictKind, solver: Address | None) -> str:
    """Return what a Verdict names, within a sentence."""
    if kind == VerdictKind.AWARDED:
        return f"an award to {solver}"
    return "no valid Submission"


def withheld_line(found: Withheld) -> str:
    """Return why a page is not shown, as a sentence."""
    since = formatting.moment(found.since)
    return f"The operator of this service has withheld its page here since {since}: {readable_line(found.reason)}"


def newest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries in the order of a feed, each id once."""
    by_id = {each.id: each for each in entries}
    return tuple(sorted(by_id.values(), key=lambda each: (-each.at, each.id))[:MAX_ENTRIES])
