"""X25519 identities, recipients and keyrings in age's text forms."""

import json

import pyrage
import pytest
from bounty_protocol.crypto import bech32
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity, parse_keyring, parse_recipient, recipient_text
from bounty_protocol.types import Bytes32
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import identity

ONE = identity("one")


def _mistyped(text: str) -> str:
    return text[:-1] + ("Q" if text[-1] != "Q" else "P")


@given(st.binary(min_size=32, max_size=32))
def test_identity_is_what_age_reads(secret: bytes) -> None:
    ours = Identity(secret)
    assert Identity.from_text(ours.to_text()) == ours
    theirs = pyrage.x25519.Identity.from_str(ours.to_text())
    assert str(theirs.to_public()) == recipient_text(ours.public_key)
    assert parse_recipient(str(theirs.to_public())) == ours.public_key


def test_identity__shown__never_its_secret() -> None:
    shown = repr(ONE) + str(ONE)
    assert ONE.public_key in shown
    assert ONE.secret.hex() not in shown
    assert "AGE-SECRET" not in shown
    assert repr(ONE.secret) not in shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        ONE.to_text().lower(),
        ONE.to_text()[:-1],
        ONE.to_text() + " ",
        _mistyped(ONE.to_text()),
        "age" + ONE.to_text(),
        ONE.to_text().replace("AGE-SECRET-KEY-", "AGE-PLUGIN-X-"),
        recipient_text(ONE.public_key),
        bech32.encode("age-secret-key-", bytes(31)).upper(),
        bech32.encode("age-secret-key-", bytes(33)).upper(),
    ],
)
def test_bad_identity_text_is_not_repeated(text: str) -> None:
    with pytest.raises(SealedDataError) as refusal:
        Identity.from_text(text)
    assert refusal.value.failure is Failure.KEY_INVALID
    assert len(text) < 10 or text not in refusal.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        recipient_text(ONE.public_key).upper(),
        _mistyped(recipient_text(ONE.public_key)),
        ONE.to_text(),
        bech32.encode("age", bytes(32)),
        bech32.encode("age", bytes(31)),
        "age1pyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqpa3h085",  # of a good key, with a spare bit
        bech32.encode("age", b"\xff" * 32),
        "age1yubikey1qwertyuiop",
        "ssh-ed25519 AAAA",
    ],
)
def test_recipient__any_other_text__refused(text: str) -> None:
    with pytest.raises(SealedDataError):
        parse_recipient(text)


@pytest.mark.parametrize("key", ["0x" + "00" * 32, "0x01" + "00" * 31, "0x" + "ff" * 32])
def test_shared_secret__with_a_known_result__refused(key: str) -> None:
    with pytest.raises(SealedDataError):
        ONE.shared_secret(Bytes32(key))


def test_keyring__newest_first__order_kept() -> None:
    texts = [identity(str(number)).to_text() for number in range(3)]
    assert [each.to_text() for each in parse_keyring(json.dumps(texts))] == texts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        ONE.to_text(),
        json.dumps(ONE.to_text()),
        json.dumps([ONE.to_text(), 1]),
        json.dumps([ONE.to_text(), ONE.to_text()]),
        json.dumps([ONE.to_text().lower()]),
        json.dumps([identity(str(number)).to_text() for number in range(65)]),
        "[" * 100_000,
    ],
)
def test_bad_keyring_text_is_not_repeated(text: str) -> None:
    with pytest.raises(SealedDataError) as refusal:
        parse_keyring(text)
    assert ONE.to_text() not in refusal.value.message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0x" + "ab" * 32, "an account's private key"),
        ("# public key: age1…\nAGE-SECRET-KEY-1QQQ", "an identity file of age"),
        ('["AGE-SECRET-KEY-PQ-1QQQ"]', "a post-quantum identity"),
    ],
)
def test_keyring_of_another_kind_is_named(text: str, kind: str) -> None:
    with pytest.raises(SealedDataError) as refused:
        parse_keyring(text)
    assert kind in refused.value.message
    assert "QQQ" not in refused.value.message
