"""The winning work, from the Guardian's delivery to the Poster's files, and every way in which it is refused."""

import pytest
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import Reply, Request, as_json
from tests.cli.submitted import Submitted, files_below, load
from tests.cli.terminal import Terminal


@pytest.mark.spec(233, 234, 246, 248, 249)
def test_delivery_opens_the_winners_files(api: ApiTwin, guardian: Terminal, poster: Terminal, won: Submitted) -> None:
    load(api, won)
    early = poster.run("poster:open-winning-submission", won.bounty, code=1)
    assert early.last["code"] == "winning_solution_key_not_found"
    assert all(one.address.lower() in str(early.last["message"]) for one in api.ledger.people.guardians)
    assert f"guardian:deliver-key {won.bounty} {won.solver} {won.commitment}" in str(early.last["next_action"])
    stored = guardian.run("guardian:deliver-key", *won.names)
    assert stored.last["event"] == "guardian_deliver_key.stored"
    ran = poster.run("poster:open-winning-submission", won.bounty, "--original-names")
    assert ran.names == ["open_winning_submission.artifact_opened"]
    assert ran.last["output_dir"] == f"winning-submission/{won.bounty}/{won.commitment}"
    assert files_below(poster.home / str(ran.last["output_dir"])) == won.files
    assert poster.run("poster:open-winning-submission", won.bounty, code=1).last["code"] == "output_refused"
    api.listed = {"items": [api.item(int(won.bounty))], "next_cursor": None}
    waiting = [each["task"] for each in poster.run("status").events if each["event"] == "status.task"]
    assert "open" not in waiting  # nor does it come back


LIES: list[tuple[str, tuple[str | int, ...], object]] = [
    ("detail", ("facts", "spec_commitment"), None),
    ("retrieve", ("solver_address",), None),
    ("retrieve", ("submission_commitment",), None),
    ("retrieve", ("wrapped_key",), None),
    ("retrieve", ("wrapped_key",), 7),
    ("content", ("envelope",), None),
]


@pytest.mark.spec(213, 247, 248)
def test_winning_work_of_a_lying_api_writes_nothing(
    api: ApiTwin, guardian: Terminal, poster: Terminal, won: Submitted
) -> None:
    load(api, won)
    guardian.run("guardian:deliver-key", *won.names)
    for route, path, value in LIES:
        api.lies = {route: lie_at(*path, value=value)}
        ran = poster.run("poster:open-winning-submission", won.bounty, "out", code=1)
        assert str(ran.last["event"]).startswith("open_winning_submission."), path
        assert not (poster.home / "out").exists(), path


@pytest.mark.spec(213, 247)
def test_key_of_another_envelope_writes_nothing(ledger: Ledger, api: ApiTwin, poster: Terminal, won: Submitted) -> None:
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


@pytest.mark.spec(94)
def test_early_or_foreign_opening_is_refused(
    ledger: Ledger, api: ApiTwin, poster: Terminal, judged: Submitted, won: Submitted
) -> None:
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(poster.home, {**poster.environment, "SERVICE_POSTER_PRIVATE_KEY": key})
    assert stranger.run("poster:open-winning-submission", won.bounty, code=1).last["code"] == "not_the_poster"
    early = poster.run("poster:open-winning-submission", judged.bounty, code=1).last
    assert (early["code"], early["next_action"]) == ("not_awarded", f"Run service-cli bounty:watch {judged.bounty}.")
    assert not api.approvals()


@pytest.mark.spec(20, 214, 245, 246, 250)
def test_each_opening_has_a_fresh_key(api: ApiTwin, guardian: Terminal, poster: Terminal, won: Submitted) -> None:
    load(api, won)
    guardian.run("guardian:deliver-key", *won.names)
    for folder in ("first", "second"):
        poster.run("poster:open-winning-submission", won.bounty, folder)
    asked = [request for request in api.server.requests if request.path.endswith("/retrieve")]
    first, second = (str(request.json()["poster_ephemeral_public_key"]) for request in asked)
    assert first != second
    signed = [request.path for request in api.server.requests if "authorization" in request.headers]
    assert {path.rpartition("/")[2] for path in signed} >= {"retrieve", "content"}
    sent = b"".join(request.body for request in api.server.requests)
    assert b"AGE-SECRET-KEY" not in sent.upper()
    assert not any(content in sent for content in won.files.values())
