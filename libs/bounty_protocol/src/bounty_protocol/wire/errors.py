"""The one body of every error."""

from dataclasses import dataclass
from typing import Annotated

from bounty_protocol.errors import Issue, ServiceError, shown_issues
from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.wire.values import Timestamp


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error, and the next step."""

    code: Annotated[str, Note("Machine-readable.")]
    message: Annotated[str, Note("For a person.")]
    issues: tuple[Issue, ...]
    next_action: Annotated[str, Note("The suggested next step.")]
    retry_not_before: Annotated[Timestamp | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class Error:
    """The answer to a request that failed."""

    error: ErrorBody

    @staticmethod
    def of(error: ErrorBody) -> "Error":
        """Return the answer with this error."""
        return Error(error)


def error_body(error: ServiceError) -> ErrorBody:
    """Return the body of an error."""
    not_before = Timestamp(error.retry_not_before) if error.retry_not_before else None
    issues = tuple(shown_issues(error.issues))
    return ErrorBody(error.code, error.message, issues, error.next_action, not_before)
