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
from service_api.pages.texts import gettext, marked
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
        text = gettext(
            "The winner gets %(award)s of an escrow of %(escrow)s. Submissions close at %(time)s.",
            award=formatting.amount(row.escrow_amount - row.protocol_fee - row.guardian_fee, self.token),
            escrow=formatting.amount(row.escrow_amount, self.token),
            time=formatting.moment(row.submission_deadline),
        )
        if row.title.withheld is not None:
            text = f"{text} {withheld_line(row.title.withheld)}"
        return self._entry(row, "created", marked("New: %(bounty)s"), text)

    def submitted(self, row: SubmissionRow) -> Entry:
        """Make the entry for a recorded Submission; a later one replaces it under the same id."""
        text = gettext("By %(solver)s. It is sealed until the reveal point.", solver=row.solver_address)
        return self._entry(row, f"submission:{row.solver_address}", marked("Submission: %(bounty)s"), text)

    def judged(self, row: VerdictRow) -> Entry:
        """Make the entry for a recorded Verdict; a later one replaces it."""
        text = gettext(
            "The Verdict of the Guardian %(guardian)s: %(verdict)s.",
            guardian=row.guardian_address,
            verdict=verdict_text(row.kind, row.solver_address),
        )
        return self._entry(row, f"verdict:{row.guardian_address}", marked("Verdict: %(bounty)s"), text)

    def replaced(self, row: ReplacementRow) -> Entry:
        """Make a separate entry for a replaced Verdict, since anyone who stole the key can replace it as well."""
        text = gettext(
            "The Verdict of the Guardian %(guardian)s was replaced: before, %(before)s; now, %(now)s. Anyone who "
            "stole the Guardian's key can do that as well.",
            guardian=row.guardian_address,
            before=verdict_text(row.replaced_kind, row.replaced_solver_address),
            now=verdict_text(row.kind, row.solver_address),
        )
        kind = f"replaced:{row.guardian_address}:{row.tx_hash}"
        return self._entry(row, kind, marked("Verdict replaced: %(bounty)s"), text)

    def lost(self, row: SubmissionRow) -> Entry:
        """Make the entry for a Submission whose sealed bytes the storage has lost; it disappears once they are uploaded
        again.
        """
        text = gettext(
            "The service no longer has the sealed bytes of the Submission %(commitment)s by %(solver)s, so no Guardian "
            "can open it. Its Solver can upload them again from the machine that sealed them: service-cli "
            "solver:submit %(bounty)s DIRECTORY.",
            commitment=row.submission_commitment,
            solver=row.solver_address,
            bounty=row.bounty_id,
        )
        kind = f"lost:{row.solver_address}:{row.submission_commitment}"
        return self._entry(row, kind, marked("Sealed work lost: %(bounty)s"), text, row.lost_since)

    def claimed(self, row: ClaimRow) -> Entry:
        """Make the entry for a paid amount."""
        text = gettext(
            "%(what)s: %(amount)s to %(recipient)s.",
            what=gettext(KINDS[row.kind]),
            amount=formatting.amount(row.amount, self.token),
            recipient=row.recipient,
        )
        return self._entry(row, f"claim:{row.kind}:{row.recipient}", marked("Paid: %(bounty)s"), text)

    def decided(self, row: BountyRow) -> Entry:
        """Make the entry for a final bounty."""
        text = (
            gettext("Awarded to %(winner)s.", winner=row.winner_solver_address)
            if row.outcome is Outcome.AWARDED
            else gettext("Ended without an award.")
        )
        return self._entry(row, "decided", marked("Decided: %(bounty)s"), text, row.settled_at)

    def _entry(self, row: Happening, kind: str, heading: str, text: str, at: UnixSeconds | None = None) -> Entry:
        found, number = self.titles.get(row.bounty_id, NO_TITLE), row.bounty_id
        if found.title is not None:
            name = found.title
        elif found.withheld is not None:
            name = gettext("bounty %(number)s, whose page is withheld here", number=number)
        else:
            name = gettext("bounty %(number)s", number=number)
        identifier = f"urn:bounty-escrow:{self.chain.chain_id}:{self.chain.hub_address}:{number}:{kind}"
        at = at or row.time
        changed_at = at if found.withheld is None else max(at, found.withheld.since)
        title = gettext(heading, bounty=name)
        return Entry(identifier, title, text, f"/bounties/{number}", at, changed_at, found.tags)


def verdict_text(kind: VerdictKind, solver: Address | None) -> str:
    """Return what a Verdict names, within a sentence."""
    if kind == VerdictKind.AWARDED:
        return gettext("an award to %(solver)s", solver=solver)
    return gettext("no valid Submission")


def withheld_line(found: Withheld) -> str:
    """Return why a page is not shown, as a sentence."""
    return gettext(
        "The operator of this service has withheld its page here since %(since)s: %(reason)s",
        since=formatting.moment(found.since),
        reason=readable_line(found.reason),
    )


def newest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries in the order of a feed, each id once."""
    by_id = {each.id: each for each in entries}
    return tuple(sorted(by_id.values(), key=lambda each: (-each.at, each.id))[:MAX_ENTRIES])
