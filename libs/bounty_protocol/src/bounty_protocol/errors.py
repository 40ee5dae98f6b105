"""One root for every refusal, and the one table that turns a code into a status and a next step.

A caller that catches ``ServiceError`` can answer a person or a program with ``code``, ``message``, ``issues`` and
``next_action``. A message is written for the reader and never carries library, database or contract text. Section
"Errors" of the interface.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from bounty_protocol.shapes import Note

MAX_ISSUE_PATH: Final = 120
MAX_ISSUE_MESSAGE: Final = 1_500
MAX_ISSUES: Final = 50
"""Issues in one answer, beside the one that states how many more there are."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One concern: ``path`` names the area (at most 120 characters), ``message`` the correction (at most 1,500)."""

    path: Annotated[str, Note("The topic or area.", max_length=MAX_ISSUE_PATH)]
    message: Annotated[str, Note(max_length=MAX_ISSUE_MESSAGE)]

    def __post_init__(self) -> None:
        if len(self.path) > MAX_ISSUE_PATH or len(self.message) > MAX_ISSUE_MESSAGE:
            raise ValueError("an issue's path or message is too long")


def shown_issues(issues: Sequence[Issue]) -> list[Issue]:
    """Return the issues that an answer shows: the first ``MAX_ISSUES``, then how many more there are."""
    more = len(issues) - MAX_ISSUES
    if more <= 0:
        return list(issues)
    return [*issues[:MAX_ISSUES], Issue("more", f"{more} more issues are not shown; correct these first")]


def requirement(text: str) -> str:
    """Turn a parser's message into a requirement: ``0x and 64 digits`` into ``must be 0x and 64 digits``."""
    return text if text.startswith(("must ", "not ", "the ")) else f"must be {text}"


class Problem(NamedTuple):
    """A code's status and meaning on the wire."""

    status: int
    next_action: str


_RETRY = "Wait for the seconds in Retry-After, then send the request again, with a fresh signature if it is signed."
_REREAD = "Read the chain again; its state does not permit this."
_CORRECT = "Correct the fields named in the issues and send the request again."

PROBLEMS: Final[dict[str, Problem]] = {
    "invalid_request": Problem(400, _CORRECT),
    "invalid_bounty_detail_request": Problem(400, "Name one bounty by its decimal id, counted from 1."),
    "invalid_bounty_challenge": Problem(
        400, "Correct the page at the places named in the issues and publish it again."
    ),
    "bounty_challenge_not_ready": Problem(
        400, "Improve the page at the places named in the issues and publish it again."
    ),
    "invalid_solver_submission": Problem(400, _CORRECT),
    "invalid_written_verdict": Problem(400, _CORRECT),
    "invalid_winning_solution_delivery": Problem(400, _CORRECT),
    "unauthorized": Problem(401, "Take a fresh block, sign this exact request again and send it once."),
    "forbidden": Problem(403, "Sign with the wallet to which this action belongs."),
    "bounty_not_found": Problem(404, "Check the bounty id and the deployment."),
    "submission_not_found": Problem(404, "Check the commitment against the bounty's active Submissions."),
    "written_verdict_not_found": Problem(404, "Check the commitment against the Verdict recorded on chain."),
    "winning_solution_key_not_found": Problem(
        404, "Ask a Guardian of the bounty's roster to run guardian:deliver-key, then try again."
    ),
    "challenge_not_found": Problem(404, "Ask the Poster for the bytes behind spec_commitment."),
    "route_not_found": Problem(404, "See /api/docs of the public API for its routes."),
    "method_not_allowed": Problem(405, "Use a method named in the Allow header."),
    "publication_review_unavailable": Problem(409, "Sign the same page again: a fresh signature joins its review."),
    "unrecorded_submissions_limit_reached": Problem(
        409, "Record one of them, or record this one first (solver:submit --without-api) and prepare it afterwards."
    ),
    "length_required": Problem(411, "Send the complete body, with its length in Content-Length."),
    "payload_too_large": Problem(413, "Send a smaller body; the message names this route's limit."),
    "unsupported_media_type": Problem(415, "Send the media type that the route accepts."),
    "bounty_challenge_withheld": Problem(
        451,
        "Ask the Poster for the bytes behind spec_commitment; the Poster, recorded Solvers and the roster's "
        "Guardians can read them with GET /api/bounties/{bounty_id}/challenge.",
    ),
    "written_verdict_withheld": Problem(
        451,
        "Ask its Guardian for the document; the Poster, recorded Solvers and the roster's Guardians can read it with "
        "GET /api/written-verdicts/{report_commitment}/document.",
    ),
    "publication_review_limit_reached": Problem(
        429, "Wait until retry_not_before, then sign and send the request again."
    ),
    "rate_limit_reached": Problem(429, _RETRY),
    "internal_error": Problem(500, "Try again later; if this continues, report the correlation id."),
    "bounty_challenge_content_mismatch": Problem(
        500, "Do not rely on the page this service holds; ask the Poster for the bytes behind spec_commitment."
    ),
    "solver_submission_content_invalid": Problem(
        500, "Do not rely on what this service holds; ask the Solver for the bytes behind the commitment."
    ),
    "invalid_orchestrator_output": Problem(
        500, "Sign the same page again; do not weaken the bounty's requirements to avoid this."
    ),
    "unsupported_transfer_encoding": Problem(501, "Send the body uncompressed, with its length in Content-Length."),
    "api_unreachable": Problem(
        502, "Try again in a minute, with a fresh signature if the request is signed: the service may be restarting."
    ),
    "orchestrator_provider_error": Problem(
        502, "Sign the same page again after Retry-After; the new request joins the same review."
    ),
    "orchestrator_unconfigured": Problem(503, "Ask the operator to configure a review provider."),
    "bounty_submission_content_authority_unavailable": Problem(503, _RETRY),
    "bounty_projection_unavailable": Problem(503, _RETRY),
    "bounty_chain_state_unavailable": Problem(503, _RETRY),
    "storage_unavailable": Problem(503, _RETRY),
    "pending_storage_full": Problem(503, _RETRY),
    "storage_verification_pending": Problem(503, _RETRY),
    "delivery_unavailable": Problem(503, _RETRY),
    "page_check_unavailable": Problem(503, _RETRY),
    "service_overloaded": Problem(503, _RETRY),
}

DEFAULT_RETRY_AFTER_SECONDS: Final = 2


class ServiceError(Exception):
    """A refusal or failure that its reader can act on. ``code`` is a key of ``PROBLEMS`` on the services' side.

    ``is_failure`` False: its 5xx is no failure of the service, whoever looks after it could do nothing.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        issues: Sequence[Issue] = (),
        next_action: str | None = None,
        retry_after: int | None = None,
        retry_not_before: str | None = None,
        is_failure: bool = True,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.issues = tuple(issues)
        self._next_action = next_action
        self.retry_after = retry_after
        self.retry_not_before = retry_not_before
        self.is_failure = is_failure

    @property
    def next_action(self) -> str:
        """The suggested next step: this error's own, else its code's."""
        problem = PROBLEMS.get(self.code)
        return self._next_action or (problem.next_action if problem else _CORRECT)

    @property
    def status(self) -> int:
        """The HTTP status of the code; an unknown code is an internal error."""
        problem = PROBLEMS.get(self.code)
        return problem.status if problem else 500


def state_refusal(code: str, message: str) -> ServiceError:
    """Return a final refusal because the chain's state does not permit the action (rule 5 of the
    interface's errors).
    """
    return ServiceError(code, message, next_action=_REREAD)
