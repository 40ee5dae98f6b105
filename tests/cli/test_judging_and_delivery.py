"""From opening to delivered work: a Guardian's commands and ``poster:open-winning-submission``."""

import json
from pathlib import Path

import pytest
from service_common.crypto import sealed_box
from service_common.crypto.x25519 import Identity
from service_common.keccak import keccak256
from service_common.types import bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import Reply, Request, RpcProxy, as_json
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Terminal


def test_open__after_the_reveal_point__gives_the_files_and_only_below_the_directory(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    ran = guardian.run("guardian:open", *judged.names)
    assert ran.names == ["guardian_open.submission_verified", "guardian_open.artifact_opened"]
    assert ran.last["output_dir"] == f"submissions/{judged.bounty}/{judged.commitment}"
    assert files_below(guardian.home / str(ran.last["output_dir"])) == judged.files
    assert guardian.run("guardian:open", *judged.names, code=1).last["event"] == "guardian_open.refused"


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("envelope",), None, "envelope_mismatch"),
        (("envelope",), "{}", "envelope_mismatch"),
        (("envelope",), 7, "envelope_mismatch"),
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


def test_open_from__an_identity_handed_over__is_held_against_the_envelope(
    ledger: Ledger, guardian: Terminal, judged: Submitted, api: ApiTwin, rpc: RpcProxy, tmp_path: Path
) -> None:
    folder = bundle(guardian.home / "got", judged)
    keyless = Terminal(guardian.home, {k: v for k, v in guardian.environment.items() if "PRIVATE_KEY" not in k})
    (folder / "identity.txt").write_text(Identity.generate().to_text() + "\n")
    ran = keyless.run("guardian:open", "--from", "got", *judged.names, "out", code=1)
    assert ran.last["code"] == "identity_mismatch"
    (folder / "identity.txt").write_text(content_identity(ledger, judged).to_text() + "\n")
    opened = keyless.run("guardian:open", "--from", "got", *judged.names, "out")
    assert files_below(guardian.home / "out") == judged.files
    assert "AGE-SECRET" not in opened.stdout + opened.words


def test_open__keeping_the_identity__gives_another_guardian_what_opens_it(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    folder = bundle(guardian.home / "got", judged)
    ran = guardian.run("guardian:open", *judged.names, "mine", "--keep-identity", str(folder / "identity.txt"))
    assert (folder / "identity.txt").stat().st_mode & 0o777 == 0o600
    assert "AGE-SECRET" not in ran.stdout + ran.words
    keyless = Terminal(guardian.home, {k: v for k, v in guardian.environment.items() if "PRIVATE_KEY" not in k})
    keyless.run("guardian:open", "--from", "got", *judged.names, "theirs")
    assert files_below(guardian.home / "theirs") == judged.files
    again = guardian.run("guardian:open", *judged.names, "more", "--keep-identity", "got/identity.txt", code=1)
    assert again.last["code"] == "file_exists"
    assert not (guardian.home / "more").exists()


def content_identity(ledger: Ledger, found: Submitted) -> Identity:
    """What the first Guardian finds in the capsule."""
    from service_common.crypto.beacon import Beacon
    from service_common.crypto.binding import expected_binding
    from service_common.crypto.capsule import open_capsule
    from service_common.domain.envelope import parse_envelope

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
        expected=expected_binding(envelope),
    )


def verdict_body(home: Terminal, text: str = "It prints 1.\n") -> str:
    (home.home / "body.md").write_text(text)
    return "body.md"


