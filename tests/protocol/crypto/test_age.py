"""age files: interoperability with rage, and what is refused."""

import io
from collections.abc import Callable
from random import Random

import pyrage
import pytest
from bounty_protocol.crypto import age
from bounty_protocol.crypto.age_header import MAX_HEADER_BYTES, Stanza, encode_base64
from bounty_protocol.crypto.age_stream import CHUNK, Block, payload_key
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vectors.samples import identity, seeded

ONE, TWO, THREE = identity("one"), identity("two"), identity("three")
SIZES = [1, 100, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17]


def _rage(*identities: Identity) -> list[pyrage.x25519.Identity]:
    return [pyrage.x25519.Identity.from_str(each.to_text()) for each in identities]


def _rage_to(*identities: Identity) -> list[pyrage.x25519.Recipient]:
    return [pyrage.x25519.Recipient.from_str(recipient_text(each.public_key)) for each in identities]


def _failure(data: bytes, *identities: Identity, recipients: int = 1) -> Failure:
    with pytest.raises(SealedDataError) as refusal:
        age.decrypt_bytes(data, identities or [ONE], recipients=recipients)
    return refusal.value.failure


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """Header and payload of an age file."""
    end = data.index(b"\n", data.index(b"\n--- ") + 1) + 1
    return data[:end], data[end:]


@pytest.mark.parametrize("size", SIZES)
def test_file__written_here__opens_with_rage(size: int) -> None:
    data = seeded("plain")(size)
    sealed = age.encrypt_bytes(data, [ONE.public_key, TWO.public_key])
    assert pyrage.decrypt(sealed, _rage(TWO)) == data


@pytest.mark.parametrize("size", SIZES)
def test_rage_file_opens_with_its_grease(size: int) -> None:
    data = seeded("plain")(size)
    for _ in range(4):  # rage adds its grease at random
        sealed = pyrage.encrypt(data, _rage_to(ONE, TWO))
        assert age.decrypt_bytes(sealed, [THREE, TWO], recipients=2) == data


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3 * CHUNK // 2), min_size=1, max_size=5).filter(any))
def test_blocks_of_any_size_make_the_same_file(sizes: list[int]) -> None:
    whole = seeded("blocks")(sum(sizes))
    blocks, start = [], 0
    for size in sizes:
        blocks.append(whole[start : start + size])
        start += size
    sink = io.BytesIO()
    age.encrypt(blocks, sink, [ONE.public_key], seeded("randomness"))
    assert sink.getvalue() == age.encrypt_bytes(whole, [ONE.public_key], seeded("randomness"))
    assert age.decrypt_bytes(sink.getvalue(), [ONE], recipients=1) == whole


def test_file__read_in_short_reads__opens() -> None:
    class Trickle:
        def __init__(self, data: bytes) -> None:
            self._whole = io.BytesIO(data)
            self.readline = self._whole.readline

        def readinto(self, memory: memoryview, /) -> int:
            return self._whole.readinto(memory[:1_000])

    data = seeded("plain")(CHUNK + 5)
    sealed = age.encrypt_bytes(data, [ONE.public_key])
    assert b"".join(age.decrypt(Trickle(sealed), [ONE], recipients=1)) == data


def test_block_that_somebody_still_reads_keeps_its_bytes() -> None:
    class Sink(list[Block]):
        write = list.append

    data, sealed = Random("plain").randbytes(70 * CHUNK), Sink()
    age.encrypt([data], sealed, [ONE.public_key])
    opened = list(age.decrypt(io.BytesIO(b"".join(sealed)), [ONE], recipients=1))
    assert b"".join(opened) == data


@pytest.mark.parametrize("kind", ["piv-p256", "yubikey", "tlock", "scrypt", "x25519", "X25519x"])
def test_file__with_a_stanza_of_another_kind__refused(kind: str) -> None:
    sealed = _file([Stanza(kind, ("abc",), b"body"), _stanza()])
    assert _failure(sealed) is Failure.AGE_RECIPIENTS_REFUSED


FILE_KEY = seeded("file key")(16)


def _stanza() -> Stanza:
    return age._wrap(FILE_KEY, ONE.public_key, seeded("ephemeral"))


def _file(stanzas: list[Stanza], change: Callable[[bytes], bytes] = bytes) -> bytes:
    """A file with these stanzas; its header's MAC is right unless ``change`` breaks it."""
    sink = io.BytesIO()
    age.encrypt_payload([b"data"], sink, stanzas, FILE_KEY, randomness=seeded("nonce"))
    return change(sink.getvalue())


def test_stanza_of_whole_lines_needs_an_empty_one() -> None:
    grease = Stanza("a-grease", (), bytes(48))  # 64 characters: a full line, then an empty one
    sealed = _file([grease, _stanza()])
    assert age.decrypt_bytes(sealed, [ONE], recipients=1) == b"data"
    full = encode_base64(bytes(48))
    assert _failure(sealed.replace(full + b"\n\n", full + b"\n", 1)) is Failure.AGE_MALFORMED


def test_endless_header_is_refused_at_the_limit() -> None:
    class Endless(io.BytesIO):
        taken = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size) or b"-> a-grease\nAAAA\n"[: size or 0]
            self.taken += len(line)
            return line

    for line in (b"-> a-grease\n\n" * 10_000, b"-> " + b"a" * 10**6):
        source = Endless(b"age-encryption.org/v1\n" + line)
        with pytest.raises(SealedDataError) as refusal:
            list(age.decrypt(source, [ONE], recipients=1))
        assert refusal.value.failure is Failure.AGE_MALFORMED
        assert source.taken <= MAX_HEADER_BYTES


