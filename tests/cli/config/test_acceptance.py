"""A ``.env`` of somebody else: read by what only looks, and nothing signed with it before it was accepted."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import NETWORKS, deployment_of

from tests.campaign import some
from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.scenes import (
    Case,
    Stage,
    claim,
    claim_all,
    claim_fee,
    deliver,
    fund,
    heartbeat,
    judge,
    make_stage,
    open_work,
    receive,
    replace_by_wallet,
    seal,
)
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal

CHOOSING = ("SERVICE_CHAIN_ID", "SERVICE_RPC_URL", "SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")
ACCEPTED = "SERVICE_ACCEPTED_ENV_FILE"
HUB = "0x" + "ab" * 20
SIGNING = [fund, seal, replace_by_wallet, judge, heartbeat, claim, claim_all, claim_fee, open_work, deliver, receive]


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


def moved(shell: Terminal, *names: str, folder: Path | None = None) -> Terminal:
    """The same with these variables in the directory's ``.env`` instead of the environment."""
    values = {name: shell.environment[name] for name in names}
    write(folder or shell.home, values)
    rest = {name: value for name, value in shell.environment.items() if name not in values}
    return Terminal(shell.home, {**rest, "XDG_STATE_HOME": shell.variables()["XDG_STATE_HOME"]})


def write(folder: Path, values: Mapping[str, str]) -> Path:
    file = folder / ".env"
    file.write_text("".join(f"{name}='{value}'\n" for name, value in values.items()))
    file.chmod(0o600)
    return file


def requests(stage: Stage) -> tuple[int, int]:
    return stage.rpc.sent(), len(stage.api.approvals())


@pytest.mark.attack
@pytest.mark.parametrize("scene", some("scenes that sign", SIGNING, 4))
def test_file_that_was_not_accepted_signs_nothing(stage: Stage, scene: Callable[[Stage], Case]) -> None:
    """A sign of life in a folder with somebody's ``.env`` once cost 13.6 ether."""
    case = scene(stage)
    shell, before = moved(case.home, *CHOOSING), requests(stage)
    ran = shell.run(*case.words, code=1)
    assert ran.last["code"] == "environment_file_not_accepted"
    assert all(name in str(ran.last["message"]) for name in CHOOSING)
    assert (requests(stage), "signing" in ran.words, "sign in your wallet" in ran.words) == (before, False, False)
    accepted = shell.run("env:allow").event("env_allow.accepted")
    assert (accepted["variables"], accepted["differing"]) == (sorted(CHOOSING), [])
    assert shell.run(*case.words).last["event"] == case.event


@pytest.mark.attack
@pytest.mark.parametrize("name", ["SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY", "SERVICE_RPC_URL", "SERVICE_FINALITY_DEPTH"])
def test_file_with_one_value_is_refused_too(stage: Stage, name: str) -> None:
    """Work that is sealed or sent with somebody else's key is somebody else's."""
    case = heartbeat(stage)
    home = Terminal(case.home.home, {"SERVICE_FINALITY_DEPTH": "1", **case.home.environment})
    assert moved(home, name).run(*case.words, code=1).last["code"] == "environment_file_not_accepted"


def test_file_whose_values_are_not_used_needs_no_acceptance(stage: Stage) -> None:
    case = heartbeat(stage)
    unused = {"SERVICE_MAX_GAS_PRICE_GWEI": "7"}
    write(case.home.home, {"SERVICE_RPC_URL": "http://127.0.0.1:1", "OTHER": "x", "SERVICE_OTHER": "x", **unused})
    assert case.home.run(*case.words).last["event"] == case.event


@pytest.mark.attack
@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / ".env").write_text((home / ".env").read_text() + "\n"),
        lambda home: write(home, {"SERVICE_HUB_ADDRESS": HUB}),
    ],
    ids=["a line end", "another Hub"],
)
def test_file_that_changed_is_not_accepted_any_more(stage: Stage, change: Callable[[Path], object]) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, "SERVICE_HUB_ADDRESS")
    shell.run("env:allow")
    before = (shell.home / ".env").read_bytes()
    change(shell.home)
    assert shell.run(*case.words, code=1).last["code"] == "environment_file_not_accepted"
    (shell.home / ".env").write_bytes(before)
    assert shell.run(*case.words).last["event"] == case.event
    assert shell.run("env:allow", "--revoke").names == ["env_allow.revoked"]
    assert shell.run(*case.words, code=1).last["code"] == "environment_file_not_accepted"
    assert shell.run("env:allow", "--revoke", code=1).last["code"] == "environment_file_not_accepted"


