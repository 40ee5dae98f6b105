"""Events as entries of feeds.

An entry's id is made of what the chain identifies (chain, Hub, bounty, kind, account), never of a block: when a reorg
moves or replaces an event, the entry with the same id has another text or time, and a reader program shows the
correction. Ids do not change with the address of the pages either.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.lifecycle import Outcome, VerdictKind
from bounty_protocol.domain.readable import readable_line
from bounty_protocol.types import Address, BountyId, UnixSeconds
from bounty_protocol.wire.deployment import TokenDescription
from bounty_protocol.wire.withheld import Withheld
from service_common.chain.settings import ChainSettings

from service_api.pages import formatting
from service_api.pages.money import KINDS
from service_api.pages.rows import BountyRow, ClaimRow, ReplacementRow, SubmissionRow, VerdictRow
from service_api.pages.texts import gettext
from service_api.pages.titles import NO_TITLE, Title

MAX_ENTRIES: Final = 100


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
        """A bounty was created."""
        award = row.escrow_amount - row.protocol_fee - row.guardian_fee
        token = self.token
        text = gettext(
            "The winner gets %(award)s of an escrow of %(escrow)s. Submissions close at %(time)s.",
            award=formatting.amount(award, token),
            escrow=formatting.amount(row.escrow_amount, token),
            time=formatting.moment(row.submission_deadline),
        )
        if (found := self.titles.get(row.bounty_id)) is not None and found.withheld is not None:
            text = f"{text} {withheld_line(found.withheld)}"
        title = gettext("New: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, "created", title, text, row.time)

    def submitted(self, row: SubmissionRow) -> Entry:
        """A Solver recorded a Submission; a later one replaces it, and is the same entry."""
        text = gettext("By %(solver)s. It is sealed until the reveal point.", solver=row.solver_address)
        title = gettext("Submission: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, f"submission:{row.solver_address}", title, text, row.time)

    def judged(self, row: VerdictRow) -> Entry:
        """A Guardian recorded a Verdict; a later one replaces it."""
        text = (
            gettext(
                "The Guardian %(guardian)s awards the Submission of %(solver)s.",
                guardian=row.guardian_address,
                solver=row.solver_address,
            )
            if row.kind == VerdictKind.AWARDED
            else gettext("The Guardian %(guardian)s finds no valid Submission.", guardian=row.guardian_address)
        )
        title = gettext("Verdict: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, f"verdict:{row.guardian_address}", title, text, row.time)

    def replaced(self, row: ReplacementRow) -> Entry:
        """A Guardian's Verdict was replaced: an entry of its own, since a thief of the key can do it, too."""
        text = gettext(
            "The Verdict of the Guardian %(guardian)s was replaced: before, %(before)s; now, %(now)s. A thief of the "
            "Guardian's key can do that, too.",
            guardian=row.guardian_address,
            before=verdict_text(row.replaced_kind, row.replaced_solver_address),
            now=verdict_text(row.kind, row.solver_address),
        )
        title = gettext("Verdict replaced: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, f"replaced:{row.guardian_address}:{row.tx_hash}", title, text, row.time)

    def lost(self, row: SubmissionRow) -> Entry:
        """The storage has no longer the sealed bytes of a Submission; the entry goes once they are put back."""
        text = gettext(
            "The service no longer has the sealed bytes of the Submission %(commitment)s by %(solver)s, so no Guardian "
            "can open it. Its Solver can upload them again from the machine that sealed them: service-cli "
            "solver:submit %(bounty)s DIRECTORY.",
            commitment=row.submission_commitment,
            solver=row.solver_address,
            bounty=row.bounty_id,
        )
        title = gettext("Sealed work lost: %(bounty)s", bounty=self._name(row.bounty_id))
        kind = f"lost:{row.solver_address}:{row.submission_commitment}"
        return self._entry(row.bounty_id, kind, title, text, row.lost_since or row.time)

    def claimed(self, row: ClaimRow) -> Entry:
        """An amount was paid."""
        paid = formatting.amount(row.amount, self.token)
        text = gettext(
            "%(what)s: %(amount)s to %(recipient)s.",
            what=gettext(KINDS[row.kind]),
            amount=paid,
            recipient=row.recipient,
        )
        title = gettext("Paid: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, f"claim:{row.kind}:{row.recipient}", title, text, row.time)

    def decided(self, row: BountyRow, at: UnixSeconds) -> Entry:
        """A bounty ended."""
        text = (
            gettext("Awarded to %(winner)s.", winner=row.winner_solver_address)
            if row.outcome is Outcome.AWARDED
            else gettext("Ended without an award.")
        )
        title = gettext("Decided: %(bounty)s", bounty=self._name(row.bounty_id))
        return self._entry(row.bounty_id, "decided", title, text, at)

    def _name(self, bounty_id: BountyId) -> str:
        found = self.titles.get(bounty_id)
        if found is not None and found.title is not None:
            return found.title
        if found is not None and found.withheld is not None:
            return gettext("bounty %(number)s, whose page is withheld here", number=bounty_id)
        return gettext("bounty %(number)s", number=bounty_id)

    def _entry(self, bounty_id: BountyId, kind: str, title: str, text: str, at: UnixSeconds) -> Entry:
        found = self.chain
        identifier = f"urn:bounty-escrow:{found.chain_id}:{found.hub_address}:{bounty_id}:{kind}"
        named = self.titles.get(bounty_id, NO_TITLE)
        changed_at = at if named.withheld is None else max(at, named.withheld.since)
        return Entry(identifier, title, text, f"/bounties/{bounty_id}", at, changed_at, named.tags)


def verdict_text(kind: VerdictKind, solver: Address | None) -> str:
    """What a Verdict names, within a sentence."""
    if kind == VerdictKind.AWARDED:
        return gettext("an award to %(solver)s", solver=solver)
    return gettext("no valid Submission")


def withheld_line(found: Withheld) -> str:
    """Why a page is not shown, as a sentence."""
    return gettext(
        "The operator of this service has withheld its page here since %(since)s: %(reason)s",
        since=formatting.moment(found.since),
        reason=readable_line(found.reason),
    )


def newest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """In the order of a feed, each id once."""
    by_id = {each.id: each for each in entries}
    return tuple(sorted(by_id.values(), key=lambda each: (-each.at, each.id))[:MAX_ENTRIES])
