"""Looking at many Submissions before any work is downloaded, and opening only some of them."""

from pathlib import Path
from typing import cast

import pytest
from bounty_protocol.types import bytes32
from service_cli import api as api_module

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, RpcProxy
from tests.cli.submitted import files_below
from tests.cli.terminal import Ran, Terminal


@pytest.fixture
def crowded(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> str:
    """A bounty with two works of 1 kB and 40 kB, a commitment to nothing, and a copy of the first one's commitment."""
    bounty, page = ledger.fund(seconds=3_000)
    api.keep_page(page)
    commitments = []
    for number, length in ((1, 1_000), (2, 40_000)):
        home = person(ledger, api, rpc, tmp_path / f"solver-{number}", f"solver-{number}")
        (home.home / "work").mkdir()
        (home.home / "work" / "main.bin").write_bytes(bytes(length))
        ran = home.run("solver:submit", str(bounty), "work")
        commitments.append(str(ran.event("submit.submission_recorded")["submission_commitment"]))
    ledger.submit(bounty, ledger.people.owner.wallet)
    ledger.submit(bounty, ledger.people.settler.wallet, bytes32(bytes.fromhex(commitments[0][2:])))
    ledger.reveal(bounty)
    return str(bounty)


def seen(ran: Ran) -> list[tuple[object, ...]]:
    return [
        (event["number"], event["code"], event["same_as"])
        for event in ran.events
        if event["event"] == "guardian_open.submission_seen"
    ]


def test_look__of_a_crowded_bounty__says_which_would_open_and_downloads_no_work(
    api: ApiTwin, guardian: Terminal, crowded: str
) -> None:
    read: list[int] = []

    def download(request: Request) -> Reply | None:
        begin, end = request.headers["range"].removeprefix("bytes=").split("-")
        read.append(int(end) - int(begin) + 1)
        return None

    api.scripts["download"] = download
    ran = guardian.run("guardian:open", crowded, "--look")
    assert seen(ran) == [
        (1, None, None),
        (2, None, None),
        (3, "submission_not_found", None),
        (4, "envelope_refused", 1),
    ]
    assert (ran.last["submissions"], ran.last["openable"], ran.last["not_openable"]) == (4, 2, 2)
    assert read
    assert max(read) <= 17_000
    assert not (guardian.home / "submissions").exists()
    assert [path.rpartition("/")[2] for path in api.paths() if "/submissions/0x" not in path].count("contents") == 1
    assert not [path for path in api.paths() if path.endswith("/content")]


def test_look__at_an_address_that_ended_meanwhile__asks_for_another(
    api: ApiTwin, guardian: Terminal, crowded: str
) -> None:
    refusals = [refusal(403, "forbidden", "The address has ended.")]
    api.scripts["download"] = lambda _: refusals.pop() if refusals else None
    assert seen(guardian.run("guardian:open", crowded, "--look"))[:2] == [(1, None, None), (2, None, None)]
    assert [path.endswith("/content") for path in api.paths()].count(True) == 1


def test_look__past_the_accounts_budget__waits_for_it(api: ApiTwin, guardian: Terminal, crowded: str) -> None:
    headers = {"Retry-After": "1"}
    refusals = [refusal(429, "rate_limit_reached", "The budget 'account' is used up.", **headers)]
    api.scripts["contents"] = lambda _: refusals.pop() if refusals else None
    ran = guardian.run("guardian:open", crowded, "--look")
    assert ran.last["submissions"] == 4
    assert not refusals


@pytest.mark.attack
def test_look__where_the_api_answers_about_others__refuses_the_answer(
    api: ApiTwin, guardian: Terminal, crowded: str
) -> None:
    api.lies["contents"] = lambda answer: {"items": cast("list[object]", answer["items"])[::-1]}
    assert guardian.run("guardian:open", crowded, "--look", code=1).last["code"] == "answer_malformed"


@pytest.mark.attack
def test_look__at_a_ciphertext_of_another_key__says_so(api: ApiTwin, guardian: Terminal, crowded: str) -> None:
    first, second = sorted(api.objects, key=lambda name: len(api.objects[name]))
    api.objects[first] = api.objects[second][: len(api.objects[first])]
    found = seen(guardian.run("guardian:open", crowded, "--look"))
    assert found[0] == (1, "begin_not_opened", None)  # the storage may have caused it: no evidence against its Solver
    assert found[1] == (2, None, None)


@pytest.mark.attack
@pytest.mark.parametrize("code", ["solver_submission_content_invalid", "storage_verification_pending"])
def test_look__at_one_that_the_service_cannot_serve__goes_on_with_the_others(
    api: ApiTwin, guardian: Terminal, crowded: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "PATIENCE_SECONDS", 0.0)
    begun: list[str] = []

    def content(request: Request) -> Reply | None:
        begun.append(request.path)
        return refusal(500, code, "It is not there.") if request.path == begun[0] else None

    api.scripts["content"] = content
    assert seen(guardian.run("guardian:open", crowded, "--look"))[:2] == [(1, code, None), (2, None, None)]


@pytest.mark.parametrize(
    ("arguments", "opened", "left_out"),
    [
        (("--largest", "20 kB"), {1}, [2]),
        (("--skip", "1", "--skip", "3", "--skip", "4"), {2}, [1, 3, 4]),
        (("--limit", "1"), {1}, [2, 3, 4]),
    ],
)
def test_open__with_a_limit__opens_the_rest_of_it_and_goes_on_without(
    guardian: Terminal, crowded: str, arguments: tuple[str, ...], opened: set[int], left_out: list[int]
) -> None:
    ran = guardian.run_any("guardian:open", crowded, *arguments)
    finished = ran.event("guardian_open.finished")
    assert finished["left_out"] == left_out
    below = guardian.home / "submissions" / crowded
    assert {int(path.name.partition("-")[0]) for path in below.iterdir()} == opened
    guardian.run_any("guardian:open", crowded)
    assert {int(path.name.partition("-")[0]) for path in below.iterdir()} == {1, 2}
    assert len(files_below(below)) == 2


def test_limits__with_one_submission_or_a_size_that_is_none__are_refused(guardian: Terminal, crowded: str) -> None:
    guardian.run("guardian:open", crowded, "--submission", "1", "--limit", "1", code=2)
    guardian.run("guardian:open", crowded, "--largest", "much", code=2)
