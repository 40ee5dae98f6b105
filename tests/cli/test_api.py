"""The API client: what it retries, what it never resends, and answers that never end."""

from itertools import chain, repeat
from pathlib import Path
from time import monotonic

import pytest
from bounty_protocol.auth.header import parse_header
from bounty_protocol.types import to_bytes
from service_cli import api as api_module

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Reply, Request, Server, as_json
from tests.cli.terminal import Ran, Terminal
from tests.raw_server import raw_server


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "bounty_challenge.md"
    path.write_bytes(ledger.page())
    ledger.node.mine(20)
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(api_module, "pause", waited.append)
    monkeypatch.setattr(api_module, "monotonic", lambda: monotonic() + sum(waited))
    monkeypatch.setattr(api_module, "PATIENCE_SECONDS", 5.0)


def script(api: ApiTwin, *replies: Reply) -> None:
    """Answer the first publications with these, then honestly."""
    left = list(replies)
    api.scripts["publish"] = lambda _request: left.pop(0) if left else None


RETRIED = [
    refusal(401, "unauthorized", "Stale."),
    refusal(503, "service_overloaded", "Busy.", **{"Retry-After": "1"}),
    refusal(502, "orchestrator_provider_error", "Still reviewing.", **{"Retry-After": "1"}),
]


@pytest.mark.spec(333, 334, 335)
@pytest.mark.parametrize("reply", RETRIED, ids=lambda reply: str(reply[0]))
def test_passing_answer_is_signed_anew(api: ApiTwin, poster: Terminal, page: Path, reply: Reply) -> None:
    script(api, reply, reply)
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.last["event"] == "publish_fund.bounty_created"
    assert len(api.approvals()) == len(set(api.approvals())) == 3


def test_three_signatures_are_enough(api: ApiTwin, poster: Terminal, page: Path) -> None:
    api.scripts["publish"] = lambda _request: refusal(401, "unauthorized", "Never.")
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert (ran.last["event"], ran.last["code"]) == ("publish_fund.failed", "unauthorized")
    assert len(api.approvals()) == len(set(api.approvals())) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_signed_request__a_redirect__is_not_followed(api: ApiTwin, poster: Terminal, page: Path, status: int) -> None:
    api.scripts["publish"] = lambda _request: (status, b"", {"Location": f"{api.url}/elsewhere"})
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == "answer_malformed"
    assert "/elsewhere" not in api.paths()


@pytest.mark.parametrize(
    "error",
    [
        {"code": "x", "message": "y" * 5_000, "next_action": "z", "issues": []},
        {
            "code": "x",
            "message": "y\x1b[2J\nz",
            "next_action": "z\x07",
            "issues": [{"path": "\x1b]0;p", "message": "q\r"}],
        },
    ],
)
def test_terminal_controls_are_not_printed(api: ApiTwin, poster: Terminal, error: dict[str, object]) -> None:
    api.scripts["detail"] = lambda _request: as_json({"error": error}, 400)
    ran = poster.run("verification-record", "1", code=1)
    assert not set(ran.words) & {"\x1b", "\x07", "\r"}
    assert len(ran.words) < 4_000


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def ask(poster: Terminal, url: str) -> Ran:
    return poster.run("verification-record", "1", "--api-base-url", url, code=1)


def test_endless_answer_is_cut_off_by_length(poster: Terminal) -> None:
    with raw_server(lambda: chain([CHUNKED], repeat(b"10000\r\n" + b" " * 65_536 + b"\r\n"))) as server:
        assert ask(poster, server.url).last["code"] == "answer_malformed"


@pytest.mark.parametrize(("head", "endless"), [(b"", b"x"), (CHUNKED, b"1\r\n \r\n")], ids=["head", "body"])
def test_dripping_answer_is_cut_off_by_time(
    poster: Terminal, monkeypatch: pytest.MonkeyPatch, head: bytes, endless: bytes
) -> None:
    monkeypatch.setattr(api_module, "ANSWER_SECONDS", 0.3)
    with raw_server(lambda: chain([head], repeat(endless)), pause=0.001) as server:
        assert ask(poster, server.url).last["code"] == "api_unreachable"


@pytest.mark.spec(297)
def test_audience_is_the_host_with_its_port() -> None:
    cases = {
        "https://API.Example": "api.example",
        "https://api.example:443": "api.example",
        "http://api.example:80": "api.example",
        "https://api.example:8443": "api.example:8443",
        "http://[::1]:8000": "[::1]:8000",
    }
    assert {url: api_module.audience_of(url) for url in cases} == cases


@pytest.mark.spec(111, 223, 275)
def test_public_read_has_no_authorization(api: ApiTwin, poster: Terminal) -> None:
    seen: list[Request] = []
    api.scripts["detail"] = lambda request: seen.append(request) or refusal(404, "bounty_not_found", "None.")  # type: ignore[func-returns-value]
    poster.run("verification-record", "7", code=1)
    assert [(request.method, request.path) for request in seen] == [("GET", "/api/bounties/7")]
    assert not api.approvals()


def test_address_with_another_path_is_to_be_checked(api: ApiTwin, poster: Terminal) -> None:
    api.scripts["detail"] = lambda _request: refusal(404, "route_not_found", "There is no such route.")
    ran = poster.run("verification-record", "7", code=1)
    assert (ran.last["code"], ran.last["next_action"]) == ("route_not_found", "Check SERVICE_API_BASE_URL.")


def test_plain_server_behind_https_is_no_bad_certificate(api: ApiTwin, poster: Terminal) -> None:
    plain = api.variables()["SERVICE_API_BASE_URL"].replace("http:", "https:")
    ran = poster.run("verification-record", "7", "--api-base-url", plain, code=1)
    assert str(ran.last["message"]).endswith("did not answer: it does not speak https.")


SECRET = "a-key-in-the-path"


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (403, b"<html>no</html>", "gave no usable answer: status 403 without a JSON-RPC answer"),
        (429, b"{}", "has a rate limit, and refused this request"),
        (200, b"[1]", "gave no usable answer: status 200 without a JSON-RPC answer"),
        (None, b"", "gave no usable answer: the connection broke"),
    ],
)
def test_silent_rpc_is_named_without_its_path(solver: Terminal, status: int | None, body: bytes, problem: str) -> None:
    def answer(_request: Request) -> Reply:
        if status is None:
            raise Lost
        return status, body, {}

    with Server(answer) as other:
        host = other.url.removeprefix("http://")
        ran = solver.run("claim", "1", code=1, SERVICE_RPC_URL=f"http://me:{SECRET}@{host}/v2/{SECRET}?k={SECRET}")
    assert ran.last["code"] == "chain_unavailable"
    assert ran.last["message"] == f"The RPC endpoint at {host} {problem}."
    assert status == 429 or "SERVICE_RPC_URLS" in str(ran.last["next_action"])
    assert SECRET not in ran.stdout + ran.words


@pytest.mark.spec(307, 383)
def test_approval_is_over_a_block_three_behind(api: ApiTwin, ledger: Ledger, poster: Terminal, page: Path) -> None:
    api.scripts["publish"] = lambda _request: refusal(403, "forbidden", "Another wallet.")
    ledger.node.rpc.call("anvil_mine", hex(40), hex(2))
    newest = ledger.node.w3.eth.block_number
    poster.run("poster:publish-fund", str(page), code=1)
    (approval,) = map(parse_header, api.approvals())
    assert approval.block_number == newest - 3
    assert to_bytes(approval.block_hash) == ledger.node.w3.eth.get_block(newest - 3)["hash"]
