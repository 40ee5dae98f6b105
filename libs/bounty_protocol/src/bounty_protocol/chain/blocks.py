"""Block headers as the chain reports them, seconds as blocks at its pace, and the block to sign a request with."""

import math
from collections.abc import Container
from dataclasses import dataclass
from itertools import chain
from typing import Final

from bounty_protocol.chain.rpc import (
    Answers,
    Call,
    ChainNode,
    ChainUnavailable,
    RpcRefused,
    block_number,
    block_time,
    hash_of,
    mapping,
)
from bounty_protocol.types import BlockNumber, Bytes32, UnixSeconds

SIGNING_OFFSET_SECONDS: Final = 6
"""How far behind the newest block a request is signed, so that other endpoints know the block, too."""
_PACE_BLOCKS: Final = 150
_OFFSET_BLOCKS: Final = 30
"""The signing offset in blocks of 0.2 s."""
_NEAR_BLOCKS: Final = (1, 3, 6, 12, _OFFSET_BLOCKS)
"""Behind the newest: one of them is about the signing offset older at any pace of 0.2 to 12 s."""
_LEAP_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Header:
    """A block's identity and its time."""

    number: BlockNumber
    hash: Bytes32
    parent_hash: Bytes32
    time: UnixSeconds


def header_call(block: BlockNumber | str) -> Call:
    """Return the call for the header at a number or a tag (``latest``, ``finalized``)."""
    return "eth_getBlockByNumber", [hex(block) if isinstance(block, int) else block, False]


def parse_header(answer: object) -> Header:
    """Read the answer of ``header_call``; raises ``ChainUnavailable`` on null, a refusal or a malformed header."""
    if isinstance(answer, RpcRefused):
        raise ChainUnavailable("an RPC endpoint refused to show a block") from answer
    fields = mapping(answer)
    return Header(
        number=block_number(fields.get("number")),
        hash=hash_of(fields.get("hash")),
        parent_hash=hash_of(fields.get("parentHash")),
        time=block_time(fields.get("timestamp")),
    )


def header_at(rpc: ChainNode, tag: BlockNumber | str) -> Header:
    """Return the header at a number or a tag (``latest``, ``finalized``)."""
    return parse_header(rpc.answer(header_call(tag)))


def pace(rpc: ChainNode) -> float:
    """Return the average seconds between the newest 150 blocks, by the times in their headers."""
    newest = header_at(rpc, "latest")
    earlier = header_at(rpc, BlockNumber(max(0, newest.number - _PACE_BLOCKS)))
    return round((newest.time - earlier.time) / max(1, newest.number - earlier.number), 3)


def blocks_in(seconds: int, *, made: int, passed: int) -> int:
    """Return the least number of blocks that a chain makes in these seconds, if it ``made`` so many in ``passed``
    seconds.

    Blocks may share one time, which is in whole seconds: then they were made in a second.
    """
    return math.ceil(seconds * made / max(1, passed))


def block_before(rpc: ChainNode, newest: Header, seconds: int) -> Header:
    """Return a block at least that many seconds older than ``newest`` and not much more, or the chain's first block.

    The search leaps, each time at the pace that the last leap showed.
    """

    def behind(blocks: int) -> Header:
        return header_at(rpc, BlockNumber(max(0, newest.number - blocks)))

    block = behind(_OFFSET_BLOCKS)
    if (passed := newest.time - block.time) > 2 * seconds:
        block = behind(blocks_in(seconds, made=newest.number - block.number, passed=passed))
    while block.number > 0 and (passed := newest.time - block.time) < seconds:
        made = newest.number - block.number
        block = behind(max(blocks_in(seconds, made=made, passed=passed), made + made // 2 + 1))
    return block


@dataclass(frozen=True, slots=True)
class NearTip:
    """The newest block, and some a little older, each older than the one before."""

    newest: Header
    older: tuple[Header, ...]

    @staticmethod
    def calls(newest: Header) -> list[Call]:
        """Return the calls for the older ones."""
        return [header_call(BlockNumber(max(0, newest.number - behind))) for behind in _NEAR_BLOCKS]

    @staticmethod
    def of(newest: Header, known: ChainNode) -> "NearTip":
        """Read them where ``calls`` were answered."""
        return NearTip(newest, tuple(parse_header(known.answer(call)) for call in NearTip.calls(newest)))

    @staticmethod
    def read(rpc: ChainNode) -> "NearTip":
        """Read them in two requests."""
        newest = header_at(rpc, "latest")
        return NearTip.of(newest, Answers.of(rpc, NearTip.calls(newest)))


def block_to_sign(rpc: ChainNode, near: NearTip, used: Container[BlockNumber] = ()) -> Header:
    """Return the block to sign a request with: about six seconds older than the newest one, and none of those ``used``.

    After a halt of the chain or of its clock that block is too old to be fresh; then return the newest one.
    """
    newest, known = near.newest, {each.number: each for each in (near.newest, *near.older)}
    is_behind = (each for each in near.older if newest.time - each.time >= SIGNING_OFFSET_SECONDS - 2)
    block = next(is_behind, near.older[-1])

    def unused_near(start: BlockNumber) -> Header:
        nearest = chain(range(start, -1, -1), range(start + 1, newest.number + 1))
        number = next((BlockNumber(each) for each in nearest if each not in used), newest.number)
        return known[number] if number in known else header_at(rpc, number)

    block = unused_near(block.number)
    return block if newest.time - block.time <= _LEAP_SECONDS else unused_near(newest.number)
