"""Opening Submissions, one or all: bytes from the API or a folder, each checked, files only where they belong."""

import errno
import json
import os
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from bounty_protocol.crypto import archive_read
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, NotYet
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.commitments import spec_commitment, submission_commitment
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, ChainId, UnixSeconds, bytes32, parse_bytes32
from service_cli.chain import agreement, beacon
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries import submissions
from service_cli.queries.submissions import RecordedSubmission, SubmissionChoice
from service_cli.work import submission

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.screen import text_of
from tests.cli.servers import Lost, Params, Reply, Request, RpcProxy, as_json
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Terminal
from tests.unpacking import unpack


@pytest.mark.spec(227, 229)
def test_open__after_the_reveal_point__gives_the_files_and_only_below_the_directory(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", *judged.names)
    assert ran.names == ["guardian_open.submission_verified", "guardian_open.artifact_opened"]
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


def test_open__altered_or_cut_ciphertext__writes_nothing(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    load(api, judged)
    ((locator, content),) = judged.objects.items()
    for altered in (content[:-1], content + b"x", content[:-1] + bytes([content[-1] ^ 1]), b""):
        api.objects[locator] = altered
        guardian.run("guardian:open", *judged.names, "out", code=1)
        assert not (guardian.home / "out").exists()
        assert not [path for path in guardian.home.iterdir() if path.name.startswith(("out", ".out"))]


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
    api: ApiTwin, guardian: Terminal, judged: Submitted, name: str
) -> None:
    load(api, judged)
    folder = guardian.home / "got"
    folder.mkdir()
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


def test_open__with_another_guardian_s_key__says_so(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    keys = json.dumps([Identity.generate().to_text()])
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON": keys})
    ran = stranger.run("guardian:open", *judged.names, "out", code=1)
    assert ran.last["event"] == "guardian_open.refused"
    assert "AGE-SECRET" not in ran.stdout + ran.words
    assert not (guardian.home / "out").exists()


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


def test_open_from__a_folder_with_altered_files__writes_nothing(guardian: Terminal, judged: Submitted) -> None:
    folder = bundle(guardian.home / "got", judged)
    for name, code in (("ciphertext.age", None), ("envelope.json", "envelope_mismatch")):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
        ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out", code=1)
        assert code is None or ran.last["code"] == code
        assert not (guardian.home / "out").exists()
        (folder / name).unlink()
        assert guardian.run("guardian:open", "--from", "got", *judged.names, "out", code=1).code == 1


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


ADDRESS = "0x" + "ab" * 20
HASH = "0x" + "cd" * 32


def test_guardian_open__a_directory_that_holds_something__is_refused_before_a_signature(
    api: ApiTwin, guardian: Terminal
) -> None:
    (guardian.home / "file").write_text("x")
    for target, problem in ((".", "holds something"), ("file", "is no directory"), ("file/below", "cannot be made")):
        ran = guardian.run("guardian:open", "1", ADDRESS, HASH, target, code=1)
        assert ran.last["code"] == "output_refused"
        assert problem in str(ran.last["message"])
        assert ("must be new or empty" in str(ran.last["message"])) == (target != "file/below")
    assert not api.approvals()


def test_guardian_open__a_directory_that_cannot_be_written__is_refused_as_that(
    guardian: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    able = os.access  # what root may do is not what others may

    def access(path: str | Path, mode: int) -> bool:
        return not (mode & os.W_OK and Path(path).name == "locked") and able(path, mode)

    monkeypatch.setattr(os, "access", access)
    (guardian.home / "locked").mkdir()
    for target, problem in (("locked", "cannot be written"), ("locked/below", "no right to write in")):
        refused = guardian.run("guardian:open", "1", ADDRESS, HASH, target, code=1).last
        assert refused["code"] == "output_refused"
        assert problem in str(refused["message"])
        assert "new or empty:" not in str(refused["message"])


def test_open__a_number_where_there_is_one_submission__names_that_number(guardian: Terminal, judged: Submitted) -> None:
    refused = guardian.run("guardian:open", judged.bounty, "--submission", "2", code=1).last
    assert refused["code"] == "submission_not_recorded"
    assert "its number, 1, or" in str(refused["next_action"])


def test_words__of_a_reveal_point_ahead__say_when_it_is(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(Environment(api.variables(), {}), ChainId(31337), None, None)
    late = NotYet(round=7, due_at=UnixSeconds(int(time.time()) + 3_600), retry_after=3_600)
    monkeypatch.setattr("service_cli.chain.beacon.BeaconClient.round", lambda _self, _number: late)
    with pytest.raises(CommandRefused, match=r"is due at \d{4}-.* UTC \(in (1 h|59 min 59 s)\)\."):
        beacon.round_signature(settings, ledger.beacon.info, 7)


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


def test_relays__that_have_the_round_too_late__end_the_whole_bounty_and_blame_no_submission(
    guardian: Terminal, judged: Submitted, api: ApiTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(api, judged)
    late = NotYet(round=7, due_at=UnixSeconds(int(time.time()) - 60), retry_after=3)
    monkeypatch.setattr("service_cli.chain.beacon.BeaconClient.round", lambda _self, _number: late)
    monkeypatch.setattr("service_cli.chain.beacon.WAIT_SECONDS", 0)
    assert guardian.run("guardian:open", judged.bounty, code=1).last["code"] == "reveal_point_not_reached"


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


@pytest.mark.attack
@pytest.mark.parametrize(
    ("ahead", "named"),
    [(-86_400, "is 1 d behind the newest block"), (86_400, "is 1 d ahead of the newest block"), (60, None)],
)
def test_clock_a_day_off_is_named_where_the_reveal_point_is(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch, ahead: int, named: str | None
) -> None:
    settings = Settings(Environment({**api.variables(), "SERVICE_LOCAL_TIME": ""}, {}), ChainId(31337), None, None)
    now = int(time.time())
    late = NotYet(round=7, due_at=UnixSeconds(now + 3_600), retry_after=3_600)
    monkeypatch.setattr("service_cli.chain.beacon.SystemClock.now", lambda _self: UnixSeconds(now))
    monkeypatch.setattr("service_cli.chain.beacon.BeaconClient.round", lambda _self, _number: late)
    with pytest.raises(CommandRefused) as refused:
        beacon.round_signature(settings, ledger.beacon.info, 7, now - ahead)
    assert refused.value.code == "reveal_point_not_reached"
    assert (named or "clock") in refused.value.message or named is None
    assert ("clock" in refused.value.message + refused.value.next_action) is (named is not None)


@pytest.mark.parametrize(("ahead", "named"), [(45, "Indeed this machine's clock is 45 s ahead of"), (5, "Check this")])
def test_beacon__whose_round_is_missing_by_a_fast_clock__is_explained_by_that_clock(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch, ahead: int, named: str
) -> None:
    settings = Settings(Environment({**api.variables(), "SERVICE_LOCAL_TIME": ""}, {}), ChainId(31337), None, None)
    monkeypatch.setattr(beacon, "WAIT_SECONDS", 0)
    now = int(time.time())
    missing = NotYet(round=7, due_at=UnixSeconds(now - 20), retry_after=3)
    monkeypatch.setattr("service_cli.chain.beacon.BeaconClient.round", lambda _self, _number: missing)
    with pytest.raises(CommandRefused) as refused:
        beacon.round_signature(settings, ledger.beacon.info, 7, now - ahead)
    assert refused.value.code == "reveal_point_not_reached"
    assert "is not out, though by this machine's clock it was due 2" in refused.value.message
    assert named in refused.value.message + refused.value.next_action


@pytest.mark.attack
@pytest.mark.parametrize("words", [(), ("--submission", "1")], ids=["all", "one"])
@pytest.mark.parametrize("witness", ["the API", "a further endpoint"])
def test_open__where_an_endpoint_has_another_bounty_than_its_witnesses__blames_no_solver(
    api: ApiTwin,
    ledger: Ledger,
    rpc: RpcProxy,
    guardian: Terminal,
    judged: Submitted,
    monkeypatch: pytest.MonkeyPatch,
    witness: str,
    words: tuple[str, ...],
) -> None:
    """The work was called malformed, to be said so in the Verdict."""
    load(api, judged)
    page = spec_commitment(judged.page)[2:]

    def after(_method: str, _params: Params, found: object) -> object:
        return found.replace(page, "ee" * 32) if isinstance(found, str) else found

    rpc.after = after
    monkeypatch.setattr(agreement, "LAG_SECONDS", 0.0)
    further = ledger.node.url if witness == "a further endpoint" else ""
    ran = guardian.run("guardian:open", judged.bounty, *words, code=1, SERVICE_RPC_URLS=further)
    assert ran.last["code"] == ("sources_disagree" if further else "read_model_mismatch")
    assert "guardian_open.submission_not_opened" not in ran.names
    assert "malformed" not in ran.words + ran.stdout


def lost(_: Request) -> Reply:
    raise Lost


def test_envelope__that_does_not_fit_by_one_endpoint_alone__is_to_be_compared_first(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    bundle(guardian.home / "got", judged)
    page = spec_commitment(judged.page)[2:]
    rpc.after = lambda _method, _params, found: found.replace(page, "ee" * 32) if isinstance(found, str) else found
    api.scripts["detail"] = lost
    ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out", code=1)
    assert ran.last["code"] == "envelope_refused"
    assert "another RPC endpoint" in str(ran.last["next_action"])


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


def test_unpack__files_and_folders__are_written_without_special_modes(tmp_path: Path) -> None:
    unpack(archive(("a", tarfile.DIRTYPE, b""), ("a/b.sh", tarfile.REGTYPE, b"x")), tmp_path / "out")
    assert (tmp_path / "out/a/b.sh").read_bytes() == b"x"
    assert (tmp_path / "out/a/b.sh").stat().st_mode & 0o7777 == 0o755


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


def test_open__onto_a_disk_that_is_full__ends_and_keeps_what_was_downloaded(
    api: ApiTwin, guardian: Terminal, mixed: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each next one was downloaded in vain, and all of it again by the next run."""
    load(api, mixed)

    def full(_descriptor: int, _data: memoryview) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(archive_read, "_write_all", full)
        ran = guardian.run("guardian:open", mixed.bounty, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_open.failed", "output_refused")
    assert "the disk is full" in str(ran.last["message"])
    assert "guardian_open.submission_not_opened" not in ran.names
    asked = len(api.server.requests)
    ran = guardian.run("guardian:open", mixed.bounty, code=1)
    assert ran.event("guardian_open.artifact_opened")
    assert not [one for one in api.server.requests[asked:] if one.path.startswith("/objects/")]


def test_open__that_ended_right_after_it_laid_work_out__counts_it_as_opened(
    api: ApiTwin, guardian: Terminal, judged: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever read its output had gone; every later run was told to name another directory."""
    load(api, judged)

    def gone(_event: object, _following: str | None = None) -> None:
        raise CommandFailed("lost", "Nobody reads this.", next_action="Run it again.")

    with monkeypatch.context() as patch:
        patch.setattr(submission, "emit", gone)
        assert guardian.run("guardian:open", judged.bounty, code=1).last["code"] == "lost"
    target = guardian.home / f"submissions/{judged.bounty}" / f"1-{judged.commitment[:8]}"
    assert files_below(target) == judged.files
    assert guardian.run("guardian:open", judged.bounty).last["opened_before"] == 1


def test_open__of_a_bounty__opens_every_submission_and_the_second_run_nothing_more(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", judged.bounty)
    assert ran.names == [
        "guardian_open.submission_listed", "guardian_open.submission_verified", "guardian_open.artifact_opened",
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
    assert files_below(guardian.home / f"submissions/{mixed.bounty}") == {
        f"1-{mixed.commitment[:8]}/main.py": b"print(2)\n"
    }
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
    assert "its number from 1 to 2" in str(missing.last["next_action"])


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


def test_open__of_a_bounty_without_submissions__states_that_there_is_nothing(
    ledger: Ledger, api: ApiTwin, guardian: Terminal
) -> None:
    bounty, page = ledger.fund(seconds=100)
    api.keep_page(page)
    ledger.reveal(bounty)
    ran = guardian.run("guardian:open", str(bounty))
    assert (ran.last["opened"], ran.last["not_opened"]) == (0, 0)
    text = " ".join(text_of(guardian, "guardian:open", str(bounty)).split())
    assert f"Bounty {bounty} has no Submission: there is nothing to open or to judge." in text
    assert "Done." not in text


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
    monkeypatch.setattr(submissions, "LONG_LOG", 0)
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
