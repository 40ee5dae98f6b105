"""age v1 files for X25519 recipients: what `age -r age1...` writes and `age -d -i` reads.

Files written here open with any age implementation. Files of other implementations open here if they have exactly the
X25519 stanzas that the caller expects; passphrase, SSH, plugin and other stanzas, and another number of X25519 stanzas,
are refused (``age_recipients_refused``), and grease is ignored. Streams in constant memory; see ``age_stream`` for what
a caller may rely on while it consumes chunks.
"""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from bounty_protocol.crypto.age_header import (
    FILE_KEY_SIZE,
    AgeHeader,
    Readable,
    Stanza,
    decode_base64,
    derive,
    encode_base64,
    read_header,
    write_header,
)
from bounty_protocol.crypto.age_stream import (
    NONCE,
    Block,
    Sink,
    decrypt_chunks,
    encrypt_chunks,
    payload_key,
    read_fully,
)
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity, Randomness
from bounty_protocol.domain.envelope.public_keys import check_public_key
from bounty_protocol.types import Bytes32, bytes32, to_bytes

_KIND: Final = "X25519"
_INFO: Final = b"age-encryption.org/v1/X25519"
_ZERO_NONCE: Final = bytes(12)


def encrypt(
    blocks: Iterable[Block], sink: Sink, recipients: Sequence[Bytes32], randomness: Randomness = os.urandom
) -> None:
    """Write an age file with one X25519 stanza per recipient, in the given order."""
    file_key = randomness(FILE_KEY_SIZE)
    stanzas = [_wrap(file_key, recipient, randomness) for recipient in recipients]
    encrypt_payload(blocks, sink, stanzas, file_key, randomness=randomness)


def decrypt(source: Readable, identities: Sequence[Identity], *, recipients: int) -> Iterator[memoryview]:
    """Open an age file that must have exactly ``recipients`` X25519 stanzas, with the first identity that fits.

    The header is read and checked before this returns; the chunks follow lazily.
    """
    header = read_header(source)
    stanzas = _only_x25519(header, recipients)
    file_key = _unwrap_any(stanzas, identities)
    return decrypt_payload(source, header, file_key)


def encrypt_bytes(data: bytes, recipients: Sequence[Bytes32], randomness: Randomness = os.urandom) -> bytes:
    """Encrypt something small."""
    sink = io.BytesIO()
    encrypt([data], sink, recipients, randomness)
    return sink.getvalue()


def decrypt_bytes(data: bytes, identities: Sequence[Identity], *, recipients: int) -> bytes:
    """Decrypt something small."""
    return b"".join(decrypt(io.BytesIO(data), identities, recipients=recipients))


def encrypt_payload(
    blocks: Iterable[Block], sink: Sink, stanzas: Sequence[Stanza], file_key: bytes, *, randomness: Randomness
) -> None:
    """Write header and payload, once the file key is locked into stanzas (of any kind: the timelock has its own)."""
    nonce = randomness(NONCE)
    sink.write(write_header(stanzas, file_key))
    sink.write(nonce)
    encrypt_chunks(blocks, sink, payload_key(file_key, nonce))


def decrypt_payload(source: Readable, header: AgeHeader, file_key: bytes) -> Iterator[memoryview]:
    """Check the header's MAC, then yield the payload's chunks."""
    header.check_mac(file_key)
    nonce = bytes(read_fully(source, memoryview(bytearray(NONCE))))
    if len(nonce) != NONCE:
        raise SealedDataError(Failure.AGE_TRUNCATED, "the age file ends before its payload")
    return decrypt_chunks(source, payload_key(file_key, nonce))


def _wrap(file_key: bytes, recipient: Bytes32, randomness: Randomness) -> Stanza:
    ephemeral = Identity(randomness(32))
    share = to_bytes(ephemeral.public_key)
    key = derive(ephemeral.shared_secret(recipient), share + to_bytes(recipient), _INFO)
    body = ChaCha20Poly1305(key).encrypt(_ZERO_NONCE, file_key, None)
    return Stanza(_KIND, (encode_base64(share).decode(),), body)


def _only_x25519(header: AgeHeader, wanted: int) -> list[Stanza]:
    stanzas = [stanza for stanza in header.stanzas if not stanza.is_grease]
    others = sorted({stanza.kind for stanza in stanzas if stanza.kind != _KIND})
    if others:
        message = f"the age file is locked with keys other than X25519: {', '.join(others)[:200]}"
        raise SealedDataError(Failure.AGE_RECIPIENTS_REFUSED, message)
    if len(stanzas) != wanted:
        message = f"the age file has {len(stanzas)} X25519 stanzas where {wanted} belong"
        raise SealedDataError(Failure.AGE_RECIPIENTS_REFUSED, message)
    for stanza in stanzas:
        _share(stanza)
    return stanzas


def _share(stanza: Stanza) -> Bytes32:
    """Return the ephemeral public key of a well-formed stanza."""
    try:
        (argument,) = stanza.arguments
        if len(stanza.body) == FILE_KEY_SIZE + 16:
            return check_public_key(bytes32(decode_base64(argument.encode())))
    except ValueError:
        pass
    raise SealedDataError(Failure.AGE_MALFORMED, "an X25519 stanza of the age file is malformed")


def _unwrap_any(stanzas: Sequence[Stanza], identities: Sequence[Identity]) -> bytes:
    for identity in identities:
        for stanza in stanzas:
            file_key = _unwrap(stanza, identity)
            if file_key is not None:
                return file_key
    raise SealedDataError(Failure.AGE_NO_MATCHING_KEY, "no stanza of the age file opens with the given key")


def _unwrap(stanza: Stanza, identity: Identity) -> bytes | None:
    share = _share(stanza)
    salt = to_bytes(share) + to_bytes(identity.public_key)
    key = derive(identity.shared_secret(share), salt, _INFO)
    try:
        return ChaCha20Poly1305(key).decrypt(_ZERO_NONCE, stanza.body, None)
    except InvalidTag:
        return None
