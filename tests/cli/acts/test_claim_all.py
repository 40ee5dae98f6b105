"""``claim --all``: every role's money by few transactions, what is refused named, and nothing paid twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from service_cli.acts import claim_all
from service_cli.chain import sender

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import new_ledger
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import Lost, Params, RpcProxy
from tests.cli.terminal import Ran, Terminal

SHARE = ESCROW * 300 // 10_000 // 3
AWARD = ESCROW * 96 // 100


@pytest.fixture(scope="session")
def ledger() -> Iterator[Ledger]:
    """Of this file alone: other tests would miss what is claimed here."""
    with new_ledger() as found:
        yield found


def awarded(ledger: Ledger) -> int:
    """Won by the first Solver; two of three Guardians judged, so the Poster is owed a share."""
    return ledger.awarded(ledger.people.solvers[0].wallet)


def balance(ledger: Ledger, account: str) -> int:
    return int(ledger.token.call("balanceOf", account))


def parts(ran: Ran, event: str) -> dict[tuple[object, object], object]:
    """The amounts of one event, by bounty and part."""
    amount = "claimable_amount" if event == "claim.due" else "amount"
    return {(each["bounty_id"], each["part"]): each.get(amount) for each in ran.events if each["event"] == event}


@pytest.mark.parametrize(
    ("role", "part", "amount"),
    [
        ("poster", "poster_refund", SHARE),
        ("solver", "winner_award", AWARD),
        ("guardian", "guardian_fee", SHARE),
        ("protocol", "protocol_fee", ESCROW * 100 // 10_000),
    ],
)
def test_each_role_is_paid_at_once_and_once(
    ledger: Ledger, rpc: RpcProxy, request: pytest.FixtureRequest, role: str, part: str, amount: int
) -> None:
    bounties = [str(awarded(ledger)) for _ in range(2)]
    if role == "protocol":
        account, key = ledger.people.fee_recipient.address, ledger.people.fee_recipient.wallet.private_key
        home: Terminal = request.getfixturevalue("solver")
        home = Terminal(home.home, {**home.environment, "SERVICE_CLAIMANT_PRIVATE_KEY": key})
    else:
        people = {"poster": ledger.people.poster, "solver": ledger.people.solvers[0]}
        account = people.get(role, ledger.people.guardians[0]).address
        home = request.getfixturevalue(role)
    before = balance(ledger, account)
    ran = home.run("claim", "--all")
    claimed = parts(ran, "claim.part_claimed")
    assert {claimed[bounty, part] for bounty in bounties} == {str(amount)}
    assert claimed == parts(ran, "claim.due")
    assert ran.last["amount"] == str(balance(ledger, account) - before)
    assert rpc.sent() == (len(claimed) + 31) // 32
    again = home.run("claim", "--all")
    assert (again.last["parts"], again.last["amount"], len(again.events)) == (0, "0", 1)


def test_claim_all_for_a_wallet_is_one_call(ledger: Ledger, solver: Terminal, rpc: RpcProxy) -> None:
    solver.run("claim", "--all")
    bounties, account = [awarded(ledger), awarded(ledger)], ledger.people.solvers[0].address
    keyless = solver.without_keys().environment
    sent = rpc.sent()
    ran = Terminal(solver.home, keyless).run("claim", "--all", "--claimant-address", account)
    assert ran.names == ["claim.due", "claim.due", "claim.transaction_prepared", "claim.total"]
    prepared = ran.event("claim.transaction_prepared")
    claims = [(1, bounty) for bounty in bounties]
    assert prepared["function_name"] == "claimMany"
    assert prepared["data"] == "0x" + ledger.contract.encode("claimMany", claims).hex()
    assert (ran.last["parts"], ran.last["amount"], rpc.sent()) == (2, str(2 * AWARD), sent)


def test_unfinal_outcome_is_left_and_said(ledger: Ledger, solver: Terminal, rpc: RpcProxy) -> None:
    solver.run("claim", "--all")
    sent, early = rpc.sent(), ledger.node.w3.eth.block_number
    bounty = awarded(ledger)
    rpc.hold_finality(early)
    ran = solver.run("claim", "--all")
    assert (ran.last["parts"], ran.last["not_final"], rpc.sent()) == (0, [str(bounty)], sent)
    rpc.honest()
    assert solver.run("claim", "--all").last["parts"] == 1


def test_long_log_is_looked_up_by_the_api(
    ledger: Ledger, api: ApiTwin, solver: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver.run("claim", "--all")
    listed, _ = awarded(ledger), awarded(ledger)
    monkeypatch.setattr(claim_all, "LONG_LOG", 0)
    items = [{"bounty_id": each} for each in (str(listed), str(listed), "987654", "x", "0", str(2**70))]
    api.listed = {"items": items, "next_cursor": None}
    ran = solver.run("claim", "--all")
    assert {bounty for bounty, _ in parts(ran, "claim.part_claimed")} == {str(listed)}
    roles = ("poster", "solver", "guardian")
    assert all(any(f"{role}_address=" in request.query for request in api.server.requests) for role in roles)


def test_interrupted_claims_are_paid_once(ledger: Ledger, solver: Terminal, rpc: RpcProxy) -> None:
    solver.run("claim", "--all")
    bounty, account = awarded(ledger), ledger.people.solvers[0].address
    had, nonce = balance(ledger, account), ledger.nonce(account)

    def after(method: str, _params: Params, result: object) -> object:
        if method == "eth_getTransactionReceipt":
            raise Lost
        return result

    rpc.after = after
    assert solver.run("claim", "--all", code=1).last["event"] == "claim.failed"
    rpc.honest()
    ran = solver.run("claim", "--all")
    assert parts(ran, "claim.part_claimed") == {(str(bounty), "winner_award"): str(AWARD)}
    assert (balance(ledger, account) - had, ledger.nonce(account) - nonce) == (AWARD, 1)


def lose_what_is_sent(method: str, _params: Params) -> None:
    """The endpoint is away for transactions alone."""
    if method == "eth_sendRawTransaction":
        raise Lost


@pytest.mark.parametrize("nonce", ["used", "free"])
def test_part_claimed_meanwhile_is_left_out(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nonce: str
) -> None:
    monkeypatch.setattr(sender, "MISSING_SECONDS", 0.0)
    solver.run("claim", "--all")
    account = ledger.people.solvers[0].address
    first, second = awarded(ledger), awarded(ledger)
    before = ledger.nonce(account)

    rpc.before = lose_what_is_sent
    solver.run("claim", "--all", code=1)
    rpc.honest()
    Terminal(tmp_path, solver.environment).run("claim", str(second))
    later = awarded(ledger)
    if nonce == "free":  # as of an account whose own code claimed it
        ledger.node.rpc.call("anvil_setNonce", account, hex(before))
        ledger.people.solvers[0].wallet.forget_nonce()
    ran = solver.run("claim", "--all")
    assert parts(ran, "claim.part_claimed").keys() == {(str(bounty), "winner_award") for bounty in (first, later)}
    assert ran.last["parts"] == 2
    assert parts(solver.run("claim", "--all"), "claim.part_claimed") == {}
