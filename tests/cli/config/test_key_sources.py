"""Where a key may come from: one of four forms at one level, a command only from its own user, and a keystore."""

import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, NETWORKS
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import ChainId
from eth_account import Account
from service_cli.chain.signer import account_of, local_signer
from service_cli.config import key_command
from service_cli.config.environment import Environment, configured_keys
from service_cli.config.key_command import run_key_command
from service_cli.config.keys import loaded_keys
from service_cli.config.settings import Settings
from service_cli.config.small_files import MAX_KEY_FILE
from service_cli.errors import CommandFailed, CommandRefused

from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal

KEY = secrets.token_hex(32)
OWNER = str(Account.from_key(KEY).address).lower()
POSTER, SOLVER = "SERVICE_POSTER_PRIVATE_KEY", "SERVICE_SOLVER_PRIVATE_KEY"
KEYSTORE, PASSPHRASE = "SERVICE_POSTER_KEYSTORE", "SERVICE_POSTER_KEYSTORE_PASSPHRASE"
RINGS = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"
WORDS = "correct horse \N{LATIN SMALL LETTER E WITH ACUTE}"


def settings(values: Mapping[str, str], chain: ChainId = LOCAL_CHAIN_ID, **levels: dict[str, str]) -> Settings:
    own = {"own": levels.get("own", {}), "own_path": "/home/me/config.toml"}
    return Settings(Environment(values, levels.get("fallback", {}), **own), chain, None, None)  # type: ignore[arg-type]


def printing(program: str) -> str:
    """A command that runs these lines of Python."""
    return shlex.join([sys.executable, "-c", program])


def private(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


@pytest.fixture(scope="module")
def sealed() -> dict[str, object]:
    """A keystore, sealed with little work."""
    return dict(Account.encrypt(bytes.fromhex(KEY), WORDS, kdf="scrypt", iterations=2))


@pytest.fixture
def opened(tmp_path: Path, sealed: dict[str, object]) -> dict[str, str]:
    """The variables of a keystore with its passphrase in a file."""
    words = private(tmp_path / "passphrase", f"{WORDS}\r\n")
    return {KEYSTORE: private(tmp_path / "key.json", json.dumps(sealed)), f"{PASSPHRASE}_FILE": words}


def test_key__in_each_form__is_the_same_account(tmp_path: Path, opened: dict[str, str]) -> None:
    file = private(tmp_path / "key", f"0x{KEY}\n")
    forms = [{POSTER: KEY}, {f"{POSTER}_FILE": file}, {f"{POSTER}_COMMAND": printing(f"print('0x{KEY}')")}, opened]
    for form in forms:
        assert local_signer(settings(form), POSTER).address == account_of(settings(form), POSTER) == OWNER
        if POSTER not in form:
            assert local_signer(settings({}, own=form), POSTER).address == OWNER
    assert account_of(settings({POSTER: KEY}, own={f"{POSTER}_FILE": "/nowhere"}), POSTER) == OWNER


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([POSTER, f"{POSTER}_COMMAND"], f"{POSTER} and {POSTER}_COMMAND are both set"),
        ([f"{POSTER}_FILE", KEYSTORE], f"{POSTER}_FILE and {KEYSTORE} are both set"),
        ([POSTER, f"{POSTER}_FILE", KEYSTORE], f"{POSTER}, {POSTER}_FILE and {KEYSTORE} are all set"),
    ],
)
def test_key__in_two_forms__is_refused_and_neither_is_read(names: list[str], told: str) -> None:
    values = dict.fromkeys(names, "/nowhere")
    for where, each in (("", settings(values)), (" in /home/me/config.toml", settings({}, own=values))):
        with pytest.raises(CommandRefused) as refused:
            local_signer(each, POSTER)
        assert (refused.value.code, refused.value.message) == ("configuration_contradictory", f"{told}{where}.")


def test_passphrase__in_two_forms__is_refused(opened: dict[str, str]) -> None:
    with pytest.raises(CommandRefused, match="are both set"):
        local_signer(settings({**opened, f"{PASSPHRASE}_COMMAND": "pass show it"}), POSTER)


