"""The integrity check of an uploaded ciphertext: its bytes against the envelope, in constant memory.

``MATCHES`` means that the stored bytes themselves have this length and SHA-256; the uploader's claims and the storage's
own checksums prove nothing here. Bytes that do not even have the storage's checksum were read wrong, as by a proxy or
from a rotten copy, and say nothing of what is stored. Stops when the caller's time is up, so that the queue
``artifacts`` goes on.
"""

import base64
import hashlib
from collections.abc import Callable
from enum import Enum

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32
from google_crc32c import extend

from service_api.storage.port import ObjectInfo, ObjectStore


class Verification(Enum):
    """The verified facts of one generation of an object."""

    MATCHES = "matches"
    DIFFERS = "differs"
    UNFINISHED = "unfinished"


def verify_object(
    store: ObjectStore,
    info: ObjectInfo,
    *,
    sha256: Bytes32,
    byte_length: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> Verification:
    """Compare one generation with what it should be; ``keep_going`` is called before each chunk.

    ``storage_unavailable`` where the storage gives other bytes than it says that it has.
    """
    if info.encoded or info.byte_length != byte_length:
        return Verification.DIFFERS
    digest, length, checksum = hashlib.sha256(), 0, 0
    for chunk in store.read(info):
        digest.update(chunk)
        checksum = extend(checksum, chunk)
        length += len(chunk)
        if length < byte_length and not keep_going():
            return Verification.UNFINISHED
    if length == byte_length and "0x" + digest.hexdigest() == sha256:
        return Verification.MATCHES
    if info.checksum not in {None, base64.b64encode(checksum.to_bytes(4, "big")).decode()}:
        raise ServiceError("storage_unavailable", "The artifact storage gave other bytes than it has.")
    return Verification.DIFFERS
