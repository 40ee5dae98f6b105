"""Every operation: its parameters, bodies, answers and error codes. A test compares the list with the app's routes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service_api.openapi.schemas import ADDRESS, BOOLEAN, BOUNTY_ID, BYTES32, Schema, one_of, text, whole

EDGE: Final = ("invalid_request", "internal_error", "service_overloaded")
"""What every operation can answer."""
SIGNED: Final = ("unauthorized", "bounty_chain_state_unavailable")
FACTS: Final = ("bounty_not_found", "bounty_projection_unavailable", "bounty_chain_state_unavailable")
BODY: Final = ("payload_too_large", "unsupported_media_type")
_DELIVERY: Final = ("invalid_winning_solution_delivery", "delivery_unavailable")
_INDEX: Final = "bounty_projection_unavailable"
_ENVELOPE: Final = ("submission_not_found", "solver_submission_content_invalid")
"""What the delivery service says of the envelope behind a commitment."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. ``body`` and ``answer`` name components; an answer with a media type is raw bytes."""

    method: str
    path: str
    summary: str
    answer: str
    errors: Sequence[str]
    query: Mapping[str, Schema] | None = None
    required_query: Sequence[str] = ()
    body: str | None = None
    body_type: str = "application/json"
    signer: str | None = None
    created: bool = False
    media_type: str = "application/json"
    counted: bool = True
    """Whether a caller has a budget of it."""

    @property
    def codes(self) -> Sequence[str]:
        """Every error code that it can answer."""
        return tuple(dict.fromkeys((*self.errors, *EDGE, *(("rate_limit_reached",) if self.counted else ()))))


