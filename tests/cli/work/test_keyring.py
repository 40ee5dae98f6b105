"""A Guardian's encryption keys: made, rotated, shown; never lost, never printed."""

import json
import os
import re
from pathlib import Path

import pyrage
import pytest
from bounty_protocol.crypto.x25519 import Identity, parse_keyring, recipient_text

from tests.cli.ledger import Ledger
from tests.cli.terminal import Ran, Terminal

VARIABLE = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"


def keys_in(file: Path) -> tuple[Identity, ...]:
    assert file.stat().st_mode & 0o777 == 0o600
    return parse_keyring(file.read_text())


def says_no_secret(*runs: Ran) -> bool:
    return not any(re.search("SECRET-KEY-1[0-9A-Z]", ran.stdout + ran.words, re.IGNORECASE) for ran in runs)


def test_new_key_is_private(shell: Terminal) -> None:
    ran = shell.run("guardian:new-key", "keys.json")
    (identity,) = keys_in(shell.home / "keys.json")
    assert ran.last == {
        "event": "guardian_new_key.written",
        "path": str((shell.home / "keys.json").resolve()),
        "public_key": identity.public_key,
        "recipient": str(pyrage.x25519.Identity.from_str(identity.to_text()).to_public()),
        "key_count": 1,
    }
    shown = shell.run("guardian:keys", "keys.json")
    assert shown.last["public_key"] == identity.public_key
    assert says_no_secret(ran, shown)
    assert [path.name for path in shell.home.iterdir() if "keys" in path.name] == ["keys.json"]


@pytest.mark.spec(287)
def test_new_key_beside_others_needs_rotate(shell: Terminal) -> None:
    shell.run("guardian:new-key", "keys.json")
    before = (shell.home / "keys.json").read_bytes()
    refused = shell.run("guardian:new-key", "keys.json", code=1)
    assert refused.last["code"] == "keys_exist"
    assert (shell.home / "keys.json").read_bytes() == before
    (shell.home / "keys.json").chmod(0o644)
    guardian = Terminal(shell.home, {f"{VARIABLE}_FILE": str(shell.home / "keys.json")})
    rotated = guardian.run("guardian:new-key", "--rotate")
    newest, oldest = keys_in(shell.home / "keys.json")
    assert (oldest,) == parse_keyring(before.decode())
    assert (rotated.last["public_key"], rotated.last["key_count"]) == (newest.public_key, 2)
    shown = guardian.run("guardian:keys")
    assert [(e["position"], e["recipient"]) for e in shown.events] == [
        (0, recipient_text(newest.public_key)),
        (1, recipient_text(oldest.public_key)),
    ]
    assert says_no_secret(refused, rotated, shown)


def test_new_key_takes_over_the_variables(shell: Terminal) -> None:
    old = Identity.generate()
    Terminal(shell.home, {VARIABLE: json.dumps([old.to_text()])}).run("guardian:new-key", "keys.json")
    assert keys_in(shell.home / "keys.json")[1:] == (old,)


def test_failing_disk_leaves_the_keys(shell: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("guardian:new-key", "keys.json")
    before = (shell.home / "keys.json").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert shell.run("guardian:new-key", "--rotate", "keys.json", code=1).last["code"] == "file_not_written"
    assert (shell.home / "keys.json").read_bytes() == before
    assert [path.name for path in shell.home.iterdir() if "keys" in path.name] == ["keys.json"]


def test_keys_tell_which_the_roster_has(ledger: Ledger, guardian: Terminal) -> None:
    mine = ledger.people.guardians[0].identity
    assert mine is not None
    (guardian.home / "keys.json").write_text(json.dumps([mine.to_text()]))
    ran = guardian.run("guardian:keys", "--roster", "keys.json")
    assert ([e["in_roster"] for e in ran.events], ran.words) == ([True], "")
    guardian.run("guardian:new-key", "--rotate", "keys.json")
    rotated = guardian.run("guardian:keys", "--roster", "keys.json")
    assert [e["in_roster"] for e in rotated.events] == [False, True]
    assert "an older key of this keyring is" in rotated.words
    (guardian.home / "other.json").write_text(json.dumps([Identity.generate().to_text()]))
    stranger = guardian.run("guardian:keys", "--roster", "other.json")
    assert "no key of this keyring is" in stranger.words
    assert [e["in_roster"] for e in guardian.run("guardian:keys", "keys.json").events] == [None, None]
    assert says_no_secret(ran, rotated, stranger)
