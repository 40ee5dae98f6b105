"""Vectors of archives, age artifacts, capsules and delivery wraps."""

import base64
import hashlib
import io
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bounty_protocol.crypto import age, bls, timelock
from bounty_protocol.crypto.age_header import Stanza
from bounty_protocol.crypto.age_stream import CHUNK
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import unpack
from bounty_protocol.crypto.archive_write import comment_header, list_directory, tar_blocks
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.beacon_info import QUICKNET
from bounty_protocol.crypto.capsule import IdentityFile, open_capsule, seal_capsule
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.sealed_box import unwrap
from bounty_protocol.crypto.timelock import timelock_encrypt
from bounty_protocol.crypto.x25519 import recipient_text
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId, Bytes32, ChainId, to_bytes
from nacl.public import Box, PrivateKey, PublicKey

from tests.vectors.samples import (
    BEACON,
    BINDING,
    CONTENT,
    GUARDIAN_IDENTITIES,
    ROSTER,
    ROUND,
    account,
    identity,
    seeded,
    word,
)

OTHERS: Final = {
    "another chain": replace(BINDING, chain_id=ChainId(8453)),
    "another Hub": replace(BINDING, hub_address=account("another hub")),
    "another bounty": replace(BINDING, bounty_id=BountyId(8)),
    "another Solver": replace(BINDING, solver_address=account("copier")),
}
SIGNED: Final = Beacon(ROUND, BEACON.signature(ROUND))
PAST_ROUND: Final = 123
PAST_SIGNATURE: Final = (
    "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92"
)
FILES_OF_ARTIFACT: Final = {
    "README.md": "# Work\n",
    "src/main.py": "print('hello')\n",
    "src/empty": "",
    "donn\u00e9es/" + "n" * 100 + ".txt": "a long name that is not ASCII\n",
}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NO_NUMBERS = ("0o644", "6_44", "+644", "-1", "\x1c644", "\t644", "648")
"""What one language or another reads as a number, and no tar program writes."""


def archive_bytes(binding: Binding | None = BINDING) -> bytes:
    """The deterministic tar of the sample files; without a binding as version 1 had it."""
    head = b"" if binding is None else comment_header(binding.text())
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, content in FILES_OF_ARTIFACT.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8")
        return b"".join(bytes(block) for block in tar_blocks(root, list_directory(root, ArchiveLimits()), head))


def try_unpack(data: bytes) -> object:
    """Unpack somewhere that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        return unpack(iter([data]), Path(folder), ArchiveLimits())


def try_open_age(data: bytes) -> bytes:
    """Open an artifact's age file with the content identity."""
    return age.decrypt_bytes(data, [CONTENT], recipients=1)


def try_open_capsule(data: bytes) -> object:
    """Open a capsule as the second Guardian."""
    return open_capsule(
        data,
        beacon=SIGNED,
        info=BEACON.info,
        keyring=[GUARDIAN_IDENTITIES[1]],
        roster_size=len(ROSTER.members),
        content_public_key=CONTENT.public_key,
        expected=BINDING,
    )


def capsule_of_version_1() -> bytes:
    """The capsule of the samples as version 1 of the envelope had it: its seal names nobody."""
    randomness, text = seeded("capsule"), IdentityFile(CONTENT, None).to_bytes()
    inner = age.encrypt_bytes(text, ROSTER.encryption_public_keys, randomness)
    return timelock_encrypt(inner, ROUND, BEACON.info, randomness)


def failure_of(attempt: Callable[[bytes], object], data: bytes) -> str:
    """The failure class with which something is refused."""
    try:
        attempt(data)
    except SealedDataError as error:
        return error.code
    raise AssertionError("accepted what a vector calls rejected")


def _rejected(attempt: Callable[[bytes], object], name: str, cases: list[tuple[str, bytes]]) -> list[dict[str, object]]:
    return [{name: _text(data), "reason": reason, "failure": failure_of(attempt, data)} for reason, data in cases]


