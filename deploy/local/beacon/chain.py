"""The local beacon's chain: its key from a seed, its information, its signatures.

``make_local_beacon`` is pure, so the stack can write a deployment's beacon values without a running process.
"""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from bounty_protocol.crypto import bls
from bounty_protocol.crypto.beacon_info import BeaconInfo, chain_hash, info_json
from bounty_protocol.types import UnixSeconds
from py_arkworks_bls12381 import Scalar

BEACON_ID: Final = "local"
_ORDER: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001


@dataclass(frozen=True, slots=True)
class LocalBeacon:
    """One chain and the secret that signs it."""

    info: BeaconInfo
    group_hash: str
    secret: Scalar = field(repr=False)

    def info_json(self) -> dict[str, object]:
        """Return the body of ``/info``."""
        return info_json(self.info, self.group_hash, BEACON_ID)

    def latest_round(self, now: int) -> int:
        """Return the newest round that is due, 0 before genesis."""
        return max((now - self.info.genesis_time) // self.info.period_seconds + 1, 0)

    def signature(self, number: int) -> bytes:
        """Return the signature of a round, due or not: holding it back is the server's part."""
        return _signature(self.secret, number)

    def beacon_json(self, number: int) -> dict[str, object]:
        """Return the body of ``/public/<round>``."""
        signature = self.signature(number)
        return {
            "round": number,
            "randomness": hashlib.sha256(signature).hexdigest(),
            "signature": signature.hex(),
        }


def make_local_beacon(seed: bytes, *, genesis_time: int, period_seconds: int) -> LocalBeacon:
    """Make the chain that this seed, genesis and period make."""
    if period_seconds < 1 or not seed:
        raise ValueError("a beacon needs a seed and a period of at least one second")
    number = int.from_bytes(hashlib.sha512(b"local beacon key" + seed).digest(), "big") % (_ORDER - 1) + 1
    secret = Scalar.from_be_bytes(number.to_bytes(32, "big"))
    public_key = bls.public_key_of(secret)
    group_hash = hashlib.sha256(b"local beacon group" + public_key).digest()
    hashed = chain_hash(public_key, genesis_time, period_seconds, group_hash, BEACON_ID)
    info = BeaconInfo(hashed, public_key.hex(), UnixSeconds(genesis_time), period_seconds)
    return LocalBeacon(info, group_hash.hex(), secret)


@lru_cache(maxsize=4_096)
def _signature(secret: Scalar, number: int) -> bytes:
    return bls.sign(number, secret)
