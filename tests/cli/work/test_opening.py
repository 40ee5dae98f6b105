"""Opening Submissions, one or all: bytes from the API or a folder, each checked, files only where they belong."""

import json
import os
from pathlib import Path

import pytest
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.screen import CODES, at_terminal
from tests.cli.servers import Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, files_below, load, submit
from tests.cli.terminal import Terminal


@pytest.mark.spec(227, 229)
def test_open_writes_only_below_its_directory(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", *judged.names)
    assert ran.names == ["guardian_open.artifact_opened"]
    assert len(api.approvals()) == 1
    assert ran.last["output_dir"] == f"submissions/{judged.bounty}/{judged.commitment[:18]}"
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
def test_lying_api_writes_nothing(
    api: ApiTwin, guardian: Terminal, judged: Submitted, path: tuple[str | int, ...], value: object, code: str
) -> None:
    load(api, judged)
    api.lies["content"] = lie_at(*path, value=value)
    assert guardian.run("guardian:open", *judged.names, "out", code=1).last["code"] == code
    assert not (guardian.home / "out").exists()


@pytest.mark.parametrize("name", ["envelope.json", "ciphertext.age"])
def test_pipe_in_a_passed_folder_is_refused(guardian: Terminal, judged: Submitted, name: str) -> None:
    folder = bundle(guardian.home / "got", judged)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out", code=1)
    assert (ran.last["code"], name in str(ran.last["message"])) == ("file_unreadable", True)


@pytest.mark.parametrize("command", ["guardian:open", "guardian:deliver-key"])
def test_stranger_is_refused_unsigned(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted, command: str
) -> None:
    key = ledger.people.solvers[1].wallet.private_key
    ran = guardian.run(command, *won.names, code=1, SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=key)
    assert (ran.last["code"], api.approvals()) == ("not_guardian", [])


@pytest.mark.spec(228)
def test_unrecorded_work_is_refused_unsigned(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
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
def test_open_from_a_folder_needs_no_api(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    bundle(guardian.home / "got", judged)
    ran = guardian.run("guardian:open", "--from", "got", *judged.names, "out")
    assert ran.last["event"] == "guardian_open.artifact_opened"
    assert files_below(guardian.home / "out") == judged.files
    assert not api.server.requests
    assert "signing:" not in ran.words


def content_identity(ledger: Ledger, found: Submitted) -> Identity:
    """What the first Guardian finds in the capsule."""
    from bounty_protocol.crypto.capsule import open_capsule
    from bounty_protocol.domain.envelope.document import parse_envelope

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


def test_envelope_drives_no_terminal(ledger: Ledger, guardian: Terminal) -> None:
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


def test_open_takes_every_submission_once(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", judged.bounty)
    assert ran.names == [
        "guardian_open.submission_listed", "guardian_open.artifact_opened",
        "guardian_open.finished",
    ]  # fmt: skip
    assert "differs from the endpoint's log" not in ran.words
    target = guardian.home / f"submissions/{judged.bounty}" / judged.commitment[:18]
    assert files_below(target) == judged.files
    signed = len(api.approvals())
    api.lies["detail"] = lie_at("active_submissions", 0, "solver_address", value="0x" + "11" * 20)
    again = guardian.run("guardian:open", judged.bounty)
    assert "differs from the endpoint's log" in again.words
    assert (again.last["opened"], again.last["opened_before"], len(api.approvals())) == (0, 1, signed)
    assert guardian.run("guardian:open", judged.bounty, "--output", "other").last["opened"] == 1
    assert files_below(guardian.home / "other") == {
        f"{judged.commitment[:18]}/{name}": data for name, data in judged.files.items()
    }


def test_work_beyond_the_limit_is_named(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    load(api, judged)
    sealed = json.loads(api.envelopes[judged.commitment])["ciphertext"]["byte_length"]

    def unasked(_: Request) -> Reply:
        raise AssertionError("what is left out is not fetched")

    api.scripts["download"] = unasked
    ran = guardian.run("guardian:open", judged.bounty, "--limit", str(sealed - 1))
    assert (ran.last["opened"], ran.last["left_out"]) == (0, [judged.commitment])
    del api.scripts["download"]
    ran = guardian.run("guardian:open", judged.bounty, "--limit", str(sealed))
    assert (ran.last["opened"], ran.last["left_out"]) == (1, [])


def proposed(guardian: Terminal, *words: str) -> str:
    """The command that a terminal shows last."""
    screen = CODES.sub("", at_terminal(guardian, "guardian:open", *words, watched=True).screen)
    return screen.rpartition("Next")[2].strip()


def test_next_step_is_what_is_left_to_do(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, tmp_path: Path
) -> None:
    found = submit(ledger, tmp_path)
    api.keep_page(found.page)
    load(api, found)
    assert proposed(guardian, found.bounty, "--limit", "1") == f"service-cli guardian:open {found.bounty}"
    assert proposed(guardian, found.bounty) == f"service-cli guardian:verdict {found.bounty} -h"
    guardian.run("guardian:verdict", found.bounty, "no_valid_submission", "-", stdin=b"It prints nothing.\n")
    assert proposed(guardian, found.bounty) == f"service-cli bounty:watch {found.bounty}"


@pytest.mark.parametrize("keyring", ["[]", "0x" + "ab" * 32, "AGE-SECRET-KEY-1X"])
def test_keyring_of_another_form_names_its_variable(guardian: Terminal, judged: Submitted, keyring: str) -> None:
    ran = guardian.run("guardian:open", judged.bounty, code=1, SERVICE_GUARDIAN_PRIVATE_KEYS_JSON=keyring)
    assert ran.last["code"] == "key_invalid"
    assert all("SERVICE_GUARDIAN_PRIVATE_KEYS_JSON" in str(ran.last[name]) for name in ("message", "next_action"))


def test_place_that_takes_no_files_is_refused_unsigned(api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    load(api, judged)
    (guardian.home / "file").touch()
    ran = guardian.run("guardian:open", judged.bounty, "--output", "file/out", code=1)
    assert (ran.names, ran.last["code"]) == (["guardian_open.refused"], "output_refused")
    assert not api.approvals()


def test_open_by_the_first_digits_of_a_commitment(api: ApiTwin, guardian: Terminal, mixed: Submitted) -> None:
    load(api, mixed)
    for number, words in enumerate([mixed.commitment[:18], mixed.commitment.upper().replace("0X", "0x")]):
        ran = guardian.run("guardian:open", mixed.bounty, "--submission", words, "--output", f"out{number}")
        assert ran.last["event"] == "guardian_open.artifact_opened"
        assert files_below(guardian.home / f"out{number}") == mixed.files
    missing = guardian.run("guardian:open", mixed.bounty, "--submission", "0x" + "12" * 8, code=1)
    assert missing.last["code"] == "submission_not_recorded"
    assert guardian.run("guardian:open", mixed.bounty, "--submission", mixed.commitment[:17], code=2).events == ()


def test_obeyed_names_are_laid_out_as_others(
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
    solver = ledger.people.solvers[0].address
    one = ("--submission", ledger.submission(bounty, solver))
    ran = guardian.run("guardian:open", str(bounty), *one, "--output", "out")
    laid_out = {"inert_AGENTS.md_": b"a", "src/inert_conftest.py_": b"b", "c": b"c"}
    assert files_below(guardian.home / "out") == laid_out
    assert ran.last["renamed_count"] == 2
    (line,) = (line for line in ran.words.splitlines() if "inert_" in line)
    assert all(name in line for name in ("inert_AGENTS.md_", "src/inert_conftest.py_", "--original-names"))
    for words in ((*one, "--output", "plain"), ("--output", "all")):
        plain = guardian.run("guardian:open", str(bounty), "--original-names", *words)
        folder = guardian.home / words[-1]
        assert files_below(folder if words[-1] == "plain" else next(folder.iterdir())) == files
        assert plain.event("guardian_open.artifact_opened")["renamed_count"] == 0
        assert "inert_" not in plain.words
