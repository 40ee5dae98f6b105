"""A bounty's number at another Hub is another bounty: what was meant for one Hub never happens at another."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.types import Address, ChainId

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

CHAIN, OURS, OTHER = ChainId(31337), Address("0x" + "ab" * 20), Address("0x" + "cd" * 20)
BY_THE_API = [fund, seal, judge, open_work, deliver, receive]


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


def serve(api: ApiTwin, hub: str) -> None:
    """Have every answer name this Hub."""
    api.server.alter = lambda _, reply: (*reply[:2], {**reply[2], HUB_HEADER: hub})


@pytest.mark.parametrize("scene", BY_THE_API)
def test_api_of_another_hub_gets_nothing(stage: Stage, scene: Callable[[Stage], Case]) -> None:
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
def test_read_of_another_hub_shows_nothing(stage: Stage, words: tuple[str, ...]) -> None:
    serve(stage.api, caip_10(CHAIN, OTHER))
    home = stage.home("guardian-1")
    ran = home.run_any(*words)
    assert "deployment_mismatch" in ran.stdout + ran.words or OTHER in ran.words
    assert not any(event["event"] in {"bounty.item", "bounty.shown"} for event in ran.events)
