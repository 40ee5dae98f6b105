"""``poster:publish-fund``: funds once, and only what was read; lies and accidents never move money."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.deployment import deployment_of
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.types import Address, ChainId
from service_cli.acts.publish import confirm
from service_cli.chain.session import ChainClient
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.conditions import read_conditions

from tests.campaign import some
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.lies import lie_at
from tests.cli.screen import text_of
from tests.cli.servers import Lost, Params, RpcProxy
from tests.cli.terminal import Ran, Terminal
from tests.providers import NO_CREDITS

AUTHORIZED = "0x" + hub_abi().functions["createBountyWithAuthorization"].selector.hex()


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "bounty_challenge.md"
    path.write_bytes(ledger.page())
    return path


def balance(ledger: Ledger) -> int:
    return int(ledger.token.call("balanceOf", ledger.people.poster.address))


@pytest.mark.spec(2, 9, 209, 338, 339)
def test_publish_fund__an_honest_deployment__creates_the_bounty_once(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.names == ["publish_fund.publication_prepared", "publish_fund.bounty_created"]
    prepared, created = ran.events
    assert prepared == {
        "event": "publish_fund.publication_prepared",
        "spec_commitment": spec_commitment(page.read_bytes()),
        "byte_length": len(page.read_bytes()),
        "poster": ledger.people.poster.address,
        "hub_address": ledger.contract.address,
        "escrow_amount": str(ESCROW),
        "submission_deadline": prepared["submission_deadline"],
    }
    assert set(created) == {"event", "tx_hash", "block_number", "bounty_id", "spec_commitment"}
    assert before - balance(ledger) == ESCROW
    again = poster.run("poster:publish-fund", str(page))
    assert again.events == (created,)
    assert before - balance(ledger) == ESCROW


def test_publish_fund__before_a_review__asks_once_how_the_api_describes_itself(
    api: ApiTwin, poster: Terminal, page: Path
) -> None:
    poster.run("poster:publish-fund", str(page))
    described, published = "/api/deployment", "/api/bounty-challenge-specs/prepare-publication"
    asked = [request.path for request in api.server.requests if request.path in {described, published}]
    assert asked == [described, published]


@pytest.mark.parametrize("is_ready", [True, False])
def test_publish_fund__of_a_page_that_the_rules_refuse__sends_nothing_and_names_what_they_found(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, is_ready: bool
) -> None:
    if is_ready:
        assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
        return
    page.write_bytes(ledger.page().replace(b"It prints 1.", b"It is of high quality."))
    refused = poster.run("poster:publish-fund", str(page), code=1).last
    assert refused["code"] == "page_not_ready"
    (issue,) = cast("list[dict[str, str]]", refused["issues"])
    assert issue["path"] == "acceptance_criteria[0]"
    assert issue["message"].startswith("Line 9: ")
    assert f"poster:check {page}" in str(refused["next_action"])
    assert (rpc.sent(), api.approvals()) == (0, [])


@pytest.mark.spec(239, 240)
def test_publish_fund__by_a_plain_account__sends_the_authorization_that_was_signed(
    ledger: Ledger, poster: Terminal, page: Path
) -> None:
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.words.count("signing: let the Hub") == 1
    sent = ledger.node.rpc.call("eth_getTransactionByHash", ran.last["tx_hash"])
    assert isinstance(sent, dict)
    assert str(sent["input"]).startswith(AUTHORIZED)


@pytest.mark.spec(51, 210, 237)
def test_publish_fund__from_stdin__takes_the_exact_bytes(ledger: Ledger, api: ApiTwin, poster: Terminal) -> None:
    page = ledger.page().replace(b"\n", b"\r\n", 0) + "Ümlaut – ☃\n".encode()
    ran = poster.run("poster:publish-fund", "-", stdin=page)
    assert ran.last["spec_commitment"] == spec_commitment(page)
    assert api.pages[spec_commitment(page)] == page


TERMS = [("create_bounty", "args", 0, i) for i in range(7)]
AUTHORIZED_TERMS = [("create_bounty_with_authorization", "args", 0, i) for i in range(7)]
LIES: list[tuple[str | int, ...]] = [
    ("spec_commitment",),
    ("byte_length",),
    ("chain_id",),
    ("hub_address",),
    ("escrow_token_address",),
    ("poster_address",),
    ("fee_policy", "protocol_fee_bps"),
    ("fee_policy", "guardian_fee_bps"),
    ("fee_policy", "protocol_fee_recipient"),
    ("guardian_roster", "version"),
    ("guardian_roster", "guardian_roster_hash"),
    ("guardian_roster", "quorum"),
    ("guardian_roster", "members", 1, "guardian_address"),
    ("guardian_roster", "members", 2, "encryption_public_key"),
    ("create_bounty", "function_name"),
    ("create_bounty_with_authorization", "function_name"),
    ("create_bounty_with_authorization", "args", 1),
    ("create_bounty_with_authorization", "args", 2),
    *TERMS,
    *AUTHORIZED_TERMS,
]


@pytest.mark.spec(25, 238, 242, 243)
def test_publish_fund__an_api_that_lies_in_any_one_field__signs_nothing_but_the_request(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    for path in LIES:
        api.lies["publish"] = lie_at(*path)
        ran = poster.run("poster:publish-fund", str(page), code=1)
        assert ran.last["code"] == "publication_mismatch", path
        assert ran.words.count("signing:") == 1, path
    assert rpc.sent() == 0


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"", b"{}", b'{"create_bounty": [[[]]]}', b"[" * 60_000])
def test_publish_fund__an_answer_of_another_shape__signs_nothing_more(
    api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, answer: bytes
) -> None:
    api.scripts["publish"] = lambda _request: (200, answer, {"Content-Type": "application/json"})
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] in {"answer_malformed", "publication_mismatch"}
    assert ran.words.count("signing:") == 1
    assert rpc.sent() == 0


@pytest.mark.parametrize(
    ("method", "altered", "code"),
    [
        ("eth_chainId", "0x1", "deployment_mismatch"),
        ("eth_getCode", "0x", "deployment_mismatch"),
        ("eth_call", "0x" + "00" * 32, "deployment_mismatch"),
        ("eth_call", "0x", "chain_unavailable"),
        ("eth_chainId", None, "chain_unavailable"),
        ("eth_blockNumber", "soon", "chain_unavailable"),
        ("eth_getBlockByNumber", None, "chain_unavailable"),
        ("eth_getBalance", "0x0", "gas_insufficient"),
    ],
)
def test_publish_fund__an_rpc_that_lies__signs_nothing(
    rpc: RpcProxy, poster: Terminal, page: Path, method: str, altered: object, code: str
) -> None:
    rpc.after = lambda called, _params, result: altered if called == method else result
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == code
    assert "let the Hub" not in ran.words
    assert rpc.sent() == 0


DECIMALS = "0x313ce567"


def with_decimals(rpc: RpcProxy, answer: object) -> None:
    """The endpoint answers this for the token's decimals."""

    def after(method: str, params: Params, result: object) -> object:
        call = params[0] if params else None
        return answer if isinstance(call, dict) and call.get("data") == DECIMALS else result

    rpc.after = after


