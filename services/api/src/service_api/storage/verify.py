"""The integrity check of an uploaded ciphertext: its bytes against the envelope, in constant memory.

``MATCHES`` means that the stored bytes themselves have this length and SHA-256; the uploader's claims and the storage's
own checksums prove nothing here. Stops when the caller's time is up, so that the queue ``artifacts`` goes on.
"""

import hashlib
from collections.abc import Callable
from enum import Enum

from bounty_protocol.types import Bytes32

from service_api.storage.gcs import GcsStore, ObjectInfo


class Verification(Enum):
    """The verified facts of one generation of an object."""

    MATCHES = "matches"
    DIFFERS = "differs"
    UNFINISHED = "unfinished"


def verify_object(
    store: GcsStore,
    info: ObjectInfo,
    *,
    sha256: Bytes32,
    byte_length: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> Verification:
    """Compare one generation with what it should be; ``keep_going`` is called before each chunk."""
    if info.encoded or info.byte_length != byte_length:
        return Verification.DIFFERS
    digest, length = hashlib.sha256(), 0
    for chunk in store.read(info):
        digest.update(chunk)
        length += len(chunk)
        if length < byte_length and not keep_going():
            return Verification.UNFINISHED
    is_right = length == byte_length and "0x" + digest.hexdigest() == sha256
    return Verification.MATCHES if is_right else Verification.DIFFERS
