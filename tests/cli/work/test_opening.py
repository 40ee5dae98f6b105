"""Opening Submissions, one or all: bytes from the API or a folder, each checked, files only where they belong."""

import json
import os
import tarfile
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, NotYet
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.commitments import submission_commitment
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, ChainId, UnixSeconds, bytes32, parse_bytes32
from service_cli.chain import beacon
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.submissions import RecordedSubmission, SubmissionChoice

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import Lost, Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Terminal
from tests.unpacking import unpack


@pytest.mark.spec(227, 229)
def test_open__after_the_reveal_point__gives_the_files_and_only_below_the_directory(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", *judged.names)
    assert ran.names == ["guardian_open.artifact_opened"]
    assert len(api.approvals()) == 1
    assert ran.last["output_dir"] == f"submissions/{judged.bounty}/{judged.commitment}"
    assert files_below(guardian.home / str(ran.last["output_dir"])) == judged.files
    assert guardian.run("guardian:open", *judged.names, code=1).last["event"] == "guardian_open.refused"


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("envelope",), None, "envelope_mismatch"),
        (("envelope",), "{}", "envelope_mismatch"),
        (("envelope",), 7, "answer_malformed"),
        (("download_url",), "ftp://a.example/x", "answer_malformed"),
        (("download_url",), 7, "answer_malformed"),
    ],
)
def test_open__an_api_that_lies_about_the_content__writes_nothing(
    api: ApiTwin, guardian: Terminal, judged: Submitted, path: tuple[str | int, ...], value: object, code: str
) -> None:
    load(api, judged)
    api.lies["content"] = lie_at(*path, value=value)
    assert guardian.run("guardian:open", *judged.names, "out", code=1).last["code"] == code
    assert not (guardian.home / "out").exists()


@pytest.mark.attack
def test_killed_opening_leaves_no_ciphertext(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted, tmp_path: Path
) -> None:
    load(api, judged)
    (tmp_path / "scratch").mkdir()
    shell = Terminal(guardian.home, {**guardian.environment, "TMPDIR": str(tmp_path / "scratch")})
    seen: list[int] = []

    def kill_at_the_download(_moment: str) -> None:
        if api.server.requests[-1].path.startswith("/objects/") and not seen:
            seen.append(1)
            process.kill()
            process.wait()
            raise Lost

    api.server.watch = kill_at_the_download
    process = spawn(shell, "guardian:open", *judged.names, "killed")
    process.communicate(timeout=60)
    assert seen
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.attack
@pytest.mark.parametrize("name", ["envelope.json", "ciphertext.age"])
def test_pipe_in_a_folder_that_was_passed_on_is_refused_and_not_waited_for(
    guardian: Terminal, judged: Submitted, name: str
) -> None:
    folder = bundle(guardian.home / "got", judged)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out", code=1)
    assert (ran.last["code"], name in str(ran.last["message"])) == ("file_unreadable", True)


