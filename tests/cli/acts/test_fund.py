"""Funding while the chain, the token or the wallet changes under it: the escrow is taken once or not at all."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from eth_abi.abi import decode, encode
from service_cli.chain import sender

from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Terminal

AUTHORIZED = "0x" + hub_abi().functions["createBountyWithAuthorization"].selector.hex()
Answer = dict[str, object] | None
Purse = Callable[[], tuple[int, int]]


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> str:
    path: Path = poster.home / "page.md"
    path.write_bytes(ledger.page())
    return str(path)


@pytest.fixture
def spent(ledger: Ledger) -> Purse:
    """What left the Poster's balance since, and how many bounties were made."""
    account = ledger.people.poster.address
    held, bounties = int(ledger.token.call("balanceOf", account)), ledger.bounty_count()
    return lambda: (held - int(ledger.token.call("balanceOf", account)), ledger.bounty_count() - bounties)


def at_sending(once: Callable[[], object]) -> Callable[[str, Params], Answer]:
    """Do something in the moment before the first transaction reaches the node."""
    done: list[object] = []

    def before(method: str, _params: Params) -> Answer:
        if method == "eth_sendRawTransaction" and not done:
            done.append(once())
        return None

    return before


@pytest.fixture
def blocked(ledger: Ledger) -> Iterator[Callable[[], object]]:
    """The token's issuer blocks the Poster, until the test ends or says otherwise."""
    owner, account = ledger.people.owner.wallet, ledger.people.poster.address
    yield lambda: ledger.token.transact(owner, "blacklist", account)
    ledger.token.transact(owner, "unBlacklist", account)


def test_creation__that_reverts__changed_nothing_and_is_done_by_the_next_run(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, spent: Purse, blocked: Callable[[], object]
) -> None:
    rpc.before = at_sending(blocked)
    ran = poster.run("poster:publish-fund", page, code=1)
    assert ran.last["code"] == "transaction_reverted"
    assert spent() == (0, 0)
    rpc.honest()
    refused = poster.run("poster:publish-fund", page, code=1).last
    assert (refused["code"], rpc.sent()) == ("token_transfer_failed", 1)
    ledger.token.transact(ledger.people.owner.wallet, "unBlacklist", ledger.people.poster.address)
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


def test_creation__fees_raised_while_it_is_sent__reverts_instead_of_costing_more(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, spent: Purse
) -> None:
    owner, recipient = ledger.people.owner.wallet, ledger.people.fee_recipient.address
    rpc.before = at_sending(lambda: ledger.contract.transact(owner, "setFeePolicy", 500, 300, recipient))
    try:
        assert poster.run("poster:publish-fund", page, code=1).last["code"] == "transaction_reverted"
        assert poster.run("poster:publish-fund", page, code=1).last["code"] == "authorization_outstanding"
        assert spent() == (0, 0)
    finally:
        ledger.contract.transact(owner, "setFeePolicy", 100, 300, recipient)
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


def test_creation__another_roster_while_it_is_sent__reverts_instead_of_being_judged_by_others(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, spent: Purse
) -> None:
    path = poster.home / "long.md"
    path.write_bytes(ledger.page(seconds=20_000))

    def another() -> None:
        version = ledger.contract.call("currentRosterVersion")
        _, quorum, accounts, keys, *_ = ledger.contract.call("getRoster", version)
        owner = ledger.people.owner.wallet
        ledger.contract.transact(owner, "publishRoster", list(accounts), list(keys), quorum)
        ledger.await_publication()
        newest = ledger.contract.call("getRoster", version + 1)[0]
        ledger.hub = replace(ledger.hub, roster_hash="0x" + newest.hex())

    rpc.before = at_sending(another)
    assert poster.run("poster:publish-fund", str(path), code=1).last["code"] == "transaction_reverted"
    assert poster.run("poster:publish-fund", str(path), code=1).last["code"] == "authorization_outstanding"
    assert spent() == (0, 0)
    ledger.advance_to(ledger.time() + 3_700)
    assert poster.run("poster:publish-fund", str(path)).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


