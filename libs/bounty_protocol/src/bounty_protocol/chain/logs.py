"""A contract's logs in a range of blocks, as one endpoint lists them."""

import time
from collections.abc import Sequence
from typing import Final, cast

from bounty_protocol.chain.events import Log, parse_log
from bounty_protocol.chain.rpc import AnswerTooLarge, ChainUnavailable, OneEndpoint, RpcRefused
from bounty_protocol.types import Address, BlockNumber, Bytes32

ENOUGH_LOGS: Final = 2_000
"""End a range early at the block of this log: it bounds memory, and the transaction that writes them."""


def logs_of_range(
    one: OneEndpoint, address: Address, topics: Sequence[Bytes32 | None] | None, first: BlockNumber, last: BlockNumber
) -> tuple[list[Log], BlockNumber]:
    """List a contract's logs from block ``first`` to ``last``, or to an earlier block if there are many; return them
    and the last block that they cover, which is the same for every endpoint with these logs.

    They are read in the longest ranges that the endpoint accepts: half as long after each refusal, since few refusals
    say whether the range or its logs are too many. If a single block is refused, the endpoint may not have it yet: a
    patient client waits for it. ``ChainUnavailable`` if it is still refused, and for logs of another contract or range
    or out of order.
    """
    logs, covered, span, waits = list[Log](), BlockNumber(first - 1), one.endpoint.blocks.size, list(one.waits)
    while covered < last and len(logs) < ENOUGH_LOGS:
        start = BlockNumber(covered + 1)
        end = BlockNumber(min(last, covered + one.endpoint.blocks.size))
        wanted = {"address": address, "fromBlock": hex(start), "toBlock": hex(end)}
        try:
            answer = one.call("eth_getLogs", wanted if topics is None else wanted | {"topics": list(topics)})
        except (RpcRefused, ChainUnavailable) as error:
            if not _may_be_of_the_range(error):
                if isinstance(error, ChainUnavailable) and error.silent:
                    one.endpoint.blocks.refused(end - start + 1)  # the next query is for less
                raise
            if start < end:
                one.endpoint.blocks.refused(end - start + 1)
                continue
            one.endpoint.blocks.size = span  # it was not the length
            if not waits:
                raise ChainUnavailable(f"RPC endpoint {one.place} refused to list the logs of one block") from error
            time.sleep(waits.pop(0))
            continue
        found = _checked(answer, address, start, end)
        if len(found) > ENOUGH_LOGS:  # what is read beyond that is dropped, and read again
            one.endpoint.blocks.refused(end - start + 1)
        else:
            one.endpoint.blocks.answered(end - start + 1)
        logs += found
        covered = end
    if len(logs) >= ENOUGH_LOGS:
        covered = logs[ENOUGH_LOGS - 1].block_number
    return [entry for entry in logs if entry.block_number <= covered], covered


def _may_be_of_the_range(error: RpcRefused | ChainUnavailable) -> bool:
    """Return whether a shorter range may be answered. A rate limit that outlasts every wait may in fact limit the
    range.
    """
    if isinstance(error, RpcRefused | AnswerTooLarge) or error.refusal is not None:
        return True
    return not (error.limited or error.silent)


def _checked(answer: object, address: Address, start: BlockNumber, end: BlockNumber) -> list[Log]:
    listed = cast("list[object]", answer)  # as ``rpc_answers`` read it
    listed.reverse()  # each is dropped as it is read: both forms of a full block take much memory
    logs = [parse_log(listed.pop()) for _ in range(len(listed))]
    if any(entry.address != address for entry in logs):
        raise ChainUnavailable("an RPC endpoint returned logs of another contract")
    if any(not start <= entry.block_number <= end for entry in logs):
        raise ChainUnavailable("an RPC endpoint returned logs of blocks other than the requested ones")
    places = [(entry.block_number, entry.log_index) for entry in logs]
    if places != sorted(set(places)):
        raise ChainUnavailable("an RPC endpoint returned logs out of order")
    return logs
