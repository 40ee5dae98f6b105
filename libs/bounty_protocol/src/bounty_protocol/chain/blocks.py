"""Block headers as the chain reports them."""

from dataclasses import dataclass, field

from bounty_protocol.chain.json_rpc import (
    ChainUnavailable,
    JsonRpc,
    RpcRefused,
    block_number,
    block_time,
    hash_of,
    hex_bytes,
    mapping,
)
from bounty_protocol.types import BlockNumber, Bytes32, UnixSeconds


@dataclass(frozen=True, slots=True)
class Header:
    """A block's identity and its time.

    The roots are of the chain's whole state after the block, and of the block's receipts: known only where the hash was
    computed from the header's fields.
    """

    number: BlockNumber
    hash: Bytes32
    parent_hash: Bytes32
    time: UnixSeconds
    logs_bloom: bytes
    state_root: Bytes32 | None = field(default=None, compare=False)
    receipts_root: Bytes32 | None = field(default=None, compare=False)


def parse_header(answer: object) -> Header:
    """A header from ``eth_getBlockBy…``; raises ``ChainUnavailable`` on null or a malformed one."""
    fields = mapping(answer)
    bloom = fields.get("logsBloom")
    try:
        logs_bloom = hex_bytes(bloom) if isinstance(bloom, str) else b""
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint answered a malformed filter of logs") from error
    return Header(
        number=block_number(fields.get("number")),
        hash=hash_of(fields.get("hash")),
        parent_hash=hash_of(fields.get("parentHash")),
        time=block_time(fields.get("timestamp")),
        logs_bloom=logs_bloom,
    )


def header_at(rpc: JsonRpc, tag: BlockNumber | str) -> Header:
    """The header at a number or a tag (``latest``, ``finalized``)."""
    return parse_header(rpc.call("eth_getBlockByNumber", hex(tag) if isinstance(tag, int) else tag, False))


def headers_between(rpc: JsonRpc, first: BlockNumber, last: BlockNumber) -> list[Header]:
    """Headers of all blocks from ``first`` to ``last``, both included, in one batch."""
    answers = rpc.batch([("eth_getBlockByNumber", [hex(n), False]) for n in range(first, last + 1)])
    for answer in answers:
        if isinstance(answer, RpcRefused):
            raise ChainUnavailable("an RPC endpoint refused to show a block") from answer
    return [parse_header(answer) for answer in answers]
