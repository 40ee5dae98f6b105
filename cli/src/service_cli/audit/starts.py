"""Where to begin reading the Hub's log.

Promises: a log that is long is read from the block that the API's index names for the creation; that is only a hint,
since a log without the creation is noticed, and then the whole log is read. No answer and no shape of it ends an audit.
"""

from typing import Final

from service_common.types import BlockNumber, BountyId

from service_cli.client.already import first_block
from service_cli.client.api import ApiClient
from service_cli.client.chain import ChainClient
from service_cli.outcome import Failed, Refused
from service_cli.settings import Settings

LONG_LOG: Final = 100_000
"""Blocks that are read without asking anybody where to begin."""
_QUERY: Final = "query Created($id: String!) { bounties(where: {bounty_id: $id}, first: 1) { block_number } }"


def first_blocks(
    settings: Settings, chain: ChainClient, api: ApiClient, bounty_id: BountyId, given: int | None
) -> list[BlockNumber]:
    """The blocks to try, the last of them one from which the whole log is read where that is known."""
    if given is not None:
        return [BlockNumber(given)]
    whole = first_block(settings, chain)
    finalized = chain.finalized().number
    if whole is not None and finalized - whole <= LONG_LOG:
        return [whole]
    starts = [start for start in (_hint(api, bounty_id), whole) if start is not None]
    if not starts:
        message = "Neither this release nor the API says from which block the Hub's log is to be read."
        next_action = "Name a block at or before the bounty's creation: --from-block N."
        raise Refused("configuration_incomplete", message, next_action=next_action)
    return starts


def _hint(api: ApiClient, bounty_id: BountyId) -> BlockNumber | None:
    """What the index says of the creation's block."""
    try:
        answer = api.post_json("/subgraph", {"query": _QUERY, "variables": {"id": str(bounty_id)}}).json()
    except (Failed, Refused):
        return None
    data = answer.get("data")
    rows = data.get("bounties") if isinstance(data, dict) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    number = row.get("block_number") if isinstance(row, dict) else None
    return BlockNumber(number) if isinstance(number, int) and 0 <= number < 2**63 else None
