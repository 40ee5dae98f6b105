"""A bounty's number at another Hub is another bounty: what was meant for one Hub never happens at another."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.types import Address, ChainId
from service_cli.chain.journal import journal_folder, note_done, opened_name
from service_cli.disk import state_directory

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.scenes import (
    Case,
    Stage,
    deliver,
    fund,
    judge,
    make_stage,
    open_work,
    receive,
    seal,
)
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

CHAIN, OURS, OTHER = ChainId(31337), Address("0x" + "ab" * 20), Address("0x" + "cd" * 20)
BY_THE_API = [fund, seal, judge, open_work, deliver, receive]


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


def serve(api: ApiTwin, hub: str) -> None:
    """Have every answer name this Hub."""
    api.server.alter = lambda _, reply: (*reply[:2], {**reply[2], HUB_HEADER: hub})


@pytest.mark.attack
@pytest.mark.parametrize("scene", BY_THE_API)
def test_api__of_another_hub__is_refused_before_anything_is_sent(stage: Stage, scene: Callable[[Stage], Case]) -> None:
    case = scene(stage)
    serve(stage.api, caip_10(CHAIN, OTHER))
    sent = stage.rpc.sent()
    ran = case.home.run(*case.words, code=1)
    assert (ran.last["code"], stage.rpc.sent()) == ("deployment_mismatch", sent)
    assert OTHER in str(ran.last["message"])
    serve(stage.api, caip_10(CHAIN, stage.api.hub.address))
    assert case.home.run(*case.words).last["event"] == case.event


@pytest.mark.parametrize(
    "words",
    [("bounty:show", "1"), ("bounty:list",), ("status", "--address", OURS), ("guardian:judgeable",)],
    ids=lambda words: words[0],
)
def test_read__of_another_hubs_api__shows_nothing_of_it(stage: Stage, words: tuple[str, ...]) -> None:
    serve(stage.api, caip_10(CHAIN, OTHER))
    home = stage.home("guardian-1")
    ran = home.run_any(*words)
    assert "deployment_mismatch" in ran.stdout + ran.words or OTHER in ran.words
    assert not any(event["event"] in {"bounty.item", "bounty.shown"} for event in ran.events)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("SERVICE_CHAIN_ID", str(CHAIN))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_journal__of_one_hub__is_not_that_of_another(state: Path) -> None:
    name = opened_name("7", "0x" + "cd" * 20, "0x" + "ef" * 32)
    note_done(CHAIN, OURS, *name)
    assert state in state_directory().parents
    assert journal_folder(CHAIN, OURS, name).exists()
    assert not journal_folder(CHAIN, OTHER, name).exists()


def test_settings__that_mix_two_deployments__are_named_by_the_doctor(stage: Stage) -> None:
    serve(stage.api, caip_10(CHAIN, OTHER))
    home = stage.home("guardian-1")
    checks = {event.get("name"): event.get("detail") for event in home.run("doctor", code=1).events}
    assert OTHER in str(checks["api"])
    without = Terminal(home.home, {k: v for k, v in home.environment.items() if k != "SERVICE_API_BASE_URL"})
    assert without.run("doctor", code=1).last["code"] == "unhealthy"
