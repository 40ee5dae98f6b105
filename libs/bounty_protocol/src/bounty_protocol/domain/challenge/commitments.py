"""Commitments over raw bytes: one function for each, so that every part derives the same value.

The result depends on the exact bytes and on nothing else. Whether bytes are a valid page, Verdict or envelope is
decided by ``challenge``, ``verdict`` and ``envelope``. Importing this module costs little, which the client's
``spec-commitment`` relies on. The "canonical commitment function" of the interface is keccak256.
"""

from collections.abc import Iterable, Sequence

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32, bytes32


def spec_commitment(page: bytes) -> Bytes32:
    """Return keccak256 of the exact bytes of a challenge page."""
    return bytes32(keccak256(page))


def report_commitment(document: bytes) -> Bytes32:
    """Return keccak256 of the exact bytes of a written Verdict."""
    return bytes32(keccak256(document))


def submission_commitment(canonical_envelope: bytes) -> Bytes32:
    """Return keccak256 of an envelope's canonical JSON (``Envelope.canonical_bytes``)."""
    return bytes32(keccak256(canonical_envelope))


def log_digest(logs: Iterable[tuple[Sequence[bytes], bytes]]) -> Bytes32:
    """Digest of a bounty's Hub logs, each ``(topics, data)``, in the order (block, log index).

    keccak256 of the concatenation, for each log, of keccak256(its topics concatenated) and keccak256(its data).
    """
    hashed = (keccak256(b"".join(topics)) + keccak256(data) for topics, data in logs)
    return bytes32(keccak256(b"".join(hashed)))
