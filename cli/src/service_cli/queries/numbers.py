"""Which Submission a number names: by the Hub's log, the API's list, and what this machine opened under it.

A number is a place in a list that somebody else answers. So what was opened under a number keeps it here, and a Verdict
by number is for that Submission, or is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.bounties import BountyDetail

from service_cli.api import ApiClient, bounty_detail
from service_cli.chain.agreement import ENDPOINTS, Vouched, agreed, disagreement, vouch
from service_cli.chain.journal import journals_below, note_done
from service_cli.chain.session import ChainClient
from service_cli.chain.witness_table import Fact, Witness
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.facts import RecordedSubmission, recorded_submissions
from service_cli.queries.state import Pair

Pick = Callable[[list[RecordedSubmission]], RecordedSubmission]
"""Finds the one that was meant, or refuses."""
_IN_FULL: Final = "Name it by its Solver and its whole commitment."
_OPENED_AS: Final = "number"
"""How the names of the notes begin that remember what was opened."""


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
    """The Submission that the person named in full; whether it is recorded, the endpoints say where it is used."""
    return vouch(Fact.NUMBER, pair, ENDPOINTS | {Witness.PERSON})


def named_by_place(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId, pick: Pick) -> Vouched[Pair]:
    """The Submission in a place of the list: the one that was opened under it here, and that the API has there.

    ``submission_moved`` where something else was opened under that number, or this one under another,
    ``sources_disagree`` where the API has another list; where neither vouches, it has to be named in full.
    """
    found = listing(chain, api, bounty_id)
    one = pick(found.submissions)
    pair, opened = (one.solver, one.commitment), _opened(chain, bounty_id)
    moved = sorted(each for each in opened if (each.number == one.number) != (each.pair == pair))
    if moved:
        former = ", ".join(f"{commitment} of {solver} as number {number}" for number, (solver, commitment) in moved)
        message = f"Of bounty {bounty_id} this machine opened {former}; now the log has {pair[1]} of {pair[0]} as "
        message += f"number {one.number}."
        raise CommandRefused("submission_moved", message, next_action=_IN_FULL)
    if api is not None and found.api_agrees is False:
        raise disagreement(Fact.NUMBER, chain.named, api.peer.named)
    is_opened = _Opened(one.number, pair) in opened
    if found.api_agrees is None and not is_opened:
        message = f"Nobody but {chain.named} says which Submission is number {one.number}."
        raise CommandRefused("submission_unproven", message, next_action=f"Open it first. {_IN_FULL}")
    by = [Witness.JOURNAL] * is_opened + [Witness.API] * bool(found.api_agrees)
    return vouch(Fact.NUMBER, pair, ENDPOINTS | set(by))


class _Opened(NamedTuple):
    """Submissions opened on this machine, each with the number under which it was listed then."""

    number: int
    pair: Pair


def note_opened_as(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission) -> None:
    """Remember under which number a Submission was opened, whoever listed it so."""
    name = (_OPENED_AS, str(bounty_id), str(one.number), one.solver, one.commitment)
    note_done(chain.chain_id, chain.hub.address, *name)


def _opened(chain: ChainClient, bounty_id: BountyId) -> list[_Opened]:
    """A bounty's opened Submissions; a number or a Submission is there twice where the list was not always the same."""
    found = journals_below(chain.chain_id, chain.hub.address, _OPENED_AS, str(bounty_id))
    return [_Opened(int(number), (Address(solver), Bytes32(commitment))) for *_, number, solver, commitment in found]