@pytest.mark.attack
def test_file_is_accepted_for_its_directory_alone(stage: Stage, tmp_path: Path) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, "SERVICE_HUB_ADDRESS")
    shell.run("env:allow")
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    shutil.copy(shell.home / ".env", other / ".env")
    elsewhere = Terminal(other, {**shell.environment, "HOME": str(shell.home)})
    assert elsewhere.run(*case.words, code=1).last["code"] == "environment_file_not_accepted"
    link.symlink_to(shell.home)
    assert Terminal(link, dict(elsewhere.environment)).run(*case.words).last["event"] == case.event


@pytest.mark.attack
@pytest.mark.parametrize(
    "content",
    some("acceptances", [b"", b"{", b"[]", b'{"path": 1}', b"[" * 100_000, b'{"path": "/", "digest": "x"}'], 2),
)
def test_acceptance_that_cannot_be_read_is_none(stage: Stage, content: bytes) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, "SERVICE_HUB_ADDRESS")
    shell.run("env:allow")
    (kept,) = (shell.home / "state" / "service-cli" / "accepted").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(content)
    assert shell.run(*case.words, code=1).last["code"] == "environment_file_not_accepted"


def test_script_accepts_the_content_that_it_knows(stage: Stage) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, *CHOOSING)
    digest = hashlib.sha256((shell.home / ".env").read_bytes()).hexdigest()
    assert shell.run(*case.words, SERVICE_ACCEPTED_ENV_FILE=digest).last["event"] == case.event


@pytest.mark.attack
@pytest.mark.parametrize("named", some("digests", ["1", "yes", "*", "0" * 64, ""], 2))
def test_script_does_not_accept_any_content(stage: Stage, named: str) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, *CHOOSING)
    assert (
        shell.run(*case.words, code=1, SERVICE_ACCEPTED_ENV_FILE=named).last["code"] == "environment_file_not_accepted"
    )


@pytest.mark.attack
def test_file_cannot_accept_itself(stage: Stage) -> None:
    case = heartbeat(stage)
    shell = moved(case.home, *CHOOSING)
    file = shell.home / ".env"
    file.write_text(f"{file.read_text()}{ACCEPTED}={hashlib.sha256(file.read_bytes()).hexdigest()}\n")
    ran = shell.run(*case.words, code=1)
    assert ran.last["code"] == "environment_file_not_accepted"
    assert f"{ACCEPTED} of .env is not used" in ran.words


