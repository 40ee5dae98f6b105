"""``claim`` for each party and each refusal, with the API stopped: it needs the chain and nothing else."""

from pathlib import Path

import pytest
from service_cli.chain import finality
from service_cli.main import COMMANDS

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

GUARDIAN_FEE = ESCROW * 300 // 10_000
AWARD = ESCROW * 96 // 100


@pytest.fixture
def claimants(ledger: Ledger, rpc: RpcProxy, tmp_path: Path) -> dict[str, Terminal]:
    """Everyone, with an API that is gone."""
    api = ApiTwin(ledger)
    api.close()
    names = ("poster", "solver-1", "solver-2")
    return {name: person(ledger, api, rpc, tmp_path / name, name) for name in names}


def submitted(ledger: Ledger) -> tuple[int, str]:
    """A bounty past its reveal point, and the first Solver's commitment."""
    bounty, _ = ledger.fund(judging=5_000)
    commitment = ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    return bounty, commitment


def judge(ledger: Ledger, bounty: int, number: int, solver: str | None, commitment: str) -> None:
    """One Guardian's Verdict: for the Solver's work, or for nobody's."""
    guardian = ledger.people.guardians[number - 1].wallet
    guardian.forget_nonce()
    named = (1, solver, bytes.fromhex(commitment[2:])) if solver else (2, "0x" + "00" * 20, bytes(32))
    ledger.contract.transact(guardian, "recordVerdict", bounty, *named, bytes([number]) * 32)
    ledger.node.mine(2)


def settled(ledger: Ledger) -> int:
    """A bounty that nobody judged, settled by somebody."""
    bounty, _ = submitted(ledger)
    ledger.advance_to(int(ledger.contract.call("getBounty", bounty)[5]))
    anyone = ledger.people.solvers[1].wallet
    anyone.forget_nonce()
    ledger.contract.transact(anyone, "settle", bounty)
    ledger.node.mine(2)
    return bounty


def balance(ledger: Ledger, account: str) -> int:
    return int(ledger.token.call("balanceOf", account))


@pytest.mark.spec(8, 95, 106, 218, 220, 264, 266, 276)
def test_silence_returns_the_whole_escrow_once(ledger: Ledger, claimants: dict[str, Terminal]) -> None:
    bounty, poster = settled(ledger), ledger.people.poster.address
    before = balance(ledger, poster)
    ran = claimants["poster"].run("claim", str(bounty))
    assert ran.events[0]["function_name"] == "claimRefund"
    assert (ran.events[0]["claimable_amount"], ran.last["claimable_amount"]) == (str(ESCROW), str(ESCROW))
    assert balance(ledger, poster) - before == ESCROW
    assert claimants["poster"].run("claim", str(bounty), code=1).last["code"] == "refund_already_claimed"
    assert balance(ledger, poster) - before == ESCROW


