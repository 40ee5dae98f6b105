"""A TLS server that answers a request with records that renew its keys, and nothing else.

Python's TLS cannot send such a record, so they are made here, with the secret that the handshake agreed on (RFC 8446,
sections 4.6.3, 5.2 and 7.1 to 7.3).
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, HashAlgorithm
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_Cipher = type[AESGCM] | type[ChaCha20Poly1305]
_SUITES: Final[dict[str, tuple[_Cipher, int, HashAlgorithm]]] = {
    "TLS_AES_256_GCM_SHA384": (AESGCM, 32, SHA384()),
    "TLS_AES_128_GCM_SHA256": (AESGCM, 16, SHA256()),
    "TLS_CHACHA20_POLY1305_SHA256": (ChaCha20Poly1305, 32, SHA256()),
}
_KEY_UPDATE: Final = bytes([24, 0, 0, 1, 1])
"""A handshake message: new keys from here, and the other side is to renew its own."""


@contextmanager
def renewing_keys(context: ssl.SSLContext, folder: Path) -> Iterator[int]:
    """Its port. ``context`` is a server's, with a certificate."""
    secrets = folder / "secrets"
    secrets.touch()
    context.keylog_filename, context.num_tickets = str(secrets), 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=_serve, args=(server, context, secrets), daemon=True)
        thread.start()
        yield server.getsockname()[1]


def _serve(server: socket.socket, context: ssl.SSLContext, secrets: Path) -> None:
    with suppress(OSError):
        while True:
            plain, _ = server.accept()
            with context.wrap_socket(plain, server_side=True) as secured:
                secured.recv(65_536)
                suite = (secured.cipher() or ("",))[0]
                with socket.socket(fileno=secured.detach()) as raw, suppress(OSError):
                    for record in _records(_secret_of(secrets), suite):
                        raw.sendall(record)


def _secret_of(secrets: Path) -> bytes:
    lines = secrets.read_text(encoding="ascii").splitlines()
    return next(
        bytes.fromhex(line.split()[2]) for line in reversed(lines) if line.startswith("SERVER_TRAFFIC_SECRET_0")
    )


def _records(secret: bytes, suite: str) -> Iterator[bytes]:
    """Each under the keys that the one before it brought."""
    cipher, key_length, algorithm = _SUITES[suite]
    while True:
        key = _expand(secret, b"key", key_length, algorithm)
        nonce = _expand(secret, b"iv", 12, algorithm)  # the first record of each key
        plaintext = _KEY_UPDATE + bytes([22])
        head = bytes([23, 3, 3]) + (len(plaintext) + 16).to_bytes(2, "big")
        yield head + cipher(key).encrypt(nonce, plaintext, head)
        secret = _expand(secret, b"traffic upd", algorithm.digest_size, algorithm)


def _expand(secret: bytes, label: bytes, length: int, algorithm: HashAlgorithm) -> bytes:
    label = b"tls13 " + label
    info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
    return HKDFExpand(algorithm, length, info).derive(secret)