def test_file__every_header_bit_flipped__never_opens() -> None:
    sealed = _file([_stanza()])
    header, payload = _parts(sealed)
    for position in range(len(header)):
        for bit in range(8):
            flipped = bytearray(header)
            flipped[position] ^= 1 << bit
            assert _failure(bytes(flipped) + payload) in {
                Failure.AGE_MALFORMED,
                Failure.AGE_RECIPIENTS_REFUSED,
                Failure.AGE_NO_MATCHING_KEY,
                Failure.AGE_TAMPERED,
                Failure.AGE_TRUNCATED,
            }


def test_file__stanza_added_by_somebody_else__tampered() -> None:
    sealed = _file([_stanza()])
    grease = Stanza("a-grease", (), b"").encode()
    assert _failure(sealed.replace(b"-> X25519", grease + b"-> X25519", 1)) is Failure.AGE_TAMPERED


LONG = age.encrypt_bytes(seeded("long")(2 * CHUNK + 100), [ONE.public_key], seeded("long randomness"))
HEADER, PAYLOAD = _parts(LONG)
NONCE, CHUNKS = (
    PAYLOAD[:16],
    [PAYLOAD[16 + start : 16 + start + CHUNK + 16] for start in (0, CHUNK + 16, 2 * CHUNK + 32)],
)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_flipped_bit_at_a_chunk_border_never_opens(number: int) -> None:
    chunk = CHUNKS[number]
    for position in (*range(20), *range(len(chunk) - 20, len(chunk))):
        for bit in range(8):
            flipped = bytearray(chunk)
            flipped[position] ^= 1 << bit
            chunks = [*CHUNKS[:number], bytes(flipped), *CHUNKS[number + 1 :]]
            assert _failure(HEADER + NONCE + b"".join(chunks)) is Failure.AGE_TAMPERED


@pytest.mark.parametrize(
    ("chunks", "failure"),
    [
        ([1, 0, 2], Failure.AGE_TAMPERED),
        ([0, 0, 1, 2], Failure.AGE_TAMPERED),
        ([0, 2], Failure.AGE_TAMPERED),
        ([1, 2], Failure.AGE_TAMPERED),
        ([2], Failure.AGE_TAMPERED),
        ([0, 1], Failure.AGE_TRUNCATED),
        ([0], Failure.AGE_TRUNCATED),
        ([], Failure.AGE_TRUNCATED),
    ],
)
def test_file__chunks_moved_or_missing__refused(chunks: list[int], failure: Failure) -> None:
    assert age.decrypt_bytes(LONG, [ONE], recipients=1) == seeded("long")(2 * CHUNK + 100)
    assert _failure(HEADER + NONCE + b"".join(CHUNKS[number] for number in chunks)) is failure


@pytest.mark.parametrize(("before", "failure"), [(b"", Failure.AGE_MALFORMED), (bytes(CHUNK), Failure.AGE_TRUNCATED)])
def test_empty_last_chunk_of_the_right_key__refused(before: bytes, failure: Failure) -> None:
    header, nonce = _parts(_file([_stanza()]))[0], bytes(16)
    cipher = ChaCha20Poly1305(payload_key(FILE_KEY, nonce))
    full = cipher.encrypt(bytes(12), before, None) if before else b""
    empty = cipher.encrypt(bytes(10) + bytes([bool(before), 1]), b"", None)
    assert _failure(header + nonce + full + empty) is failure


@pytest.mark.parametrize("extra", [b"\0", b"x" * 16, CHUNKS[2], CHUNKS[0]])
def test_file__bytes_after_the_last_chunk__refused(extra: bytes) -> None:
    whole = age.encrypt_bytes(seeded("w")(2 * CHUNK), [ONE.public_key])
    assert _failure(whole + extra) is Failure.AGE_TRAILING_DATA
    assert _failure(LONG + extra) in {Failure.AGE_TAMPERED, Failure.AGE_TRAILING_DATA}


def test_cut_file_never_opens() -> None:
    starts = [0, len(HEADER), len(HEADER) + 16]
    starts += [len(HEADER) + 16 + number * (CHUNK + 16) for number in (1, 2)]
    places = {place + offset for place in starts for offset in range(-17, 18)} | {len(LONG) - 1}
    for place in sorted(place for place in places if 0 <= place < len(LONG)):
        assert _failure(LONG[:place]) in {
            Failure.AGE_TRUNCATED,
            Failure.AGE_TAMPERED,
            Failure.AGE_MALFORMED,
        }, place
    assert _failure(LONG[: len(HEADER)]) is Failure.AGE_TRUNCATED
    assert _failure(LONG[: len(HEADER) + 16]) is Failure.AGE_TRUNCATED
    assert _failure(LONG[: len(HEADER) - 5]) is Failure.AGE_TRUNCATED


def test_broken_last_chunk_gives_only_earlier_ones() -> None:
    chunks = age.decrypt(io.BytesIO(LONG[:-1]), [ONE], recipients=1)
    plain = seeded("long")(2 * CHUNK + 100)
    assert next(chunks) == plain[:CHUNK]
    assert next(chunks) == plain[CHUNK : 2 * CHUNK]
    with pytest.raises(SealedDataError):
        next(chunks)


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_file__any_bytes__refused_with_a_known_failure(data: bytes) -> None:
    assert _failure(data) in Failure
    assert _failure(b"age-encryption.org/v1\n" + data) in Failure
