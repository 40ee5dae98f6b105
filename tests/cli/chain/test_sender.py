"""The sender, through the plainest command that sends (``claim``): one transaction, whatever happens to it."""

import time

import pytest
from bounty_protocol.types import BountyId
from service_cli import Client
from service_cli.chain import sender

from tests.cli.kill import run_killed
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Terminal

Answer = dict[str, object] | None


@pytest.fixture(scope="session")
def awarded(ledger: Ledger) -> list[int]:
    """Bounties that the first Solver won, each for one claim."""
    funded = [ledger.fund(seconds=400, judging=5_000)[0] for _ in range(15)]
    solver = ledger.people.solvers[0].wallet
    commitments = {bounty: ledger.submit(bounty, solver) for bounty in funded}
    ledger.reveal(funded[-1])
    for bounty in funded:
        ledger.award(bounty, solver.address, commitments[bounty])
    return funded


@pytest.fixture
def bounty(awarded: list[int]) -> str:
    return str(awarded.pop())


class Purse:
    """The Solver's tokens and transactions since the test began."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._solver = ledger, ledger.people.solvers[0].address
        self._tokens, self._nonce = self._now()

    def _now(self) -> tuple[int, int]:
        tokens = int(self._ledger.token.call("balanceOf", self._solver))
        return tokens, self._ledger.nonce(self._solver)

    def received(self) -> tuple[int, int]:
        """Tokens received, transactions mined."""
        tokens, nonce = self._now()
        return tokens - self._tokens, nonce - self._nonce


AWARD = ESCROW * 96 // 100


@pytest.fixture
def purse(ledger: Ledger) -> Purse:
    return Purse(ledger)


@pytest.mark.parametrize("forward", [False, True], ids=["before", "after"])
def test_claim_killed_at_the_sending_pays_once(
    solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse, forward: bool
) -> None:
    run_killed(solver, rpc, "claim", bounty, method="eth_sendRawTransaction", forward=forward)
    again = solver.run("claim", bounty)
    assert again.last["event"] == "claim.claimed"
    assert again.last["claimable_amount"] == str(AWARD)
    assert purse.received() == (AWARD, 1)


def test_claim_without_receipt_is_found_by_the_log(solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse) -> None:
    rpc.after = lambda method, _params, result: None if method == "eth_getTransactionReceipt" else result
    ran = solver.run("claim", bounty)
    assert ran.last["claimable_amount"] == str(AWARD)
    assert purse.received() == (AWARD, 1)


@pytest.mark.parametrize(
    "words", ["some new rule", "replacement transaction underpriced", "insufficient funds for gas"]
)
def test_refused_transaction_is_sent_again(
    solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse, words: str
) -> None:
    raws: list[object] = []

    def refuse(method: str, params: Params) -> Answer:
        if method != "eth_sendRawTransaction":
            return None
        raws.append(params[0])
        return {"error": {"code": -32000, "message": words}}

    rpc.before = refuse
    first = solver.run("claim", bounty, code=1).last["code"]
    assert first in {"transaction_refused", "nonce_contended", "gas_insufficient"}
    rpc.before = lambda method, params: raws.extend(params) if method == "eth_sendRawTransaction" else None
    assert solver.run("claim", bounty).last["event"] == "claim.claimed"
    assert len(set(map(str, raws))) == 1
    assert purse.received() == (AWARD, 1)


def test_taken_nonce_signs_with_the_next(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse
) -> None:
    raced: list[bool] = []

    def before(method: str, _params: Params) -> Answer:
        if method == "eth_sendRawTransaction" and not raced:
            raced.append(True)
            wallet = ledger.people.solvers[0].wallet
            wallet.forget_nonce()
            wallet.send(ledger.node.w3, b"", to=wallet.address)
        return None

    rpc.before = before
    assert solver.run("claim", bounty).last["event"] == "claim.claimed"
    assert purse.received() == (AWARD, 2)


def test_unmined_claim_raises_the_fees(
    solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "STUCK_SECONDS", 0.3)

    def counted(method: str, params: Params, result: object) -> object:
        """A node that holds the first transaction counts it as pending."""
        pending = method == "eth_getTransactionCount" and params[1] == "pending"
        return hex(int(str(result), 16) + 1) if pending and rpc.sent() else result

    rpc.lose_first_transaction()
    rpc.after = counted
    ran = solver.run("claim", bounty)
    assert "raising its fees" in ran.words
    assert ran.last["event"] == "claim.claimed"
    assert (rpc.sent(), purse.received()) == (2, (AWARD, 1))


def test_replacement_above_the_limit_is_not_signed(
    solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "STUCK_SECONDS", 0.3)
    monkeypatch.setattr(sender, "RECEIPT_SECONDS", 2.0)
    rpc.lose_first_transaction()
    rpc.charge(4)
    cost = Client(dict(solver.environment)).preview_claim(BountyId(int(bounty))).gas_cost
    words = ("claim", bounty, "--max-cost", f"{cost * 105 // 100 / 10**18:.18f}")  # a replacement costs an eighth more
    ended = solver.run(*words, code=1)
    assert ended.last["code"] == "transaction_pending"
    assert "its fees are not raised: The transaction may cost" in ended.words
    assert (rpc.sent(), purse.received()) == (1, (0, 0))
    assert solver.run(*words).last["event"] == "claim.claimed"
    assert (rpc.sent(), purse.received()) == (2, (AWARD, 1))


def count_after_three_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "settled_block", lambda _chain, head: hex(head.number - 2))
    monkeypatch.setattr(sender, "is_settled", lambda _chain, block, head: block.number <= head.number - 2)


@pytest.mark.parametrize("moved", [True, False], ids=["into another block", "out of the chain"])
def test_reorg_while_waiting_counts_what_stays(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse, monkeypatch: pytest.MonkeyPatch,
    moved: bool,
) -> None:  # fmt: skip
    count_after_three_blocks(monkeypatch)
    monkeypatch.setattr(sender, "STUCK_SECONDS", 60.0 if moved else 1.0)
    monkeypatch.setattr(sender, "RECEIPT_SECONDS", 60.0)
    ledger.node.mine(2)  # nothing but an empty block goes with the claim's own
    raws: list[str] = []
    looked: list[object] = []

    def after(method: str, params: Params, result: object) -> object:
        if method == "eth_sendRawTransaction":
            raws.append(str(params[0]))
        if method == "eth_getTransactionReceipt" and isinstance(result, dict):
            looked.append(result["blockHash"])
            if len(looked) == 1:
                ledger.node.rpc.call("anvil_reorg", 2, [[raws[0], 0]] if moved else [])
            else:
                ledger.node.mine(1)
        return result

    rpc.after = after
    claimed = solver.run("claim", bounty).last
    block = ledger.node.rpc.call("eth_getBlockByNumber", hex(int(str(claimed["block_number"]))), False)
    assert str(claimed["tx_hash"]) in str(block)
    assert len(set(looked)) == 2
    assert (purse.received(), rpc.sent()) == ((AWARD, 1), 1 if moved else 2)


@pytest.fixture
def three_blocks(ledger: Ledger, bounty: str, purse: Purse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for three blocks, and soon takes a transaction for stuck; the last two blocks are empty."""
    count_after_three_blocks(monkeypatch)
    monkeypatch.setattr(sender, "STUCK_SECONDS", 1.0)
    monkeypatch.setattr(sender, "RECEIPT_SECONDS", 60.0)
    ledger.node.mine(2)


