"""``guardian:open`` of a whole bounty: the list is the chain's, and one bad Submission does not hold up the others."""

from collections.abc import Callable

import pytest
from service_cli.bounty import facts
from service_cli.bounty.facts import RecordedSubmission
from service_cli.errors import CommandRefused
from service_cli.guardian.opening import Choice
from service_common.types import Address, BlockNumber, parse_bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Reply, Request, RpcProxy, as_json
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Terminal


@pytest.fixture(scope="module")
def mixed(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Submitted:
    """A bounty whose first Submission opens; the second Solver recorded a commitment and uploaded nothing."""
    api, rpc, folder = ApiTwin(ledger), RpcProxy(ledger.node.url), tmp_path_factory.mktemp("mixed")
    bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    home = person(ledger, api, rpc, folder, "solver-1")
    (folder / "work").mkdir()
    (folder / "work" / "main.py").write_bytes(b"print(2)\n")
    ledger.submit(bounty, ledger.people.solvers[1].wallet)
    sent = home.run("solver:submit", str(bounty), "work").event("submit.submission_recorded")
    ledger.submit(bounty, ledger.people.solvers[1].wallet)
    ledger.reveal(bounty)
    api.close()
    rpc.close()
    names = (str(bounty), str(sent["solver"]), str(sent["submission_commitment"]))
    return Submitted(*names, {"main.py": b"print(2)\n"}, api.objects, api.envelopes)


def test_open__of_a_bounty__opens_every_submission_and_the_second_run_nothing_more(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", judged.bounty)
    assert ran.names == [
        "guardian_open.submission_listed", "guardian_open.submission_verified", "guardian_open.artifact_opened",
        "guardian_open.finished",
    ]  # fmt: skip
    target = guardian.home / f"submissions/{judged.bounty}" / judged.commitment
    assert files_below(target) == judged.files
    signed = len(api.approvals())
    again = guardian.run("guardian:open", judged.bounty)
    assert (again.last["opened"], again.last["opened_before"], len(api.approvals())) == (0, 1, signed)
    assert guardian.run("guardian:open", judged.bounty, "--output", "other").last["opened"] == 1
    assert files_below(guardian.home / "other") == {
        f"{judged.commitment}/{name}": data for name, data in judged.files.items()
    }


def test_open__of_a_bounty_with_a_submission_that_has_no_bytes__opens_the_others_and_says_which(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, mixed: Submitted
) -> None:
    load(api, mixed)
    ran = guardian.run("guardian:open", mixed.bounty, code=1)
    listed = [(each["number"], each["submission_commitment"]) for each in ran.events[:2]]
    replaced = ledger.submission(int(mixed.bounty), ledger.people.solvers[1].address)
    assert listed == [(1, mixed.commitment), (2, replaced)]  # the order of the chain; a replacement counts from its own
    failed = ran.event("guardian_open.submission_not_opened")
    assert (failed["submission_commitment"], failed["code"]) == (replaced, "submission_not_found")
    finished = ran.event("guardian_open.finished")
    assert (finished["opened"], finished["opened_before"], finished["not_opened"]) == (1, 0, 1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_open.refused", "submissions_not_opened")
    assert files_below(guardian.home / f"submissions/{mixed.bounty}") == {f"{mixed.commitment}/main.py": b"print(2)\n"}
    again = guardian.run("guardian:open", mixed.bounty, code=1).event("guardian_open.finished")
    assert (again["opened"], again["opened_before"], again["not_opened"]) == (0, 1, 1)


def test_open__of_a_bounty_whose_api_goes_silent__stops_there_and_goes_on_when_run_again(
    api: ApiTwin, guardian: Terminal, mixed: Submitted
) -> None:
    load(api, mixed)

    def silent(_: Request) -> Reply:
        raise Lost

    api.scripts["content"] = silent
    ran = guardian.run("guardian:open", mixed.bounty, code=1)
    assert ran.last["event"] == "guardian_open.failed"
    assert "guardian_open.submission_not_opened" not in ran.names
    assert "stopped at Submission 1" in ran.words
    del api.scripts["content"]
    assert guardian.run("guardian:open", mixed.bounty, code=1).event("guardian_open.finished")["opened"] == 1


def test_open__of_one_by_number_or_by_the_begin_of_its_commitment__opens_that_one(
    api: ApiTwin, guardian: Terminal, mixed: Submitted
) -> None:
    load(api, mixed)
    for number, words in enumerate([("1",), (mixed.commitment[:20],), (mixed.commitment,)]):
        ran = guardian.run("guardian:open", mixed.bounty, "--submission", *words, "--output", f"out{number}")
        assert ran.last["event"] == "guardian_open.artifact_opened"
        assert files_below(guardian.home / f"out{number}") == mixed.files
    missing = guardian.run("guardian:open", mixed.bounty, "--submission", "3", code=1)
    assert missing.last["code"] == "submission_not_recorded"


def test_open__of_one_from_a_folder__needs_no_api(api: ApiTwin, guardian: Terminal, mixed: Submitted) -> None:
    folder = guardian.home / "got"
    folder.mkdir()
    (folder / "envelope.json").write_bytes(mixed.envelopes[mixed.commitment])
    (folder / "ciphertext.age").write_bytes(next(iter(mixed.objects.values())))
    ran = guardian.run("guardian:open", mixed.bounty, "--submission", "1", "--from", "got", "--output", "out")
    assert (files_below(guardian.home / "out"), api.approvals(), ran.code) == (mixed.files, [], 0)


@pytest.mark.parametrize(
    "words",
    [
        ("--submission", "0"),
        ("--submission", "0x"),
        ("--submission", "main.py"),
        ("--from", "."),
        ("0x" + "ab" * 20,),
        ("0x" + "ab" * 20, "0x" + "cd" * 32, "--submission", "1"),
        ("0x" + "ab" * 20, "0x" + "cd" * 32, "out", "--output", "out"),
    ],
)
def test_open__of_both_or_of_neither__is_a_usage_error(guardian: Terminal, words: tuple[str, ...]) -> None:
    assert guardian.run("guardian:open", "7", *words, code=2).events == ()


def test_open__of_a_bounty_before_its_reveal_point_or_by_another_account__signs_nothing(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted, bounty: str
) -> None:
    assert guardian.run("guardian:open", bounty, code=1).last["code"] == "reveal_point_not_reached"
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert stranger.run("guardian:open", judged.bounty, code=1).last["code"] == "not_guardian"
    assert not api.approvals()


@pytest.mark.parametrize("hint", [lambda created: created, lambda created: created + 100_000, lambda _: None])
def test_open__of_a_long_log__begins_where_the_index_says_and_hides_nothing(
    ledger: Ledger,
    api: ApiTwin,
    guardian: Terminal,
    mixed: Submitted,
    monkeypatch: pytest.MonkeyPatch,
    hint: Callable[[int], int | None],
) -> None:
    monkeypatch.setattr(facts, "LONG_LOG", 0)
    log = ledger.logs("BountyCreated")[int(mixed.bounty) - 1]
    assert isinstance(log, dict)
    created = int(log["blockNumber"], 16)

    def answer(_: Request) -> tuple[int, bytes, dict[str, str]]:
        return as_json({"data": {"bounties": [{"block_number": hint(created)}]}})

    api.scripts["subgraph"] = answer
    ran = guardian.run("guardian:open", mixed.bounty, code=1)
    assert ran.names.count("guardian_open.submission_listed") == 2


def listed(*commitments: str) -> list[RecordedSubmission]:
    solver = Address("0x" + "ab" * 20)
    return [
        RecordedSubmission(number, solver, parse_bytes32(one), BlockNumber(number))
        for number, one in enumerate(commitments, 1)
    ]


A, B = "0xa1" + "00" * 31, "0xa2" + "00" * 31


@pytest.mark.parametrize(
    ("text", "found"), [("1", A), ("2", B), ("0xa1", A), ("0xA2", B), (B, B), ("3", None), ("0xa", None), ("0xb", None)]
)
def test_choice__names_one_or_is_refused(text: str, found: str | None) -> None:
    if found is not None:
        assert Choice.parse(text).of(listed(A, B)).commitment == found
        return
    with pytest.raises(CommandRefused):
        Choice.parse(text).of(listed(A, B))