RECORDED = deployment_of(NETWORKS["staging"])
assert RECORDED is not None
DIFFERING: list[tuple[str, str, str]] = [
    ("SERVICE_RPC_URL", "https://rpc.example", str(RECORDED.rpc_url)),
    ("SERVICE_ESCROW_TOKEN_ADDRESS", HUB, str(RECORDED.escrow_token_address)),
    ("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "60", str(RECORDED.reveal_delay_seconds)),
    ("SERVICE_CHAIN_ID", "8453", "84532"),
    ("SERVICE_CHAIN_ID", "nowhere", "staging"),
]
NO_KEY = {"SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": "what comes after the acceptance, and before any request"}
API = {"SERVICE_HUB_ADDRESS": HUB, "SERVICE_API_BASE_URL": "https://api.example"}


@pytest.mark.attack
@pytest.mark.parametrize(("name", "other", "same"), DIFFERING)
def test_file_that_differs_from_the_record_is_accepted_expressly(
    shell: Terminal, name: str, other: str, same: str
) -> None:
    person, words = Terminal(shell.home, NO_KEY), ("--network", "staging", "guardian:heartbeat")
    allow = ("--network", "staging", "env:allow")
    write(shell.home, {**API, name: other})
    refused = person.run(*allow, code=1)
    assert refused.last["code"] == "environment_file_differs"
    assert [issue["path"] for issue in refused.last["issues"]] == [name]  # type: ignore[attr-defined]
    assert person.run(*words, code=1).last["code"] == "environment_file_not_accepted"
    if name != "SERVICE_CHAIN_ID":  # accepted beside another network, whose record knows none of it
        person.run("--network", "local", "env:allow")
        assert person.run(*words, code=1).last["code"] == "environment_file_differs"
    assert person.run(*allow, "--differing").last["differing"] == [name]
    assert person.run(*words, code=1).last["code"] == "key_malformed"
    write(shell.home, {**API, name: same})
    assert person.run(*allow).last["differing"] == []


@pytest.mark.attack
@pytest.mark.parametrize("place", [".", "src/deep"])
def test_file_of_opened_work_is_never_accepted(api: ApiTwin, guardian: Terminal, judged: Submitted, place: str) -> None:
    load(api, judged)
    opened = guardian.home / str(guardian.run("guardian:open", *judged.names).last["output_dir"])
    (opened / place).mkdir(parents=True, exist_ok=True)
    names = {name: guardian.environment[name] for name in CHOOSING}
    file = write(opened / place, names)
    rest = {name: value for name, value in guardian.environment.items() if name not in names}
    state = {"XDG_STATE_HOME": str(guardian.home / "state")}
    inside = Terminal(opened / place, {**rest, **state})
    assert inside.run("env:allow", code=1).last["code"] == "environment_file_in_opened_work"
    assert inside.run("env:allow", "--differing", code=1).last["code"] == "environment_file_in_opened_work"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    ran = inside.run("guardian:heartbeat", code=1, SERVICE_ACCEPTED_ENV_FILE=digest)
    assert (ran.last["code"], str(opened) in str(ran.last["message"])) == ("environment_file_in_opened_work", True)
    opened.rename(opened.parent / "moved")  # and not removed: another folder could have its number
    own = opened / place
    own.mkdir(parents=True)
    write(own, names)
    assert Terminal(own, {**rest, **state}).run("env:allow").names == ["env_allow.accepted"]


def test_file_of_opened_winning_work_is_never_accepted(stage: Stage) -> None:
    case = receive(stage)
    case.home.run(*case.words)
    out = case.home.home / "out"
    values = dict(case.home.environment)
    hub = {"SERVICE_HUB_ADDRESS": values.pop("SERVICE_HUB_ADDRESS")}
    write(out, hub)
    inside = Terminal(out, {**values, "XDG_STATE_HOME": str(case.home.home / "state")})
    assert inside.run("env:allow", code=1).last["code"] == "environment_file_in_opened_work"


def test_file_that_was_not_accepted_is_read_by_what_only_looks(stage: Stage) -> None:
    shell = moved(heartbeat(stage).home, *CHOOSING)
    assert "note: taken from .env: SERVICE_API_BASE_URL=" in shell.run("bounty:show", stage.bounty()).words


def test_doctor_names_a_file_that_was_not_accepted(stage: Stage) -> None:
    stage.api.subgraph = {"_meta": {"block": {"number": 7}, "hasIndexingErrors": False}}
    shell = moved(heartbeat(stage).home, *CHOOSING)
    found = {event["name"]: event for event in shell.run_any("doctor").events if "name" in event}
    assert (found["env_file"]["ok"], "env:allow" in str(found["env_file"]["fix"])) == (False, True)
    shell.run("env:allow")
    found = {event["name"]: event for event in shell.run_any("doctor").events if "name" in event}
    assert found["env_file"]["ok"] is True
    assert "env_file" not in {event.get("name") for event in heartbeat(stage).home.run_any("doctor").events}


@pytest.mark.attack
def test_new_key_is_not_written_where_a_file_says(shell: Terminal, tmp_path: Path) -> None:
    write(shell.home, {"SERVICE_GUARDIAN_PRIVATE_KEYS_JSON_FILE": str(tmp_path / "theirs")})
    assert shell.run("guardian:new-key", code=1).last["code"] == "environment_file_not_accepted"
    assert not (tmp_path / "theirs").exists()
    assert shell.run("guardian:new-key", "mine.json", code=1).last["code"] == "environment_file_not_accepted"
    shell.run("env:allow")
    shell.run("guardian:new-key")
    assert (tmp_path / "theirs").exists()


@pytest.mark.parametrize("values", [None, {}, {"OTHER": "x"}])
def test_allow_without_a_file_that_sets_anything_is_refused(shell: Terminal, values: dict[str, str] | None) -> None:
    if values is not None:
        write(shell.home, values)
    assert shell.run("env:allow", code=1).last["code"] == "environment_file_missing"
