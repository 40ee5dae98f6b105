"""Reading path segments, queries and JSON bodies at the edge, with the route's own error code.

Promises: what comes out is typed and canonical; unknown keys and wrong types of a body are refused, all at once.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar, cast

from marshmallow import Schema, ValidationError

from service_common.errors import MAX_ISSUE_PATH, Issue, ServiceError, requirement

_PLAIN: Final = {
    "Missing data for required field.": "is missing",
    "Unknown field.": "is not a field of this body; remove it",
    "Field may not be null.": "must not be null",
    "Not a valid string.": "must be a string",
    "Not a valid integer.": "must be a whole number",
}
"""The shapes' own messages, by the library's."""

T = TypeVar("T")


def parse(text: str, parser: Callable[[str], T], *, path: str, code: str = "invalid_request") -> T:
    """One value of a path or a query."""
    try:
        return parser(text)
    except ValueError as error:
        raise ServiceError(code, "The request is malformed.", issues=[Issue(path, requirement(str(error)))]) from None


def parse_boolean(text: str) -> bool:
    """``true`` or ``false``."""
    if text not in {"true", "false"}:
        raise ValueError("true or false")
    return text == "true"


def load_json(body: bytes, schema: Schema, *, code: str) -> Mapping[str, object]:
    """A JSON object of the schema's shape; unknown, missing and duplicate keys are refused."""
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        issue = Issue("body", "must be one JSON object in UTF-8 with each key once")
        raise ServiceError(code, "The body is not JSON of this route's shape.", issues=[issue]) from None
    if not isinstance(value, dict):
        raise ServiceError(code, "The body is not a JSON object.", issues=[Issue("body", "must be a JSON object")])
    try:
        return cast("Mapping[str, object]", schema.load(value))
    except ValidationError as error:
        raise ServiceError(code, "The body does not have this route's shape.", issues=_issues(error)) from None


def _issues(error: ValidationError) -> list[Issue]:
    messages: dict[str, list[object]] = error.normalized_messages()  # type: ignore[no-untyped-call]
    return [
        Issue(str(path)[:MAX_ISSUE_PATH], _PLAIN.get(str(texts[0]), "is not what this field takes"))
        for path, texts in messages.items()
    ]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(_: str) -> NoReturn:
    raise ValueError("not a JSON number")
