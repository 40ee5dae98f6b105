"""The request and the result of a readiness review, between the api, the queue and the reviewer.

The same Poster, page and rubric are the same review everywhere. A page travels in a job message as base64. A job's
return value is how the review ended; a value that this release does not know counts as a provider's failure.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, UnixSeconds, bytes32, to_bytes

DONE: Final = "done"
_PROVIDER_ERROR: Final = "provider_error"
_OUTCOMES: Final = {
    "bounty_challenge_not_ready": "not_ready",
    "invalid_orchestrator_output": "invalid_output",
    "orchestrator_provider_error": _PROVIDER_ERROR,
    "orchestrator_unconfigured": "unconfigured",
    "publication_review_limit_reached": "limit_reached",
    "service_overloaded": "overloaded",
}


class ReviewResult(StrEnum):
    """How a review that came to a judgement ended."""

    READY = "ready"
    NOT_READY = "not_ready"


OUTCOMES: Final = tuple(dict.fromkeys((*ReviewResult, *_OUTCOMES.values())))
"""The label of a review's result in metrics."""


def outcome_of(code: str) -> str:
    """Return the outcome behind an error code; an unknown code is a provider's failure."""
    return _OUTCOMES.get(code, _PROVIDER_ERROR)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """A page's measure beside the rubric: the chain's time, the Hub's reveal delay, its escrow token."""

    now: UnixSeconds
    reveal_delay: int
    token_symbol: str
    token_decimals: int

    def to_fields(self) -> dict[str, str | int]:
        """Return the circumstances as fields of a job message or of a review record."""
        return {
            "now": self.now,
            "reveal_delay": self.reveal_delay,
            "token_symbol": self.token_symbol,
            "token_decimals": self.token_decimals,
        }

    @staticmethod
    def from_fields(fields: Mapping[str, object]) -> "Circumstances | None":
        """Read what ``to_fields`` wrote; None if a field is missing."""
        now, delay, decimals = fields.get("now"), fields.get("reveal_delay"), fields.get("token_decimals")
        if not (isinstance(now, int) and isinstance(delay, int) and isinstance(decimals, int)):
            return None
        return Circumstances(UnixSeconds(now), delay, str(fields.get("token_symbol")), decimals)


@dataclass(frozen=True, slots=True)
class ReviewEnding:
    """How a review's job ended: ``done``, or the error code of what kept it from a judgement.

    ``retry_after`` is in seconds; ``retry_at`` is when a limit permits another attempt.
    """

    code: str = DONE
    retry_after: int | None = None
    retry_at: UnixSeconds | None = None

    def to_json(self) -> dict[str, str | int | None]:
        """Return the job's return value."""
        return {"code": self.code, "retry_after": self.retry_after, "retry_at": self.retry_at}

    @staticmethod
    def from_json(value: object) -> "ReviewEnding":
        """Read what ``to_json`` wrote; anything else means that the provider failed."""
        if not isinstance(value, Mapping) or not isinstance(value.get("code"), str):
            return ReviewEnding("orchestrator_provider_error")
        after, at = value.get("retry_after"), value.get("retry_at")
        return ReviewEnding(
            str(value["code"]),
            after if isinstance(after, int) else None,
            UnixSeconds(at) if isinstance(at, int) else None,
        )


def review_id(poster: Address, spec_commitment: Bytes32, rubric_hash: Bytes32) -> Bytes32:
    """Compute keccak256 over poster, page and rubric."""
    return bytes32(keccak256(to_bytes(poster) + to_bytes(spec_commitment) + to_bytes(rubric_hash)))


def pack_page(page: bytes) -> str:
    """Return the page as text of a JSON message."""
    return base64.b64encode(page).decode()


def unpack_page(packed: str) -> bytes:
    """Return the page behind ``pack_page``."""
    return base64.b64decode(packed, validate=True)
