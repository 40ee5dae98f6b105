"""Which beacon: its chain hash, key and clock, checked against each other as drand does it.

A ``BeaconInfo`` that was read from a relay hashes to the expected chain hash, so genesis and period cannot be forged.
Other schemes, other keys and information that does not hash are ``beacon_invalid``. ``QUICKNET`` is drand's quicknet
network, pinned.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.domain.envelope.reveal import RevealPolicy, reveal_policy, round_at, time_of_round
from bounty_protocol.shapes import Note
from bounty_protocol.types import Bytes32, UnixSeconds, bytes32, parse_bytes32

SCHEME_ID: Final = "bls-unchained-g1-rfc9380"
_DEFAULT_IDS: Final = ("", "default")
_PUBLIC_KEY: Final = re.compile("[0-9a-f]{192}")


@dataclass(frozen=True, slots=True)
class BeaconInfo:
    """A beacon chain of scheme ``bls-unchained-g1-rfc9380``. ``public_key`` is 96 bytes in hex without 0x."""

    chain_hash: Bytes32
    public_key: Annotated[str, Note("Hex.")]
    genesis_time: UnixSeconds
    period_seconds: int

    @property
    def public_key_bytes(self) -> bytes:
        """The compressed point of G2."""
        return bytes.fromhex(self.public_key)

    def round_at(self, reveal_at: int) -> int:
        """Return the first round at or after that second."""
        return round_at(reveal_at, self.genesis_time, self.period_seconds)

    def time_of(self, number: int) -> UnixSeconds:
        """Return the second from which the round's signature may exist."""
        return time_of_round(number, self.genesis_time, self.period_seconds)

    def reveal_policy(self, reveal_at: UnixSeconds) -> RevealPolicy:
        """Return the policy an envelope for this reveal point must carry."""
        return reveal_policy(reveal_at, self.chain_hash, self.genesis_time, self.period_seconds)


QUICKNET: Final = BeaconInfo(
    chain_hash=Bytes32("0x52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"),
    public_key=(
        "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921c"
        "c22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
    ),
    genesis_time=UnixSeconds(1692803367),
    period_seconds=3,
)
QUICKNET_GROUP_HASH: Final = "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"
QUICKNET_ID: Final = "quicknet"


def parse_chain_hash(text: str) -> Bytes32:
    """Parse a chain hash with 0x or, as drand writes it, without."""
    return parse_bytes32(text if text.startswith("0x") else f"0x{text}")


def parse_beacon_key(text: str) -> str:
    """Parse a beacon's public key, 96 bytes of hex with or without 0x; return it lowercase without."""
    digits = text.removeprefix("0x").lower()
    if _PUBLIC_KEY.fullmatch(digits) is None:
        raise ValueError("a beacon public key is 96 bytes in hexadecimal")
    return digits


def chain_hash(public_key: bytes, genesis_time: int, period_seconds: int, group_hash: bytes, beacon_id: str) -> Bytes32:
    """Compute drand's hash of a chain's information (``chain.Info.Hash``)."""
    clock = struct.pack(">Iq", period_seconds, genesis_time)
    name = b"" if beacon_id in _DEFAULT_IDS else beacon_id.encode()
    return bytes32(hashlib.sha256(clock + public_key + group_hash + name).digest())


def info_json(info: BeaconInfo, group_hash: str, beacon_id: str) -> dict[str, object]:
    """Return the body of drand's ``/info``."""
    return {
        "public_key": info.public_key,
        "period": info.period_seconds,
        "genesis_time": info.genesis_time,
        "hash": info.chain_hash[2:],
        "groupHash": group_hash,
        "schemeID": SCHEME_ID,
        "metadata": {"beaconID": beacon_id},
    }


def parse_info(body: bytes, wanted_hash: Bytes32, wanted_key: str) -> BeaconInfo:
    """Read a relay's ``/info`` and compare it with the chain hash and key that the deployment pins."""
    try:
        found = _read(json.loads(body))
    except (ValueError, TypeError, KeyError, RecursionError, struct.error):
        raise _invalid("the relay's /info does not describe a drand chain of the supported scheme") from None
    if found.public_key != wanted_key:
        raise _invalid("the relay's /info names a public key other than the deployment's")
    if found.chain_hash != wanted_hash:
        raise _invalid("the relay's /info does not hash to the deployment's chain hash")
    return found


def _read(value: Mapping[str, object]) -> BeaconInfo:
    key = parse_beacon_key(str(value["public_key"]))
    genesis, period = value["genesis_time"], value["period"]
    metadata = value.get("metadata")
    beacon_id = str(metadata["beaconID"]) if isinstance(metadata, dict) else ""
    if not isinstance(genesis, int) or not isinstance(period, int) or value["schemeID"] != SCHEME_ID or period < 1:
        raise ValueError("not the scheme")
    group_hash = bytes.fromhex(str(value["groupHash"]))
    computed = chain_hash(bytes.fromhex(key), genesis, period, group_hash, beacon_id)
    return BeaconInfo(computed, key, UnixSeconds(genesis), period)


def _invalid(message: str) -> SealedDataError:
    return SealedDataError(Failure.BEACON_INVALID, message)
