"""GraphQL over the indexed Hub log."""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.errors import Issue
from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.wire.errors import ErrorBody
from bounty_protocol.wire.values import Timestamp

MEDIA_TYPE: Final = "application/graphql-response+json"
"""The media type of an answer to a client that asks for it, as GraphQL over HTTP has it."""


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """One query, as GraphQL over HTTP has it."""

    query: str
    variables: dict[str, object] | None = None
    operationName: str | None = None  # noqa: N815  # the name that GraphQL over HTTP gives it
    extensions: dict[str, object] | None = None
    """The client's own extensions; nothing reads them."""


@dataclass(frozen=True, slots=True)
class GraphqlAnswer:
    """The data that the query asked for."""

    data: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class GraphqlExtensions:
    """The fields of the API's errors beside their message."""

    code: Annotated[str, Note("Machine-readable.")]
    issues: tuple[Issue, ...]
    next_action: Annotated[str, Note("The suggested next step.")]
    retry_not_before: Annotated[Timestamp | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class GraphqlError:
    """An error as GraphQL clients show it."""

    message: Annotated[str, Note("For a person.")]
    extensions: GraphqlExtensions

    @staticmethod
    def of(error: ErrorBody) -> "GraphqlError":
        """Return the same error for GraphQL: its first issue says more than its message."""
        issues = "".join(f" {issue.message}" for issue in error.issues[:1])
        extensions = GraphqlExtensions(error.code, error.issues, error.next_action, error.retry_not_before)
        return GraphqlError(f"{error.message}{issues}", extensions)


@dataclass(frozen=True, slots=True)
class GraphqlRefusal:
    """The answer to a query that failed."""

    errors: tuple[GraphqlError, ...]

    @staticmethod
    def of(error: ErrorBody) -> "GraphqlRefusal":
        """Return the refusal with this one error."""
        return GraphqlRefusal((GraphqlError.of(error),))


@dataclass(frozen=True, slots=True)
class GraphqlJsonRefusal:
    """The same as plain JSON, which has the error in the API's own form, too."""

    error: ErrorBody
    errors: tuple[GraphqlError, ...]

    @staticmethod
    def of(error: ErrorBody) -> "GraphqlJsonRefusal":
        """Return the refusal with this one error in both forms."""
        return GraphqlJsonRefusal(error, (GraphqlError.of(error),))
