"""Reading path segments, queries and JSON bodies at the edge, with the route's own error code.

The result is typed and canonical; unknown keys and wrong values of a body are refused, all at once.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

from bounty_protocol.errors import Issue, ServiceError, requirement
from bounty_protocol.foreign_json import refuse_nesting
from bounty_protocol.shapes import Part, Scalar, keys, parts
from bounty_protocol.wire.reading import ShapeRefused, read_request
from bounty_protocol.wire.values import form_of

from service_common.web.authentication import read_query

T = TypeVar("T")
_BOOLEANS: Final = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


def parse(text: str, parser: Callable[[str], T], *, path: str, code: str = "invalid_request") -> T:
    """Parse one value of a path or a query."""
    try:
        return parser(text)
    except ValueError as error:
        raise ServiceError(code, "The request is malformed.", issues=[Issue(path, requirement(str(error)))]) from None


def load_query(shape: type[T], *, code: str = "invalid_request") -> T:
    """Parse the query's values; refuse an unknown, repeated or missing name."""
    kind: type = shape
    query = read_query(allowed=keys(kind), code=code)
    given = {part.name: _json_of(part, query[part.name]) for part in parts(kind) if part.name in query}
    return _loaded(shape, given, code, "query")


def load_json(body: bytes, shape: type[T], *, code: str) -> T:
    """Parse a JSON object of the shape; refuse unknown, missing and duplicate keys."""
    try:
        refuse_nesting(body)
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except ValueError:
        issue = Issue("body", "must be one JSON object in UTF-8 with each key once")
        raise ServiceError(code, "The body is not JSON in this route's form.", issues=[issue]) from None
    if not isinstance(value, dict):
        raise ServiceError(code, "The body is not a JSON object.", issues=[Issue("body", "must be a JSON object")])
    return _loaded(shape, value, code, "body")


def _loaded(shape: type[T], value: Mapping[str, object], code: str, what: str) -> T:
    try:
        return read_request(shape, value)
    except ShapeRefused as error:
        raise ServiceError(code, f"The {what} does not have this route's shape.", issues=error.issues) from None


def _json_of(part: Part, text: str) -> object:
    """Convert a text of the query to JSON; one that is not the expected number or boolean stays a text."""
    of = part.kind.of if isinstance(part.kind, Scalar) else str
    form = form_of(of)
    if of is bool:
        return _BOOLEANS.get(text, text)
    is_number = of is int or (form is not None and form.schema["type"] == "integer")
    return int(text) if is_number and _NUMBER.fullmatch(text) else text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(_: str) -> NoReturn:
    raise ValueError("not a JSON number")
