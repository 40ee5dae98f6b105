"""Collecting what the chain says of one bounty: its log up to the finalized block, and the Hub's views there.

Promises: every log comes with its block's time, in a block that the chain holds at that height; what is not final is
not audited. Refuses a bounty that is open or whose end can still be reorganized away.
"""

from collections.abc import Sequence
from typing import Final

from service_common.chain.abi import hub_abi
from service_common.chain.blocks import parse_header
from service_common.chain.events import Log, SubmissionRecorded, decode_log, parse_log
from service_common.chain.events import bounty_of as bounty_of_event
from service_common.chain.hub import BountyView
from service_common.chain.json_rpc import Call, ChainUnavailable, RpcRefused, hex_bytes
from service_common.crypto.beacon_info import BeaconInfo
from service_common.errors import ServiceError
from service_common.types import Address, BlockNumber, BountyId, Bytes32, UnixSeconds

from service_cli.audit.evidence import ChainEvidence, FinalizedBlock, Read
from service_cli.client.beacon import beacon_of
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.facts import LOG_RANGE, bounty_topic
from service_cli.outcome import Refused
from service_cli.output import say

_BATCH: Final = 100
_MANY: Final = 20


def collect_chain(chain: ChainClient, bounty_id: BountyId, start: BlockNumber, *, beacon: bool) -> ChainEvidence:
    """The bounty's evidence from block ``start`` on; the beacon's clock where envelopes will be looked into."""
    block = chain.finalized()
    with chain_errors():
        view = chain.hub.bounty(bounty_id, block.number)
    if view is None or not view.outcome:
        raise _not_final(chain.bounty(bounty_id), bounty_id)
    with chain_errors():
        logs = _logs(chain, bounty_id, start, block.number)
        roster = chain.hub.roster(view.roster_version, block.number)
        solvers = {event.solver for event in map(decode_log, logs) if isinstance(event, SubmissionRecorded)}
        return ChainEvidence(
            chain_id=chain.chain_id,
            hub_address=chain.hub.address,
            bounty_id=bounty_id,
            finalized=FinalizedBlock(block.number, block.hash, block.time),
            logs=tuple(logs),
            times=_times(chain, logs),
            reads=tuple(_reads(chain, bounty_id, view.roster_version, roster.accounts, sorted(solvers), block.number)),
            beacon=_beacon(chain) if beacon else None,
        )


def _not_final(latest: BountyView, bounty_id: BountyId) -> Refused:
    if latest.outcome:
        message = f"The end of bounty {bounty_id} is not in a finalized block yet."
        return Refused("not_finalized", message, next_action="Run it again when the chain has finalized the block.")
    message = f"Bounty {bounty_id} is still open; there is nothing to audit."
    return Refused("bounty_open", message, next_action="Run it again once the bounty is final.")


def _logs(chain: ChainClient, bounty_id: BountyId, start: BlockNumber, end: BlockNumber) -> list[Log]:
    """The bounty's logs in the order of the chain."""
    if (ranges := (end - start) // LOG_RANGE) > _MANY:
        say(f"reading the Hub's log of {end - start} blocks in {ranges} steps")
    found: list[Log] = []
    for first in range(start, end + 1, LOG_RANGE):
        wanted = {
            "address": chain.hub.address,
            "fromBlock": hex(first),
            "toBlock": hex(min(end, first + LOG_RANGE - 1)),
            "topics": [None, bounty_topic(bounty_id)],
        }
        answer = chain.rpc.call("eth_getLogs", wanted)
        if not isinstance(answer, list):
            raise ChainUnavailable("an RPC endpoint answered no list of logs")
        found += [log for log in map(parse_log, answer) if _belongs(log, chain.hub.address, bounty_id)]
    return sorted(found, key=lambda log: (log.block_number, log.log_index))


def _belongs(log: Log, hub: Address, bounty_id: BountyId) -> bool:
    """Another event's first topic may be the same number: a roster's version."""
    if log.address != hub:
        raise ChainUnavailable("an RPC endpoint answered a log of another contract")
    return bounty_of_event(decode_log(log)) == bounty_id


def _times(chain: ChainClient, logs: Sequence[Log]) -> dict[Bytes32, UnixSeconds]:
    """The time of each log's block; a log of a block that the chain does not hold is refused."""
    hashes = {log.block_number: log.block_hash for log in logs}
    calls: list[Call] = [("eth_getBlockByNumber", [hex(number), False]) for number in hashes]
    headers = [parse_header(answer) for answer in _answers(chain, calls)]
    known = {header.hash: header.time for header in headers}
    if any(log.block_hash not in known for log in logs):
        raise ChainUnavailable("an RPC endpoint answered a log of a block that is not part of the chain")
    return known


def _reads(
    chain: ChainClient,
    bounty_id: BountyId,
    version: int,
    guardians: Sequence[Address],
    solvers: Sequence[Address],
    block: BlockNumber,
) -> list[Read]:
    named: list[tuple[str, tuple[object, ...]]] = [("getBounty", (bounty_id,)), ("getRoster", (version,))]
    named += [("getVerdict", (bounty_id, guardian)) for guardian in guardians]
    named += [("getSubmission", (bounty_id, solver)) for solver in solvers]
    functions = hub_abi().functions
    calls: list[Call] = []
    for function, arguments in named:
        data = "0x" + functions[function].encode(*arguments).hex()
        calls.append(("eth_call", [{"to": chain.hub.address, "data": data}, hex(block)]))
    answers = _answers(chain, calls)
    return [
        Read(function, tuple(map(str, arguments)), hex_bytes(answer))
        for (function, arguments), answer in zip(named, answers, strict=True)
    ]


def _answers(chain: ChainClient, calls: list[Call]) -> list[object]:
    answers: list[object] = []
    for first in range(0, len(calls), _BATCH):
        answers += chain.rpc.batch(calls[first : first + _BATCH])
    for answer in answers:
        if isinstance(answer, RpcRefused):
            raise answer
    return answers


def _beacon(chain: ChainClient) -> BeaconInfo | None:
    """The beacon's clock, for the reveal point of an envelope; nothing else of an audit needs it."""
    try:
        return beacon_of(chain.settings)
    except ServiceError:
        return None
