"""A bounty's Submissions in the order of the chain, and which of them a number or a commitment's first digits name.

The list is the Hub's own log. In a long log, the API's index is only a hint where to begin: a log without the bounty's
creation is noticed, and then the whole log is read, so that an API cannot hide a Submission. A number is a place in a
list that somebody else answers. So what was opened under a number keeps it here, and a Verdict by number is for that
Submission, or is refused.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from bounty_protocol.domain.hub_events import BountyCreated, SubmissionRecorded
from bounty_protocol.domain.hub_events import bounty_of as bounty_of_event
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.api import ApiClient, bounty_detail
from service_cli.chain.agreement import Fact, agreed, disagreement
from service_cli.chain.journal import journals_below, note_done
from service_cli.chain.receipts import bounty_topic, first_block, hub_events
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed, CommandRefused

Pair = tuple[Address, Bytes32]
"""A Submission as it is named in full: its Solver and its commitment."""
LONG_LOG: Final = 100_000
"""Blocks that are read without a hint where to begin."""
_IN_FULL: Final = "Name it by its Solver and its whole commitment."
_OPENED_AS: Final = "number"
"""How the names of the notes begin that remember what was opened."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,5}")
_PREFIX: Final = re.compile(r"0x[0-9a-f]{1,64}")
_QUERY: Final = "query Created($id: String!) { bounties(where: {bounty_id: $id}, first: 1) { block_number } }"


@dataclass(frozen=True, slots=True)
class RecordedSubmission:
    """A Solver's active Submission; ``number`` counts a bounty's from 1, the one recorded first on chain first."""

    number: int
    solver: Address
    commitment: Bytes32
    block_number: BlockNumber

    @property
    def pair(self) -> Pair:
        return self.solver, self.commitment


@dataclass(frozen=True, slots=True)
class SubmissionChoice:
    """Which Submission was meant: its number in the list, or the first digits of its commitment."""

    text: str

    @staticmethod
    def parse(text: str) -> "SubmissionChoice":
        """``3``, or ``0x`` and at least one digit."""
        if _NUMBER.fullmatch(text) is None and _PREFIX.fullmatch(text.lower()) is None:
            raise ValueError("a number of the list, or 0x and the first digits of a commitment")
        return SubmissionChoice(text.lower())

    def of(self, found: list[RecordedSubmission]) -> RecordedSubmission:
        """The one Submission that it names; none or several are refused."""
        if self.text.startswith("0x"):
            named = [each for each in found if each.commitment.startswith(self.text)]
        else:
            named = [each for each in found if each.number == int(self.text)]
        if len(named) == 1:
            return named[0]
        if named:
            message = f"{len(named)} Submissions begin with {self.text}: {', '.join(str(one.number) for one in named)}."
            raise CommandRefused("submission_ambiguous", message, next_action="Give more digits, or the number.")
        message = f"The bounty has no Submission {self.text}; it has {len(found)}."
        next_action = "Look at the bounty: service-cli bounty:show BOUNTY_ID."
        if found:
            numbers = "its number, 1" if len(found) == 1 else f"its number from 1 to {len(found)}"
            next_action = f"Name it by {numbers}, or by 0x and how its commitment begins."
        raise CommandRefused("submission_not_recorded", message, next_action=next_action)


Choice = Pair | SubmissionChoice
"""A Submission as a person names it: in full, or by its place."""


