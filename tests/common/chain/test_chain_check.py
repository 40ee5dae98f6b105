"""Why a chain is not ready: four mistakes of an operator are four sentences, without the endpoint's address."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
import structlog
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from service_common import internal_port
from service_common.chain.settings import ChainSettings
from service_common.internal_port import Readiness
from structlog.testing import capture_logs

from tests.cli.servers import Reply, Request, Server, as_json

Answer = Callable[[Mapping[str, Any]], Reply]
KEY = "a-secret-key-of-the-provider"


def result(value: str, asked: Mapping[str, Any]) -> Reply:
    return as_json({"jsonrpc": "2.0", "id": asked["id"], "result": value})


def refusing(asked: Mapping[str, Any]) -> Reply:
    error = {"code": -32000, "message": f"{KEY} has expired"}
    return as_json({"jsonrpc": "2.0", "id": asked["id"], "error": error})


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def reason(servers: ExitStack, answer: Answer | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the log says of an endpoint that answers so; of none for None."""

    def reply(request: Request) -> Reply:
        assert answer is not None
        return answer(json.loads(request.body))

    url = "http://127.0.0.1:1" if answer is None else servers.enter_context(Server(reply)).url
    settings = ChainSettings(ChainId(31_337), Address("0x" + "22" * 20), BlockNumber(0), (f"{url}/{KEY}",))
    monkeypatch.setattr(internal_port, "log", structlog.get_logger())
    with capture_logs() as lines:
        assert Readiness({"chain": lambda: settings.check(Rpc(settings.rpc_urls))}).failing() == ("chain",)
    (line,) = (each for each in lines if each["event"] == "dependency does not answer")
    assert KEY not in str(lines)
    return str(line["reason"])


def test_mistakes_of_an_operator_are_sentences(servers: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Answer | None] = {
        "other than SERVICE_CHAIN_ID": lambda asked: result("0x1", asked),
        "no contract at SERVICE_HUB_ADDRESS": lambda asked: result(
            "0x7a69" if asked["method"] == "eth_chainId" else "0x", asked
        ),
        "error -32000": refusing,
        "status 401": lambda _: (401, b"unauthorized", {}),
        "no connection": None,
    }
    for words, answer in answers.items():
        assert words in reason(servers, answer, monkeypatch)
