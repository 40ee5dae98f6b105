"""Reading path segments, queries and JSON bodies at the edge, with the route's own error code.

The result is typed and canonical; unknown keys and wrong values of a body are refused, all at once.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar, cast

from bounty_protocol.errors import MAX_ISSUE_PATH, Issue, ServiceError, requirement
from bounty_protocol.foreign_json import refuse_nesting
from bounty_protocol.shapes import Part, Scalar, keys, parts
from bounty_protocol.wire.values import form_of
from marshmallow import ValidationError
from marshmallow.exceptions import SCHEMA

from service_common.web.authentication import read_query
from service_common.web.schemas import UNKNOWN, schema_of

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
    kind: type = shape
    try:
        return cast("T", schema_of(kind).load(value))
    except ValidationError as error:
        issues = tuple(_issues(error.messages, value, ""))
        raise ServiceError(code, f"The {what} does not have this route's shape.", issues=issues) from None


def _issues(found: Any, value: Any, path: str) -> Iterator[Issue]:
    """Yield marshmallow's tree of messages: of the fields in the shape's order, then of unknown keys in the body's."""
    if isinstance(found, list):
        yield from (Issue(path[:MAX_ISSUE_PATH], message) for message in found)
        return
    unknown = [name for name in value if found.get(name) == [UNKNOWN]] if isinstance(value, Mapping) else []
    for name in (*(name for name in found if found[name] != [UNKNOWN]), *unknown):
        if name == SCHEMA and name not in unknown:  # about the object itself
            yield from _issues(found[name], value, path)
        else:
            inner = value[name] if isinstance(found[name], dict) else None
            yield from _issues(found[name], inner, f"{path}.{name}" if path else str(name))


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
