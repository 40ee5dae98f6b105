"""Compare what the release assumes about the world with what the world answers: ``python -m tools.world [NETWORK]``.

Exit code 1 if something has moved, each thing on a line of its own.
"""

import sys
from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.blocks import header_at, header_call, pace
from bounty_protocol.chain.deployment import deployment_of, parse_network
from bounty_protocol.chain.rpc import Rpc, RpcRefused, hex_bytes, mapping, quantity
from bounty_protocol.chain.world import Expectations, expectations_of
from bounty_protocol.crypto.beacon import HttpGet, fetch_info
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import BlockNumber, bytes32

TOLERATED_PACE: Final = 1.5
"""By what factor a chain may be faster or slower than it is said to be: blocks are missed now and then."""


def moved(expected: Expectations, rpc: Rpc, http: HttpGet) -> Iterator[str]:
    """Yield each assumption that no longer holds."""
    seconds = pace(rpc)
    if not expected.block_seconds / TOLERATED_PACE <= seconds <= expected.block_seconds * TOLERATED_PACE:
        yield f"a block takes {seconds:g} s, not {expected.block_seconds:g} s"
    newest = header_at(rpc, "latest")
    lag = newest.time - header_at(rpc, "finalized").time
    if lag > expected.finality_seconds:
        yield f"finality is {lag} s behind, more than {expected.finality_seconds} s"
    limit = quantity(mapping(rpc.answer(header_call("latest"))).get("gasLimit"))
    if limit < expected.gas:
        yield f"a block holds {limit:,} gas, and a call may need {expected.gas:,}"
    for account, digest in expected.token_code.items():
        found = bytes32(keccak256(hex_bytes(rpc.call("eth_getCode", account, "latest"))))
        if found != digest:
            yield f"the code of {account} has the digest {found}, not {digest}"
    yield from _limits(expected, rpc, newest.number)
    yield from _beacon(expected, http)


def _limits(expected: Expectations, rpc: Rpc, newest: BlockNumber) -> Iterator[str]:
    """Ask the endpoint for as much as is asked at first, each once: what is refused is asked in parts ever after."""
    first, endpoint = max(0, newest - expected.range_blocks + 1), rpc.endpoints.all[0]
    nowhere = {"address": "0x" + "00" * 19 + "ff", "fromBlock": hex(first), "toBlock": hex(newest)}
    if isinstance(rpc.ask(endpoint, [("eth_getLogs", [nowhere])])[0], RpcRefused):
        yield f"logs of {expected.range_blocks:,} blocks are refused"
    answers = rpc.ask(endpoint, [header_call("latest")] * expected.batch_calls)
    if any(isinstance(each, RpcRefused) for each in answers):
        yield f"a batch of {expected.batch_calls} calls is refused"


def _beacon(expected: Expectations, http: HttpGet) -> Iterator[str]:
    beacon = expected.beacon
    try:
        info = fetch_info(beacon.urls, beacon.chain_hash, beacon.public_key, http)
    except ServiceError as error:
        yield f"the beacon is not as recorded: {error.message}"
        return
    if (info.genesis_time, info.period_seconds) != (beacon.genesis_time, beacon.period_seconds):
        yield f"the beacon began at {info.genesis_time} with a round each {info.period_seconds} s"


def main() -> int:
    """Compare one network, mainnet unless another is named."""
    record = deployment_of(parse_network(sys.argv[1] if len(sys.argv) > 1 else "mainnet"))
    if record is None or record.rpc_url is None:
        sys.exit("of this network nothing is assumed")
    found = list(moved(expectations_of(record), Rpc([record.rpc_url]), Urllib3Get()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