def test_command_of_a_hostile_dotenv__is_never_run(shell: Terminal, sealed: dict[str, object]) -> None:
    file, trace = private(shell.home / "key.json", json.dumps(sealed)), shell.home / "trace"
    script = private(shell.home / "script.py", f"open({str(trace)!r}, 'w'); print('{KEY}')\n")
    hostile = f"{sys.executable} {script}"
    lines = [f"{name}_COMMAND={hostile}\n" for name in (POSTER, SOLVER, PASSPHRASE, RINGS)]
    (shell.home / ".env").write_text("".join(lines))
    nowhere = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:9")
    more = {"SERVICE_HUB_ADDRESS": OWNER, "SERVICE_CHAIN_ID": "8453", **nowhere}
    ran = Terminal(shell.home, more).run("poster:open-winning-submission", "1", code=1)
    assert ran.last["code"] == "key_missing"
    assert f"warning: {POSTER}_COMMAND of .env is not run" in ran.words
    assert hostile not in ran.words + ran.stdout
    locked = Terminal(shell.home, {**more, KEYSTORE: file}).run("poster:open-winning-submission", "1", code=1)
    assert locked.last["code"] == "passphrase_missing"
    assert shell.run("guardian:keys", code=1).last["code"] == "key_missing"
    found = {event["name"]: event["value"] for event in Terminal(shell.home, more).run("config").events}
    assert (found[POSTER], found[RINGS]) == (None, None)
    assert not trace.exists()


