"""Each value that a command reads from the RPC or the API, told wrongly alone: whatever the command then signs is true.

Promises shown: every transaction that was signed did what the honest run would have done (none reverted, none over
another value; an allowance of exactly the escrow may go before a creation), every signed request names the true chain,
Hub and bytes, what is opened is the work itself or nothing, and no key is ever sent anywhere. A dozen lies of three
commands by default, drawn by SERVICE_CAMPAIGN_SEED; every one of every command in a campaign.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from bounty_protocol.auth.header import parse_header
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.events import decode_log, parse_log
from bounty_protocol.chain.json_rpc import mapping, quantity
from bounty_protocol.crypto import sealed_box
from bounty_protocol.domain import hub_events as hub
from bounty_protocol.domain.abi_hashes import recipients_commitment
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.domain.hub_events import HubEvent
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.domain.money import fee_amount
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds
from service_cli.chain.transactions import TokenApproval

from tests.campaign import FULL, source
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import new_ledger
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.lies import Lie, forged, leaves, listen
from tests.cli.scenes import SCENES, Case, Stage, make_stage
from tests.cli.servers import Request, RpcProxy
from tests.cli.submitted import files_below
from tests.clocks import HurriedClock

AWARD = ESCROW * 96 // 100
SHARE = ESCROW * 300 // 10_000 // 3


@pytest.fixture
def ledger(ledger: Ledger) -> Iterator[Ledger]:
    """In a campaign a chain for each command: what the lies about one leave would make each further one slower."""
    with new_ledger() if FULL else nullcontext(ledger) as found:
        yield found


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


@contextmanager
def answering(stage: Stage, tell: Callable[[str, object], object]) -> Iterator[None]:
    servers = {"api": stage.api.server, "rpc": stage.rpc.server}
    for name, server in servers.items():
        listen(server, lambda question, answer, name=name: tell(f"{name} {question}", answer))  # type: ignore[misc]
    yield
    for server in servers.values():
        server.alter = lambda _request, reply: reply


def possible_lies(stage: Stage, case: Case) -> list[Lie]:
    """Every place of every answer of an honest run."""
    seen: dict[Lie, None] = {}

    def note(question: str, answer: object) -> object:
        seen.update(dict.fromkeys(Lie(question, path, word) for path, word in leaves(answer)))
        return answer

    with answering(stage, note):
        assert case.home.run(*case.words).last["event"] == case.event
    return list(seen)


@dataclass(frozen=True, slots=True)
class Before:
    """Where everything stood."""

    block: int
    api_requests: int
    rpc_requests: int


def play(stage: Stage, scene: Callable[[Stage], Case], lie: Lie) -> None:
    case = scene(stage)
    head = stage.ledger.node.w3.eth.block_number
    before = Before(head, len(stage.api.server.requests), len(stage.rpc.server.requests))
    with (
        HurriedClock().in_place(),
        answering(stage, lambda question, answer: forged(answer, lie) if question == lie.question else answer),
    ):
        ran = case.home.run_any(*case.words)
    where = (case.words[0], lie, ran.last.get("code", ran.last["event"]))
    mine_what_waits(stage, case)
    sent, effects = sent_since(stage, case, before), effects_since(stage, case, before)
    most = case.transactions + case.words.count("--all")  # a lie about other bounties can part its two amounts
    assert len(sent) == len({tx_hash for tx_hash, _ in effects}) <= most, where
    for _, effect in effects:
        assert is_true(stage, case, effect), (*where, effect)
    for request in stage.api.server.requests[before.api_requests :]:
        assert is_signed_truly(stage, case, request), (*where, request.path)
    assert_only_the_work(stage, case)
    assert_no_key_left(stage, case, before)


def mine_what_waits(stage: Stage, case: Case) -> None:
    """A transaction signed over a nonce that is not due yet counts as much as one that was mined."""
    rpc = stage.ledger.node.rpc
    for account, found in mapping(mapping(rpc.call("txpool_content"))["queued"]).items():
        assert isinstance(found, dict)
        assert (account.lower(), len(found)) == (case.account.lower(), 1)
        rpc.call("anvil_setNonce", account, hex(int(next(iter(found)))))
        stage.ledger.node.mine(1)


def sent_since(stage: Stage, case: Case, before: Before) -> list[object]:
    """This account's mined transactions, but for the allowance that a funding may begin with."""
    rpc = stage.ledger.node.rpc
    head, found = quantity(rpc.call("eth_blockNumber")), []
    for number in range(before.block + 1, head + 1):
        transactions = mapping(rpc.call("eth_getBlockByNumber", hex(number), True))["transactions"]
        assert isinstance(transactions, list)
        found += [each for each in transactions if each["from"].lower() == case.account.lower()]
    return [each for each in found if not is_exact_allowance(stage, each)]


def is_exact_allowance(stage: Stage, transaction: Mapping[str, object]) -> bool:
    approve = TokenApproval(Address(stage.ledger.contract.address), ESCROW, "")
    return (transaction["to"], transaction["input"]) == (stage.ledger.token.address, approve.data)


