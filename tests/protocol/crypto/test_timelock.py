"""Timelock files."""

import io

import pytest
from bounty_protocol.crypto import age, timelock
from bounty_protocol.crypto.age_header import Stanza
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.timelock import read_timelock, timelock_decrypt, timelock_encrypt
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G2Point, Scalar

from tests.vectors.samples import BEACON, seeded

INFO = BEACON.info
NINE = Beacon(9, BEACON.signature(9))
SEALED = timelock_encrypt(b"data", 9, INFO, seeded("timelock"))


def _failure(data: bytes, beacon: Beacon = NINE) -> Failure:
    with pytest.raises(SealedDataError) as refusal:
        timelock_decrypt(data, beacon, INFO)
    return refusal.value.failure


def _file(*stanzas: Stanza) -> bytes:
    sink = io.BytesIO()
    age.encrypt_payload([b"data"], sink, stanzas, FILE_KEY, randomness=seeded("nonce"))
    return sink.getvalue()


FILE_KEY = seeded("file key")(16)
BODY = timelock._lock(FILE_KEY, 9, INFO, seeded("lock"))
CHAIN = INFO.chain_hash[2:]
STANZA = Stanza("tlock", ("9", CHAIN), BODY)


@settings(max_examples=15)
@given(st.binary(min_size=1, max_size=500), st.integers(1, 2**40))
def test_file_opens_with_its_rounds_signature(data: bytes, number: int) -> None:
    sealed = timelock_encrypt(data, number, INFO)
    assert timelock_decrypt(sealed, Beacon(number, BEACON.signature(number)), INFO) == data
    lock = read_timelock(sealed)
    assert (lock.round, lock.chain_hash) == (number, INFO.chain_hash)


def test_signature_of_another_round_is_refused() -> None:
    assert _failure(SEALED, Beacon(8, BEACON.signature(8))) is Failure.TIMELOCK_WRONG_ROUND
    assert _failure(SEALED, Beacon(9, BEACON.signature(8))) is Failure.BEACON_INVALID
    assert _failure(SEALED, Beacon(9, b"\xc0" + bytes(47))) is Failure.BEACON_INVALID


@pytest.mark.parametrize(
    "stanzas",
    [
        [STANZA, STANZA],
        [Stanza("X25519", ("9", CHAIN), BODY)],
        [STANZA, Stanza("scrypt", ("a", "10"), bytes(32))],
        [Stanza("tlock", ("9",), BODY)],
        [Stanza("tlock", ("9", CHAIN, "x"), BODY)],
        [Stanza("tlock", ("09", CHAIN), BODY)],
        [Stanza("tlock", ("+9", CHAIN), BODY)],
        [Stanza("tlock", ("0", CHAIN), BODY)],
        [Stanza("tlock", ("9" * 19, CHAIN), BODY)],
        [Stanza("tlock", ("9", CHAIN.upper()), BODY)],
        [Stanza("tlock", ("9", "0x" + CHAIN), BODY)],
        [Stanza("tlock", ("9", CHAIN), BODY[:-1])],
        [Stanza("tlock", ("9", CHAIN), BODY + b"x")],
    ],
)
def test_file__stanza_in_another_form__malformed(stanzas: list[Stanza]) -> None:
    assert timelock_decrypt(_file(Stanza("x-grease", (), b""), STANZA), NINE, INFO) == b"data"
    assert _failure(_file(*stanzas)) is Failure.TIMELOCK_MALFORMED


def test_file__another_point_as_u__tampered() -> None:
    u = bytes((G2Point() * Scalar(7)).to_compressed_bytes())
    assert _failure(_file(Stanza("tlock", ("9", CHAIN), u + BODY[96:]))) is Failure.TIMELOCK_TAMPERED


def test_file__every_bit_flipped__never_opens() -> None:
    allowed = {
        Failure.AGE_MALFORMED,
        Failure.AGE_TAMPERED,
        Failure.AGE_TRUNCATED,
        Failure.TIMELOCK_MALFORMED,
        Failure.TIMELOCK_TAMPERED,
        Failure.TIMELOCK_WRONG_CHAIN,
        Failure.TIMELOCK_WRONG_ROUND,
    }
    assert timelock_decrypt(SEALED, NINE, INFO) == b"data"
    for position in range(len(SEALED)):
        flipped = bytearray(SEALED)
        flipped[position] ^= 1 << position % 8
        assert _failure(bytes(flipped)) in allowed


def test_cut_timelock_never_opens() -> None:
    for place in range(len(SEALED)):
        _failure(SEALED[:place])
    end_of_nonce = len(SEALED) - len(b"data") - 16
    assert _failure(SEALED[:end_of_nonce]) is Failure.AGE_TRUNCATED
    assert _failure(SEALED + b"x") in {Failure.AGE_TAMPERED, Failure.AGE_TRAILING_DATA}


def test_file__nothing_to_seal__refused() -> None:
    with pytest.raises(SealedDataError):
        timelock_encrypt(b"", 9, INFO)
