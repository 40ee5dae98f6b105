"""One hiccup of a proxy, a CDN or the storage ends no command, and costs a person no more than three signatures."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bounty_protocol.timely import may_pass
from bounty_protocol.types import BountyId
from service_cli import Client
from service_cli import api as api_module
from service_cli.work import storage

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Reply, Request, as_json
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Ran, Terminal

BAD_GATEWAY: Reply = (502, b"<html>bad gateway</html>", {})
EMPTY: Reply = (200, b"", {})


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for the API and the storage, in no time."""
    seconds = list[float]()
    for module in (api_module, storage):
        monkeypatch.setattr(module, "pause", seconds.append)
    return seconds


def cut(_: Request) -> Reply:
    raise Lost


@dataclass
class Hiccup:
    """Answers a route's first requests so, and counts all of them."""

    reply: Reply | Callable[[Request], Reply] = BAD_GATEWAY
    times: int = 1
    seen: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply | None:
        self.seen.append(request)
        if len(self.seen) > self.times:
            return None
        return self.reply(request) if callable(self.reply) else self.reply


def hiccups(api: ApiTwin, *routes: str, reply: Reply | Callable[[Request], Reply] = BAD_GATEWAY) -> list[Hiccup]:
    made = [Hiccup(reply) for _ in routes]
    api.scripts |= dict(zip(routes, made, strict=True))
    return made


@pytest.fixture
def work(solver: Terminal) -> str:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return str(folder)


@pytest.mark.parametrize(
    "status", [400, 403, 404, 408, 413, 425, 429, 500, 501, 502, 503, 504, 505, 520, 525, 530, 531]
)
def test_read_is_repeated_by_its_status(api: ApiTwin, solver: Terminal, bounty: str, status: int) -> None:
    (seen,) = hiccups(api, "detail", reply=(status, b"<html>", {}))
    ran = solver.run("bounty:show", bounty, code=0 if may_pass(status) else 1)
    assert len(seen.seen) == (2 if may_pass(status) else 1)
    assert may_pass(status) == (ran.last["event"] == "bounty_show.bounty")


@pytest.mark.parametrize("reply", [BAD_GATEWAY, EMPTY, cut], ids=["status", "empty", "cut"])
def test_command_submits_over_hiccups(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, reply: Reply | Callable[[Request], Reply]
) -> None:
    api_of_each = hiccups(api, "detail", "upload_url", "prepare", reply=reply)
    hiccups(api, "put", reply=cut if reply == EMPTY else reply)  # a storage answers nothing where it took an object
    ran = solver.run("solver:submit", bounty, work)
    assert ran.last["submission_commitment"] == ledger.recorded(bounty)
    assert all(len(each.seen) == 2 for each in api_of_each)
    assert len(set(api.approvals())) == len(api.approvals()) == 4


