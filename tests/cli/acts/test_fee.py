"""A Guardian's sign of life, and its fee."""

from functools import partial
from pathlib import Path

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

SHARE = ESCROW * 300 // 10_000 // 3


def test_heartbeat_is_recorded_and_given_again(ledger: Ledger, guardian: Terminal) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    first, second = guardian.run("guardian:heartbeat").last, guardian.run("guardian:heartbeat").last
    assert first["guardian"] == account
    assert first["tx_hash"] != second["tx_hash"]
    assert ledger.nonce(account) - before == 2


def test_heartbeat_sent_long_ago_is_given_anew(ledger: Ledger, rpc: RpcProxy, guardian: Terminal) -> None:
    """It was reported as this one, and the Guardian stayed silent."""
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    kill = partial(run_killed, guardian, rpc, "guardian:heartbeat", method="eth_sendRawTransaction", forward=True)
    kill()
    guardian.run("guardian:heartbeat")
    assert ledger.nonce(account) - before == 1  # it goes on with what was sent just now
    kill()
    ledger.advance_to(ledger.time() + 2 * 3_600)
    newest = ledger.node.rpc.call("eth_blockNumber")
    ran = guardian.run("guardian:heartbeat").last
    assert ledger.nonce(account) - before == 3
    assert int(str(ran["block_number"])) > int(str(newest), 16)


def test_guardian_fee_is_paid_once(ledger: Ledger, guardian: Terminal, ended: int) -> None:
    account = ledger.people.guardians[0].address
    before = int(ledger.token.call("balanceOf", account))
    ran = guardian.run("guardian:claim-fee", str(ended))
    assert (ran.last["event"], ran.last["amount"]) == ("guardian_claim_fee.claimed", str(SHARE))
    assert int(ledger.token.call("balanceOf", account)) - before == SHARE
    assert guardian.run("guardian:claim-fee", str(ended), code=1).last["code"] == "nothing_due"


def test_fee_of_an_open_bounty_is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, ended: int, tmp_path: Path
) -> None:
    bounty, _ = ledger.fund()
    assert guardian.run("guardian:claim-fee", str(bounty), code=1).last["code"] == "bounty_open"
    silent = person(ledger, api, rpc, tmp_path / "silent", "guardian-3")
    assert silent.run("guardian:claim-fee", str(ended), code=1).last["code"] == "nothing_due"
    key = ledger.people.poster.wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert stranger.run("guardian:claim-fee", str(ended), code=1).last["code"] == "not_guardian"
    assert rpc.sent() == 0