@pytest.fixture
def announced(ledger: Ledger) -> Iterator[int]:
    """The moment from which another roster is in effect; it is, when the test ends."""
    version = ledger.contract.call("currentRosterVersion")
    _, quorum, accounts, keys, *_ = ledger.contract.call("getRoster", version)
    ledger.contract.transact(ledger.people.owner.wallet, "publishRoster", list(accounts), list(keys), quorum)
    newest, effective = ledger.contract.call("announcedRoster")
    yield int(effective)
    if ledger.time() < effective:
        ledger.advance_to(effective)
    ledger.hub = replace(ledger.hub, roster_hash="0x" + ledger.contract.call("getRoster", newest)[0].hex())


def test_creation__while_another_roster_is_announced__is_signed_for_no_longer_than_the_current_one(
    ledger: Ledger, poster: Terminal, page: str, spent: Purse, announced: int
) -> None:
    ran = poster.run("poster:publish-fund", page)
    assert ran.last["event"] == "publish_fund.bounty_created"
    sent = ledger.node.rpc.call("eth_getTransactionByHash", ran.last["tx_hash"])
    assert isinstance(sent, dict)
    create = hub_abi().functions["createBountyWithAuthorization"]
    values = decode([parameter.type for parameter in create.inputs], bytes.fromhex(sent["input"][10:]))
    assert dict(zip((parameter.name for parameter in create.inputs), values, strict=True))["validBefore"] == announced
    assert spent() == (ESCROW, 1)


