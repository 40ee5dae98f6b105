"""Timelock files: age files whose one stanza opens with a beacon's future signature (drand tlock).

A file written here opens with tlock-js and `tle` once the round is out, and not before. A file that is read must have
exactly one `tlock` stanza for exactly the given round of the given chain, and a payload that is not empty; each other
case has its failure class. Binary, never armored. Scheme: Boneh-Franklin identity-based encryption with the
Fujisaki-Okamoto transform, as in drand's kyber `encrypt/ibe` on G2.
"""

import hashlib
import io
import os
import re
from dataclasses import dataclass
from typing import Final

from py_arkworks_bls12381 import G2Point, Scalar

from bounty_protocol.crypto import bls
from bounty_protocol.crypto.age import decrypt_payload, encrypt_payload
from bounty_protocol.crypto.age_header import FILE_KEY_SIZE, AgeHeader, Stanza, read_header
from bounty_protocol.crypto.beacon import Beacon, verify_beacon
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Randomness
from bounty_protocol.types import Bytes32

_KIND: Final = "tlock"
_ROUND: Final = re.compile("[1-9][0-9]{0,18}")
_CHAIN: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TimelockStanza:
    """The unencrypted part of a timelock file: which round of which chain opens it."""

    round: int
    chain_hash: Bytes32
    body: bytes


def timelock_encrypt(data: bytes, number: int, info: BeaconInfo, randomness: Randomness = os.urandom) -> bytes:
    """Seal a short plaintext until the round's signature exists."""
    file_key = randomness(FILE_KEY_SIZE)
    body = _lock(file_key, number, info, randomness)
    stanza = Stanza(_KIND, (str(number), info.chain_hash[2:]), body)
    sink = io.BytesIO()
    encrypt_payload([data], sink, [stanza], file_key, randomness=randomness)
    return sink.getvalue()


def read_timelock(data: bytes) -> TimelockStanza:
    """Read the public part of a timelock file; what is sealed stays unknown."""
    return _read_stanza(read_header(io.BytesIO(data)))


def timelock_decrypt(data: bytes, beacon: Beacon, info: BeaconInfo) -> bytes:
    """Open a timelock file with the verified signature of its round."""
    # 1. The file names this chain and this round, and nothing else locks it.
    source = io.BytesIO(data)
    header = read_header(source)
    lock = _read_stanza(header)
    if lock.chain_hash != info.chain_hash:
        raise SealedDataError(Failure.TIMELOCK_WRONG_CHAIN, "the timelock is for another beacon chain")
    if lock.round != beacon.round:
        message = f"the timelock is for round {lock.round}, not for round {beacon.round}"
        raise SealedDataError(Failure.TIMELOCK_WRONG_ROUND, message)
    # 2. The signature is the beacon's.
    if not verify_beacon(beacon, info):
        raise SealedDataError(
            Failure.BEACON_INVALID, f"the signature given for round {beacon.round} is not the beacon's"
        )
    # 3. It opens the file key, the header is unaltered, the payload is whole.
    file_key = _unlock(lock.body, beacon.signature)
    return b"".join(decrypt_payload(source, header, file_key))


def _read_stanza(header: AgeHeader) -> TimelockStanza:
    stanzas = [stanza for stanza in header.stanzas if not stanza.is_grease]
    if len(stanzas) != 1 or stanzas[0].kind != _KIND:
        raise _malformed("it must have exactly one stanza, of type tlock")
    stanza = stanzas[0]
    if len(stanza.arguments) != 2 or len(stanza.body) != bls.PUBLIC_KEY_BYTES + 2 * FILE_KEY_SIZE:
        raise _malformed("its stanza does not have a round, a chain hash and 128 bytes")
    number, chain = stanza.arguments
    if _ROUND.fullmatch(number) is None or int(number) >= 2**63 or _CHAIN.fullmatch(chain) is None:
        raise _malformed("its round or chain hash is not written in drand's form")
    return TimelockStanza(int(number), Bytes32(f"0x{chain}"), stanza.body)


def _lock(file_key: bytes, number: int, info: BeaconInfo, randomness: Randomness) -> bytes:
    """Return U || V || W of the identity-based encryption of 16 bytes to a round."""
    sigma = randomness(FILE_KEY_SIZE)
    scalar = _scalar(sigma, file_key)
    mask = _mask(bls.pairing_bytes(bls.round_point(number) * scalar, bls.key_point(info.public_key_bytes)))
    u = (G2Point() * scalar).to_compressed_bytes()
    return bytes(u) + _xor(sigma, mask) + _xor(file_key, _hash(b"IBE-H4", sigma))


def _unlock(body: bytes, signature: bytes) -> bytes:
    size = bls.PUBLIC_KEY_BYTES
    try:
        u = bls.key_point(body[:size])
    except ValueError:
        raise _malformed("its stanza does not hold a point of the curve in canonical encoding") from None
    sigma = _xor(body[size : size + FILE_KEY_SIZE], _mask(bls.pairing_bytes(bls.signature_point(signature), u)))
    file_key = _xor(body[size + FILE_KEY_SIZE :], _hash(b"IBE-H4", sigma))
    if G2Point() * _scalar(sigma, file_key) != u:
        raise SealedDataError(Failure.TIMELOCK_TAMPERED, "the timelock's stanza was altered or made with another key")
    return file_key


def _scalar(sigma: bytes, file_key: bytes) -> Scalar:
    """Return H3 of tlock: the first hash, its top bit shifted out, that is below the group order."""
    seed = hashlib.sha256(b"IBE-H3" + sigma + file_key).digest()
    hashes = (hashlib.sha256(counter.to_bytes(2, "little") + seed).digest() for counter in range(1, 65_535))
    shifted = (bytes([digest[0] >> 1]) + digest[1:] for digest in hashes)
    return next(Scalar.from_be_bytes(each) for each in shifted if int.from_bytes(each, "big") < bls.ORDER)


def _mask(pairing: bytes) -> bytes:
    return _hash(b"IBE-H2", pairing)


def _hash(tag: bytes, data: bytes) -> bytes:
    return hashlib.sha256(tag + data).digest()[:FILE_KEY_SIZE]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _malformed(what: str) -> SealedDataError:
    return SealedDataError(Failure.TIMELOCK_MALFORMED, f"not a timelock file in the required form: {what}")
