"""Where a key may come from: one of three forms at one level."""

import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.types import ChainId
from eth_account import Account
from service_cli.chain.signer import account_of, local_signer
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused

from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal

KEY = secrets.token_hex(32)
OWNER = str(Account.from_key(KEY).address).lower()
POSTER, SOLVER = "SERVICE_POSTER_PRIVATE_KEY", "SERVICE_SOLVER_PRIVATE_KEY"
KEYSTORE, PASSPHRASE = "SERVICE_POSTER_KEYSTORE", "SERVICE_POSTER_KEYSTORE_PASSPHRASE"
WORDS = "correct horse \N{LATIN SMALL LETTER E WITH ACUTE}"


def settings(
    values: Mapping[str, str], chain: ChainId = LOCAL_CHAIN_ID, fallback: Mapping[str, str] | None = None
) -> Settings:
    return Settings(Environment(values, fallback or {}), chain, None, None)


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
    file, marked = (private(tmp_path / name, f"{mark}0x{KEY}\n") for name, mark in (("key", ""), ("marked", "\ufeff")))
    for form in ({POSTER: KEY}, {f"{POSTER}_FILE": file}, {f"{POSTER}_FILE": marked}, opened):
        assert local_signer(settings(form), POSTER).address == account_of(settings(form), POSTER) == OWNER


def test_keystore_shows_its_account(opened: dict[str, str], sealed: dict[str, object], tmp_path: Path) -> None:
    locked = {KEYSTORE: opened[KEYSTORE]}
    assert account_of(settings(locked), POSTER) == OWNER
    with pytest.raises(CommandRefused) as refused:
        local_signer(settings(locked), POSTER)
    assert refused.value.code == "passphrase_missing"
    assert f"{PASSPHRASE}_FILE" in refused.value.next_action
    nameless = {name: value for name, value in sealed.items() if name != "address"}
    file = private(tmp_path / "nameless.json", json.dumps(nameless))
    assert account_of(settings({**opened, KEYSTORE: file}), POSTER) == OWNER
    with pytest.raises(CommandRefused):
        account_of(settings({KEYSTORE: file}), POSTER)


def test_wrong_passphrase_is_not_shown(opened: dict[str, str], tmp_path: Path) -> None:
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
        (lambda _: {"version": 3}, "has no encrypted key"),
        (lambda one: changed(one, cipher="aes-256-gcm"), "has no encrypted key"),
        (lambda one: changed(one, kdf="argon2"), "does not support"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": 2**24}), "has malformed parameters"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": 2**22, "r": 8}), "too much memory or time"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"n": True}), "has malformed parameters"),
        (lambda one: changed(one, kdfparams=SCRYPT | {"dklen": 2**30}), "wrong length"),
        (lambda one: changed(one, kdf="pbkdf2", kdfparams={"dklen": 32, "c": 10**9}), "has malformed parameters"),
        (lambda one: one | {"address": "0x12"}, "names a malformed account"),
        (lambda one: one | {"address": "11" * 20}, "but names"),
    ],
)
def test_bad_keystore_is_refused_with_the_reason(
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


def test_passphrase_is_asked_for_and_not_shown(shell: Terminal, opened: dict[str, str]) -> None:
    nowhere = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:9")
    values = {KEYSTORE: opened[KEYSTORE], "SERVICE_HUB_ADDRESS": OWNER, "LANG": "C.UTF-8", **nowhere}
    home = Terminal(shell.home, values)
    words = ("poster:open-winning-submission", "1", "--network", "mainnet")
    seen = at_terminal(home, *words, typed=f"{WORDS}\n", prompt=f"({POSTER}): ")
    assert f"Passphrase of the keystore of {OWNER} ({POSTER}): " in seen.screen
    assert json.loads(seen.stdout.splitlines()[-1])["code"] == "chain_unavailable"
    assert WORDS not in seen.screen.partition("Passphrase of")[2]