@pytest.mark.attack
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (hex(0), "token_decimals_mismatch"),
        (hex(5), "token_decimals_mismatch"),
        (hex(36), "token_decimals_mismatch"),
        (hex(37), "chain_unavailable"),
        (hex(255), "chain_unavailable"),
        (hex(10**400), "chain_unavailable"),
        ("-0x1", "chain_unavailable"),
        (6, "chain_unavailable"),
    ],
)
def test_decimals_of_one_endpoint_are_not_believed(
    api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, answer: object, code: str
) -> None:
    """Between 0 and 255 they were accepted and funded."""
    with_decimals(rpc, answer)
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == code
    assert (rpc.sent(), "signing:" in ran.words, api.approvals()) == (0, False, [])
    rpc.honest()
    assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"


@pytest.mark.attack
@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("escrow_token", "decimals"), 18, "token_decimals_mismatch"),
        (("escrow_token", "decimals"), "6", "answer_malformed"),
        (("escrow_token", "decimals"), -1, "token_decimals_mismatch"),
        (("escrow_token", "address"), "0x" + "11" * 20, "deployment_mismatch"),
    ],
)
def test_decimals_of_the_api_are_compared(
    api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, path: tuple[str, ...], value: object, code: str
) -> None:
    api.lies["deployment"] = lie_at(*path, value=value)
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert (ran.last["code"], rpc.sent(), "signing:" in ran.words) == (code, 0, False)