def test_verdict__published_and_read_back__is_recorded_once_and_replaced_only_on_request(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    words = ("guardian:verdict", judged.bounty, "awarded", judged.solver, judged.commitment)
    ran = guardian.run(*words, verdict_body(guardian))
    assert ran.names == ["guardian_verdict.published", "guardian_verdict.read_back", "guardian_verdict.recorded"]
    assert set(ran.last) == {
        "event", "bounty_id", "guardian", "kind", "solver", "submission_commitment", "report_commitment", "tx_hash",
        "block_number",
    }  # fmt: skip
    assert guardian.run(*words, verdict_body(guardian)).events == (ran.last,)
    second = guardian.run(*words, verdict_body(guardian, "It still prints 1.\n"), code=1)
    assert second.last["code"] == "verdict_already_recorded"
    assert "awarded" in str(second.last["message"])
    assert ledger.nonce(account) - before == 1
    replaced = guardian.run(*words, "--replace", verdict_body(guardian, "It still prints 1.\n"))
    assert replaced.last["report_commitment"] != ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 2
    back = guardian.run(*words, verdict_body(guardian), code=1)
    assert back.last["code"] == "verdict_replaced"
    assert guardian.run(*words, "--replace", verdict_body(guardian)).last["tx_hash"] != ran.last["tx_hash"]
    assert ledger.nonce(account) - before == 3
    assert guardian.run(*words, verdict_body(guardian)).last["report_commitment"] == ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 3


def test_verdict__that_reads_back_differently__is_not_recorded(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judged: Submitted, tmp_path: Path
) -> None:
    home = person(ledger, api, rpc, tmp_path / "second", "guardian-2")
    api.scripts["verdict_read"] = lambda _request: (200, b"another document", {})
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", verdict_body(home))
    assert home.run(*words, code=1).last["code"] == "verdict_mismatch"
    assert rpc.sent() == 0


def test_verdict__by_a_stranger_or_for_another_submission__is_refused_before_a_signature(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    other = bytes32(keccak256(b"other"))
    body = verdict_body(guardian)
    wrong = guardian.run("guardian:verdict", judged.bounty, "awarded", judged.solver, other, body, code=1)
    assert wrong.last["code"] == "submission_not_active"
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert (
        stranger.run("guardian:verdict", judged.bounty, "no_valid_submission", body, code=1).last["code"]
        == "not_guardian"
    )
    assert (rpc.sent(), api.approvals()) == (0, [])


@pytest.mark.parametrize(
    ("route", "path", "code"),
    [
        ("detail", ("facts", "guardian_roster_hash"), "read_model_mismatch"),
        ("detail", ("facts", "poster_address"), "read_model_mismatch"),
        ("delivery_key", ("delivery_public_key",), "delivery_key_mismatch"),
    ],
)
def test_deliver_key__an_api_that_lies__gets_no_signature(
    api: ApiTwin, guardian: Terminal, won: Submitted, route: str, path: tuple[str | int, ...], code: str
) -> None:
    load(api, won)
    api.lies[route] = lie_at(*path)
    assert guardian.run("guardian:deliver-key", *won.names, code=1).last["code"] == code
    assert not api.approvals()
    assert not api.wraps


def test_deliver_key__while_the_chain_has_not_finalized_the_award__gets_no_signature_whatever_the_api_says(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, won: Submitted
) -> None:
    load(api, won)
    logs = [log for log in api.ledger.logs("BountyFinalized") if isinstance(log, dict)]
    (end,) = [log for log in logs if int(log["topics"][1], 16) == int(won.bounty)]
    early = api.rpc.call("eth_getBlockByNumber", hex(int(end["blockNumber"], 16) - 1), False)
    rpc.after = lambda method, params, result: (
        early if method == "eth_getBlockByNumber" and params[0] == "finalized" else result
    )
    ran = guardian.run("guardian:deliver-key", *won.names, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_deliver_key.failed", "not_finalized")
    assert not api.approvals()


def test_deliver_key__of_a_bounty_that_is_not_awarded_to_it__is_refused(
    api: ApiTwin, guardian: Terminal, judged: Submitted, won: Submitted
) -> None:
    for names in (judged.names, (won.bounty, judged.solver, judged.commitment)):
        assert guardian.run("guardian:deliver-key", *names, code=1).last["code"] == "not_the_winner"
    assert not api.approvals()


def test_delivery__from_the_guardian_to_the_poster__opens_the_winner_s_files(
    api: ApiTwin, guardian: Terminal, poster: Terminal, won: Submitted
) -> None:
    load(api, won)
    early = poster.run("poster:open-winning-submission", won.bounty, code=1)
    assert early.last["code"] == "winning_solution_key_not_found"
    assert all(one.address.lower() in str(early.last["message"]) for one in api.ledger.people.guardians)
    assert f"guardian:deliver-key {won.bounty} {won.solver} {won.commitment}" in str(early.last["next_action"])
    stored = guardian.run("guardian:deliver-key", *won.names)
    assert stored.last["event"] == "guardian_deliver_key.stored"
    ran = poster.run("poster:open-winning-submission", won.bounty)
    assert ran.names == ["open_winning_submission.key_retrieved", "open_winning_submission.artifact_opened"]
    assert ran.last["output_dir"] == f"winning-submission/{won.bounty}/{won.commitment}"
    assert files_below(poster.home / str(ran.last["output_dir"])) == won.files


@pytest.mark.parametrize(
    ("route", "path", "value"),
    [
        ("detail", ("facts", "spec_commitment"), None),
        ("retrieve", ("solver_address",), None),
        ("retrieve", ("submission_commitment",), None),
        ("retrieve", ("wrapped_key",), None),
        ("retrieve", ("wrapped_key",), ""),
        ("retrieve", ("wrapped_key",), 7),
        ("content", ("envelope",), None),
    ],
)
def test_open_winning__an_api_that_lies__writes_nothing(
    ledger: Ledger,
    api: ApiTwin,
    guardian: Terminal,
    poster: Terminal,
    won: Submitted,
    route: str,
    path: tuple[str | int, ...],
    value: object,
) -> None:
    load(api, won)
    guardian.run("guardian:deliver-key", *won.names)
    api.lies[route] = lie_at(*path, value=value)
    ran = poster.run("poster:open-winning-submission", won.bounty, "out", code=1)
    assert str(ran.last["event"]).startswith("open_winning_submission.")
    assert not (poster.home / "out").exists()


def test_open_winning__a_key_that_is_not_the_envelope_s__writes_nothing(
    ledger: Ledger, api: ApiTwin, poster: Terminal, won: Submitted
) -> None:
    load(api, won)
    api.wraps[won.commitment] = "unused"
    wrong = Identity.generate()

    def another_key(request: Request) -> Reply:
        fresh = bytes32(bytes.fromhex(str(request.json()["poster_ephemeral_public_key"])[2:]))
        wrapped = sealed_box.wrap(wrong, fresh)
        return as_json({"solver_address": won.solver, "submission_commitment": won.commitment, "wrapped_key": wrapped})

    api.scripts["retrieve"] = another_key
    ran = poster.run("poster:open-winning-submission", won.bounty, "out", code=1)
    assert ran.last["event"] == "open_winning_submission.refused"
    assert not (poster.home / "out").exists()


def test_open_winning__by_another_or_before_the_award__is_refused_before_a_signature(
    ledger: Ledger, api: ApiTwin, poster: Terminal, judged: Submitted, won: Submitted
) -> None:
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(poster.home, {**poster.environment, "SERVICE_POSTER_PRIVATE_KEY": key})
    assert stranger.run("poster:open-winning-submission", won.bounty, code=1).last["code"] == "not_the_poster"
    assert poster.run("poster:open-winning-submission", judged.bounty, code=1).last["code"] == "not_awarded"
    assert not api.approvals()
