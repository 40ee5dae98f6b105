"""The curve of plain keys: signing, recovering a public key from a signature, and deriving it from a private key.

libsecp256k1 does all three. Two packages bind it, and the first of ``_LOADERS`` that is installed is used: coincurve
has no wheel for Python 3.14, btclib-libsecp256k1 has one for every supported Python. They are equally fast; coincurve
is imported in a third of the time. Both keep to the same contract, which the tests run against each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_NOT_A_KEY: Final = "a private key is 32 bytes: a number of at least 1 and below the group order"


@dataclass(frozen=True, slots=True)
class CurveLibrary:
    """One package's operations."""

    name: str
    recover: Callable[[bytes, bytes, int], bytes | None]
    """Return the 64 bytes x || y for a digest, r || s and a recovery id from 0 to 3; None when there is no such key."""
    public_key: Callable[[bytes], bytes]
    """Return the 64 bytes x || y of a private key; ``ValueError``, which names no value, for an invalid key."""
    sign: Callable[[bytes, bytes], tuple[bytes, int]]
    """Return r || s, with s in the lower half, and the recovery id for a digest and a private key: always the same ones
    (RFC 6979). ``ValueError`` as above.
    """


def _coincurve() -> CurveLibrary:
    from coincurve import PrivateKey, PublicKey

    def recover(digest: bytes, compact: bytes, recovery_id: int) -> bytes | None:
        try:
            key = PublicKey.from_signature_and_message(compact + bytes([recovery_id]), digest, hasher=None)
        except Exception:  # noqa: BLE001  # coincurve raises bare Exception for r or s out of range or no such point
            return None
        return bytes(key.format(compressed=False)[1:])

    def public_key(private_key: bytes) -> bytes:
        if len(private_key) != 32:  # coincurve fills up a short key
            raise ValueError(_NOT_A_KEY)
        try:
            return bytes(PrivateKey(private_key).public_key.format(compressed=False)[1:])
        except ValueError:
            raise ValueError(_NOT_A_KEY) from None

    def sign(digest: bytes, private_key: bytes) -> tuple[bytes, int]:
        if len(private_key) != 32:
            raise ValueError(_NOT_A_KEY)
        try:
            made = PrivateKey(private_key).sign_recoverable(digest, hasher=None)
        except ValueError:
            raise ValueError(_NOT_A_KEY) from None
        return made[:64], made[64]

    return CurveLibrary("coincurve", recover, public_key, sign)


def _btclib() -> CurveLibrary:
    from btclib_libsecp256k1 import keys, recovery

    def recover(digest: bytes, compact: bytes, recovery_id: int) -> bytes | None:
        try:
            return recovery.recover(digest, compact, recovery_id, compressed=False)[1:]
        except ValueError:
            return None

    def public_key(private_key: bytes) -> bytes:
        try:
            return keys.pubkey_from_prvkey(private_key, compressed=False)[1:]
        except ValueError:
            raise ValueError(_NOT_A_KEY) from None

    def sign(digest: bytes, private_key: bytes) -> tuple[bytes, int]:
        try:
            return recovery.sign(digest, private_key)
        except ValueError:
            raise ValueError(_NOT_A_KEY) from None

    return CurveLibrary("btclib-libsecp256k1", recover, public_key, sign)


_LOADERS: Final = {"coincurve": _coincurve, "btclib_libsecp256k1": _btclib}


def installed() -> Iterator[CurveLibrary]:
    """Yield the installed bindings, the preferred one first; import each when it is needed."""
    for module, load in _LOADERS.items():
        try:
            yield load()
        except ModuleNotFoundError as error:
            if error.name != module:  # installed, and broken
                raise


def _preferred() -> CurveLibrary:
    for binding in installed():
        return binding
    raise ImportError("neither coincurve nor btclib-libsecp256k1 is installed")


BINDING: Final = _preferred()
