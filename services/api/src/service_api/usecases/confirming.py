"""A bounty's logs, requested once more from every RPC endpoint, before what follows from them is kept for good.

A Submission that is the one before once more leaves the Hub's storage as it was, so that the index is not shown to have
it (docs/indexer.md); it is in the log digest all the same. An endpoint that does not answer, or lists no range this
long, says nothing.
"""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log, decode_log, parse_log
from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.commitments import log_digest
from bounty_protocol.domain.hub_events import bounty_of
from bounty_protocol.types import Address, BountyId, Bytes32, to_bytes
from service_common.log import get_logger

ANSWER_SECONDS: Final = 3.0
_ANSWER_BYTES: Final = 8 * 1024 * 1024

log = get_logger(__name__)


def is_confirmed(rpc: Rpc, hub: Address, bounty: Bounty, digest: Bytes32) -> bool:
    """Whether no endpoint lists logs of this final bounty, up to its end, with another digest than the index's."""
    asked = rpc.bounded(seconds=ANSWER_SECONDS, max_answer_bytes=_ANSWER_BYTES)
    others = [place for place, found in _digests(asked, hub, bounty) if found != digest]
    if others:
        log.error("RPC endpoints list other logs than the index", bounty_id=bounty.bounty_id, endpoints=others)
    return not others


def _digests(rpc: Rpc, hub: Address, bounty: Bounty) -> Iterator[tuple[int, Bytes32]]:
    for endpoint in rpc.endpoints.all:
        try:
            found = _digest(rpc, endpoint, hub, bounty)
        except ChainUnavailable:
            continue
        if found is not None:
            yield endpoint.place, found


def _digest(rpc: Rpc, endpoint: Endpoint, hub: Address, bounty: Bounty) -> Bytes32 | None:
    first, end = bounty.created.origin, bounty.changed_at
    place = {
        "address": hub,
        "fromBlock": hex(first.block_number),
        "toBlock": hex(end.block_number),
        "topics": [None, f"0x{bounty.bounty_id:064x}"],
    }
    call: Call = ("eth_getLogs", [place])
    (answer,) = rpc.ask(endpoint, [call])
    if not isinstance(answer, list):  # it refused
        return None
    logs = [entry for entry in map(parse_log, answer) if _is_of(entry, bounty.bounty_id)]
    until = (end.block_number, end.log_index)
    counted = [entry for entry in logs if (entry.block_number, entry.log_index) <= until]
    return log_digest(([to_bytes(topic) for topic in entry.topics], entry.data) for entry in counted)


def _is_of(entry: Log, bounty_id: BountyId) -> bool:
    """Whether it is about this bounty, and not about the roster version of this number; what cannot be read is."""
    try:
        return bounty_of(decode_log(entry)) == bounty_id
    except ValueError:
        return True