def test_command__that_fails_prints_too_much_or_never_ends__is_reported_without_its_output(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(key_command, "TIME_LIMIT", 0.3)
    cases = {
        "could not be started: there is no such program in PATH": "no-such-program-anywhere read",
        "could not be started: there is no such program at its path": "./no-such-program-anywhere read",
        "could not be started: its arguments": f"cat {shlex.quote('a' + chr(0) + 'b')}",
        "ended with exit code 3": printing(f"print('{KEY}', flush=True); raise SystemExit(3)"),
        "ended with exit code 1": printing(f"raise ValueError('{KEY}')"),
        f"printed more than {MAX_KEY_FILE // 1024} KiB": printing("while True: print('ab' * 4096)"),
        "did not end within": "tail -f /dev/null",
        "not text": printing("import sys; sys.stdout.buffer.write(bytes([255]))"),
    }
    for told, command in cases.items():
        if "exit code" in told or "text" in told or "KiB" in told:
            monkeypatch.setattr(key_command, "TIME_LIMIT", 60.0)
        else:
            monkeypatch.setattr(key_command, "TIME_LIMIT", 0.3)
        with pytest.raises(CommandFailed) as failed:
            local_signer(settings({f"{POSTER}_COMMAND": command}), POSTER)
        assert failed.value.code == "key_command_failed"
        assert told in failed.value.message
        assert f"The command of {POSTER}_COMMAND " in failed.value.message
        assert KEY not in failed.value.message
        assert KEY not in "".join(capfd.readouterr())


def test_command__that_is_not_there__is_reported_as_that_beside_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    around = tmp_path / "around"
    around.symlink_to(around)  # for root, too, whom no mode keeps out
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    for folder in (around, closed):
        path = os.pathsep.join([str(folder), os.environ["PATH"]])
        with pytest.raises(CommandFailed, match="there is no such program in PATH"):
            run_key_command("VARIABLE", "no-such-program-anywhere read", {"PATH": path})
        assert run_key_command("VARIABLE", "echo found", {"PATH": path}) == "found\n"


@pytest.mark.parametrize("command", ["pass 'show", "   ", "''"])
def test_command__that_is_none__is_refused(command: str) -> None:
    with pytest.raises((CommandRefused, CommandFailed)) as refused:
        local_signer(settings({f"{POSTER}_COMMAND": command}), POSTER)
    assert command.strip("' ") == "" or command not in refused.value.message


def test_command__runs_without_a_shell_a_key_or_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    program = (
        "import json, os, sys; found = [sys.argv[1:], sys.stdin.read(), dict(os.environ)]; "
        f"json.dump(found, open({str(seen)!r}, 'w')); print('{KEY}')"
    )
    monkeypatch.setenv(SOLVER, KEY)
    monkeypatch.setenv("SERVICE_SOLVER_PRIVATE_KEY_FILE", "/where")
    command = f"{printing(program)} $HOME '; touch {tmp_path / 'shell'}' *"
    assert local_signer(settings({f"{POSTER}_COMMAND": command}), POSTER).address == OWNER
    arguments, stdin, environment = json.loads(seen.read_text())
    assert (arguments, stdin) == (["$HOME", f"; touch {tmp_path / 'shell'}", "*"], "")
    assert SOLVER not in environment
    assert environment["SERVICE_SOLVER_PRIVATE_KEY_FILE"] == "/where"


def test_command__is_run_once_and_its_key_looked_for_in_what_is_sealed() -> None:
    environment = settings({f"{POSTER}_COMMAND": printing(f"print('{KEY}')")}).environment
    assert not loaded_keys(environment)
    each = Settings(environment, LOCAL_CHAIN_ID, None, None)
    assert local_signer(each, POSTER).address == OWNER
    environment.read[environment.exported[f"{POSTER}_COMMAND"]] += " "
    assert local_signer(each, POSTER).address == OWNER
    assert loaded_keys(environment).inside(f"key = {KEY}".encode())


def test_keyring__by_a_command__is_shown_and_rotated_into_a_file(shell: Terminal) -> None:
    identity = Identity.generate()
    command = printing(f"print('[\"{identity.to_text()}\"]')")
    home = Terminal(shell.home, {f"{RINGS}_COMMAND": command})
    assert home.run("guardian:keys").event("guardian_keys.key")["public_key"] == identity.public_key
    assert home.run("guardian:new-key", "keys.json").last["key_count"] == 2


def configure(home: Path, text: str, mode: int = 0o600) -> Path:
    file = home / ".config" / "service-cli" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def test_configuration_file__that_names_a_command__is_used_and_shown(shell: Terminal) -> None:
    identity = Identity.generate()
    command = printing(f"print('[\"{identity.to_text()}\"]')")
    file = configure(shell.home, f"output = 'json'\n[keys]\n{RINGS}_COMMAND = {json.dumps(command)}\n")
    assert shell.run("guardian:keys").last["public_key"] == identity.public_key
    found = {event["name"]: event for event in shell.run("config", "--network", "staging").events}
    assert (found[RINGS]["value"], found[RINGS]["source"]) == ("set, hidden", f"{file} ({RINGS}_COMMAND)")
    assert Terminal(shell.home, {f"{RINGS}_FILE": "/nowhere"}).run("guardian:keys", code=1).last["code"] == (
        "configuration_malformed"
    )


@pytest.mark.parametrize(
    ("text", "mode", "code"),
    [
        (f"[keys]\n{POSTER} = '{KEY}'\n", 0o600, "configuration_malformed"),
        ("[keys]\nSERVICE_RPC_URL = 'https://x.example'\n", 0o600, "configuration_malformed"),
        (f"[keys]\n{POSTER}_COMMAND = ['op', 'read']\n", 0o600, "configuration_malformed"),
        (f"[keys]\n{POSTER}_COMMAND = ''\n", 0o600, "configuration_malformed"),
        (f"[keys]\n{POSTER}_FILE = 'key'\n", 0o600, "configuration_malformed"),
        (f"[keys]\n{POSTER}_FILE = '~/key'\n", 0o600, "configuration_malformed"),
        ("keys = 'x'\n", 0o600, "configuration_malformed"),
        (f"[keys]\n{POSTER}_COMMAND = 'op read'\n", 0o620, "configuration_unsafe"),
        (f"[keys]\n{POSTER}_COMMAND = 'op read'\n", 0o602, "configuration_unsafe"),
    ],
)
def test_configuration_file__with_anything_else_or_open_to_others__is_refused(
    shell: Terminal, text: str, mode: int, code: str
) -> None:
    file = configure(shell.home, text, mode)
    ran = shell.run("config", "--network", "staging", code=1)
    assert ran.last["code"] == code
    assert str(file) in str(ran.last["message"])
    assert KEY not in ran.stdout + ran.words


def test_configuration_file__without_keys__may_be_read_by_everybody(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(shell.home, "output = 'json'\n", 0o666)
    monkeypatch.setenv("HOME", str(shell.home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert configured_keys() == ("", {})


def test_keystore__shows_its_account_without_a_passphrase_and_asks_for_it_to_sign(
    opened: dict[str, str], sealed: dict[str, object], tmp_path: Path
) -> None:
    locked = {KEYSTORE: opened[KEYSTORE]}
    assert account_of(settings(locked), POSTER) == OWNER
    with pytest.raises(CommandRefused) as refused:
        local_signer(settings(locked), POSTER)
    assert refused.value.code == "passphrase_missing"
    assert f"{PASSPHRASE}_FILE or {PASSPHRASE}_COMMAND" in refused.value.next_action
    nameless = {name: value for name, value in sealed.items() if name != "address"}
    file = private(tmp_path / "nameless.json", json.dumps(nameless))
    assert account_of(settings({**opened, KEYSTORE: file}), POSTER) == OWNER
    with pytest.raises(CommandRefused):
        account_of(settings({KEYSTORE: file}), POSTER)


def test_keystore__of_a_dotenv__is_named_when_it_is_used(
    opened: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert local_signer(settings({}, fallback=opened), POSTER).address == OWNER
    told = capsys.readouterr().err
    assert f"note: {KEYSTORE} was taken from .env\n" in told
    assert f"note: {PASSPHRASE}_FILE was taken from .env\n" in told


def test_keystore__whose_key_was_opened__is_kept_out_of_what_is_sealed(opened: dict[str, str], tmp_path: Path) -> None:
    each = settings(opened)
    assert {len(loaded_keys(each.environment).files), len(loaded_keys(each.environment).hexadecimal)} == {2, 0}
    local_signer(each, POSTER)
    assert loaded_keys(each.environment).inside(KEY.encode())


def test_keystore__with_another_passphrase__is_refused_without_either(opened: dict[str, str], tmp_path: Path) -> None:
    for words in (f"{WORDS} ", "", KEY):
        file = private(tmp_path / "other", words)
        with pytest.raises(CommandRefused) as refused:
            local_signer(settings({**opened, f"{PASSPHRASE}_FILE": file}), POSTER)
        assert refused.value.code == "passphrase_wrong"
        assert not words or words not in refused.value.message
        assert refused.value.__cause__ is None


SCRYPT: dict[str, object] = {"dklen": 32, "n": 2, "r": 8, "p": 1, "salt": "00"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda one: [one], "is not a keystore of version 3"),
        (lambda one: one | {"version": 4}, "is not a keystore of version 3"),
        (lambda _: {"version": 3}, "has no encrypted key"),
        (lambda one: changed(one, cipher="aes-256-gcm"), "has no encrypted key"),
        (lambda one: changed(one, kdf="argon2"), "does not know"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": 2**24}), "has malformed parameters"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": 2**22, "r": 8}), "too much memory or time"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": 2**20, "p": 8}), "too much memory or time"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": True}), "has malformed parameters"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": "2"}), "has malformed parameters"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"dklen": 2**30}), "another length"),
        (lambda one: changed(one, kdf="pbkdf2", kdfparams={"dklen": 32, "c": 10**9}), "has malformed parameters"),
        (lambda one: one | {"address": "0x12"}, "names a malformed account"),
        (lambda one: one | {"address": "11" * 20}, "says that it is"),
    ],
)
def test_keystore__that_is_none_or_costs_too_much__is_refused_with_the_reason(
    opened: dict[str, str],
    sealed: dict[str, object],
    tmp_path: Path,
    change: Callable[[dict[str, object]], object],
    told: str,
) -> None:
    file = private(tmp_path / "changed.json", json.dumps(change(sealed)))
    with pytest.raises(CommandRefused) as refused:
        local_signer(settings({**opened, KEYSTORE: file}), POSTER)
    assert refused.value.code == "keystore_malformed"
    assert told in refused.value.message