OPERATIONS: Final = (
    Operation(
        "GET",
        "/api/bounties",
        "List bounties: open ones first, newest first within each group.",
        "BountyList",
        ("bounty_projection_unavailable",),
        query={
            "cursor": text("next_cursor of the page before."),
            "limit": whole("Items in a page.", minimum=1, maximum=100, default=20),
            "status": one_of("open", "final"),
            "accepting": BOOLEAN,
            "judgeable": BOOLEAN,
            "poster_address": ADDRESS,
            "solver_address": ADDRESS,
            "guardian_address": ADDRESS,
        },
    ),
    Operation(
        "GET",
        "/api/bounties/{bounty_id}",
        "One bounty: facts, roster, active Submissions, challenge and, once final, its VerificationRecord.",
        "BountyDetail",
        ("invalid_bounty_detail_request", "bounty_not_found", "bounty_projection_unavailable"),
    ),
    Operation(
        "POST",
        "/api/bounty-challenge-specs/prepare-publication",
        "Review and store a challenge page; get the createBounty arguments that the Poster's wallet sends.",
        "PreparedPublication",
        (
            *SIGNED,
            *BODY,
            *("forbidden", "invalid_bounty_challenge", "bounty_challenge_not_ready", "publication_review_unavailable"),
            *("publication_review_limit_reached", "invalid_orchestrator_output", "orchestrator_provider_error"),
            *("orchestrator_unconfigured", "bounty_projection_unavailable"),
        ),
        query={"poster_address": ADDRESS},
        required_query=("poster_address",),
        body="text/markdown",
        body_type="text/markdown",
        signer="the account named by poster_address",
    ),
    Operation(
        "POST",
        "/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url",
        "Get a one-time upload URL for a ciphertext.",
        "UploadTarget",
        (*SIGNED, *BODY, "forbidden", "invalid_solver_submission", *FACTS, "storage_unavailable"),
        body="UploadTargetRequest",
        signer="the Solver of the path",
    ),
    Operation(
        "POST",
        "/api/bounties/{bounty_id}/submissions/{solver_address}/prepare",
        "Verify an envelope end to end, store it, and get the exact submit call.",
        "PreparedSubmission",
        (
            *(*SIGNED, *BODY, "forbidden", "invalid_solver_submission", *FACTS),
            *("storage_unavailable", "storage_verification_pending"),
        ),
        body="Envelope",
        signer="the Solver of the path",
        created=True,
    ),
    Operation(
        "GET",
        "/api/bounties/{bounty_id}/submissions/{submission_commitment}/content",
        "Read a Submission's envelope and a short-lived URL of its ciphertext.",
        "SubmissionContent",
        (
            *("unauthorized", "forbidden", "bounty_not_found", "submission_not_found", "storage_unavailable"),
            *("solver_submission_content_invalid", "bounty_submission_content_authority_unavailable"),
            "storage_verification_pending",
        ),
        signer="the funding Poster, or a Guardian of the pinned roster",
    ),
    Operation(
        "POST",
        "/api/written-verdicts/{report_commitment}",
        "Store a Guardian's written Verdict.",
        "StoredVerdict",
        (*SIGNED, *BODY, "forbidden", "invalid_written_verdict", *FACTS),
        body="text/markdown",
        body_type="text/markdown",
        signer="a Guardian of the bounty's pinned roster",
        created=True,
    ),
    Operation(
        "GET",
        "/api/written-verdicts/{report_commitment}",
        "Read the document behind a commitment.",
        "text/markdown",
        ("written_verdict_not_found", "bounty_projection_unavailable"),
        media_type="text/markdown",
    ),
    Operation(
        "GET",
        "/api/deployment/delivery-key",
        "The deployment's delivery public key.",
        "DeliveryKey",
        (_DELIVERY[1], _INDEX),
    ),
    Operation(
        "GET",
        "/api/bounties/{bounty_id}/delivery/status",
        "Whether a wrapped key of exactly one Submission is held.",
        "DeliveryStatus",
        (*_DELIVERY, _INDEX),
        query={"submission_commitment": BYTES32},
        required_query=("submission_commitment",),
    ),
    Operation(
        "POST",
        "/api/bounties/{bounty_id}/delivery/wrap",
        "Store a Submission's content key, wrapped to the delivery key.",
        "DeliveryStatus",
        (*SIGNED, *BODY, "forbidden", *_DELIVERY, *FACTS, *_ENVELOPE),
        body="WrapRequest",
        signer="a Guardian of the pinned roster",
        created=True,
    ),
    Operation(
        "POST",
        "/api/bounties/{bounty_id}/delivery/retrieve",
        "Get the winning content key, rewrapped to the Poster's fresh key.",
        "RetrievedKey",
        (*SIGNED, *BODY, "forbidden", *_DELIVERY, *FACTS, *_ENVELOPE, "winning_solution_key_not_found"),
        body="RetrieveRequest",
        signer="the funding Poster",
    ),
    Operation(
        "GET",
        "/api/deployment",
        "What a client needs to know of this deployment.",
        "Deployment",
        ("bounty_projection_unavailable", "bounty_chain_state_unavailable"),
    ),
    Operation("GET", "/api/readiness-rubric", "The rubric that readiness reviews apply.", "Rubric", ()),
    Operation("GET", "/api/schemas/bounty-challenge.json", "JSON Schema of a challenge page's frontmatter.", "Any", ()),
    Operation("GET", "/api/openapi.json", "This document.", "Any", ()),
    Operation("GET", "/api/docs", "This document as a page.", "text/html", (), media_type="text/html"),
    Operation(
        "POST",
        "/subgraph",
        "GraphQL over the indexed Hub log.",
        "GraphqlAnswer",
        (*BODY, "bounty_projection_unavailable"),
        body="GraphqlRequest",
    ),
    Operation("GET", "/subgraph/schema.graphql", "The GraphQL schema.", "text/plain", (), media_type="text/plain"),
    Operation("GET", "/healthz", "Liveness.", "text/plain", (), media_type="text/plain", counted=False),
)
PATH_PARAMETERS: Final[dict[str, Schema]] = {
    "bounty_id": BOUNTY_ID,
    "solver_address": ADDRESS,
    "submission_commitment": BYTES32,
    "report_commitment": BYTES32,
}
