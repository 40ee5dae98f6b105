"""Collecting the evidence of one bounty: the Hub's log and views at the finalized block, and the service's answers.

Every log comes with its block's time, in a block that the chain holds at that height. A bounty that is open, or whose
end can still be reorganized away, is refused. The API's index is only a hint where a long log begins: a log without the
creation is noticed, and then the whole log is read. Nothing that the service does or fails to do ends an audit: what is
missing is missing with its reason. Only envelopes need a signature; without a key none is made.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import header_call, parse_header
from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.chain.rpc import Call, ChainUnavailable, RpcRefused, hex_bytes
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.domain.hub_events import SubmissionRecorded
from bounty_protocol.domain.hub_events import bounty_of as bounty_of_event
from bounty_protocol.errors import ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, HexData, UnixSeconds
from bounty_protocol.wire.deployment import DeploymentStatus

from service_cli.api import ApiClient
from service_cli.audit.history import LAST_ACTIVE, BountyHistory, ChainEvidence, FinalizedBlock, Read, ServiceEvidence
from service_cli.chain.receipts import bounty_topic, hub_events
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.errors import OF_ONE, CommandFailed, CommandRefused
from service_cli.submissions import beacon_of
from service_cli.ui.output import say

_MANY_BLOCKS: Final = 100_000


def collect_chain(chain: ChainClient, bounty_id: BountyId, start: BlockNumber, *, beacon: bool) -> ChainEvidence:
    """The bounty's evidence from block ``start`` on; the beacon's clock where envelopes will be checked."""
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
            beacon=_beacon_info(chain) if beacon else None,
        )


def _not_final(latest: BountyView, bounty_id: BountyId) -> CommandRefused:
    if latest.outcome:
        message = f"The end of bounty {bounty_id} is not in a finalized block yet."
        return CommandRefused(
            "not_finalized", message, next_action="Run it again when the chain has finalized the block."
        )
    message = f"Bounty {bounty_id} is still open; there is nothing to audit."
    return CommandRefused("bounty_open", message, next_action="Run it again once the bounty is final.")


def _logs(chain: ChainClient, bounty_id: BountyId, start: BlockNumber, end: BlockNumber) -> list[Log]:
    """The bounty's logs in the order of the chain."""
    if end - start > _MANY_BLOCKS:
        say(f"reading the Hub's log of {end - start} blocks")
    events = hub_events(chain, start, [None, bounty_topic(bounty_id)], end)
    own = [log for log, event in events if bounty_of_event(event) == bounty_id]  # a roster's version may be that number
    return sorted(own, key=lambda log: (log.block_number, log.log_index))


def _times(chain: ChainClient, logs: Sequence[Log]) -> dict[Bytes32, UnixSeconds]:
    """The time of each log's block; a log of a block that the chain does not hold is refused."""
    hashes = {log.block_number: log.block_hash for log in logs}
    calls = [header_call(number) for number in hashes]
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
        Read(function, tuple(map(str, arguments)), HexData(hex_bytes(answer)))
        for (function, arguments), answer in zip(named, answers, strict=True)
    ]


def _answers(chain: ChainClient, calls: list[Call]) -> list[object]:
    answers = chain.rpc.batch(calls)
    for answer in answers:
        if isinstance(answer, RpcRefused):
            raise answer
    return answers


def _beacon_info(chain: ChainClient) -> BeaconInfo | None:
    """The beacon's clock, for the reveal point of an envelope; nothing else of an audit needs it."""
    try:
        return beacon_of(chain.settings)
    except ServiceError:
        return None


RECORD_SECONDS: Final = 30.0
"""How long a record that only waits for the index is waited for."""
MOST_ENVELOPES: Final = 200
MOST_VERDICTS: Final = 200
MOST_DOCUMENT_BYTES: Final = 12 * 2**20
"""Of all Verdicts, and of all envelopes. With the other limits, a bundle holds whatever a service answers."""
MOST_REASON: Final = 200
_POLL_SECONDS: Final = 1.0
_PASSING: Final = {"not_finalized", "index_behind"}


