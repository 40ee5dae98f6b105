"""A bounty's Submissions in the order of the chain, and which of them the first digits of a commitment name.

The list is the Hub's own log. In a long log, the API's index is only a hint where to begin: a log without the bounty's
creation is noticed, and then the whole log is read, so that an API cannot hide a Submission. A Verdict by first digits
is for what was opened on this machine, whatever anybody lists.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.lifecycle.hub_events import BountyCreated, SubmissionRecorded
from bounty_protocol.domain.lifecycle.hub_events import bounty_of as bounty_of_event
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32
from bounty_protocol.wire.bounties import BountyDetail

from service_cli.api import ApiClient, bounty_detail
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.journal import OPENED
from service_cli.chain.receipts import bounty_topic, first_block, hub_events
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed, CommandRefused

Pair = tuple[Address, Bytes32]
"""A Submission as it is named in full: its Solver and its commitment."""
LONG_LOG: Final = 100_000
"""Blocks that are read without a hint where to begin."""
_BEGINNING: Final = re.compile(r"0x[0-9a-f]{16,64}")
_QUERY: Final = "query Created($id: String!) { bounties(where: {bounty_id: $id}, first: 1) { block_number } }"


@dataclass(frozen=True, slots=True)
class _CreatedRow:
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class _CreatedRows:
    bounties: tuple[_CreatedRow, ...]


@dataclass(frozen=True, slots=True)
class RecordedSubmission:
    """A Solver's active Submission."""

    solver: Address
    commitment: Bytes32
    block_number: BlockNumber

    @property
    def pair(self) -> Pair:
        return self.solver, self.commitment


@dataclass(frozen=True, slots=True)
class CommitmentBeginning:
    """The first digits of a commitment, at least 16."""

    text: str

    @staticmethod
    def parse(text: str) -> "CommitmentBeginning":
        """Parse ``0x`` and 16 to 64 digits."""
        if _BEGINNING.fullmatch(text.lower()) is None:
            raise ValueError("0x and at least 16 hexadecimal digits of a commitment")
        return CommitmentBeginning(text.lower())

    def of(self, pairs: Iterable[Pair], where: str, next_action: str) -> Pair:
        """Return the only Submission ``where`` that has this prefix; refuse none or several."""
        named = [each for each in pairs if each[1].startswith(self.text)]
        if len(named) == 1:
            return named[0]
        if named:
            message = f"{len(named)} Submissions {where} begin with {self.text}."
            action = "Name one by its Solver and its whole commitment."
            raise CommandRefused("submission_ambiguous", message, next_action=action)
        message = f"No Submission {where} begins with {self.text}."
        raise CommandRefused("submission_not_recorded", message, next_action=next_action)


Choice = Pair | CommitmentBeginning
"""A Submission as a person names it."""


def chosen_here(chain: ChainClient, bounty_id: BountyId, choice: Choice) -> Pair:
    """Return the named Submission: given in full, or by prefix among those opened on this machine."""
    if not isinstance(choice, CommitmentBeginning):
        return choice
    notes = chain.records.below(OPENED, str(bounty_id))
    opened = [(Address(solver), Bytes32(commitment)) for *_, solver, commitment in notes]
    action = f"Open it: service-cli guardian:open {bounty_id}. Or name its Solver and its whole commitment."
    return choice.of(opened, f"of bounty {bounty_id} that was opened on this machine", action)


def recorded_submissions(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[RecordedSubmission]:
    """List each Solver's last Submission, in the order of the chain; ``log_incomplete`` if no log has the creation."""
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
    return [RecordedSubmission(event.solver, event.submission_commitment, log.block_number) for log, event in ordered]


def first_blocks(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[BlockNumber]:
    """List the start blocks to try; the last one covers the whole log, if its start is known."""
    whole = first_block(chain)
    if whole is not None and chain.tip() - whole <= LONG_LOG:
        return [whole]
    hint = None if api is None else _hint(api, bounty_id)
    starts = [start for start in (hint, whole) if start is not None]
    if not starts:
        message = "Neither this release nor the API says at which block the Hub's log starts."
        next_action = "Name one Submission by Solver and commitment."
        raise CommandRefused("configuration_incomplete", message, next_action=next_action)
    return starts


def _hint(api: ApiClient, bounty_id: BountyId) -> BlockNumber | None:
    """Return the block of the creation according to the index."""
    try:
        rows = api.query(_CreatedRows, _QUERY, {"id": str(bounty_id)}, "/subgraph").bounties
    except (CommandFailed, CommandRefused):
        return None
    return rows[0].block_number if rows else None


@dataclass(frozen=True, slots=True)
class Listing:
    """A bounty's Submissions as every endpoint's log has them."""

    submissions: list[RecordedSubmission]
    api_agrees: bool | None
    """Whether the API's list has the same in the same places; None if it does not answer, or shows only a part."""


def listing(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> Listing:
    """List the Submissions in chain order, compared with the API's list if it answers."""
    found = agreed(chain, Fact.SUBMISSION, lambda each: recorded_submissions(each, api, bounty_id))
    try:
        detail = None if api is None else bounty_detail(api, bounty_id).read(BountyDetail)
    except CommandFailed:
        detail = None
    if detail is None or detail.active_submission_count > len(detail.active_submissions):
        return Listing(found, None)
    listed = [(each.solver_address, each.submission_commitment) for each in detail.active_submissions]
    return Listing(found, listed == [one.pair for one in found])