@pytest.mark.spec(27)
@pytest.mark.attack
def test_decimals_are_those_of_the_network_s_record(api: ApiTwin) -> None:
    record = deployment_of(ChainId(8453))
    assert record is not None
    assert record.escrow_token_decimals == 6
    here = replace(record, hub_address=api.hub.address, escrow_token_address=api.hub.token())
    settings = Settings(Environment(api.variables(), {}), ChainId(31337), here, None)
    assert ChainClient(settings).token.decimals == 6
    other = replace(settings, record=replace(here, escrow_token_decimals=18))
    with pytest.raises(CommandRefused) as refused:
        read_conditions(ChainClient(other))
    assert refused.value.code == "token_decimals_mismatch"
    unknown = replace(settings, record=replace(here, escrow_token_address=Address("0x" + "11" * 20)))
    assert read_conditions(ChainClient(unknown)).constants.token.decimals == 6


NUMBERS: list[object] = [hex(10**400), "-0x1", "0x", "many", 10**400, 1e400, None, [], {"a": 1}]
ASKED = [
    "eth_chainId",
    "eth_getBalance",
    "eth_getTransactionCount",
    "eth_maxPriorityFeePerGas",
    "eth_feeHistory",
    "baseFeePerGas",
    "number",
    "timestamp",
]


WRONG = [(asked, number) for asked in ASKED for number in NUMBERS]


@pytest.mark.attack
@pytest.mark.parametrize(("asked", "number"), some("numbers", WRONG, 12), ids=lambda each: str(each)[:12])
def test_number_that_no_chain_has_ends_before_an_authorization(
    rpc: RpcProxy, poster: Terminal, page: Path, asked: str, number: object
) -> None:
    """An estimate of 10**400 gas ended in OverflowError, after the authorization was signed."""

    def after(method: str, _params: Params, result: object) -> object:
        if method == asked:
            return {"reward": [[number]]} if method == "eth_feeHistory" else number
        in_block = method == "eth_getBlockByNumber" and isinstance(result, dict) and asked in result
        return {**result, asked: number} if in_block else result  # type: ignore[dict-item]

    rpc.after = after
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "chain_unavailable"
    assert (rpc.sent(), "signing: let" in ran.words) == (0, False)


@pytest.mark.attack
@pytest.mark.parametrize("gas", some("estimates", NUMBERS, 4), ids=lambda gas: str(gas)[:8])
def test_estimate_that_no_chain_has_is_a_malformed_answer(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, gas: object
) -> None:
    guardian = person(ledger, api, rpc, tmp_path / "guardian", "guardian-1")
    rpc.after = lambda method, _params, result: gas if method == "eth_estimateGas" else result
    ran = guardian.run("guardian:heartbeat", code=1)
    assert (ran.last["code"], rpc.sent(), "signing:" in ran.words) == ("chain_unavailable", 0, False)


@pytest.mark.attack
@pytest.mark.parametrize("moment", ["first run", "signed by an earlier run", "spent while it was published"])
def test_authorization_is_neither_signed_nor_shown_without_ether_for_gas(
    api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, moment: str
) -> None:
    shown: list[str] = []
    authorized = "0x" + hub_abi().functions["createBountyWithAuthorization"].selector.hex()
    if moment == "signed by an earlier run":
        away: dict[str, object] = {"error": {"code": -32000, "message": "not today"}}
        rpc.before = lambda _method, params: away if authorized in str(params[:1]) else None
        assert "signing: let" in poster.run("poster:publish-fund", str(page), code=1).words

    def before(method: str, params: Params) -> dict[str, object] | None:
        if method in {"eth_call", "eth_estimateGas"} and isinstance(params[0], dict):
            shown.append(str(params[0].get("data"))[:10])
        spent = moment != "spent while it was published" or api.approvals()
        return {"result": "0x0"} if method == "eth_getBalance" and spent else None

    rpc.before = before
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "gas_insufficient"
    assert ("signing: let" in ran.words, authorized in shown) == (False, False)


