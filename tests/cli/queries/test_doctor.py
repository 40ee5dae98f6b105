"""``doctor``: each check named with what fixes it."""

from service_cli.config.settings import BEACON

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


def test_doctor_names_what_is_wrong_and_its_fix(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal) -> None:
    account = ledger.people.poster.address
    ran = poster.run("doctor", "--address", account, code=1)
    found = {event.get("name"): (event.get("ok"), event.get("fix")) for event in ran.events}
    assert found.pop("clock")[0] is False  # this chain lives in the past
    assert ran.last["code"] == "unhealthy"
    del found[None]
    assert set(found) == {"settings", "chain", "roster", "delivery_key", "api", "subgraph", "beacon", "balance"}
    assert all(ok and fix is None for ok, fix in found.values())
    other = Terminal(
        poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": account, "SERVICE_BEACON_URLS": "http://127.0.0.1:9"}
    )
    checks = other.run("doctor", code=1).events
    broken = {event.get("name"): event.get("ok") for event in checks}
    assert not any((broken["chain"], broken["roster"], broken["api"], broken["beacon"]))
    (fix,) = [str(event["fix"]) for event in checks if event.get("name") == "beacon"]
    assert all(name in fix for name in BEACON)


ADDRESS = "0x" + "ab" * 20


def test_doctor_skips_what_depends_on_the_chain(poster: Terminal, api: ApiTwin) -> None:
    broken = Terminal(poster.home, {**poster.environment, "SERVICE_RPC_URL": "http://127.0.0.1:9"})
    ran = broken.run("doctor", "--quiet", "--address", ADDRESS, code=1)
    details = {event["name"]: str(event["detail"]) for event in ran.events if event["event"] == "doctor.check"}
    skipped = [name for name, detail in details.items() if detail.startswith("skipped")]
    assert skipped == ["clock", "roster", "delivery_key", "balance"]
    (chain,) = [event for event in ran.events if event.get("name") == "chain"]
    assert "Check SERVICE_RPC_URL" in str(chain["fix"])
    assert "roster" not in str(ran.last["message"])