def recorded_submissions(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[RecordedSubmission]:
    """Each Solver's last Submission, in the order of the chain; ``log_incomplete`` where no log has the creation."""
    for start in first_blocks(chain, api, bounty_id):
        events = hub_events(chain, start, [None, bounty_topic(bounty_id)])
        own = [(log, event) for log, event in events if bounty_of_event(event) == bounty_id]
        own.sort(key=lambda found: (found[0].block_number, found[0].log_index))
        if any(isinstance(event, BountyCreated) for _, event in own):
            break
    else:
        message = f"The endpoint's log does not show the creation of bounty {bounty_id}."
        raise CommandRefused("log_incomplete", message, next_action="Use another RPC endpoint.")
    latest = {event.solver: (log, event) for log, event in own if isinstance(event, SubmissionRecorded)}
    ordered = sorted(latest.values(), key=lambda found: (found[0].block_number, found[0].log_index))
    return [
        RecordedSubmission(number, event.solver, event.submission_commitment, log.block_number)
        for number, (log, event) in enumerate(ordered, 1)
    ]


def first_blocks(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[BlockNumber]:
    """The blocks to try, the last of them one from which the whole log is read where that is known."""
    whole = first_block(chain)
    if whole is not None and chain.finalized().number - whole <= LONG_LOG:
        return [whole]
    hint = None if api is None else _hint(api, bounty_id)
    starts = [start for start in (hint, whole) if start is not None]
    if not starts:
        message = "Neither this release nor the API says from which block the Hub's log is to be read."
        next_action = "Name one Submission by Solver and commitment."
        raise CommandRefused("configuration_incomplete", message, next_action=next_action)
    return starts


def _hint(api: ApiClient, bounty_id: BountyId) -> BlockNumber | None:
    """The block of the creation by the index."""
    try:
        answer = api.post_json("/subgraph", {"query": _QUERY, "variables": {"id": str(bounty_id)}}).json()
    except (CommandFailed, CommandRefused):
        return None
    data = answer.get("data")
    rows = data.get("bounties") if isinstance(data, dict) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    number = row.get("block_number") if isinstance(row, dict) else None
    return BlockNumber(number) if isinstance(number, int) and 0 <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Listing:
    """A bounty's Submissions as every endpoint's log has them."""

    submissions: list[RecordedSubmission]
    api_agrees: bool | None
    """Whether the API's list has the same in the same places; None where it does not answer, or shows only a part."""


def listing(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> Listing:
    """The Submissions in the order of the chain, compared with the API's list where that answers."""
    from bounty_protocol.wire.bounties import BountyDetail  # which claims do not need

    found = agreed(chain, Fact.NUMBER, lambda each: recorded_submissions(each, api, bounty_id))
    try:
        detail = None if api is None else bounty_detail(api, bounty_id).read(BountyDetail)
    except CommandFailed:
        detail = None
    if detail is None or detail.active_submission_count > len(detail.active_submissions):
        return Listing(found, None)
    listed = [(each.solver_address, each.submission_commitment) for each in detail.active_submissions]
    return Listing(found, listed == [one.pair for one in found])


def submission_named(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId, choice: Choice) -> Pair:
    """The Submission that is meant: named in full it is that one; by its place the one that was opened under it here,
    and that the API has there.

    ``submission_moved`` where something else was opened under that number, or this one under another,
    ``sources_disagree`` where the API has another list; where neither vouches, it has to be named in full.
    """
    if not isinstance(choice, SubmissionChoice):
        return choice  # whether it is recorded, the endpoints say where it is used
    found = listing(chain, api, bounty_id)
    one = choice.of(found.submissions)
    notes = journals_below(chain.chain_id, chain.hub.address, _OPENED_AS, str(bounty_id))
    opened = [_Opened(int(number), (Address(by), Bytes32(commitment))) for *_, number, by, commitment in notes]
    moved = sorted(each for each in opened if (each.number == one.number) != (each.pair == one.pair))
    if moved:
        former = ", ".join(f"{commitment} of {solver} as number {number}" for number, (solver, commitment) in moved)
        message = f"Of bounty {bounty_id} this machine opened {former}; now the log has {one.commitment} of "
        message += f"{one.solver} as number {one.number}."
        raise CommandRefused("submission_moved", message, next_action=_IN_FULL)
    if api is not None and found.api_agrees is False:
        raise disagreement(Fact.NUMBER, chain.named, api.peer.named)
    if found.api_agrees is None and _Opened(one.number, one.pair) not in opened:
        message = f"Nobody but {chain.named} says which Submission is number {one.number}."
        raise CommandRefused("submission_unproven", message, next_action=f"Open it first. {_IN_FULL}")
    return one.pair


class _Opened(NamedTuple):
    """A Submission opened on this machine, with the number under which it was listed then. A number or a Submission is
    there twice where the list was not always the same."""

    number: int
    pair: Pair


def note_opened_as(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission) -> None:
    """Remember under which number a Submission was opened, whoever listed it so."""
    name = (_OPENED_AS, str(bounty_id), str(one.number), one.solver, one.commitment)
    note_done(chain.chain_id, chain.hub.address, *name)
