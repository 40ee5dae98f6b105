"""GraphQL over the indexed Hub log."""

from dataclasses import dataclass
from typing import Annotated

from bounty_protocol.shapes import OMITTED


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """One query, as GraphQL over HTTP has it."""

    query: str
    variables: Annotated[dict[str, object] | None, OMITTED] = None
    operationName: str | None = None  # noqa: N815  # the name that GraphQL over HTTP gives it
    extensions: Annotated[dict[str, object] | None, OMITTED] = None
    """Of the client's own; nothing reads them."""


@dataclass(frozen=True, slots=True)
class GraphqlAnswer:
    """The data that the query asked for."""

    data: dict[str, object] | None
