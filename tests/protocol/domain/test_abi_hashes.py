"""Hashes over ABI encoding, against an encoding written out by hand."""

from bounty_protocol.domain.abi_hashes import (
    AUTHORIZATION_TYPE,
    SALT_TYPE,
    authorization_nonce,
    funding_salt,
    guardian_roster_hash,
    recipients_commitment,
)
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import to_bytes

from tests.vectors.samples import CHAIN_ID, GUARDIANS, HUB, POSTER, ROSTER, TERMS, account, word

KEYS = list(ROSTER.encryption_public_keys)


def _word(value: int | str) -> bytes:
    return value.to_bytes(32, "big") if isinstance(value, int) else bytes.fromhex(value[2:]).rjust(32, b"\0")


def _hex(data: bytes) -> str:
    return "0x" + keccak256(data).hex()


def test_roster_hash_is_the_encoding_by_hand() -> None:
    head: list[int | str] = [CHAIN_ID, HUB, 1, 6 * 32, 6 * 32 + 4 * 32, 2]
    words: list[int | str] = [*head, 3, *GUARDIANS, 3, *KEYS]
    expected = _hex(b"".join(_word(word_) for word_ in words))
    found = guardian_roster_hash(CHAIN_ID, HUB, version=1, accounts=GUARDIANS, encryption_public_keys=KEYS, quorum=2)
    assert found == expected == ROSTER.guardian_roster_hash


def test_recipients_are_the_encoding_by_hand() -> None:
    words: list[int | str] = [ROSTER.guardian_roster_hash, 64, 3, *KEYS]
    expected = _hex(b"".join(_word(word_) for word_ in words))
    assert recipients_commitment(ROSTER.guardian_roster_hash, KEYS) == expected
    assert recipients_commitment(ROSTER.guardian_roster_hash, KEYS[::-1]) != expected


def test_nonce_is_the_encoding_by_hand() -> None:
    values = [_word(CHAIN_ID), _word(HUB), _word(POSTER)]
    values += [value if isinstance(value, bytes) else _word(value) for value in TERMS.as_tuple()]
    expected = _hex(keccak256(AUTHORIZATION_TYPE.encode()) + b"".join(values))
    assert authorization_nonce(CHAIN_ID, HUB, POSTER, TERMS) == expected


def test_salt_is_the_encoding_by_hand() -> None:
    page = TERMS.spec_commitment
    words = [_word(CHAIN_ID), _word(HUB), _word(POSTER), to_bytes(page), _word(2)]
    salt = funding_salt(CHAIN_ID, HUB, POSTER, page, 2)
    assert salt == _hex(keccak256(SALT_TYPE.encode()) + b"".join(words))
    others = [
        funding_salt(CHAIN_ID + 1, HUB, POSTER, page, 2),
        funding_salt(CHAIN_ID, account("another"), POSTER, page, 2),
        funding_salt(CHAIN_ID, HUB, account("another"), page, 2),
        funding_salt(CHAIN_ID, HUB, POSTER, word("another"), 2),
        funding_salt(CHAIN_ID, HUB, POSTER, page, 1),
    ]
    assert len({salt, *others}) == 6
