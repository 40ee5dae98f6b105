"""The request and the result of a readiness review, between the api, the queue and the reviewer.

The same Poster, page and rubric are the same review everywhere.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, UnixSeconds, bytes32, to_bytes
from bounty_protocol.wire.reading import read

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
class ReviewJob:
    """The message of a review's job: the page, for whom, and its measure beside the rubric."""

    review_id: Bytes32
    poster: Address
    page: bytes
    has_bounty: bool
    """Whether the Poster has a bounty on chain: the deployment's last paid reviews of a day are for those."""
    now: UnixSeconds
    """The chain's time."""
    reveal_delay: int
    token_symbol: str
    token_decimals: int


@dataclass(frozen=True, slots=True)
class ReviewEnding:
    """How a review's job ended, as its return value: ``done``, or the error code of what kept it from a judgement.

    ``retry_after`` is in seconds; ``retry_at`` is when a limit permits another attempt.
    """

    code: str
    retry_after: int | None = None
    retry_at: UnixSeconds | None = None


def ending_of(returned: object) -> ReviewEnding:
    """Read the return value of a review's job; one that this release does not know is the provider's failure."""
    try:
        return read(ReviewEnding, returned)
    except ValueError:
        return ReviewEnding("orchestrator_provider_error")


def review_id(poster: Address, spec_commitment: Bytes32, rubric_hash: Bytes32) -> Bytes32:
    """Compute keccak256 over poster, page and rubric."""
    return bytes32(keccak256(to_bytes(poster) + to_bytes(spec_commitment) + to_bytes(rubric_hash)))
