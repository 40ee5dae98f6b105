"""A final bounty's logs, requested once more from RPC endpoints, before what follows from them is kept for good.

A Submission that is the one before once more leaves the Hub's storage as it was, so that the index is not shown to have
it (docs/indexer.md); it is in the log digest all the same.
"""

from typing import Final

from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.chain.logs import logs_of_range
from bounty_protocol.chain.rpc import ChainUnavailable, OneEndpoint, Rpc
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.commitments import log_digest
from bounty_protocol.domain.hub_events import bounty_of
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, bytes32, to_bytes
from service_common.log import get_logger

ANSWER_SECONDS: Final = 3.0
_ANSWER_BYTES: Final = 8 * 1024 * 1024

log = get_logger(__name__)


def is_confirmed(rpc: Rpc, hub: Address, bounty: Bounty, digest: Bytes32) -> bool:
    """Whether endpoints agree on logs of this final bounty, up to its end, with the index's digest."""
    asked = rpc.bounded(seconds=ANSWER_SECONDS, max_answer_bytes=_ANSWER_BYTES)
    try:
        found = asked.agreed(lambda one: _digest(one, hub, bounty), rpc.pair)
    except ChainUnavailable:
        return False
    if found != digest:
        log.error("RPC endpoints list other logs than the index", bounty_id=bounty.bounty_id)
    return found == digest


def _digest(one: OneEndpoint, hub: Address, bounty: Bounty) -> Bytes32:
    first, end = bounty.created.origin.block_number, bounty.changed_at
    topics, logs = [None, bytes32(bounty.bounty_id.to_bytes(32, "big"))], list[Log]()
    while first <= end.block_number:
        part, covered = logs_of_range(one, hub, topics, first, end.block_number)
        logs += part
        first = BlockNumber(covered + 1)
    until = (end.block_number, end.log_index)
    counted = [
        entry for entry in logs if _is_of(entry, bounty.bounty_id) and (entry.block_number, entry.log_index) <= until
    ]
    return log_digest(([to_bytes(topic) for topic in entry.topics], entry.data) for entry in counted)


def _is_of(entry: Log, bounty_id: BountyId) -> bool:
    """Whether it is about this bounty, and not about the roster version of this number; what cannot be read is."""
    try:
        return bounty_of(decode_log(entry)) == bounty_id
    except ValueError:
        return True
