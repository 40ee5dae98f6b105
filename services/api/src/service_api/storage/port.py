"""The object storage as the services need it, and nothing else of it.

Every implementation promises: an upload URL creates the object once (a second use is refused), takes exactly the stated
number of bytes and expires; an object never changes under its generation; reading is bounded in memory; every failure
of the storage itself is ``ServiceError`` ``storage_unavailable``, without the library's message. How objects are named:
docs/formats.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32, UnixSeconds

CHUNK_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SignedUpload:
    """A one-time upload: send the bytes with ``method`` to ``url`` and every header of ``headers`` unchanged."""

    url: str = field(repr=False)
    method: Literal["PUT"]
    headers: Mapping[str, str]
    expires_at: UnixSeconds


@dataclass(frozen=True, slots=True)
class DownloadTarget:
    """A short-lived download; anyone who has ``url`` can read the object until ``expires_at``."""

    url: str = field(repr=False)
    expires_at: UnixSeconds


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored object as it is now. ``generation`` names these very bytes.

    ``encoded`` means that the uploader declared a content encoding, so that a download might be transformed on its
    way: such an object is never the ciphertext it claims to be.
    """

    locator: str
    generation: int
    byte_length: int
    created_at: UnixSeconds
    encoded: bool = False


class ObjectGone(ServiceError):
    """The requested generation does not exist any more: look again with ``stat``."""

    def __init__(self) -> None:
        super().__init__("storage_unavailable", "The stored object changed while it was being read.")


class ObjectStore(Protocol):
    """One bucket."""

    def sign_upload(self, locator: str, *, sha256: Bytes32, byte_length: int, lifetime: int) -> SignedUpload:
        """Sign an upload of exactly ``byte_length`` bytes to a free locator, for ``lifetime`` seconds: once, and never
        again after its object was emptied. No two are the same.

        ``sha256`` is kept with the object as the uploader's claim; only ``verify`` makes it a fact.
        """

    def sign_download(self, locator: str, *, generation: int, lifetime: int) -> DownloadTarget:
        """Sign a download of only this generation, for ``lifetime`` seconds."""

    def stat(self, locator: str) -> ObjectInfo | None:
        """Return the stored object's facts now; None if nothing is there, or it was emptied."""

    def read(self, info: ObjectInfo) -> Iterator[bytes]:
        """Yield the bytes of one generation in chunks of at most ``CHUNK_BYTES``; ``ObjectGone`` once it is
        replaced.
        """

    def delete(self, locator: str, *, generation: int) -> bool:
        """Delete only this generation; False if it does not exist (any longer)."""

    def empty(self, locator: str, *, generation: int) -> bool:
        """Remove the bytes of only this generation, so that no upload signed so far works; False if it does not exist
        (any longer).
        """

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Yield every object whose locator starts with ``prefix``, in locator order."""

    def check(self) -> None:
        """Return if the bucket answers and honours the create-once precondition; for readiness."""
