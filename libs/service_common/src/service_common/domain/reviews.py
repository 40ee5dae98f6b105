"""What identifies a readiness review, and how its result is named.

Promises: the same Poster, page and rubric are the same review everywhere; a page travels in a job message as base64.
"""

import base64
from enum import StrEnum

from service_common.domain.commitments import keccak256
from service_common.types import Address, Bytes32, bytes32, to_bytes


class ReviewResult(StrEnum):
    """How a review that came to a judgement ended."""

    READY = "ready"
    NOT_READY = "not_ready"


def review_id(poster: Address, spec_commitment: Bytes32, rubric_hash: Bytes32) -> Bytes32:
    """keccak256 over poster, page and rubric."""
    return bytes32(keccak256(to_bytes(poster) + to_bytes(spec_commitment) + to_bytes(rubric_hash)))


def pack_page(page: bytes) -> str:
    """The page as text of a JSON message."""
    return base64.b64encode(page).decode()


def unpack_page(packed: str) -> bytes:
    """The page behind ``pack_page``."""
    return base64.b64decode(packed, validate=True)
