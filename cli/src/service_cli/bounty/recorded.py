"""The Submissions that the Hub's log holds of a bounty, and the block at which that log is begun.

The API's index is only a hint where a long log begins: a log without the bounty's creation is noticed, and then the
whole log is read, so that an API cannot hide a Submission.
"""

from dataclasses import dataclass
from typing import Final

from service_common.domain.hub_events import BountyCreated, SubmissionRecorded
from service_common.domain.hub_events import bounty_of as bounty_of_event
from service_common.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.api import ApiClient
from service_cli.chain.receipts import bounty_topic, first_block, hub_events
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed, CommandRefused

LONG_LOG: Final = 100_000
"""Blocks that are read without a hint where to begin."""
_QUERY: Final = "query Created($id: String!) { bounties(where: {bounty_id: $id}, first: 1) { block_number } }"


@dataclass(frozen=True, slots=True)
class RecordedSubmission:
    """A Solver's active Submission; ``number`` counts a bounty's from 1, the one recorded first on chain first."""

    number: int
    solver: Address
    commitment: Bytes32
    block_number: BlockNumber


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
    finalized = chain.finalized().number
    if whole is not None and finalized - whole <= LONG_LOG:
        return [whole]
    hint = None if api is None else _hint(api, bounty_id)
    starts = [start for start in (hint, whole) if start is not None]
    if not starts:
        message = "Neither this release nor the API says from which block the Hub's log is to be read."
        next_action = "Name one Submission by Solver and commitment; for an audit, --from-block N."
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
