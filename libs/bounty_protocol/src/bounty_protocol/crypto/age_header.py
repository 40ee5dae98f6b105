"""The header of an age v1 file: stanzas in, stanzas out, every byte accounted for.

A header that is read encodes back to the same bytes, and its MAC covers all of them. Refused (``age_malformed``) are
another version line, armor, malformed stanzas, base64 with padding or spare bits, lines that age would not write, and
headers above a size limit. Format: https://age-encryption.org/v1 and C2SP age.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bounty_protocol.crypto.failures import Failure, SealedDataError

INTRO: Final = b"age-encryption.org/v1\n"
FILE_KEY_SIZE: Final = 16
MAX_HEADER_BYTES: Final = 16 * 1024
_COLUMNS: Final = 64
_ARGUMENT: Final = re.compile(rb"[\x21-\x7e]+")
_MAC_LINE: Final = re.compile(rb"--- ([A-Za-z0-9+/]{43})\n")


class Readable(Protocol):
    """A binary source with lines, such as an open file or ``BytesIO``."""

    def readinto(self, memory: memoryview, /) -> int:
        """Fill memory from its start; return how many bytes, 0 at the end."""

    def readline(self, size: int, /) -> bytes:
        """Read the next line with its line feed, cut at ``size`` bytes."""


@dataclass(frozen=True, slots=True)
class Stanza:
    """One recipient's lock on the file key."""

    kind: str
    arguments: tuple[str, ...]
    body: bytes

    @property
    def is_grease(self) -> bool:
        """Whether this is one of the meaningless stanzas that keep readers tolerant."""
        return self.kind.endswith("-grease")

    def encode(self) -> bytes:
        """Encode the stanza as age writes it."""
        text = encode_base64(self.body)
        lines = [text[start : start + _COLUMNS] for start in range(0, len(text) + 1, _COLUMNS)]
        return " ".join(["->", self.kind, *self.arguments]).encode() + b"\n" + b"".join(row + b"\n" for row in lines)


@dataclass(frozen=True, slots=True)
class AgeHeader:
    """A header as read; ``covered`` are the bytes its MAC is over."""

    stanzas: tuple[Stanza, ...]
    covered: bytes
    mac: bytes

    def check_mac(self, file_key: bytes) -> None:
        """Raise ``age_tampered`` unless the MAC was made with this file key over exactly these stanzas."""
        if not hmac.compare_digest(_mac(file_key, self.covered), self.mac):
            raise SealedDataError(Failure.AGE_TAMPERED, "the age header was altered: its MAC does not match")


def write_header(stanzas: Sequence[Stanza], file_key: bytes) -> bytes:
    """Write a complete header."""
    covered = INTRO + b"".join(stanza.encode() for stanza in stanzas) + b"---"
    return covered + b" " + encode_base64(_mac(file_key, covered)) + b"\n"


def read_header(source: Readable) -> AgeHeader:
    """Read a header and leave the source at the payload."""
    lines = _Lines(source)
    if lines.next() != INTRO:
        raise _malformed("it does not begin with the line age-encryption.org/v1 (armored files are not accepted)")
    stanzas: list[Stanza] = []
    while (line := lines.next()).startswith(b"-> "):
        stanzas.append(_read_stanza(line, lines))
    found = _MAC_LINE.fullmatch(line)
    if found is None:
        raise _malformed("a header line is neither a stanza nor the MAC")
    if not stanzas:
        raise _malformed("it has no recipient stanza")
    return AgeHeader(tuple(stanzas), bytes(lines.taken[: -len(line)]) + b"---", decode_base64(found[1]))


def derive(file_key: bytes, salt: bytes, info: bytes) -> bytes:
    """Derive 32 bytes by HKDF-SHA-256, as for every key of the format."""
    return HKDF(SHA256(), 32, salt, info).derive(file_key)


def encode_base64(data: bytes) -> bytes:
    """Encode as standard base64 without padding."""
    return base64.b64encode(data).rstrip(b"=")


def decode_base64(text: bytes) -> bytes:
    """Decode canonical base64 without padding."""
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise _malformed("a stanza holds base64 that cannot be decoded") from None
    if encode_base64(data) != text:
        raise _malformed("a stanza holds base64 that is not in the form written by age")
    return data


class _Lines:
    """Takes lines until the header's size limit and remembers them."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self.taken = bytearray()

    def next(self) -> bytes:
        line = self._source.readline(MAX_HEADER_BYTES - len(self.taken))
        if not line.endswith(b"\n"):
            cut = len(self.taken) + len(line) >= MAX_HEADER_BYTES
            raise _malformed("its header is too large") if cut else _truncated()
        self.taken += line
        return line


def _read_stanza(line: bytes, lines: _Lines) -> Stanza:
    words = line[3:-1].split(b" ")
    if not all(_ARGUMENT.fullmatch(word) for word in words):
        raise _malformed("a stanza's first line has empty or unprintable arguments")
    body = bytearray()
    while True:
        row = lines.next()[:-1]
        if len(row) > _COLUMNS:
            raise _malformed("a stanza's line is longer than 64 characters")
        body += row
        if len(row) < _COLUMNS:
            break
    kind, *arguments = (word.decode() for word in words)
    return Stanza(kind, tuple(arguments), decode_base64(bytes(body)))


def _mac(file_key: bytes, covered: bytes) -> bytes:
    return hmac.digest(derive(file_key, b"", b"header"), covered, hashlib.sha256)


def _malformed(what: str) -> SealedDataError:
    return SealedDataError(Failure.AGE_MALFORMED, f"not an age file in the required form: {what}")


def _truncated() -> SealedDataError:
    return SealedDataError(Failure.AGE_TRUNCATED, "the age file ends inside its header")