def test_object_of_a_cut_upload_is_there_already(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    def taken(request: Request) -> Reply:
        api.objects[request.path.removeprefix("/objects/")] = request.body
        raise Lost

    (put,) = hiccups(api, "put", reply=taken)
    ran = solver.run("solver:submit", bounty, work)
    assert (ran.names.count("submit.ciphertext_uploaded"), len(put.seen)) == (1, 2)
    assert ran.last["submission_commitment"] == ledger.recorded(bounty)


def test_library_acts_over_hiccups(api: ApiTwin, guardian: Terminal, judged: Submitted, tmp_path: Path) -> None:
    load(api, judged)
    client = Client(dict(guardian.environment), state_directory=tmp_path / "kept")
    seen = hiccups(api, "detail", "content", "download")
    assert client.bounty(BountyId(int(judged.bounty))).bounty_id == int(judged.bounty)
    client.open_submissions(BountyId(int(judged.bounty)), tmp_path / "out")
    (opened,) = (each for each in (tmp_path / "out").iterdir() if each.is_dir())
    assert files_below(opened) == judged.files
    assert [len(each.seen) >= 2 for each in seen] == [True] * 3


def test_library_uploads_over_a_hiccup(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, tmp_path: Path
) -> None:
    (put,) = hiccups(api, "put")
    client = Client(dict(solver.environment), state_directory=tmp_path / "kept")
    done = client.submit(BountyId(int(bounty)), Path(work))
    assert (done.submission_commitment, len(put.seen)) == (ledger.recorded(bounty), 2)


def test_download_that_breaks_off_is_continued(
    api: ApiTwin, guardian: Terminal, judged: Submitted, waits: list[float]
) -> None:
    load(api, judged)
    asked = list[str | None]()

    def half(request: Request) -> Reply | None:
        asked.append(request.headers.get("range"))
        content = api.objects[request.path.removeprefix("/objects/")]
        if len(asked) == 1:  # no length, and ended in the middle, as HTTP/1.0 answers
            return 200, content[: len(content) // 2], {"Transfer-Encoding": "identity", "Connection": "close"}
        return BAD_GATEWAY if len(asked) == 2 else None

    api.scripts["download"] = half
    ran = guardian.run("guardian:open", *judged.names, "out")
    assert ran.last["event"] == "guardian_open.artifact_opened"
    assert (asked[0], asked[1], waits) == (None, asked[2], list(storage.PAUSES[:2]))
    assert asked[1] is not None


@pytest.mark.parametrize(("route", "code"), [("put", "storage_unreachable"), ("detail", "api_unreachable")])
def test_what_stays_broken_ends(api: ApiTwin, solver: Terminal, bounty: str, work: str, route: str, code: str) -> None:
    api.scripts[route] = always = Hiccup(cut, times=1_000)
    assert solver.run("solver:submit", bounty, work, code=1).last["code"] == code
    assert len(always.seen) == 4


def test_limit_of_a_day_is_not_waited_for(api: ApiTwin, solver: Terminal, bounty: str, waits: list[float]) -> None:
    limited = refusal(429, "rate_limit_reached", "Too many.", **{"Retry-After": "86400"})
    (seen,) = hiccups(api, "detail", reply=limited)
    assert solver.run("bounty:show", bounty, code=1).last["code"] == "rate_limit_reached"
    assert (len(seen.seen), waits) == (1, [])


@pytest.mark.parametrize(
    "reply", [BAD_GATEWAY, (504, b"", {}), (429, b"", {}), EMPTY, cut], ids=["502", "504", "429", "empty", "cut"]
)
def test_publication_that_may_be_paid_is_not_repeated(
    ledger: Ledger, api: ApiTwin, poster: Terminal, reply: Reply | Callable[[Request], Reply]
) -> None:
    (poster.home / "page.md").write_bytes(ledger.page())
    (seen,) = hiccups(api, "publish", reply=reply)
    assert str(poster.run("poster:publish-fund", "page.md", code=1).last["event"]) == "publish_fund.failed"
    assert len(seen.seen) == 1


# --- a person's wallet

ACCEPTS = "0x631626ba7e60e01b60005260206000f3"
"""Code that answers ERC-1271's question with its magic value, whatever the signature is."""
REFUSES = "0x60206000f3"
BUSY = refusal(503, "service_overloaded", "Busy.", **{"Retry-After": "1"})


def submit_by_wallet(solver: Terminal, address: str, bounty: str, work: str, *signatures: bytes, code: int = 0) -> Ran:
    words = ("solver:submit", "--solver-address", address, bounty, work)
    return solver.without_keys().run(*words, stdin=b"".join(each + b"\n" for each in signatures), code=code)


def given(count: int) -> list[bytes]:
    """What a contract wallet answers, each time something else."""
    return [b"0x" + bytes([49 + place]) * 200 for place in range(count)]


def contract(ledger: Ledger, code: str) -> str:
    """An account that has this code."""
    address = f"0x{'c0' * 18}{len(code):04x}"
    ledger.node.rpc.call("anvil_setCode", address, code)
    return address


def test_wallet_is_asked_three_times_at_most(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    address = ledger.people.solvers[0].address
    for route in ("upload_url", "prepare"):
        api.scripts = {route: Hiccup(BUSY, times=1_000)}
        ran = submit_by_wallet(solver, address, bounty, work, *given(9), code=1)
        assert (ran.last["event"], ran.last["code"]) == ("submit.failed", "service_overloaded")
        assert ran.names.count("submit.approval_required") == 3
    api.scripts.clear()
    assert submit_by_wallet(solver, address, bounty, work, *given(9)).names.count("submit.approval_required") == 1


def test_wallet_is_asked_once_the_api_answers(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    starting = as_json({"state": "starting"})
    away = iter([BAD_GATEWAY, starting, BUSY, None, BUSY, starting])
    asked = list[int]()

    def state(_: Request) -> Reply | None:
        asked.append(len(api.approvals()))
        return next(away, None)

    api.scripts |= {"index": state, "upload_url": Hiccup(BAD_GATEWAY)}
    ran = submit_by_wallet(solver, ledger.people.solvers[0].address, bounty, work, *given(3))
    assert ran.last["event"] == "submit.transaction_prepared"
    assert ran.names.count("submit.approval_required") == len(set(api.approvals())) == 3
    assert asked == [0, 0, 0, 0, 1, 1, 1, 2], "unsigned, before each signature"


def test_wallet_is_not_asked_while_the_api_is_away(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "PATIENCE_SECONDS", 3.0)
    address = ledger.people.solvers[0].address
    api.scripts["index"] = lambda _: BAD_GATEWAY
    ran = submit_by_wallet(solver, address, bounty, work, *given(3), code=1)
    assert (ran.last["event"], ran.last["code"], api.approvals()) == ("submit.failed", "api_unreachable", [])
    assert "submit.approval_required" not in ran.names


@pytest.mark.parametrize("signature", [b"0x" + b"11" * 65, b"0x" + b"11" * 130, b"0x"])
def test_contract_that_refuses_is_asked_once(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, signature: bytes
) -> None:
    api.scripts["upload_url"] = lambda _: refusal(401, "unauthorized", "No.")
    ran = submit_by_wallet(solver, contract(ledger, REFUSES), bounty, work, *[signature] * 3, code=1)
    assert (ran.last["code"], api.approvals()) == ("signature_mismatch", [])
    assert ran.names.count("submit.approval_required") == 1


def test_owners_may_sign_on_the_chain(ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str) -> None:
    ran = submit_by_wallet(solver, contract(ledger, ACCEPTS), bounty, work, b"0x", b"0x")
    assert ran.last["event"] == "submit.transaction_prepared"
    assert len(api.approvals()) == 2


@pytest.mark.parametrize("reply", [refusal(404, "route_not_found", "None."), (403, b"<html>", {}), as_json({})])
def test_any_answer_shows_that_the_api_is_there(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, reply: Reply
) -> None:
    api.scripts["index"] = lambda _: reply
    ran = submit_by_wallet(solver, ledger.people.solvers[0].address, bounty, work, *given(2))
    assert ran.names.count("submit.approval_required") == 2
