"""``claim`` for each party and each refusal, with the API stopped: it needs the chain and nothing else."""

from pathlib import Path

import pytest

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


def settled(ledger: Ledger) -> int:
    """A bounty that nobody judged, settled by somebody."""
    bounty, _ = submitted(ledger)
    ledger.advance_to(int(ledger.contract.call("getBounty", bounty)[5]))
    anyone = ledger.people.solvers[1].wallet
    anyone.forget_nonce()
    ledger.contract.transact(anyone, "settle", bounty)
    return bounty


def balance(ledger: Ledger, account: str) -> int:
    return int(ledger.token.call("balanceOf", account))


def test_claim__of_the_poster_after_silence__takes_the_whole_escrow_back_once(
    ledger: Ledger, claimants: dict[str, Terminal]
) -> None:
    bounty, poster = settled(ledger), ledger.people.poster.address
    before = balance(ledger, poster)
    ran = claimants["poster"].run("claim", str(bounty))
    assert (ran.events[0]["function_name"], ran.last["claimable_amount"]) == ("claimRefund", str(ESCROW))
    assert balance(ledger, poster) - before == ESCROW
    assert claimants["poster"].run("claim", str(bounty), code=1).last["code"] == "refund_already_claimed"
    assert balance(ledger, poster) - before == ESCROW


def test_claim__of_an_award__pays_the_winner_and_the_poster_what_no_guardian_earned(
    ledger: Ledger, claimants: dict[str, Terminal]
) -> None:
    bounty, commitment = submitted(ledger)
    winner = ledger.people.solvers[0].address
    for number in (1, 2):
        judge(ledger, bounty, number, winner, commitment)
    before = balance(ledger, winner)
    assert claimants["solver-1"].run("claim", str(bounty)).last["claimable_amount"] == str(AWARD)
    assert balance(ledger, winner) - before == AWARD
    share = claimants["poster"].run("claim", str(bounty))
    assert (share.events[0]["function_name"], share.last["claimable_amount"]) == ("claimRefund", str(GUARDIAN_FEE // 3))
    again = claimants["solver-1"].run("claim", str(bounty), code=1).last
    assert (again["code"], "transaction 0x" in str(again["message"])) == ("award_already_claimed", True)


def test_claim__where_every_guardian_earned_its_share__leaves_the_poster_nothing(
    ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy
) -> None:
    bounty, commitment = submitted(ledger)
    judge(ledger, bounty, 1, None, commitment)
    for number in (2, 3):
        judge(ledger, bounty, number, ledger.people.solvers[0].address, commitment)
    assert claimants["poster"].run("claim", str(bounty), code=1).last["code"] == "nothing_queued"
    assert rpc.sent() == 0


def test_claim__by_the_wrong_party__is_refused_and_sends_nothing(
    ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy
) -> None:
    bounty = settled(ledger)
    for name in ("solver-1", "solver-2"):
        assert claimants[name].run("claim", str(bounty), code=1).last["code"] == "not_entitled"
    stranger = ("--claimant-address", ledger.people.guardians[0].address, str(bounty))
    assert claimants["poster"].run("claim", *stranger, code=1).last["code"] == "not_entitled"
    assert rpc.sent() == 0


def test_claim__for_an_external_wallet__simulates_for_it_and_never_reads_a_key(
    ledger: Ledger, claimants: dict[str, Terminal], rpc: RpcProxy
) -> None:
    bounty = settled(ledger)
    words = ("claim", "--claimant-address", ledger.people.poster.address, str(bounty))
    not_a_key = "this is not a key and would be refused"
    ran = claimants["solver-1"].run(*words, SERVICE_CLAIMANT_PRIVATE_KEY=not_a_key)
    assert ran.names == ["claim.prepared", "claim.transaction_prepared"]
    assert ran.last["data"] == "0x" + ledger.contract.encode("claimRefund", bounty).hex()
    assert "signing" not in ran.words
    sender = ledger.people.poster.address
    reverts: dict[str, object] = {"error": {"code": 3, "message": "execution reverted", "data": "0x"}}
    rpc.before = lambda method, params: (
        reverts if method == "eth_call" and isinstance(params[0], dict) and params[0].get("from") == sender else None
    )
    refused = claimants["solver-1"].run(*words, code=1)
    assert "claim.transaction_prepared" not in refused.names
    assert rpc.sent() == 0