def _tar(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    entry.size = 4 if kind == tarfile.REGTYPE else 0
    block = entry.tobuf(tarfile.GNU_FORMAT)
    return block + (b"data" + bytes(508) if entry.size else b"") + bytes(1024)


def _with_number(start: int, end: int, value: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The tar of a file or a directory ``x`` whose header has other bytes in a field, with the checksum of these."""
    data = bytearray(_tar("x", kind))
    data[start:end] = value.ljust(end - start, b"\0")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


def _large(bits: int, length: int) -> bytes:
    """A power of two as GNU tar writes what octal digits cannot hold."""
    return b"\x80" + (1 << bits).to_bytes(length - 1, "big")


def _pax_size(size: int) -> bytes:
    entry = tarfile.TarInfo("x")
    entry.pax_headers = {"size": str(size)}
    return entry.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


def archives() -> dict[str, object]:
    """The deterministic tar, archives of other programs that open, and archives that are refused."""
    whole, former = archive_bytes(), archive_bytes(None)
    bound, other = (comment_header(each.text()) for each in (BINDING, OTHERS["another Solver"]))
    cases = [
        ("a name that leads upwards", _tar("../x")),
        ("an absolute name", _tar("/etc/x")),
        ("a name with a line feed", _tar("a\nb")),
        ("a name with a backslash", _tar("a\\b")),
        ("a symbolic link", _tar("x", tarfile.SYMTYPE, "/etc/passwd")),
        ("a hard link", _tar("x", tarfile.LNKTYPE, "y")),
        ("a device", _tar("x", tarfile.CHRTYPE)),
        ("a named pipe", _tar("x", tarfile.FIFOTYPE)),
        ("two names that differ in letter case", _tar("x")[:1024] + _tar("X")),
        ("two names of which Unicode 16 made one letter's cases", _tar("\u0264")[:1024] + _tar("\ua7cb")),
        ("a letter of Unicode 15", _tar("\U0001e030")),
        ("a code point that is nobody's yet", _tar("\u0378")),
        ("the same name twice", _tar("x")[:1024] + _tar("x")),
        ("no file", bytes(1024)),
        ("cut before its end mark", whole[:-1024]),
        ("half an end mark", whole[:-512] + b"x" * 512),
        ("cut inside a file", whole[:600]),
        ("bytes after its end mark", whole + b"x" * 512),
        ("a wrong checksum", b"y" + whole[1:]),
        ("its binding twice", bound + whole),
        ("two bindings", other + whole),
        ("a binding in another spelling", comment_header(BINDING.text().replace("0x", "0X")) + former),
        ("a binding to a chain beyond 2^53", comment_header(BINDING.text().replace("=31337", f"={2**53}")) + former),
        *((f"a mode of {mode!r}", _with_number(100, 108, mode.encode())) for mode in _NO_NUMBERS),
        ("a size with a prefix", _with_number(124, 136, b"0o4")),
        ("a size of 2^60", _with_number(124, 136, _large(60, 12))),
        ("a pax size of 10^17", _pax_size(10**17)),
    ]
    accepted = [
        ("an owner of 2^55", _with_number(108, 116, _large(55, 8))),
        ("an owner below zero", _with_number(108, 116, b"\xff" * 8)),
        ("a time of 2^60", _with_number(136, 148, _large(60, 12))),
        ("a mode between spaces", _with_number(100, 108, b"  644 ")),
        ("no mode", _with_number(100, 108, b"")),
        ("something after a mode's end", _with_number(100, 108, b"644\0\xff9")),
        ("a directory of 2^60 bytes", _with_number(124, 136, _large(60, 12), tarfile.DIRTYPE)[:512] + _tar("y")),
    ]
    return {
        "about": (
            "files and binding give tar (base64) on every machine, files alone that of version_1; each rejected tar "
            "with its failure class. Each accepted tar opens to one file, of the bytes data."
        ),
        "files": FILES_OF_ARTIFACT,
        "binding": BINDING.text(),
        "tar": _text(whole),
        "sha256": "0x" + hashlib.sha256(whole).hexdigest(),
        "version_1": {"tar": _text(former), "sha256": "0x" + hashlib.sha256(former).hexdigest()},
        "accepted": [{"tar": _text(data), "reason": reason} for reason, data in accepted],
        "rejected": _rejected(try_unpack, "tar", cases),
    }


def _stanza(file_key: bytes) -> Stanza:
    return age._wrap(file_key, CONTENT.public_key, seeded("stanza"))


def _age_file(stanzas: list[Stanza], file_key: bytes, data: bytes = b"data") -> bytes:
    sink = io.BytesIO()
    age.encrypt_payload([data], sink, stanzas, file_key, randomness=seeded("payload nonce"))
    return sink.getvalue()


def artifacts() -> dict[str, object]:
    """The age file of an artifact and age files that are refused."""
    sealed = age.encrypt_bytes(archive_bytes(), [CONTENT.public_key], seeded("artifact"))
    former = age.encrypt_bytes(archive_bytes(None), [CONTENT.public_key], seeded("artifact"))
    key = seeded("file key")(16)
    good, other = _stanza(key), age._wrap(key, identity("other").public_key, seeded("other stanza"))
    long = age.encrypt_bytes(bytes(CHUNK + 1), [CONTENT.public_key], seeded("long"))
    cases = [
        ("another version line", sealed.replace(b"/v1", b"/v2", 1)),
        ("a flipped bit in the MAC", _flip(sealed, sealed.index(b"--- ") + 10)),
        ("a flipped bit in the payload", _flip(sealed, len(sealed) - 30)),
        ("cut inside the header", sealed[:40]),
        ("cut inside the last chunk", sealed[:-1]),
        ("cut after the first of two chunks", long[:-17]),
        ("bytes after the last chunk", sealed + b"x"),
        ("sealed for somebody else", _age_file([other], key)),
        ("a second X25519 stanza", _age_file([good, other], key)),
        ("a passphrase stanza beside it", _age_file([Stanza("scrypt", ("AAAA", "18"), bytes(32)), good], key)),
        ("an SSH stanza beside it", _age_file([Stanza("ssh-ed25519", ("AAAA", "AAAA"), bytes(32)), good], key)),
        ("an ephemeral share of low order", _age_file([Stanza("X25519", ("A" * 43,), good.body)], key)),
        ("no stanza", _age_file([], key)),
        ("a stanza one byte short", _age_file([replace(good, body=good.body[:-1])], key)),
        ("an armored file", b"-----BEGIN AGE ENCRYPTED FILE-----\n"),
    ]
    return {
        "about": (
            "artifact (base64) opens with identity to the tar of archive.json, that of version_1 to version_1's; each "
            "has exactly one X25519 stanza. bound_to_another open to archives that an opener refuses, "
            "with that failure and in any version."
        ),
        "identity": CONTENT.to_text(),
        "recipient": recipient_text(CONTENT.public_key),
        "content_public_key": CONTENT.public_key,
        "artifact": _text(sealed),
        "sha256": "0x" + hashlib.sha256(sealed).hexdigest(),
        "byte_length": len(sealed),
        "version_1": {
            "artifact": _text(former),
            "sha256": "0x" + hashlib.sha256(former).hexdigest(),
            "byte_length": len(former),
        },
        "bound_to_another": [
            {"artifact": _text(_sealed_for(binding)), "reason": reason, "failure": Failure.SEALED_FOR_ANOTHER.value}
            for reason, binding in OTHERS.items()
        ],
        "also_accepted": [
            {
                "artifact": _text(_age_file([Stanza("x-grease", ("a", "b"), bytes(5)), good], key)),
                "plaintext": _text(b"data"),
                "why": "grease is ignored",
            }
        ],
        "rejected": _rejected(try_open_age, "artifact", cases),
    }


def _sealed_for(binding: Binding) -> bytes:
    return age.encrypt_bytes(archive_bytes(binding), [CONTENT.public_key], seeded("artifact"))


def _flip(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def capsules() -> dict[str, object]:
    """The key capsule and capsules that are refused."""
    keys = list(ROSTER.encryption_public_keys)
    text, unbound = (IdentityFile(CONTENT, binding).to_bytes() for binding in (BINDING, None))
    line = text.removesuffix(unbound)
    capsule, former = (
        seal_capsule(CONTENT, BINDING, keys, ROUND, BEACON.info, seeded("capsule")),
        capsule_of_version_1(),
    )
    chain = BEACON.info.chain_hash[2:].encode()

    def sealed(inner: bytes) -> bytes:
        return timelock_encrypt(inner, ROUND, BEACON.info, seeded("outer"))

    def to(recipients: list[Bytes32], data: bytes = text) -> bytes:
        return sealed(age.encrypt_bytes(data, recipients, seeded("inner")))

    strangers = [identity(f"stranger {number}").public_key for number in range(3)]
    cases = [
        ("for another round", seal_capsule(CONTENT, BINDING, keys, ROUND + 1, BEACON.info, seeded("capsule"))),
        ("for another chain", capsule.replace(chain, word("chain")[2:].encode(), 1)),
        ("an age file that is no timelock", age.encrypt_bytes(text, keys, seeded("inner"))),
        ("a flipped bit in the timelock stanza", _flip(capsule, capsule.index(chain) + 70)),
        ("a flipped bit in the header's MAC", _flip(capsule, capsule.index(b"--- ") + 10)),
        ("a flipped bit in the payload", _flip(capsule, len(capsule) - 1)),
        ("cut after the nonce", capsule[: capsule.index(b"\n", capsule.index(b"\n--- ") + 1) + 17]),
        ("cut", capsule[:-1]),
        ("no inner age file", sealed(text)),
        ("one stanza fewer than the roster", to(keys[:2])),
        ("one stanza more than the roster", to([*keys, strangers[0]])),
        ("sealed to other recipients", to(strangers)),
        ("not an identity inside", to(keys, b"hello\n")),
        ("an identity file of more than 4,096 bytes", to(keys, text + b"#" * 4_096)),
        ("two identities inside", to(keys, text + unbound)),
        ("another identity than the envelope's", to(keys, IdentityFile(identity("other"), BINDING).to_bytes())),
        ("no binding", to(keys, unbound)),
        ("a binding in another place of its line", to(keys, b"# " + text)),
        ("its binding twice", to(keys, line + text)),
        ("two bindings", to(keys, IdentityFile(CONTENT, OTHERS["another Solver"]).to_bytes() + line)),
        ("a binding in upper case", to(keys, line.replace(b"0x", b"0X") + unbound)),
        ("a binding with a leading zero", to(keys, line.replace(b"bounty_id=", b"bounty_id=0") + unbound)),
        ("a binding with two spaces", to(keys, line.replace(b" hub", b"  hub") + unbound)),
        ("a line that ends in a form feed", to(keys, text.replace(b"\n", b"\x0c", 1))),
        *(
            (f"sealed for {reason}", seal_capsule(CONTENT, binding, keys, ROUND, BEACON.info, seeded("capsule")))
            for reason, binding in OTHERS.items()
        ),
    ]
    return {
        "about": (
            "capsule (base64) opens with the beacon's signature and any one guardian identity to content_identity. "
            "The keys are for these vectors only. Rejected capsules are opened as guardians[1] for an envelope of "
            "version 2; for one of version 1, too, all but those with binding_missing are refused."
        ),
        "beacon": to_json(BEACON.info) | {"round": ROUND, "signature": SIGNED.signature.hex()},
        "guardians": [each.to_text() for each in GUARDIAN_IDENTITIES],
        "guardian_public_keys": keys,
        "content_identity": CONTENT.to_text(),
        "content_public_key": CONTENT.public_key,
        "binding": BINDING.text(),
        "capsule": _text(capsule),
        "sha256": "0x" + hashlib.sha256(capsule).hexdigest(),
        "version_1": {"capsule": _text(former), "sha256": "0x" + hashlib.sha256(former).hexdigest()},
        "rejected": _rejected(try_open_capsule, "capsule", cases),
    }


def timelocks() -> dict[str, object]:
    """A file key locked to a round of quicknet that is long past: it shows whether a pairing is the right one."""
    key, signature = seeded("past file key")(16), PAST_SIGNATURE
    body = timelock._lock(key, PAST_ROUND, QUICKNET, seeded("past timelock"))
    return {
        "about": (
            "The body U || V || W of a timelock's stanza (hex) for a round of quicknet that is past, the round's "
            "signature, sigma, and the file key that it opens to. Compute key with your own pairing before you seal: "
            "what another pairing seals opens with that pairing, and to no Guardian."
        ),
        "pairing_of_generators_sha256": bls.PAIRING_OF_GENERATORS,
        "round": PAST_ROUND,
        "signature": signature,
        "u": body[:96].hex(),
        "v": body[96:112].hex(),
        "w": body[112:].hex(),
        "sigma": seeded("past timelock")(16).hex(),
        "key": key.hex(),
    }


def sealed_box(message: bytes, recipient: str, label: str) -> str:
    """libsodium's sealed box with an ephemeral key made of a label."""
    ephemeral, key = PrivateKey(seeded(label)(32)), PublicKey(bytes.fromhex(recipient[2:]))
    nonce = hashlib.blake2b(bytes(ephemeral.public_key) + bytes(key), digest_size=24).digest()
    return _text(bytes(ephemeral.public_key) + Box(ephemeral, key).encrypt(message, nonce).ciphertext)


def wraps() -> dict[str, object]:
    """The delivery wrap and wraps that are refused."""
    delivery = identity("delivery")
    good = sealed_box(CONTENT.secret, delivery.public_key, "wrap")
    cases = [
        ("without padding", good.rstrip("=")),
        ("with a line feed", good + "\n"),
        ("one byte short", sealed_box(CONTENT.secret[:31], delivery.public_key, "wrap")),
        ("to another key", sealed_box(CONTENT.secret, identity("other").public_key, "wrap")),
        ("of another identity", sealed_box(identity("other").secret, delivery.public_key, "wrap")),
        ("altered", _text(_flip(base64.b64decode(good), 60))),
    ]
    rejected = [
        {
            "wrapped_key": text,
            "reason": reason,
            "failure": failure_of(lambda data: unwrap(data.decode(), [delivery], CONTENT.public_key), text.encode()),
        }
        for reason, text in cases
    ]
    return {
        "about": "wrapped_key: a sealed box over content_identity's 32-byte scalar, opened by delivery_private_key.",
        "delivery_private_key": "0x" + delivery.secret.hex(),
        "delivery_public_key": delivery.public_key,
        "key_id": "0x" + hashlib.sha256(to_bytes(delivery.public_key)).digest()[:8].hex(),
        "content_identity": CONTENT.to_text(),
        "content_scalar": "0x" + CONTENT.secret.hex(),
        "content_public_key": CONTENT.public_key,
        "wrapped_key": good,
        "rejected": rejected,
    }


FILES: Final = {
    "archive.json": archives,
    "age_artifact.json": artifacts,
    "key_capsule.json": capsules,
    "timelock.json": timelocks,
    "delivery_wrap.json": wraps,
}
