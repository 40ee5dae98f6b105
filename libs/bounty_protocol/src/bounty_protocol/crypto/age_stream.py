"""The payload of an age v1 file: 64 KiB chunks of ChaCha20-Poly1305 (STREAM), in constant memory.

A chunk is given out only after it was authenticated, and the iteration ends normally only at the chunk that is marked
as the last, so no prefix, extension or rearrangement passes for the whole. Each fault has a failure class: altered or
moved chunks (``age_tampered``), missing ones (``age_truncated``), bytes after the last (``age_trailing_data``), an
empty payload (``age_malformed``; never written either).
"""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from bounty_protocol.crypto.age_header import Readable, derive
from bounty_protocol.crypto.failures import Failure, SealedDataError

CHUNK: Final = 64 * 1024
TAG: Final = 16
NONCE: Final = 16
GATHERED: Final = 16
"""Chunks that are read and passed on together: large blocks cost less to read, to write and to hash."""
_SEALED_BLOCK: Final = GATHERED * (CHUNK + TAG)
Block = bytes | bytearray | memoryview


class Sink(Protocol):
    """Where ciphertext goes."""

    def write(self, data: Block, /) -> object:
        """Write the whole block. It is not changed as long as a view of it exists."""


def payload_key(file_key: bytes, nonce: bytes) -> bytes:
    """Return the key of the chunks, from the file key and the 16 bytes that follow the header."""
    return derive(file_key, nonce, b"payload")


def encrypt_chunks(blocks: Iterable[Block], sink: Sink, key: bytes) -> None:
    """Encrypt a sequence of blocks of any size. The blocks must not all be empty."""
    cipher, outputs = ChaCha20Poly1305(key), _memory()
    output, filled = next(outputs), 0
    for counter, (chunk, last) in enumerate(_rechunked(blocks)):
        if filled == len(output):
            output, filled = next(outputs), 0
        end = filled + len(chunk) + TAG
        cipher.encrypt_into(_nonce(counter, last), chunk, None, output[filled:end])
        if last or end == len(output):
            sink.write(output[:end])
        filled = end


def decrypt_chunks(source: Readable, key: bytes) -> Iterator[memoryview]:
    """Yield each authenticated chunk; raise at the first that is not, or at the end without a proper last one."""
    cipher, outputs = ChaCha20Poly1305(key), _memory()
    output, filled = next(outputs), 0
    for counter, (sealed, last) in enumerate(_sealed_chunks(source)):
        if len(sealed) < TAG + 1:
            raise _short(counter, len(sealed))
        end = filled + len(sealed) - TAG
        if end > len(output):
            output, filled, end = next(outputs), 0, len(sealed) - TAG
        plain = output[filled:end]
        try:
            cipher.decrypt_into(_nonce(counter, last), sealed, None, plain)
        except InvalidTag:
            raise _diagnose(cipher, counter, sealed, last=last) from None
        yield plain
        filled = end


def _sealed_chunks(source: Readable) -> Iterator[tuple[memoryview, bool]]:
    """Yield the parts of a payload, each with whether it is the last; one empty part for an empty payload."""
    blocks = _sealed_blocks(source)
    block = next(blocks)
    while True:
        following = next(blocks, memoryview(b""))
        for start in range(0, len(block) or 1, CHUNK + TAG):
            end = start + CHUNK + TAG
            yield block[start:end], not following and end >= len(block)
        if not following:
            return
        block = following


def _sealed_blocks(source: Readable) -> Iterator[memoryview]:
    """Yield a payload in blocks of whole chunks, up to one that is cut or empty."""
    for memory in _memory():
        block = read_fully(source, memory)
        yield block
        if len(block) < len(memory):
            return


def read_fully(source: Readable, memory: memoryview) -> memoryview:
    """Fill memory; return the part that was filled, which is less than all of it only at the source's end."""
    filled = 0
    while filled < len(memory) and (size := source.readinto(memory[filled:])):
        filled += size
    return memory[:filled]


def _memory() -> Iterator[memoryview]:
    """Yield memory for sealed chunks: first for one, since most payloads are short, then for ``GATHERED``.

    Memory is used again once no view of it exists: new memory for each block would cost as much as its cipher.
    """
    yield memoryview(bytearray(CHUNK + TAG))
    pieces = list[bytearray]()
    while True:
        piece = next(filter(_is_free, pieces), None)
        if piece is None:
            pieces.append(piece := bytearray(_SEALED_BLOCK))
        yield memoryview(piece)


def _is_free(piece: bytearray) -> bool:
    """Return whether no view of it exists: its length cannot be changed while one does."""
    try:
        piece.append(piece.pop())
    except BufferError:
        return False
    return True


def _rechunked(blocks: Iterable[Block]) -> Iterator[tuple[memoryview, bool]]:
    """Regroup into full chunks; yield a chunk once it is known whether it is the last.

    Whole chunks inside a block are not copied; only the end of a block is kept until the next one arrives.
    """
    kept = memoryview(bytearray(CHUNK))
    filled = 0
    for block in blocks:
        view = memoryview(block)
        if filled:
            taken = min(CHUNK - filled, len(view))
            kept[filled : filled + taken] = view[:taken]
            filled, view = filled + taken, view[taken:]
            if not view:
                continue
            yield kept, False
        while len(view) > CHUNK:
            yield view[:CHUNK], False
            view = view[CHUNK:]
        filled = len(view)
        kept[:filled] = view
    if not filled:
        raise SealedDataError(Failure.AGE_MALFORMED, "nothing to seal: an empty payload is never written")
    yield kept[:filled], True


def _nonce(counter: int, last: bool) -> bytes:  # the format's own last byte
    return counter.to_bytes(11, "big") + (b"\x01" if last else b"\x00")


def _short(counter: int, size: int) -> SealedDataError:
    if counter == 0 and size == TAG:
        return SealedDataError(Failure.AGE_MALFORMED, "the age file holds an empty payload")
    return SealedDataError(Failure.AGE_TRUNCATED, "the age file ends inside a chunk")


def _diagnose(cipher: ChaCha20Poly1305, counter: int, sealed: Block, *, last: bool) -> SealedDataError:
    """Tell a cut or extended file from an altered one: its chunk authenticates with the other last-chunk mark."""
    try:
        cipher.decrypt(_nonce(counter, not last), sealed, None)
    except InvalidTag:
        return SealedDataError(Failure.AGE_TAMPERED, f"chunk {counter} of the age file was altered, moved or cut")
    if last:
        return SealedDataError(Failure.AGE_TRUNCATED, f"the age file ends after chunk {counter}, which is not the last")
    return SealedDataError(Failure.AGE_TRAILING_DATA, f"bytes follow the age file's last chunk ({counter})")