@pytest.mark.spec(7, 93, 105, 264, 267, 272)
def test_award_pays_winner_and_poster(ledger: Ledger, claimants: dict[str, Terminal]) -> None:
    bounty, commitment = submitted(ledger)
    winner = ledger.people.solvers[0].address
    for number in (1, 2):
        judge(ledger, bounty, number, winner, commitment)
    before = balance(ledger, winner)
    award = claimants["solver-1"].run("claim", str(bounty))
    assert (award.events[0]["claimable_amount"], award.last["claimable_amount"]) == (str(AWARD), str(AWARD))
    assert balance(ledger, winner) - before == AWARD
    share = claimants["poster"].run("claim", str(bounty))
    assert (share.events[0]["function_name"], share.last["claimable_amount"]) == ("claimRefund", str(GUARDIAN_FEE // 3))
    again = claimants["solver-1"].run("claim", str(bounty), code=1).last
    assert again["code"] == "award_already_claimed"


@pytest.mark.spec(106, 273)
def test_earned_shares_leave_the_poster_nothing(ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy) -> None:
    bounty, commitment = submitted(ledger)
    judge(ledger, bounty, 1, None, commitment)
    for number in (2, 3):
        judge(ledger, bounty, number, ledger.people.solvers[0].address, commitment)
    assert claimants["poster"].run("claim", str(bounty), code=1).last["code"] == "nothing_queued"
    assert rpc.sent() == 0


@pytest.mark.spec(104, 271)
def test_wrong_party_is_refused(ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy) -> None:
    bounty = settled(ledger)
    for name in ("solver-1", "solver-2"):
        assert claimants[name].run("claim", str(bounty), code=1).last["code"] == "not_entitled"
    stranger = ("--claimant-address", ledger.people.guardians[0].address, str(bounty))
    assert claimants["poster"].run("claim", *stranger, code=1).last["code"] == "not_entitled"
    assert rpc.sent() == 0


@pytest.mark.spec(24, 103, 270)
def test_claim_settles_nothing(ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy) -> None:
    bounty, _ = submitted(ledger)
    ledger.advance_to(int(ledger.contract.call("getBounty", bounty)[5]))
    assert claimants["poster"].run("claim", str(bounty), code=1).last["code"] == "bounty_open"
    assert rpc.sent() == 0
    assert not [name for name in COMMANDS if "settle" in name]


def with_keys(ledger: Ledger, terminal: Terminal, **keys: str) -> Terminal:
    """The same person with the keys of these roles alone, each of somebody."""
    people = ledger.people
    wallets = {"poster": people.poster, "solver": people.solvers[0], "other": people.solvers[1]}
    keyless = terminal.without_keys().environment
    given = {f"SERVICE_{role}_PRIVATE_KEY": wallets[whose].wallet.private_key for role, whose in keys.items()}
    return Terminal(terminal.home, {**keyless, **given})


@pytest.mark.spec(103, 219, 270)
def test_claim_takes_the_key_of_another_role(ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy) -> None:
    bounty, commitment = submitted(ledger)
    somebody = claimants["solver-1"]
    own = with_keys(ledger, somebody, SOLVER="solver")
    assert own.run("claim", str(bounty), code=1).last["code"] == "bounty_open"
    for number in (1, 2):
        judge(ledger, bounty, number, ledger.people.solvers[0].address, commitment)
    others = with_keys(ledger, somebody, CLAIMANT="other", SOLVER="solver")
    assert others.run("claim", str(bounty), code=1).last["code"] == "not_entitled"
    strangers = with_keys(ledger, somebody, SOLVER="other")
    assert strangers.run("claim", str(bounty), code=1).last["code"] == "not_entitled"
    assert with_keys(ledger, somebody).run("claim", str(bounty), code=1).last["code"] == "key_missing"
    both = with_keys(ledger, somebody, SOLVER="solver", POSTER="poster")
    for which in (str(bounty), "--all"):
        assert both.run("claim", which, code=1).last["code"] == "account_ambiguous"
    assert rpc.sent() == 0
    assert own.run("claim", str(bounty)).last["claimable_amount"] == str(AWARD)


@pytest.mark.spec(219, 265, 268, 269, 288, 347)
def test_claim_for_a_wallet_reads_no_key(ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy) -> None:
    bounty = settled(ledger)
    words = ("claim", "--claimant-address", ledger.people.poster.address, str(bounty))
    not_a_key = "this is not a key and would be refused"
    ran = claimants["solver-1"].run(*words, SERVICE_CLAIMANT_PRIVATE_KEY=not_a_key)
    assert ran.names == ["claim.prepared", "claim.transaction_prepared"]
    called = {name: ran.last[name] for name in ("to", "value", "data", "function_name")}
    data = "0x" + ledger.contract.encode("claimRefund", bounty).hex()
    assert called == {"to": ledger.contract.address, "value": "0", "data": data, "function_name": "claimRefund"}
    assert "signing" not in ran.words
    sender = ledger.people.poster.address
    reverts: dict[str, object] = {"error": {"code": 3, "message": "execution reverted", "data": "0x"}}
    rpc.before = lambda method, params: (
        reverts if method == "eth_call" and isinstance(params[0], dict) and params[0].get("from") == sender else None
    )
    refused = claimants["solver-1"].run(*words, code=1)
    assert "claim.transaction_prepared" not in refused.names
    assert rpc.sent() == 0


Awarded = tuple[str, int]
"""A bounty, and the block of its outcome."""


@pytest.fixture
def awarded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Awarded:
    """Won by the first Solver, with looks that follow each other at once."""
    monkeypatch.setattr(finality, "_MOST_SECONDS", 0.01)
    monkeypatch.setattr(finality, "_LEAST_SECONDS", 0.01)
    bounty, commitment = submitted(ledger)
    ledger.award(bounty, ledger.people.solvers[0].address, commitment)
    return str(bounty), ledger.node.w3.eth.block_number - 2


@pytest.mark.spec(263)
def test_claim_before_finality_waits_and_pays(
    ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy, awarded: Awarded
) -> None:
    bounty, block = awarded
    sent: list[int] = []
    rpc.hold_finality(block - 1, 3, lambda: sent.append(rpc.sent()))
    before = ledger.time()
    ran = claimants["solver-1"].run("claim", bounty)
    assert ran.names == ["claim.waiting", "claim.prepared", "claim.claimed"]
    waiting = ran.events[0]
    assert (waiting["block_number"], waiting["finalized_block_number"]) == (block, block - 1)
    assert before <= int(str(waiting["final_at"])) < before + 100
    assert sent == [0]


@pytest.mark.spec(103, 263, 270)
def test_outcome_a_reorg_takes_back_is_refused(
    ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finality, "_MOST_SECONDS", 0.01)
    monkeypatch.setattr(finality, "_LEAST_SECONDS", 0.01)
    bounty, commitment = submitted(ledger)
    block, open_then = ledger.node.w3.eth.block_number, ledger.node.rpc.call("evm_snapshot")
    ledger.award(bounty, ledger.people.solvers[0].address, commitment)
    rpc.hold_finality(block, 2, lambda: ledger.node.rpc.call("evm_revert", open_then))
    ran = claimants["solver-1"].run("claim", str(bounty), code=1)
    assert (ran.names, ran.last["code"]) == (["claim.waiting", "claim.refused"], "bounty_open")
    assert rpc.sent() == 0