def wait_mined(ledger: Ledger, tx_hash: object) -> None:
    """The node answers a sending before it has mined the block: a reorg in between would take out other blocks."""
    while ledger.node.rpc.call("eth_getTransactionReceipt", str(tx_hash)) is None:
        time.sleep(0.01)


@pytest.mark.usefixtures("three_blocks")
def test_reorg_of_the_used_nonce_sends_it_again(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse
) -> None:
    asked: list[str] = []

    def after(method: str, _params: Params, result: object) -> object:
        if method == "eth_sendRawTransaction":
            wait_mined(ledger, result)
        if rpc.sent() and method in {"eth_getTransactionReceipt", "eth_getTransactionCount"}:
            asked.append(method)
            if asked == ["eth_getTransactionCount", "eth_getTransactionReceipt"]:
                return None  # it lags: the nonce is seen used before it
            if len(asked) == 4:  # the nonce was seen used, and this is the next look for the receipt
                assert asked == 2 * ["eth_getTransactionCount", "eth_getTransactionReceipt"]
                ledger.node.rpc.call("anvil_reorg", 2, [])
                return None
            if rpc.sent() == 2 and result is not None:
                ledger.node.mine(1)
        return result

    rpc.after = after
    assert solver.run("claim", bounty).last["event"] == "claim.claimed"
    assert (purse.received(), rpc.sent()) == ((AWARD, 1), 2)


@pytest.mark.usefixtures("three_blocks")
def test_reorg_before_the_tip_counts_no_block(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse
) -> None:
    seen: list[object] = []

    def after(method: str, params: Params, result: object) -> object:
        if method == "eth_sendRawTransaction":
            wait_mined(ledger, result)
        if method == "eth_getTransactionReceipt" and isinstance(result, dict):
            seen.append(result["blockNumber"])
            if len(seen) > 1:
                ledger.node.mine(1)
        if method == "eth_getBlockByNumber" and seen and params[0] == seen[0] and len(seen) == 1:
            seen.append("dropped")
            ledger.node.rpc.call("anvil_reorg", 2, [])
            ledger.node.mine(3)
        return result

    rpc.after = after
    assert solver.run("claim", bounty).last["event"] == "claim.claimed"
    assert (purse.received(), rpc.sent()) == ((AWARD, 1), 2)


def test_reverted_transaction_changed_nothing(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, bounty: str, purse: Purse
) -> None:
    def before(method: str, _params: Params) -> Answer:
        if method == "eth_sendRawTransaction":
            ledger.token.call("balanceOf", ledger.people.solvers[0].address)
            ledger.token.transact(ledger.people.owner.wallet, "blacklist", ledger.people.solvers[0].address)
        return None

    rpc.before = before
    try:
        assert solver.run("claim", bounty, code=1).last["code"] == "transaction_reverted"
    finally:
        ledger.token.transact(ledger.people.owner.wallet, "unBlacklist", ledger.people.solvers[0].address)
    rpc.honest()
    assert solver.run("claim", bounty).last["event"] == "claim.claimed"
    assert purse.received() == (AWARD, 2)


def test_call_by_a_wallet_counts_with_blocks_on_top(
    ledger: Ledger, solver: Terminal, bounty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_after_three_blocks(monkeypatch)
    monkeypatch.setattr(sender, "RECEIPT_SECONDS", 1.0)
    keyless, person = solver.without_keys(), ledger.people.solvers[0]
    words = ("claim", "--claimant-address", person.address, bounty)
    call = keyless.run(*words).last
    person.wallet.forget_nonce()
    person.wallet.send(ledger.node.w3, bytes.fromhex(str(call["data"])[2:]), to=str(call["to"]))
    assert keyless.run(*words, code=1).last["code"] == "transaction_pending"
    ledger.node.mine(2)
    assert keyless.run(*words).last["event"] == "claim.claimed"