def test_publish_fund__a_hub_of_the_release_before__is_refused_by_name_before_the_key_is_used(
    rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    delay = "0x" + hub_abi().functions["publicationDelay"].selector.hex()

    def without_delay(method: str, params: Params) -> dict[str, object] | None:
        call = params[0] if params else None
        if method == "eth_call" and isinstance(call, dict) and call["data"] == delay:
            return {"error": {"code": 3, "message": "execution reverted", "data": "0x"}}
        return None

    rpc.before = without_delay
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "hub_outdated"
    assert "signing:" not in ran.words
    assert rpc.sent() == 0


@pytest.mark.spec(206)
def test_publish_fund__values_of_another_deployment__are_refused_before_the_key_is_used(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    other = ledger.people.owner.address
    for name, value in (
        ("SERVICE_HUB_ADDRESS", other),
        ("SERVICE_ESCROW_TOKEN_ADDRESS", other),
        ("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "3600"),
    ):
        mixed = Terminal(poster.home, {**poster.environment, name: value})
        ran = mixed.run("poster:publish-fund", str(page), code=1)
        assert ran.last["code"] == "deployment_mismatch"
        assert "signing:" not in ran.words


def test_publish_fund__mined_between_two_looks_of_the_run_after_a_kill__is_found(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before, looks = balance(ledger), []
    run_killed(poster, rpc, "poster:publish-fund", str(page), method="eth_sendRawTransaction", forward=True)

    def after(method: str, _params: Params, result: object) -> object:
        if method == "eth_getLogs":
            looks.append(method)
        return [] if method == "eth_getLogs" and len(looks) == 1 else result

    rpc.after = after
    assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
    assert before - balance(ledger) == ESCROW


def test_publish_fund__a_node_that_hides_the_creation__never_makes_a_second_escrow(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    hidden: dict[str, object] = {
        "eth_getTransactionReceipt": None,
        "eth_getTransactionByHash": None,
        "eth_getLogs": [],
    }
    rpc.after = lambda method, _params, result: hidden.get(method, result)
    assert poster.run("poster:publish-fund", str(page), code=1).last["code"] == "transaction_replaced"
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "sources_disagree"
    assert "The RPC endpoint at 127.0.0.1" in str(ran.last["message"])
    assert "the API at 127.0.0.1" in str(ran.last["message"]).replace("The API", "the API")
    rpc.honest()
    assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
    assert before - balance(ledger) == ESCROW


def test_publish_fund__relayed_by_somebody_else__is_found_and_not_sent_again(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)

    def relay(method: str, params: list[object]) -> dict[str, object] | None:
        if method == "eth_sendRawTransaction":
            wallet = ledger.people.solvers[1].wallet
            wallet.forget_nonce()
            data = decoded(ledger, str(params[0]))
            wallet.send(ledger.node.w3, data, to=ledger.contract.address)
            raise Lost
        return None

    rpc.before = relay
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.last["event"] == "publish_fund.bounty_created"
    assert before - balance(ledger) == ESCROW


def decoded(ledger: Ledger, raw: str) -> bytes:
    """The call data of a signed transaction."""
    from eth_account.typed_transactions.typed_transaction import TypedTransaction
    from hexbytes import HexBytes

    return bytes(HexBytes(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["data"]))


def refuse_sending(rpc: RpcProxy) -> None:
    refusal: dict[str, object] = {"error": {"code": -32000, "message": "not today"}}
    rpc.before = lambda method, _params: refusal if method == "eth_sendRawTransaction" else None


@pytest.mark.spec(239)
def test_publish_fund__an_expired_authorization__is_signed_again_over_the_same_terms(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal
) -> None:
    before = balance(ledger)
    page = poster.home / "slow.md"
    page.write_bytes(ledger.page(seconds=20_000))
    refuse_sending(rpc)
    assert poster.run("poster:publish-fund", str(page), code=1).last["code"] == "transaction_refused"
    ledger.advance_to(ledger.time() + 3_700)
    rpc.honest()
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.words.count("let the Hub") == 1
    assert before - balance(ledger) == ESCROW


def test_publish_fund__fees_changed_between_runs__waits_until_the_first_authorization_is_dead(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal
) -> None:
    before = balance(ledger)
    page = poster.home / "repriced.md"
    page.write_bytes(ledger.page(seconds=20_000))
    refuse_sending(rpc)
    poster.run("poster:publish-fund", str(page), code=1)
    rpc.honest()
    set_fees(ledger, 200, 300)
    try:
        outstanding = poster.run("poster:publish-fund", str(page), code=1)
        assert outstanding.last["code"] == "authorization_outstanding"
        assert "signing: let" not in outstanding.words
        ledger.advance_to(ledger.time() + 3_700)
        assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
    finally:
        set_fees(ledger, 100, 300)
    assert before - balance(ledger) == ESCROW


def set_fees(ledger: Ledger, protocol: int, guardian: int) -> None:
    owner, recipient = ledger.people.owner.wallet, ledger.people.fee_recipient.address
    ledger.contract.transact(owner, "setFeePolicy", protocol, guardian, recipient)


def test_publish_fund__a_cancelled_authorization__is_followed_by_another_once_its_time_is_over_and_it_is_wanted(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    page.write_bytes(ledger.page(seconds=20_000))
    refuse_sending(rpc)
    poster.run("poster:publish-fund", str(page), code=1)
    (journal,) = poster.home.rglob("journal.json")
    (nonce,) = json.loads(journal.read_text())["nonces"]
    wallet = ledger.people.poster.wallet
    wallet.forget_nonce()
    signature = cancellation(ledger, nonce)
    ledger.token.transact(wallet, "cancelAuthorization", wallet.address, bytes.fromhex(nonce[2:]), signature)
    rpc.honest()
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "authorization_outstanding"  # that it was cancelled is one endpoint's word
    assert "signing:" not in ran.words.replace("signing: publish", "")
    ledger.advance_to(ledger.time() + 3_700)
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert (ran.last["code"], "--again" in str(ran.last["next_action"])) == ("authorization_cancelled", True)
    assert balance(ledger) == before
    assert poster.run("poster:publish-fund", "--again", str(page)).last["event"] == "publish_fund.bounty_created"
    assert len(json.loads(journal.read_text())["nonces"]) == 2
    assert before - balance(ledger) == ESCROW


def cancellation(ledger: Ledger, nonce: str) -> bytes:
    from eth_account import Account

    names = {"name": "Test USD Coin", "version": "2", "chainId": ledger.node.chain_id}
    message = {"authorizer": ledger.people.poster.address, "nonce": nonce}
    types = {"CancelAuthorization": [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]}
    key = ledger.people.poster.wallet.private_key
    domain = {**names, "verifyingContract": ledger.token.address}
    return bytes(Account.sign_typed_data(key, domain, types, message).signature)


@pytest.mark.spec(241, 340)
def test_publish_fund__a_token_without_authorizations__is_funded_by_an_exact_allowance(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    rpc.before = no_authorizations
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.names == [
        "publish_fund.publication_prepared",
        "publish_fund.token_approved",
        "publish_fund.bounty_created",
    ]
    assert ran.event("publish_fund.token_approved")["amount"] == str(ESCROW)
    assert "let the Hub" not in ran.words
    assert before - balance(ledger) == ESCROW
    assert ledger.token.call("allowance", ledger.people.poster.address, ledger.contract.address) == 0
    assert poster.run("poster:publish-fund", str(page)).names == ["publish_fund.bounty_created"]
    assert before - balance(ledger) == ESCROW


def test_publish_fund__an_endpoint_that_limits_requests__is_no_token_without_authorizations(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    limited: dict[str, object] = {"error": {"code": NO_CREDITS[0], "message": NO_CREDITS[1]}}
    rpc.before = lambda method, params: limited if no_authorizations(method, params) else None
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "chain_unavailable"
    assert "publish_fund.token_approved" not in ran.names
    assert (rpc.sent(), balance(ledger)) == (0, before)


def no_authorizations(method: str, params: list[object]) -> dict[str, object] | None:
    """As a token that has no authorizationState."""
    call = params[0] if params else None
    if method == "eth_call" and isinstance(call, dict) and str(call.get("data")).startswith("0xe94a0102"):
        return {"error": {"code": 3, "message": "execution reverted", "data": "0x"}}
    return None


Answered = Callable[[str, list[object], object], object]


@pytest.fixture
def delegated(ledger: Ledger) -> Answered:
    """As a node answers of a Poster's account that has code: it is funded by an allowance."""
    account = ledger.people.poster.address

    def after(method: str, params: list[object], result: object) -> object:
        return "0xef0100" + "11" * 20 if method == "eth_getCode" and params[0] == account else result

    return after


@pytest.mark.attack
@pytest.mark.parametrize("is_used", [False, True], ids=["free", "used"])
def test_publish_fund__by_an_allowance_that_is_gone__allows_again_only_at_a_nonce_before_the_creation_s(
    ledger: Ledger,
    rpc: RpcProxy,
    poster: Terminal,
    page: Path,
    delegated: Answered,
    is_used: bool,
) -> None:
    """Where the creation's nonce is used, what used it may be the creation, however the endpoint hides it."""
    before, first = balance(ledger), ledger.node.rpc.call("evm_snapshot")
    run_killed(
        poster, rpc, "poster:publish-fund", str(page),
        method="eth_sendRawTransaction", count=2, forward=False, also=delegated,
    )  # fmt: skip
    rpc.after = delegated
    if is_used:
        ledger.people.poster.wallet.forget_nonce()
        ledger.token.transact(ledger.people.poster.wallet, "approve", ledger.contract.address, 0)
        ran = poster.run("poster:publish-fund", str(page), code=1)
        assert (ran.last["code"], rpc.sent(), balance(ledger)) == ("creation_unknown", 2, before)
    else:
        ledger.node.rpc.call("evm_revert", first)  # as by a reorg: the allowance never was
        assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
        assert before - balance(ledger) == ESCROW
        assert ledger.token.call("allowance", ledger.people.poster.address, ledger.contract.address) == 0


def test_publish_fund__check__previews_costs_without_a_key(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    keyless = Terminal(poster.home, {k: v for k, v in poster.environment.items() if "PRIVATE_KEY" not in k})
    ran = keyless.run("poster:publish-fund", "--check", str(page))
    checked = ran.event("publish_fund.checked")
    assert (checked["protocol_fee"], checked["guardian_fee"]) == (str(ESCROW // 100), str(ESCROW * 3 // 100))
    assert checked["winner_award"] == str(ESCROW * 96 // 100)
    assert int(str(checked["reveal_at"])) == int(str(checked["submission_deadline"])) + 60
    assert int(str(checked["gas_cost_at_most"])) > 0
    assert f"service-cli poster:publish-fund {page}" in text_of(keyless, "poster:publish-fund", "--check", str(page))
    assert (rpc.sent(), api.server.requests) == (0, [])
    poor = keyless.run("poster:publish-fund", "--check", "--poster-address", "0x" + "77" * 20, str(page), code=1)
    assert poor.last["code"] == "balance_insufficient"


def test_check__with_a_key__looks_at_its_account_unless_another_is_named(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    words = ("poster:publish-fund", "--check", str(page))
    assert poster.run(*words).last["event"] == "publish_fund.checked"
    beggar = Terminal(poster.home, {**poster.environment, "SERVICE_POSTER_PRIVATE_KEY": "0x" + "77" * 32})
    assert beggar.run(*words, code=1).last["code"] == "balance_insufficient"
    named = beggar.run(*words, "--poster-address", ledger.people.poster.address).last
    assert named["event"] == "publish_fund.checked"
    assert (rpc.sent(), api.server.requests) == (0, [])


@pytest.mark.parametrize(
    ("seconds", "judging", "escrow", "field"),
    [
        (-100, 1_000, ESCROW, "submission_deadline"),
        (2_000, 1, ESCROW, "judging_window_seconds"),
        (2_000, 1_000, 1, "escrow_amount"),
        (40 * 86_400, 1_000, ESCROW, "submission_deadline"),
    ],
)
def test_publish_fund__terms_the_hub_would_refuse__are_named_before_anything_is_signed(
    ledger: Ledger, api: ApiTwin, poster: Terminal, seconds: int, judging: int, escrow: int, field: str
) -> None:
    page = poster.home / "bad.md"
    page.write_bytes(ledger.page(seconds=seconds, judging=judging, escrow=escrow))
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "terms_refused"
    issues = ran.last["issues"]
    assert isinstance(issues, list)
    assert [issue["path"] for issue in issues] == [field]
    assert "signing:" not in ran.words


def test_publish_fund__more_than_the_account_holds__is_refused_before_anything_is_signed(
    ledger: Ledger, poster: Terminal
) -> None:
    page = poster.home / "dear.md"
    page.write_bytes(ledger.page(escrow=10**15))
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "balance_insufficient"
    assert "signing:" not in ran.words


@pytest.fixture
def page_path(ledger: Ledger, poster: Terminal) -> str:
    path = poster.home / "page.md"
    path.write_bytes(ledger.page())
    return str(path)


def test_publish_fund__the_same_page_from_another_machine__is_refused_before_anything_is_signed(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page_path: str, tmp_path: Path
) -> None:
    first = poster.run("poster:publish-fund", page_path).last["bounty_id"]
    other, before = person(ledger, api, rpc, tmp_path / "other", "poster"), ledger.bounty_count()
    ran = other.run("poster:publish-fund", page_path, code=1)
    assert ran.last["code"] == "already_funded"
    assert f"bounty {first}" in str(ran.last["message"])
    assert "--again" in str(ran.last["next_action"])
    assert "signing:" not in ran.words
    assert ledger.bounty_count() == before


def is_simulated(method: str, params: Params) -> bool:
    call = params[0] if params else None
    return method == "eth_call" and isinstance(call, dict) and str(call["data"]).startswith(AUTHORIZED)


def is_sent(method: str, _params: Params) -> bool:
    return method == "eth_sendRawTransaction"


@pytest.fixture
def beside(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path
) -> Iterator[Callable[[Callable[[str, Params], bool], tuple[str, ...]], list[Ran]]]:
    """The same key on another machine runs a command at a moment of this one's run."""
    direct = RpcProxy(ledger.node.url)
    other = person(ledger, api, direct, tmp_path / "other", "poster")

    def prepare(moment: Callable[[str, Params], bool], arguments: tuple[str, ...]) -> list[Ran]:
        ran: list[Ran] = []

        def before(method: str, params: Params) -> dict[str, object] | None:
            if not ran and moment(method, params):
                ran.append(other.run(*arguments))
            return None

        rpc.before = before
        return ran

    yield prepare
    direct.server.close()


@pytest.mark.parametrize("moment", [is_simulated, is_sent])
@pytest.mark.parametrize("earlier", [0, 1], ids=["first", "again"])
def test_publish_fund__the_same_page_from_two_machines_in_the_same_moment__takes_one_escrow(
    ledger: Ledger,
    poster: Terminal,
    page_path: str,
    beside: Callable[[Callable[[str, Params], bool], tuple[str, ...]], list[Ran]],
    moment: Callable[[str, Params], bool],
    earlier: int,
) -> None:
    """Each machine drew a salt of its own: both escrows were taken."""
    arguments: tuple[str, ...] = ("poster:publish-fund", page_path)
    for _ in range(earlier):
        poster.run(*arguments)
        arguments = ("poster:publish-fund", "--again", page_path)
    held, before = balance(ledger), ledger.bounty_count()
    ran = beside(moment, arguments)
    first = poster.run(*arguments)
    assert [each.last for each in ran] == [first.last]
    assert (held - balance(ledger), ledger.bounty_count() - before) == (ESCROW, 1)


def test_publish_fund__again__funds_once_more_each_time_it_is_asked(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page_path: str
) -> None:
    before = ledger.bounty_count()
    first = poster.run("poster:publish-fund", page_path).last["bounty_id"]
    second = poster.run("poster:publish-fund", "--again", page_path).last["bounty_id"]
    run_killed(poster, rpc, "poster:publish-fund", "--again", page_path, method="eth_sendRawTransaction", forward=True)
    third = poster.run("poster:publish-fund", "--again", page_path).last["bounty_id"]  # the one that was killed
    assert len({first, second, third}) == 3
    assert ledger.bounty_count() == before + 3
    assert poster.run("poster:publish-fund", page_path).last["bounty_id"] == first


def test_check__of_a_page_that_was_funded__names_the_bounties(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page_path: str
) -> None:
    assert poster.run("poster:publish-fund", "--check", page_path).last["funded_as"] == []
    first = poster.run("poster:publish-fund", page_path).last["bounty_id"]
    second = poster.run("poster:publish-fund", "--again", page_path).last["bounty_id"]
    ran = poster.run("poster:publish-fund", "--check", page_path)
    assert ran.last["funded_as"] == [first, second]
    keyless = Terminal(poster.home, {k: v for k, v in poster.environment.items() if "PRIVATE_KEY" not in k})
    assert keyless.run("poster:publish-fund", "--check", page_path).last["funded_as"] == [first, second]
    mine, other = ledger.people.poster.address, ledger.people.solvers[0].address
    assert poster.run("poster:publish-fund", "--check", "--poster-address", mine, page_path).last["funded_as"] == [
        first,
        second,
    ]
    ran = poster.run("poster:publish-fund", "--check", "--poster-address", other, page_path)
    assert ran.last["funded_as"] == []


def test_check__of_a_page_that_its_account_has_funded__asks_for_no_second_escrow(
    ledger: Ledger, poster: Terminal, page_path: str
) -> None:
    first = poster.run("poster:publish-fund", page_path).last["bounty_id"]
    account, wallet, friend = ledger.people.poster.address, ledger.people.poster.wallet, ledger.people.owner.wallet
    for each in (wallet, friend):
        each.forget_nonce()
    held = int(ledger.token.call("balanceOf", account))
    ledger.token.transact(wallet, "transfer", friend.address, held)
    try:
        assert poster.run("poster:publish-fund", "--check", page_path).last["funded_as"] == [first]
        another = poster.run("poster:publish-fund", "--check", "--again", page_path, code=1)
        assert another.last["code"] == "balance_insufficient"
    finally:
        ledger.token.transact(friend, "transfer", account, held)
    ledger.advance_to(ledger.time() + 3_000)  # past its deadline
    assert f"funded before, as bounty {first}." in " ".join(
        text_of(poster, "poster:publish-fund", "--check", page_path).split()
    )


def test_clock_that_is_far_from_a_public_chain_s_is_named_once(
    api: ApiTwin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = ChainClient(Settings(Environment(api.variables(), {}), ChainId(31337), None, None))
    chain.latest()
    assert capsys.readouterr().err == ""  # a local chain has a time of its own
    monkeypatch.setattr(ChainClient, "is_local", False)
    for named in (1, 0):
        chain.latest()
        assert capsys.readouterr().err.count("ahead of the newest block; if the clock is right") == named


class Typed(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def settings(chain_id: int) -> Settings:
    return Settings(Environment({}, {}), ChainId(chain_id), None, None)


@pytest.mark.parametrize("typed", ["", "\n", "y\n", "no\n", "YES\n"])
def test_confirm__on_mainnet_at_a_terminal_without_yes__signs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    with pytest.raises(CommandRefused) as refused:
        confirm(settings(8453), "put 5 base units into escrow", yes=False)
    assert refused.value.code == "not_confirmed"
    told = capsys.readouterr()
    assert (told.out, "put 5 base units into escrow on mainnet" in told.err) == ("", True)


@pytest.mark.parametrize(
    ("chain_id", "stream", "yes", "asked"),
    [
        (8453, Typed("yes\n"), False, True),
        (8453, Typed(""), True, False),
        (8453, io.StringIO(""), False, False),
        (84532, Typed(""), False, False),
    ],
    ids=["typed yes", "--yes", "no terminal", "staging"],
)
def test_confirm__with_consent_or_nobody_to_ask__goes_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chain_id: int,
    stream: io.StringIO,
    yes: bool,
    asked: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", stream)
    confirm(settings(chain_id), "put 5 base units into escrow", yes=yes)
    assert ("Type yes" in capsys.readouterr().err) == asked


def test_publish_fund__again_over_a_bounty_that_ended__reports_what_became_of_it(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(ledger.page(seconds=1_000))
    number = int(str(poster.run("poster:publish-fund", str(page)).last["bounty_id"]))
    assert "has ended" not in poster.run("poster:publish-fund", str(page)).words
    ledger.advance_to(int(ledger.contract.call("getBounty", number)[5]))
    owner = ledger.people.owner.wallet
    owner.forget_nonce()
    ledger.contract.transact(owner, "settle", number)
    ledger.node.mine(3)
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.last["event"] == "publish_fund.bounty_created"
    assert f"Next service-cli claim {number}" in " ".join(text_of(poster, "poster:publish-fund", str(page)).split())
    poster.run("claim", str(number))
    assert "Next service-cli status" in " ".join(text_of(poster, "poster:publish-fund", str(page)).split())
    elsewhere = person(ledger, api, rpc, tmp_path / "elsewhere", "poster")
    refused = elsewhere.run("poster:publish-fund", str(page), code=1).last
    assert refused["code"] == "already_funded"
    assert "poster:new NEW_PAGE" in str(refused["next_action"])