@pytest.mark.spec(228)
def test_open__what_the_contract_does_not_record__is_refused_before_a_signature(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    other = bytes32(keccak256(b"other"))
    ran = guardian.run("guardian:open", judged.bounty, judged.solver, other, code=1)
    assert ran.last["code"] == "submission_not_recorded"
    assert not api.approvals()


def bundle(folder: Path, found: Submitted) -> Path:
    """The files of a Submission as somebody might hand them over."""
    folder.mkdir()
    (folder / "envelope.json").write_bytes(found.envelopes[found.commitment])
    (folder / "ciphertext.age").write_bytes(next(iter(found.objects.values())))
    return folder


@pytest.mark.spec(286)
def test_open_from__a_folder__needs_no_api_and_no_signature(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    bundle(guardian.home / "got", judged)
    ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out")
    assert ran.last["event"] == "guardian_open.artifact_opened"
    assert files_below(guardian.home / "out") == judged.files
    assert not api.server.requests
    assert "signing:" not in ran.words


def content_identity(ledger: Ledger, found: Submitted) -> Identity:
    """What the first Guardian finds in the capsule."""
    from bounty_protocol.crypto.beacon import Beacon
    from bounty_protocol.crypto.capsule import open_capsule
    from bounty_protocol.domain.envelope import parse_envelope

    envelope = parse_envelope(found.envelopes[found.commitment])
    number = envelope.reveal_policy.round
    mine = ledger.people.guardians[0].identity
    assert mine is not None
    return open_capsule(
        envelope.key_capsule,
        beacon=Beacon(number, ledger.beacon.signature(number)),
        info=ledger.beacon.info,
        keyring=(mine,),
        roster_size=3,
        content_public_key=envelope.content_public_key,
        expected=envelope.binding,
    )


@pytest.mark.parametrize("asked", ["BeaconClient.round", "beacon_info"])
@pytest.mark.parametrize("failure", [Failure.BEACON_UNAVAILABLE, Failure.BEACON_INVALID])
def test_relays__that_do_not_answer_or_not_truly__are_a_failure_that_may_pass(
    guardian: Terminal, judged: Submitted, api: ApiTwin, monkeypatch: pytest.MonkeyPatch, failure: Failure, asked: str
) -> None:
    load(api, judged)

    def fail(*_: object) -> Beacon:
        raise SealedDataError(failure, "no relay has it")

    monkeypatch.setattr(f"service_cli.chain.beacon.{asked}", fail)
    ended = guardian.run("guardian:open", judged.bounty, code=1).last
    assert (ended["event"], ended["code"]) == ("guardian_open.failed", failure.value)


@pytest.mark.parametrize("passed", [6_000, 7_000])
def test_reveal_point__of_a_local_chain_whose_time_is_moved__is_known_by_the_chain(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch, passed: int
) -> None:
    settings = Settings(Environment({**api.variables(), "SERVICE_LOCAL_TIME": "moved"}, {}), ChainId(31337), None, None)
    now, signature = int(time.time()), Beacon(7, b"")
    late = NotYet(round=7, due_at=UnixSeconds(now + 10_000), retry_after=3_600)
    monkeypatch.setattr(BeaconClient, "_ask", lambda _self, _number: signature)
    monkeypatch.setattr(BeaconClient, "_not_yet", lambda _self, _number: late)
    info = replace(ledger.beacon.info, genesis_time=UnixSeconds(now + 10_000), period_seconds=1)
    if passed > 6_000:
        assert beacon.round_signature(settings, info, 1, now + passed) is signature
        return
    with pytest.raises(CommandRefused) as refused:
        beacon.round_signature(settings, info, 1, now + passed)
    assert refused.value.code == "reveal_point_not_reached"
    assert "clock" not in refused.value.message


def lost(_: Request) -> Reply:
    raise Lost


@pytest.mark.attack
def test_envelope__with_a_name_that_drives_a_terminal__is_refused_without_driving_it(
    ledger: Ledger, guardian: Terminal
) -> None:
    """Its hash is on chain, and the Solver hands the folder over."""
    bounty, _ = ledger.fund(seconds=100)
    envelope = json.dumps({"\x1b]0;pwned\x07\x1b[2J": 1}, separators=(",", ":")).encode()
    solver = ledger.people.solvers[0].wallet
    commitment = ledger.submit(bounty, solver, submission_commitment(envelope))
    ledger.reveal(bounty)
    (guardian.home / "got").mkdir()
    (guardian.home / "got" / "envelope.json").write_bytes(envelope)
    words = ("guardian:open", "--from", "got", str(bounty), solver.address, commitment, "out")
    ran = guardian.run(*words, code=1)
    assert "pwned" in ran.words
    assert not [one for one in ran.words + ran.stdout if ord(one) < 32 and one != "\n"]


def archive(*members: tuple[str, bytes, bytes]) -> tarfile.TarFile:
    """An archive of these names, types and contents."""
    file = BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd"
            info.mode = 0o6755
            made.addfile(info, BytesIO(content))
    return tarfile.open(fileobj=BytesIO(file.getvalue()))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/absolute", tarfile.REGTYPE),
        ("../outside", tarfile.REGTYPE),
        ("a/../../outside", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("hard", tarfile.LNKTYPE),
        ("pipe", tarfile.FIFOTYPE),
        ("device", tarfile.CHRTYPE),
    ],
)
def test_unpack__what_leads_outside_or_is_no_file__is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    with pytest.raises(ValueError, match="no plain file"):
        unpack(archive((name, kind, b"")), tmp_path / "out")
    assert not list(tmp_path.rglob("outside"))


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
        "guardian_open.submission_listed", "guardian_open.artifact_opened",
        "guardian_open.finished",
    ]  # fmt: skip
    target = guardian.home / f"submissions/{judged.bounty}" / f"1-{judged.commitment[:8]}"
    assert files_below(target) == judged.files
    signed = len(api.approvals())
    again = guardian.run("guardian:open", judged.bounty)
    assert (again.last["opened"], again.last["opened_before"], len(api.approvals())) == (0, 1, signed)
    assert guardian.run("guardian:open", judged.bounty, "--output", "other").last["opened"] == 1
    assert files_below(guardian.home / "other") == {
        f"1-{judged.commitment[:8]}/{name}": data for name, data in judged.files.items()
    }
    one = guardian.run("guardian:open", judged.bounty, "--submission", "1")
    assert (one.last["opened"], one.last["opened_before"]) == (0, 1)
    for words in ((), ("--submission", "1")):
        assert guardian.run("guardian:open", judged.bounty, *words).last["opened_before"] == 1


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