def changed(one: dict[str, object], **values: object) -> dict[str, object]:
    crypto = one["crypto"]
    assert isinstance(crypto, dict)
    return one | {"crypto": crypto | values}


@pytest.mark.parametrize("text", ["", "{", "[" * 60_000, '"x"', "\x00"])
def test_keystore__that_is_no_json__is_refused(opened: dict[str, str], tmp_path: Path, text: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        account_of(settings({**opened, KEYSTORE: private(tmp_path / "no.json", text)}), POSTER)
    assert refused.value.code == "keystore_malformed"
    with pytest.raises(CommandRefused, match="cannot be read"):
        account_of(settings({**opened, KEYSTORE: str(tmp_path / "nowhere")}), POSTER)


def test_keystore__in_capitals_as_other_programs_write_it__is_opened(
    opened: dict[str, str], sealed: dict[str, object], tmp_path: Path
) -> None:
    renamed = {"Crypto" if name == "crypto" else name: value for name, value in sealed.items()}
    file = private(tmp_path / "capital.json", json.dumps(renamed | {"address": f"0x{OWNER[2:].upper()}"}))
    assert local_signer(settings({**opened, KEYSTORE: file}), POSTER).address == OWNER


@pytest.mark.parametrize(
    ("typed", "code"),
    [(f"{WORDS}\n", "chain_unavailable"), ("wrong\n", "passphrase_wrong"), ("\x04", "passphrase_missing")],
    ids=["right", "wrong", "Ctrl-D"],
)
def test_passphrase__at_a_terminal__is_asked_for_and_not_shown(
    shell: Terminal, opened: dict[str, str], typed: str, code: str
) -> None:
    nowhere = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:9")
    values = {KEYSTORE: opened[KEYSTORE], "SERVICE_HUB_ADDRESS": OWNER, "LANG": "C.UTF-8", **nowhere}
    home = Terminal(shell.home, values)
    words = ("poster:open-winning-submission", "1", "--network", "mainnet")
    seen = at_terminal(home, *words, typed=typed, prompt=f"({POSTER}): ")
    assert f"Passphrase of the keystore of {OWNER} ({POSTER}): " in seen.screen
    assert json.loads(seen.stdout.splitlines()[-1])["code"] == code
    assert typed.strip() not in seen.screen.partition("Passphrase of")[2]


@pytest.mark.parametrize(
    ("chain", "form", "mentioned"),
    [
        (NETWORKS["mainnet"], POSTER, True),
        (NETWORKS["staging"], POSTER, False),
        (LOCAL_CHAIN_ID, POSTER, False),
        (NETWORKS["mainnet"], f"{POSTER}_FILE", False),
        (NETWORKS["mainnet"], f"{POSTER}_COMMAND", False),
    ],
)
def test_plain_key__of_real_money__is_mentioned_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chain: ChainId, form: str, mentioned: bool
) -> None:
    file = private(tmp_path / "key", KEY)
    value = {"": KEY, "_FILE": file, "_COMMAND": printing(f"print('{KEY}')")}[form.removeprefix(POSTER)]
    local_signer(settings({form: value}, chain), POSTER)
    told = capsys.readouterr().err
    assert (f"note: {POSTER} holds a plain key of real money" in told) is mentioned
    assert told.count("\n") == mentioned


def test_key__once_read__is_named_by_no_variable_of_child_processes(
    monkeypatch: pytest.MonkeyPatch, opened: dict[str, str]
) -> None:
    for name, value in opened.items():
        monkeypatch.setenv(name, value)
    local_signer(settings(dict(os.environ)), POSTER)
    assert KEYSTORE not in os.environ


def test_config__of_addresses_whose_path_may_be_a_key__shows_their_hosts(shell: Terminal) -> None:
    hosted = {
        "SERVICE_SUBGRAPH_ENDPOINT": "https://gateway.example/api/the-key/subgraphs/id/1",
        "SERVICE_BEACON_URLS": "https://relay.example/the-key,https://other.example",
    }
    ran = Terminal(shell.home, hosted).run("config", "--network", "staging")
    found = {event["name"]: event["value"] for event in ran.events}
    assert found["SERVICE_SUBGRAPH_ENDPOINT"] == "https://gateway.example/…"
    assert found["SERVICE_BEACON_URLS"] == "https://relay.example/…,https://other.example"
    assert "the-key" not in ran.words + ran.stdout
