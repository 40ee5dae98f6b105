"""Reading path segments, queries and JSON bodies at the edge, with the route's own error code.

The result is typed and canonical; unknown keys and wrong values of a body are refused, all at once.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from typing import Final, NoReturn, TypeVar

from bounty_protocol.errors import MAX_ISSUE_PATH, Issue, ServiceError, requirement
from bounty_protocol.foreign_json import refuse_nesting
from bounty_protocol.shapes import Part, Scalar, keys, parts
from bounty_protocol.types import MAX_INT64, parse_decimal
from bounty_protocol.wire.values import form_of
from marshmallow import ValidationError
from marshmallow.exceptions import SCHEMA

from service_common.web.authentication import read_query
from service_common.web.schemas import load

T = TypeVar("T")
_BOOLEANS: Final = {"true": True, "false": False}


def parse(text: str, parser: Callable[[str], T], *, path: str, code: str = "invalid_request") -> T:
    """One value of a path or a query."""
    try:
        return parser(text)
    except ValueError as error:
        raise ServiceError(code, "The request is malformed.", issues=[Issue(path, requirement(str(error)))]) from None


def load_query(shape: type[T], *, code: str = "invalid_request") -> T:
    """The query's values; an unknown, repeated or missing name is refused."""
    kind: type = shape
    query = read_query(allowed=keys(kind), code=code)
    missing = [part.name for part in parts(kind) if part.default is MISSING and part.name not in query]
    if missing:
        issues = [Issue(name, "is required") for name in missing]
        raise ServiceError(code, "The query is incomplete.", issues=issues)
    return shape(
        **{
            part.name: parse(query[part.name], _parser(part), path=part.name, code=code)
            for part in parts(kind)
            if part.name in query
        }
    )


def load_json(body: bytes, shape: type[T], *, code: str) -> T:
    """A JSON object of the shape; unknown, missing and duplicate keys are refused."""
    try:
        refuse_nesting(body)
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except ValueError:
        issue = Issue("body", "must be one JSON object in UTF-8 with each key once")
        raise ServiceError(code, "The body is not JSON of this route's shape.", issues=[issue]) from None
    if not isinstance(value, dict):
        raise ServiceError(code, "The body is not a JSON object.", issues=[Issue("body", "must be a JSON object")])
    try:
        return load(shape, value)
    except ValidationError as error:
        issues = list(_issues(error.messages, ""))
        raise ServiceError(code, "The body does not have this route's shape.", issues=issues) from None


def _issues(messages: object, path: str) -> Iterator[Issue]:
    """The schema's errors of each key, by its path."""
    if isinstance(messages, Mapping):
        for name, inner in messages.items():
            own = path and name == SCHEMA  # of the object at this place itself
            yield from _issues(inner, path if own else f"{path}.{name}" if path else str(name))
    elif isinstance(messages, list):
        yield Issue(path[:MAX_ISSUE_PATH], str(messages[0]))


def _parser(part: Part) -> Callable[[str], object]:
    """The parser of a value of the query."""
    if not isinstance(part.kind, Scalar):
        raise TypeError(f"{part.name} is not one value, so that a query cannot have it")
    of = part.kind.of
    if (form := form_of(of)) is not None:
        return form.parse if form.schema["type"] == "string" else lambda text: form.parse(_int64(text))
    return {bool: _boolean, int: lambda text: _whole(text, part), str: lambda text: _line(text, part)}[of]


def _int64(text: str) -> int:
    number = parse_decimal(text)
    if number > MAX_INT64:
        raise ValueError("a whole number within 63 bits")
    return number


def _boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError("true or false")
    return _BOOLEANS[text]


def _whole(text: str, part: Part) -> int:
    number, least, most = parse_decimal(text), part.note.minimum, part.note.maximum
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"a number from {least} to {most}")
    return number


def _line(text: str, part: Part) -> str:
    most = part.note.max_length
    if not text.isprintable() or (most is not None and len(text) > most):
        raise ValueError(f"at most {most} printable characters")
    return text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(_: str) -> NoReturn:
    raise ValueError("not a JSON number")
