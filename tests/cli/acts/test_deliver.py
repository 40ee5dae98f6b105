"""The winning key's delivery: only the finalized winner's, only to the key that the Hub publishes."""

from collections.abc import Iterator

import pytest
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import to_bytes
from service_cli.chain import agreement

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.liar import view_with
from tests.cli.lies import lie_at
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


def test_key_that_one_endpoint_names_is_not_used(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, won: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "LAG_SECONDS", 0.01)
    load(api, won)
    rpc.after = view_with("deliveryKey", word0=0xBAD)
    api.lies["delivery_key"] = lie_at("delivery_public_key", value=f"0x{0xBAD:064x}")
    ran = guardian.run("guardian:deliver-key", *won.names, code=1, SERVICE_RPC_URLS=ledger.node.url)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_deliver_key.refused", "sources_disagree")
    assert not api.approvals()


@pytest.mark.spec(234)
def test_unfinal_award_gets_no_signature(api: ApiTwin, rpc: RpcProxy, guardian: Terminal, won: Submitted) -> None:
    load(api, won)
    logs = [log for log in api.ledger.logs("BountyFinalized") if isinstance(log, dict)]
    (end,) = [log for log in logs if int(log["topics"][1], 16) == int(won.bounty)]
    rpc.hold_finality(int(end["blockNumber"], 16) - 1)
    ran = guardian.run("guardian:deliver-key", *won.names, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_deliver_key.failed", "not_finalized")
    assert not api.approvals()


@pytest.mark.spec(100, 234, 236)
def test_bounty_not_awarded_to_it_is_refused(
    api: ApiTwin, guardian: Terminal, judged: Submitted, won: Submitted
) -> None:
    for names in (judged.names, (judged.bounty,), (won.bounty, judged.solver, judged.commitment)):
        assert guardian.run("guardian:deliver-key", *names, code=1).last["code"] == "not_the_winner"
    assert not api.approvals()


@pytest.fixture
def own_key(ledger: Ledger) -> Iterator[bytes]:
    """The deployment's delivery key, in effect again afterwards."""
    key = to_bytes(ledger.delivery.public_key)
    yield key
    if ledger.contract.call("deliveryKey") != key:
        ledger.contract.transact(ledger.people.owner.wallet, "publishDeliveryKey", key)
        ledger.await_publication()


@pytest.mark.usefixtures("own_key")
def test_key_that_just_changed_is_run_again(ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted) -> None:
    load(api, won)
    other = to_bytes(Identity.generate().public_key)
    ledger.contract.transact(ledger.people.owner.wallet, "publishDeliveryKey", other)
    _, effective = ledger.contract.call("announcedDeliveryKey")
    ledger.node.rpc.call("evm_setNextBlockTimestamp", effective)
    ledger.node.mine(1)  # not final yet
    ran = guardian.run("guardian:deliver-key", *won.names, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_deliver_key.failed", "delivery_key_changing")
    ledger.node.mine(3)
    assert guardian.run("guardian:deliver-key", *won.names, code=1).last["code"] == "delivery_key_mismatch"
    assert not api.approvals()


@pytest.mark.usefixtures("own_key")
def test_withdrawn_key_gets_nothing(ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted) -> None:
    """An API that serves the empty key, too, would have the work's key sealed to nobody."""
    load(api, won)
    ledger.contract.transact(ledger.people.owner.wallet, "withdrawDeliveryKey", to_bytes(ledger.delivery.public_key))
    api.lies["delivery_key"] = lie_at("delivery_public_key", value=f"0x{0:064x}")
    assert guardian.run("guardian:deliver-key", *won.names, code=1).last["code"] == "delivery_key_missing"
    assert not api.approvals()
