"""``solver:submit`` when something beside it fails: the API away, a slow wallet, a read model behind the chain."""

from pathlib import Path

import pytest
from service_cli.errors import CommandFailed
from service_cli.queries import state as read_model
from service_cli.work import storage
from service_cli.work.storage import UploadAddress, upload

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.kill import run_killed
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Reply, Request, RpcProxy, Server, as_json
from tests.cli.terminal import Ran, Terminal


@pytest.fixture
def work(solver: Terminal) -> str:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return str(folder)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_model, "_POLL_SECONDS", 0.01)


def away(_: Request) -> Reply:
    raise Lost


ROUTES = ("detail", "upload_url", "put", "prepare")


def test_without_the_api_it_records_and_uploads_later(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    for route in ROUTES:
        api.scripts[route] = away
    account = ledger.people.solvers[0].address
    nonce = ledger.nonce(account)
    ran = solver.run("solver:submit", "--without-api", bounty, work)
    assert ran.names == ["submit.sealed_kept", "submit.submission_recorded"]
    assert not api.server.requests
    commitment = ledger.recorded(bounty)
    assert ran.last["submission_commitment"] == commitment
    folder = Path(str(ran.events[0]["directory"]))
    assert {(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()} >= {
        ("envelope.json", 0o600),
        ("ciphertext.age", 0o600),
    }
    assert "SECRET-KEY" not in "".join(path.read_text(errors="replace") for path in folder.iterdir()).upper()
    api.scripts.clear()
    later = solver.run("solver:submit", bounty, work)
    assert later.event("submit.submission_prepared")["submission_commitment"] == commitment
    assert later.event("submit.submission_recorded") == ran.last
    assert ledger.nonce(account) - nonce == 1
    assert (folder / "ciphertext.age").read_bytes() in api.objects.values()


SIGNATURES = b"".join(b"0x" + bytes([digit]) * 200 + b"\n" for digit in b"12345")
"""What a contract wallet answers, each time something else."""


def submit_with_wallet(ledger: Ledger, solver: Terminal, bounty: str, work: str, code: int = 0) -> Ran:
    address = ledger.people.solvers[0].address
    return solver.without_keys().run(
        "solver:submit", "--solver-address", address, bounty, work, stdin=SIGNATURES, code=code
    )


def blocks_of(ran: Ran) -> list[str]:
    """The blocks that the wallet was asked to sign over."""
    return [str(e["typed_data"]["message"]["blockHash"]) for e in ran.events if "typed_data" in e]  # type: ignore[index]


@pytest.mark.spec(259, 333, 334, 335)
@pytest.mark.parametrize("route", ["upload_url", "prepare"])
def test_stale_signature_is_asked_for_anew(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str, route: str
) -> None:
    stale = [refusal(401, "unauthorized", "The block is too old.")]
    api.scripts[route] = lambda _: stale.pop() if stale else None
    ran = submit_with_wallet(ledger, solver, bounty, work)
    assert ran.last["event"] == "submit.transaction_prepared"
    assert ran.names.count("submit.approval_required") == 3
    first, second, third = blocks_of(ran)
    assert (first != second) if route == "upload_url" else (second != third)
    sent = [r.headers["authorization"] for r in api.server.requests if r.path.endswith(("url", "prepare"))]
    assert len(set(sent)) == 3  # no signed request twice


@pytest.mark.spec(258)
def test_api_behind_the_chain_is_waited_for(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    before: list[Reply] = [
        refusal(404, "bounty_not_found", "Not indexed yet."),
        refusal(503, "bounty_projection_unavailable", "Behind.", **{"Retry-After": "1"}),
    ]
    asked_while_behind: list[int] = []

    def behind(_: Request) -> Reply | None:
        asked_while_behind.append(len(api.approvals()))
        return before.pop() if before else None

    api.scripts["detail"] = behind
    ran = submit_with_wallet(ledger, solver, bounty, work)
    assert ran.names.count("submit.approval_required") == 2
    assert (asked_while_behind, before) == ([0, 0, 0], [])


def not_in_place(_: Request) -> Reply:
    issue = {"path": "ciphertext", "message": "was uploaded with other bytes and has been removed"}
    error = {"code": "invalid_solver_submission", "message": "No.", "issues": [issue], "next_action": "Again."}
    return as_json({"error": error}, 400)


def test_poisoned_upload_is_repeated_at_once(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    def poisoned(request: Request) -> Reply:
        api.objects.clear()  # as the service does with bytes that are not the announced ones
        del api.scripts["prepare"]
        return not_in_place(request)

    api.scripts["prepare"] = poisoned
    ran = solver.run("solver:submit", bounty, work)
    assert ran.names.count("submit.ciphertext_uploaded") == 2
    assert ran.last["event"] == "submit.submission_recorded"
    assert len(api.objects) == 1


def test_upload_that_is_taken_too_slowly_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ciphertext.age").write_bytes(bytes(3 * 2**20))
    monkeypatch.setattr(storage, "BEGIN_SECONDS", 1e-9)
    monkeypatch.setattr(storage, "LEAST_RATE", 2**60)
    with Server(lambda _: (200, b"", {})) as server, pytest.raises(CommandFailed) as failure:
        upload(UploadAddress(server.url, {}), tmp_path / "ciphertext.age")
    assert failure.value.code == "storage_unreachable"


@pytest.mark.parametrize("killed", [False, True])
def test_run_after_the_deadline_uploads_what_was_lost(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, work: str, killed: bool
) -> None:
    bounty, page = ledger.fund(seconds=1_000)
    api.keep_page(page)
    account = ledger.people.solvers[0].address
    nonce = ledger.nonce(account)
    if killed:
        run_killed(solver, rpc, "solver:submit", str(bounty), work, method="eth_sendRawTransaction", forward=True)
    else:
        solver.run("solver:submit", str(bounty), work)
    uploaded = dict(api.objects)
    api.objects.clear()
    ledger.advance_to(ledger.time() + 2_000)
    ran = solver.run("solver:submit", str(bounty), work)
    assert ran.names == ["submit.submission_recorded", "submit.ciphertext_uploaded"]
    assert ran.events[0]["submission_commitment"] == ledger.recorded(bounty)
    assert (api.objects, ledger.nonce(account) - nonce) == (uploaded, 1)
    wallet = submit_with_wallet(ledger, solver, str(bounty), work)
    assert wallet.names == ["submit.submission_recorded", "submit.approval_required"]
    assert "holds the sealed bytes already" in wallet.words
    alone = solver.run("solver:submit", "--without-api", str(bounty), work)
    assert alone.names == ["submit.submission_recorded", "submit.sealed_kept"]
    kept = {path.name for path in Path(str(alone.last["directory"])).iterdir()}
    assert {"envelope.json", "ciphertext.age"} <= kept