def effects_since(stage: Stage, case: Case, before: Before) -> list[tuple[Bytes32, HubEvent]]:
    """The Hub's events by this account's transactions, with these; a decision by a Verdict counts with it."""
    rpc = stage.ledger.node.rpc
    wanted = {"address": stage.ledger.contract.address, "fromBlock": hex(before.block), "toBlock": "latest"}
    logs = rpc.call("eth_getLogs", wanted)
    assert isinstance(logs, list)
    found = [(parse_log(log), decode_log(parse_log(log))) for log in logs]
    senders = {log.tx_hash: mapping(rpc.call("eth_getTransactionByHash", log.tx_hash)) for log, _ in found}
    return [
        (log.tx_hash, effect)
        for log, effect in found
        if log.block_number > before.block
        and str(senders[log.tx_hash]["from"]).lower() == case.account.lower()
        and not isinstance(effect, hub.BountyFinalized)
    ]


def is_true(stage: Stage, case: Case, effect: HubEvent) -> bool:
    """Whether an effect is what an honest run would have brought about."""
    match effect:
        case hub.BountyCreated():
            return is_true_bounty(stage, case, effect)
        case hub.SubmissionRecorded():
            return str(effect.bounty_id) == case.words[1] and is_true_envelope(stage, effect)
        case hub.VerdictRecorded():
            body = stage.api.verdicts.get(effect.report_commitment, b"")
            return (str(effect.bounty_id), effect.kind) == (
                case.words[1],
                VerdictKind.NO_VALID_SUBMISSION,
            ) and b"None holds." in body
        case hub.AwardClaimed() | hub.GuardianFeeClaimed():
            paid = AWARD if isinstance(effect, hub.AwardClaimed) else SHARE
            named = case.words[1] in {"--all", str(effect.bounty_id)}
            return named and effect.amount == paid
        case hub.GuardianHeartbeat():
            return case.words[0] == "guardian:heartbeat"
        case _:
            return False


def is_true_bounty(stage: Stage, case: Case, made: hub.BountyCreated) -> bool:
    page = (case.home.home / "page.md").read_bytes()
    terms, (protocol, guardian, recipient) = parse_challenge(page), stage.api.hub.fee_policy()
    return (
        made.poster == case.account
        and made.spec_commitment == spec_commitment(page)
        and made.guardian_roster_hash == stage.ledger.hub.roster_hash
        and (made.escrow_amount, made.submission_deadline) == (terms.escrow_amount, terms.submission_deadline)
        and made.judging_deadline - made.reveal_at == terms.judging_window_seconds
        and made.protocol_fee == fee_amount(terms.escrow_amount, protocol)
        and made.guardian_fee == fee_amount(terms.escrow_amount, guardian)
        and made.protocol_fee_recipient == recipient
    )


def is_true_envelope(stage: Stage, made: hub.SubmissionRecorded) -> bool:
    """Sealed for the true roster's keys until the true reveal point; the envelope is what the API was given."""
    content = stage.api.envelopes.get(made.submission_commitment)
    view = stage.api.hub.bounty(BountyId(made.bounty_id))
    if content is None or view is None:
        return False
    envelope, keys = parse_envelope(content), stage.api.hub.roster(view.roster_version).encryption_keys
    return (
        envelope.guardian_roster_hash == view.guardian_roster_hash
        and envelope.recipients_commitment == recipients_commitment(view.guardian_roster_hash, keys)
        and envelope.reveal_policy == stage.ledger.beacon.info.reveal_policy(UnixSeconds(view.reveal_at))
        and envelope.hub_address == stage.ledger.contract.address
        and envelope.solver_address == made.solver
    )


def is_signed_truly(stage: Stage, case: Case, request: Request) -> bool:
    """Whether a request's signature, if it has one, is its account's over the true chain, Hub and these very bytes."""
    if (text := request.headers.get("authorization")) is None:
        return True
    header = parse_header(text)
    audience = stage.api.url.removeprefix("http://")
    signed = RequestToSign(request.method, request.path, request.query, request.body, audience)
    domain = SigningDomain(stage.api.chain_id, Address(stage.ledger.contract.address))
    approval = signed.approval(header.block_number, header.block_hash)
    return recover(digest(domain, approval), header.signature) == header.address == case.account


def assert_only_the_work(stage: Stage, case: Case) -> None:
    """Files are those that were sealed; a key was handed over to the true delivery key only."""
    out = case.home.home / "out"
    assert not out.exists() or files_below(out) in ({}, stage.awarded.files)
    for commitment, wrapped in stage.api.wraps.items():
        envelope = parse_envelope(stage.api.envelopes[commitment])
        assert sealed_box.unwrap(wrapped, [stage.ledger.delivery], envelope.content_public_key)


def assert_no_key_left(stage: Stage, case: Case, before: Before) -> None:
    keys = [value for name, value in case.home.environment.items() if "PRIVATE_KEY" in name]
    needles = [key.removeprefix("0x") for value in keys for key in (json.loads(value) if value[:1] == "[" else [value])]
    assert needles or "--solver-address" in case.words
    asked = (*stage.api.server.requests[before.api_requests :], *stage.rpc.server.requests[before.rpc_requests :])
    for request in asked:
        sent = f"{request.path}{request.query}{request.headers}".encode() + request.body
        assert not any(needle.encode() in sent for needle in needles)


@pytest.mark.spec(25, 277)
@pytest.mark.parametrize("scene", SCENES if FULL else source("lies").sample(SCENES, 3), ids=lambda each: each.__name__)
def test_lie__one_value_at_a_time__never_gets_a_signature_over_it(stage: Stage, scene: Callable[[Stage], Case]) -> None:
    lies, wrong = possible_lies(stage, scene(stage)), []
    assert len(lies) >= 8
    for lie in lies if FULL else source(f"lies of {scene.__name__}").sample(lies, 4):
        try:
            play(stage, scene, lie)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
