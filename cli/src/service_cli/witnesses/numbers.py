"""Which Submission a number names: by the Hub's log, the API's list, and what this machine opened under it.

A number is a place in a list that somebody else answers. So what was opened under a number keeps it here, and a Verdict
by number is for that Submission, or is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from service_common.types import BountyId
from service_common.wire.bounties import BountyDetail

from service_cli.api import ApiClient, bounty_detail
from service_cli.bounty.facts import RecordedSubmission, recorded_submissions
from service_cli.chain.journal import journals_below, note_done
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.witnesses.bounties import Pair
from service_cli.witnesses.table import Fact, Witness
from service_cli.witnesses.vouching import ENDPOINTS, Vouched, agreed, disagreement, vouch

Pick = Callable[[list[RecordedSubmission]], RecordedSubmission]
"""Finds the one that was meant, or refuses."""
_IN_FULL: Final = "Name it by its Solver and its whole commitment."


@dataclass(frozen=True, slots=True)
class Listing:
    """A bounty's Submissions as every endpoint's log has them."""

    submissions: list[RecordedSubmission]
    api_agrees: bool | None
    """Whether the API's list has the same in the same places; None where it does not answer, or shows only a part."""


def listing(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> Listing:
    """The Submissions in the order of the chain, compared with the API's list where that answers."""
    found = agreed(chain, Fact.NUMBER, lambda each: recorded_submissions(each, api, bounty_id))
    return Listing(found, None if api is None else _agrees(api, bounty_id, found))


def _agrees(api: ApiClient, bounty_id: BountyId, found: list[RecordedSubmission]) -> bool | None:
    try:
        detail = bounty_detail(api, bounty_id).read(BountyDetail)
    except CommandFailed:
        return None
    listed = [(each.solver_address, each.submission_commitment) for each in detail.active_submissions]
    if detail.active_submission_count > len(listed):
        return None
    return listed == [(one.solver, one.commitment) for one in found]


def named_in_full(pair: Pair) -> Vouched[Pair]:
    """What the person named by Solver and commitment; whether it is recorded, the endpoints say where it is used."""
    return vouch(Fact.NUMBER, pair, ENDPOINTS | {Witness.PERSON})


def named_by_place(chain: ChainClient, api: ApiClient, bounty_id: BountyId, pick: Pick) -> Vouched[Pair]:
    """The Submission in a place of the list: the one that was opened under it here, and that the API has there.

    ``submission_moved`` where something else was opened under that number, ``sources_disagree`` where the API has
    another list; where neither vouches, it has to be named in full.
    """
    found = listing(chain, api, bounty_id)
    one = pick(found.submissions)
    pair, opened = (one.solver, one.commitment), opened_as(chain, bounty_id, one.number)
    if opened - {pair}:
        former = ", ".join(f"{commitment} of {solver}" for solver, commitment in sorted(opened - {pair}))
        message = f"As Submission {one.number} of bounty {bounty_id} this machine opened {former}; now the log has "
        message += f"{pair[1]} of {pair[0]} there."
        raise CommandRefused("submission_moved", message, next_action=_IN_FULL)
    if found.api_agrees is False:
        raise disagreement(Fact.NUMBER, chain.named, api.peer.named)
    if found.api_agrees is None and not opened:
        message = f"Nobody but {chain.named} says which Submission is number {one.number}."
        raise CommandRefused("submission_unproven", message, next_action=f"Open it first. {_IN_FULL}")
    by = [Witness.JOURNAL] * bool(opened) + [Witness.API] * bool(found.api_agrees)
    return vouch(Fact.NUMBER, pair, ENDPOINTS | set(by))


def note_opened_as(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission) -> None:
    """Remember under which number a Submission was opened."""
    name = (*_names(bounty_id, one.number), one.solver, one.commitment)
    note_done(chain.chain_id, chain.hub.address, *name)


def opened_as(chain: ChainClient, bounty_id: BountyId, number: int) -> frozenset[Pair]:
    """What was opened under a number on this machine; more than one where the list was not always the same."""
    found = journals_below(chain.chain_id, chain.hub.address, *_names(bounty_id, number))
    return frozenset((solver, commitment) for *_, solver, commitment in found)  # type: ignore[misc]


def _names(bounty_id: BountyId, number: int) -> tuple[str, ...]:
    return "number", str(bounty_id), str(number)
