"""The key capsule: two locks, both needed, and words for each way it can be wrong."""

import io
from dataclasses import replace
from typing import Any

import pyrage
import pytest
from bounty_protocol.crypto import age
from bounty_protocol.crypto.age_header import Stanza
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import (
    IdentityFile,
    check_capsule,
    open_capsule,
    parse_identity_file,
    seal_capsule,
)
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.timelock import timelock_decrypt, timelock_encrypt
from bounty_protocol.crypto.x25519 import Identity, recipient_text

from tests.vectors.samples import (
    BEACON,
    BINDING,
    CONTENT,
    GUARDIAN_IDENTITIES,
    REVEAL_AT,
    ROSTER,
    identity,
    seeded,
    word,
)

INFO = BEACON.info
POLICY = INFO.reveal_policy(REVEAL_AT)
SIGNED = Beacon(POLICY.round, BEACON.signature(POLICY.round))
KEYS = ROSTER.encryption_public_keys
SEALED = seal_capsule(CONTENT, BINDING, KEYS, POLICY.round, INFO, seeded("capsule"))


def _open(data: bytes = SEALED, **changes: Any) -> Identity:
    arguments: dict[str, Any] = {
        "beacon": SIGNED,
        "info": INFO,
        "keyring": [GUARDIAN_IDENTITIES[1]],
        "roster_size": len(KEYS),
        "content_public_key": CONTENT.public_key,
        "expected": BINDING,
    }
    return open_capsule(data, **(arguments | changes))


def _refusal(data: bytes = SEALED, **changes: Any) -> SealedDataError:
    with pytest.raises(SealedDataError) as refusal:
        _open(data, **changes)
    return refusal.value


def _sealed(inner: bytes) -> bytes:
    return timelock_encrypt(inner, POLICY.round, INFO)


@pytest.mark.spec(19)
@pytest.mark.parametrize("guardian", GUARDIAN_IDENTITIES)
def test_capsule_opens_for_each_guardian(guardian: Identity) -> None:
    assert _open(keyring=[guardian]) == CONTENT


@pytest.mark.spec(287)
def test_retired_key_opens_a_capsule() -> None:
    assert _open(keyring=[identity("new key"), GUARDIAN_IDENTITIES[0]]) == CONTENT


@pytest.mark.spec(19)
def test_public_sees_only_the_inner_lock() -> None:
    inner = timelock_decrypt(SEALED, SIGNED, INFO)
    assert CONTENT.to_text().encode() not in inner
    assert inner.count(b"-> X25519 ") == len(KEYS)


def test_inner_file_opens_with_rage() -> None:
    inner = timelock_decrypt(SEALED, SIGNED, INFO)
    rage = pyrage.x25519.Identity.from_str(GUARDIAN_IDENTITIES[2].to_text())
    assert pyrage.decrypt(inner, [rage]) == f"# {BINDING.text()}\n{CONTENT.to_text()}\n".encode()


def test_capsule__made_with_public_tools__opens() -> None:
    recipients = [pyrage.x25519.Recipient.from_str(recipient_text(key)) for key in KEYS]
    comments = f"# created: today\n# public key: {recipient_text(CONTENT.public_key)}\n# {BINDING.text()}\n"
    text = f"{comments}{CONTENT.to_text()}\n"
    assert _open(_sealed(pyrage.encrypt(text.encode(), recipients))) == CONTENT


def test_capsule_for_fifteen_fits_the_envelope() -> None:
    guardians = [identity(f"g{number}") for number in range(15)]
    sealed = seal_capsule(CONTENT, BINDING, [each.public_key for each in guardians], POLICY.round, INFO)
    assert len(sealed) < 16 * 1024
    assert _open(sealed, keyring=[guardians[14]], roster_size=15) == CONTENT


@pytest.mark.spec(19)
def test_key_of_somebody_else_does_not_fit() -> None:
    refusal = _refusal(keyring=[identity("stranger")])
    assert refusal.failure is Failure.CAPSULE_NOT_FOR_THIS_KEY


@pytest.mark.parametrize("failure", Failure)
def test_no_way_out_asks_for_a_secret_key(failure: Failure) -> None:
    assert "identity" not in SealedDataError(failure, "It does not open.").next_action


def test_inner_file_with_a_passphrase_is_refused() -> None:
    sink = io.BytesIO()
    stanza = Stanza("scrypt", ("c2FsdHNhbHRzYWx0c2FsdA", "18"), bytes(32))
    age.encrypt_payload([CONTENT.to_text().encode()], sink, [stanza], bytes(16), randomness=seeded("nonce"))
    assert _refusal(_sealed(sink.getvalue())).failure is Failure.CAPSULE_WRONG_RECIPIENTS


@pytest.mark.parametrize(
    "text",
    ["{}", "{}\n", "{}\r\n", "{}\r", "{}\n\n# c\n", "\r\n{}\n", "# c\x0b\x0c\x1c\x1d\x1e\x85\u2028\n{}\n", "#{}\n{}"],
)
def test_identity_file__in_a_form_that_age_reads__read(text: str) -> None:
    found = parse_identity_file(text.replace("{}", CONTENT.to_text()).encode())
    assert found == IdentityFile(CONTENT, None)


@pytest.mark.parametrize("text", ["{}\r\r\n", "# c\r{}\n", " \n{}\n", " # c\n{}\n", "{} \n"])
@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028"])
def test_identity_file_with_odd_line_ends_is_refused(text: str, odd: str) -> None:
    for form in (text, f"# c{odd}{{}}\n", f"{{}}{odd}# c\n", f"{odd}\n{{}}{odd}\n"):
        with pytest.raises(SealedDataError) as refusal:
            parse_identity_file(form.replace("{}", CONTENT.to_text()).encode())
        assert refusal.value.failure is Failure.CAPSULE_MALFORMED


def test_check_before_the_round_says_what_it_can() -> None:
    assert check_capsule(SEALED, POLICY) == []
    assert "round" in check_capsule(SEALED, replace(POLICY, round=POLICY.round + 1))[0].message
    assert "chain" in check_capsule(SEALED, replace(POLICY, beacon_chain_hash=word("x")))[0].message
    assert len(check_capsule(SEALED, replace(POLICY, beacon_chain_hash=word("x"), round=1))) == 2
    (issue,) = check_capsule(b"not a capsule", POLICY)
    assert issue.path == "key_capsule"
    assert len(check_capsule(age.encrypt_bytes(b"x", KEYS), POLICY)) == 1