def test_creation__moments_before_another_roster_takes_effect__signs_nothing_and_is_done_afterwards(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, spent: Purse, announced: int
) -> None:
    ledger.advance_to(announced - 30)
    ran = poster.run("poster:publish-fund", page, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("publish_fund.failed", "roster_changing")
    assert (rpc.sent(), spent()) == (0, (0, 0))
    ledger.advance_to(announced)
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


def test_creation__with_a_token_that_charges_on_transfer__is_refused_before_it_is_sent(
    rpc: RpcProxy, poster: Terminal, page: str, spent: Purse
) -> None:
    error = next(error for error in hub_abi().errors.values() if error.name == "EscrowNotReceived")
    names = [parameter.name for parameter in error.inputs]
    values = {"expected": ESCROW, "received": ESCROW * 99 // 100}
    data = error.selector + encode(["uint256", "uint256"], [values[name] for name in names])
    create = "0x" + hub_abi().functions["createBountyWithAuthorization"].selector.hex()

    def charging(method: str, params: Params) -> Answer:
        call = params[0] if params else None
        if (
            method in {"eth_call", "eth_estimateGas"}
            and isinstance(call, dict)
            and str(call["data"]).startswith(create)
        ):
            return {"error": {"code": 3, "message": "execution reverted", "data": "0x" + data.hex()}}
        return None

    rpc.before = charging
    ran = poster.run("poster:publish-fund", page, code=1)
    assert ran.last["code"] == "escrow_not_received"
    assert str(ESCROW * 99 // 100) in str(ran.last["message"])
    assert (rpc.sent(), spent()) == (0, (0, 0))


def test_creation__tokens_moved_away_after_the_check__is_refused_before_it_is_sent(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str
) -> None:
    account, wallet, friend = ledger.people.poster.address, ledger.people.poster.wallet, ledger.people.owner.wallet
    held = int(ledger.token.call("balanceOf", account))
    moved: list[bool] = []

    def before(method: str, params: Params) -> Answer:
        if method == "eth_call" and AUTHORIZED in str(params[0]) and not moved:
            moved.append(True)
            wallet.forget_nonce()
            ledger.token.transact(wallet, "transfer", friend.address, held)
        return None

    rpc.before = before
    try:
        ran = poster.run("poster:publish-fund", page, code=1)
    finally:
        ledger.token.transact(friend, "transfer", account, held)
    assert ran.last["code"] == "token_transfer_failed"
    assert rpc.sent() == 0
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert held - int(ledger.token.call("balanceOf", account)) == ESCROW


def test_creation__that_the_node_drops__is_sent_again_with_the_same_nonce_and_higher_fees(
    rpc: RpcProxy, poster: Terminal, page: str, spent: Purse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "STUCK_SECONDS", 0.3)
    rpc.lose_first_transaction()
    ran = poster.run("poster:publish-fund", page)
    assert "raising its fees" in ran.words
    assert (rpc.sent(), spent()) == (2, (ESCROW, 1))


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("replacement transaction underpriced", {"nonce_contended"}),
        ("transaction underpriced", {"nonce_contended"}),
        ("insufficient funds for gas * price + value", {"gas_insufficient"}),
        ("txpool is full", {"transaction_refused"}),
    ],
)
def test_creation__that_the_node_refuses__stays_in_the_journal_and_is_sent_once(
    rpc: RpcProxy, poster: Terminal, page: str, spent: Purse, words: str, codes: set[str]
) -> None:
    refusal: dict[str, object] = {"error": {"code": -32000, "message": words}}
    rpc.before = lambda method, _params: refusal if method == "eth_sendRawTransaction" else None
    assert poster.run("poster:publish-fund", page, code=1).last["code"] in codes
    assert spent() == (0, 0)
    rpc.honest()
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


def test_creation__whose_nonce_another_transaction_takes__is_signed_with_the_next_one(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, spent: Purse
) -> None:
    wallet = ledger.people.poster.wallet

    def race() -> None:
        wallet.forget_nonce()
        wallet.send(ledger.node.w3, b"", to=wallet.address)

    rpc.before = at_sending(race)
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


@pytest.fixture
def delegated(ledger: Ledger) -> Iterator[str]:
    """The Poster's account, whose code forwards its calls to another contract (EIP-7702)."""
    account = ledger.people.poster.address
    ledger.node.rpc.call("anvil_setCode", account, "0xef0100" + "11" * 20)
    yield account
    ledger.node.rpc.call("anvil_setCode", account, "0x")


@pytest.mark.attack
def test_creation__by_an_account_whose_code_a_node_hid__names_when_the_authorization_is_over(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, delegated: str, spent: Purse
) -> None:
    page = poster.home / "page.md"
    page.write_bytes(ledger.page(seconds=20 * 86_400))
    rpc.after = lambda method, params, found: "0x" if method == "eth_getCode" and params[0] == delegated else found
    assert poster.run("poster:publish-fund", str(page), code=1).last["code"] == "token_transfer_failed"
    rpc.honest()
    refused = poster.run("poster:publish-fund", str(page), code=1).last
    assert refused["code"] == "authorization_outstanding"
    assert "after that time" in str(refused["next_action"])
    assert spent() == (0, 0)
    ledger.advance_to(ledger.time() + 3_700)
    ledger.node.mine(3)
    assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


BY_ALLOWANCE = "it allows the Hub exactly the escrow and then creates the bounty, in two transactions"


def test_creation__by_a_delegated_account__is_explained_before_anything_is_signed(
    poster: Terminal, page: str, delegated: str, spent: Purse
) -> None:
    checked = poster.run("poster:publish-fund", page, "--check", "--poster-address", delegated)
    assert f"{delegated} has code, which the token asks instead of its key: {BY_ALLOWANCE}" in checked.words
    words = poster.run("poster:publish-fund", page).words
    assert words.index(BY_ALLOWANCE) < words.index("signing: ")
    assert spent() == (ESCROW, 1)


def test_creation__by_a_plain_account__is_one_signature_without_a_word_on_allowances(
    ledger: Ledger, poster: Terminal, page: str, spent: Purse
) -> None:
    checked = poster.run("poster:publish-fund", page, "--check", "--poster-address", ledger.people.poster.address)
    assert BY_ALLOWANCE not in checked.words + poster.run("poster:publish-fund", page).words
    assert spent() == (ESCROW, 1)