def test_sealed_work_beyond_the_limit_is_left_out_and_named(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    sealed = json.loads(api.envelopes[judged.commitment])["ciphertext"]["byte_length"]

    def unasked(_: Request) -> Reply:
        raise AssertionError("what is left out is not fetched")

    api.scripts["download"] = unasked
    ran = guardian.run("guardian:open", judged.bounty, "--limit", str(sealed - 1))
    assert (ran.last["opened"], ran.last["left_out"]) == (0, [1])
    del api.scripts["download"]
    ran = guardian.run("guardian:open", judged.bounty, "--limit", str(sealed))
    assert (ran.last["opened"], ran.last["left_out"]) == (1, [])


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
    assert "its number from 1 to 2" in str(missing.last["next_action"])


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
        assert SubmissionChoice.parse(text).of(listed(A, B)).commitment == found
        return
    with pytest.raises(CommandRefused):
        SubmissionChoice.parse(text).of(listed(A, B))


def test_open__of_work_with_names_that_tools_obey__lays_them_out_as_others_and_restores_them_when_asked(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, tmp_path: Path
) -> None:
    bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    home = person(ledger, api, rpc, tmp_path, "solver-1")
    files = {"AGENTS.md": b"a", "src/conftest.py": b"b", "c": b"c"}
    for name, content in files.items():
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_bytes(content)
    home.run("solver:submit", str(bounty), str(tmp_path / "work"))
    ledger.reveal(bounty)
    ran = guardian.run("guardian:open", str(bounty), "--submission", "1", "--output", "out")
    laid_out = {"inert_AGENTS.md_": b"a", "src/inert_conftest.py_": b"b", "c": b"c"}
    assert files_below(guardian.home / "out") == laid_out
    assert ran.last["renamed_count"] == 2
    (line,) = (line for line in ran.words.splitlines() if "inert_" in line)
    assert all(name in line for name in ("inert_AGENTS.md_", "src/inert_conftest.py_", "--original-names"))
    for words in (("--submission", "1", "--output", "plain"), ("--output", "all")):
        plain = guardian.run("guardian:open", str(bounty), "--original-names", *words)
        folder = guardian.home / words[-1]
        assert files_below(folder if words[-1] == "plain" else next(folder.iterdir())) == files
        assert plain.event("guardian_open.artifact_opened")["renamed_count"] == 0
        assert "inert_" not in plain.words