def collect_service(api: ApiClient, history: BountyHistory, signer: LocalSigner | None) -> ServiceEvidence:
    """Everything that the service shows of this bounty."""
    evidence = ServiceEvidence()
    asking = ServiceQuestions(evidence.missing)
    indexed, finalized = _indexed(api), history.chain.finalized.number  # before the detail, whose index is no older
    evidence.detail = asking.fetch("detail", lambda: _detail(api, history))
    if indexed is not None and indexed < finalized:
        evidence.missing[LAST_ACTIVE] = f"the service's index was at block {indexed}, before block {finalized}"
    left = MOST_DOCUMENT_BYTES
    for commitment in wanted_verdicts(history):
        if (found := asking.document(commitment, partial(_verdict, api, commitment), left)) is not None:
            evidence.verdicts[commitment] = found
            left -= len(found)
    left = MOST_DOCUMENT_BYTES
    for commitment in wanted_envelopes(history):
        if signer is None:
            evidence.missing[commitment] = "reading it takes the Poster's or a Guardian's key (--sign-as)"
            continue
        read = partial(_envelope, api, history, signer, commitment)
        if (found := asking.document(commitment, read, left)) is not None:
            evidence.envelopes[commitment] = found
            left -= len(found)
    return evidence


@dataclass(slots=True)
class ServiceQuestions:
    """Requests of one service whose silence ends nothing; ``missing`` gets by name why an answer is not there."""

    missing: dict[str, str]
    answers: bool = True

    def fetch(self, name: str, get: Callable[[], bytes]) -> bytes | None:
        """One answer; once the API is silent, the rest is not requested."""
        if not self.answers:
            self.missing[name] = "the API does not answer"
            return None
        try:
            return get()
        except CommandFailed as failed:
            self.answers = failed.code in OF_ONE
            self.missing[name] = failed.message[:MOST_REASON]
        except CommandRefused as refused:
            self.missing[name] = f"the API says {refused.code}: {refused.message}"[:MOST_REASON]
        return None

    def document(self, name: str, get: Callable[[], bytes], left: int) -> bytes | None:
        """A written Verdict or an envelope; one too large is missing, so that evidence can be read again."""
        content = self.fetch(name, get)
        if content is not None and len(content) > (most := min(MAX_DOCUMENT_BYTES, left)):
            self.missing[name] = f"the API answers {len(content)} bytes, more than an audit takes here ({most})"
            return None
        return content


def wanted_verdicts(history: BountyHistory) -> list[Bytes32]:
    """The Verdicts that counted, then the newest of those replaced, as many as are looked at."""
    counted = [each.event.report_commitment for each in history.latest_verdicts().values()]
    replaced = [each.event.report_commitment for each in reversed(history.verdicts)]
    return list(dict.fromkeys([*counted, *replaced]))[:MOST_VERDICTS]


def wanted_envelopes(history: BountyHistory) -> list[Bytes32]:
    """The winner's first, then the other active Submissions', as many as are looked at."""
    winner = history.finalized.event.submission_commitment
    active = [each.event.submission_commitment for each in history.active_submissions()]
    ordered = dict.fromkeys(sorted(active, key=lambda commitment: commitment != winner))
    return list(ordered)[:MOST_ENVELOPES]


def _detail(api: ApiClient, history: BountyHistory) -> bytes:
    """The public detail, waited for while the index only catches up with the end."""
    ends, shown = time.monotonic() + RECORD_SECONDS, False
    while True:
        body = api.get(f"/api/bounties/{history.chain.bounty_id}").body
        if not _passing(body) or time.monotonic() > ends:
            return body
        if not shown:
            say("waiting until the service can derive the record")
            shown = True
        time.sleep(_POLL_SECONDS)


def _indexed(api: ApiClient) -> BlockNumber | None:
    """The newest block of the service's index; None where it does not say."""
    try:
        position = api.get("/api/status", patient=False).read(DeploymentStatus).position
    except ServiceError:
        return None
    return None if position is None else position.block_number


def _passing(body: bytes) -> bool:
    try:
        error = read_object(body).get("verification_record_error")
        return isinstance(error, dict) and error.get("code") in _PASSING
    except ValueError:
        return False


def _verdict(api: ApiClient, commitment: Bytes32) -> bytes:
    return api.get(f"/api/written-verdicts/{commitment}").body


def _envelope(api: ApiClient, history: BountyHistory, signer: LocalSigner, commitment: Bytes32) -> bytes:
    bounty_id = history.chain.bounty_id
    path = f"/api/bounties/{bounty_id}/submissions/{commitment}/content"
    answer = api.signed(signer, "GET", path, summary=f"read Submission {commitment} of bounty {bounty_id}").json()
    envelope = answer.get("envelope")
    return envelope.encode() if isinstance(envelope, str) else b""
