"""Funding while the chain, the token or the wallet changes under it: the escrow is taken once or not at all."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.kill import run_killed
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.plays.forgeries.conditions import STATE
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Terminal
from tests.deployed import TERMS

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


def announce_roster(ledger: Ledger) -> Callable[[], None]:
    """Announce the roster of now under a new version; return what waits until it is in effect."""
    version = ledger.contract.call("currentRosterVersion")
    _, quorum, accounts, keys, *_ = ledger.contract.call("getRoster", version)
    ledger.contract.transact(ledger.people.owner.wallet, "publishRoster", list(accounts), list(keys), quorum)

    def takes_effect() -> None:
        ledger.await_publication()
        newest = ledger.contract.call("getRoster", version + 1)[0]
        ledger.hub = replace(ledger.hub, roster_hash="0x" + newest.hex())

    return takes_effect


def test_other_roster_reverts_the_creation(ledger: Ledger, rpc: RpcProxy, poster: Terminal, spent: Purse) -> None:
    path = poster.home / "long.md"
    path.write_bytes(ledger.page(seconds=20_000))

    def another() -> None:
        announce_roster(ledger)()

    rpc.before = at_sending(another)
    assert poster.run("poster:publish-fund", str(path), code=1).last["code"] == "transaction_reverted"
    assert poster.run("poster:publish-fund", str(path), code=1).last["code"] == "authorization_outstanding"
    assert spent() == (0, 0)
    ledger.advance_to(ledger.time() + 3_700)
    assert poster.run("poster:publish-fund", str(path)).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)


@pytest.fixture
def delegated(ledger: Ledger) -> Iterator[str]:
    """The Poster's account, whose code forwards its calls to another contract (EIP-7702)."""
    account = ledger.people.poster.address
    ledger.node.rpc.call("anvil_setCode", account, "0xef0100" + "11" * 20)
    yield account
    ledger.node.rpc.call("anvil_setCode", account, "0x")
    ledger.people.poster.wallet.forget_nonce()
    ledger.token.transact(ledger.people.poster.wallet, "approve", ledger.contract.address, 0)


def test_hidden_code_names_when_it_is_over(
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


@pytest.mark.parametrize("is_used", [False, True], ids=["free", "used"])
def test_allowance_that_is_gone_is_given_again(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, delegated: str, spent: Purse, is_used: bool
) -> None:
    """Where the creation's nonce is used, what used it may be the creation, however the endpoint hides it."""
    first = ledger.node.rpc.call("evm_snapshot")
    run_killed(poster, rpc, "poster:publish-fund", page, method="eth_sendRawTransaction", count=2, forward=False)
    if is_used:
        ledger.people.poster.wallet.forget_nonce()
        ledger.token.transact(ledger.people.poster.wallet, "approve", ledger.contract.address, 0)
        ran = poster.run("poster:publish-fund", page, code=1)
        assert (ran.last["code"], rpc.sent(), spent()) == ("creation_unknown", 2, (0, 0))
    else:
        ledger.node.rpc.call("evm_revert", first)  # as by a reorg: the allowance never was
        assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
        assert spent() == (ESCROW, 1)
        assert ledger.token.call("allowance", delegated, ledger.contract.address) == 0


def test_other_text_waits_for_a_creation_by_allowance(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: str, delegated: str, spent: Purse
) -> None:
    """It has no end of its own, as an authorization has: only the chain shows that it creates nothing."""
    run_killed(poster, rpc, "poster:publish-fund", page, method="eth_sendRawTransaction", count=2, forward=False)
    first = Path(page).read_bytes()
    Path(page).write_bytes(ledger.page() + b"The typo is corrected.\n")
    ran = poster.run("poster:publish-fund", page, code=1)
    assert (ran.last["code"], rpc.sent(), spent()) == ("earlier_bounty_pending", 2, (0, 0))
    Path(page).write_bytes(first)
    assert poster.run("poster:publish-fund", page).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)
    assert ledger.token.call("allowance", delegated, ledger.contract.address) == 0


def test_announced_roster_ends_what_is_signed(ledger: Ledger, poster: Terminal, spent: Purse) -> None:
    """An authorization ends with the roster that it names, and is not signed where it would come too late."""
    soon, late = poster.home / "soon.md", poster.home / "late.md"
    for each in (soon, late):
        each.write_bytes(ledger.page(seconds=20 * 86_400))
    takes_effect = announce_roster(ledger)
    ends = ledger.time() + TERMS.publication_delay
    ran = poster.run("poster:publish-fund", str(soon))
    assert "valid until then" in ran.words
    assert spent() == (ESCROW, 1)
    ledger.advance_to(ends - 30)
    ran = poster.run("poster:publish-fund", str(late), code=1)
    assert (ran.last["code"], "let the Hub" in ran.words) == ("roster_changing", False)
    assert spent() == (ESCROW, 1)
    takes_effect()


def test_authorization_shown_as_used__signs_no_more_unasked(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, spent: Purse
) -> None:
    """What used it may be the bounty, however the endpoint hides it: only the person says that it is not."""
    path, words = poster.home / "slow.md", ("poster:publish-fund", str(poster.home / "slow.md"))
    path.write_bytes(ledger.page(seconds=20_000))
    rpc.refuse_transactions()
    assert poster.run(*words, code=1).last["code"] == "transaction_refused"
    rpc.honest()
    nonces: list[str] = []

    def used(method: str, params: Params, found: object) -> object:
        data = str(params[0].get("data")) if method == "eth_call" and isinstance(params[0], dict) else ""
        if data.startswith(STATE):
            nonces.append(data)
        return f"0x{1:064x}" if nonces and data == nonces[0] else found

    rpc.after = used
    assert poster.run(*words, code=1).last["code"] == "authorization_used"
    ledger.advance_to(ledger.time() + 3_700)
    ledger.node.mine(3)
    ran = poster.run(*words, code=1)
    assert (ran.last["code"], "let the Hub" in ran.words, spent()) == ("authorization_used", False, (0, 0))
    assert poster.run(words[0], "--again", words[1]).last["event"] == "publish_fund.bounty_created"
    assert spent() == (ESCROW, 1)
