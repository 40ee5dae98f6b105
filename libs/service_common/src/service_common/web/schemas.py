"""Shapes as marshmallow schemas: what reads a body, and what the published document is made from.

A schema is made of the annotations of a frozen dataclass (``shapes.py``) and loads one. Answers are not dumped through
it: ``to_json`` writes the same shape of the same annotations, and does not look at each value again.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from functools import cache
from typing import Any, ClassVar, Final, TypeVar, cast

from bounty_protocol.domain.roster import Roster
from bounty_protocol.errors import requirement
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, OneOf, Part, Scalar, parts
from bounty_protocol.wire.deployment import RubricDocument
from bounty_protocol.wire.values import PLAIN, ValueForm, form_of, plain_of
from marshmallow import Schema, ValidationError, fields, post_load
from marshmallow import validate as check

T = TypeVar("T")
_NAMES: Final[Mapping[type, str]] = {Roster: "GuardianRoster", RubricDocument: "Rubric"}
"""Shapes that the document names otherwise than the code."""
_PLAIN: Final = {"required": "is missing", "null": "must not be null"}


class TruthField(fields.Boolean):
    """JSON's true and false; the library's own also takes "on", "off", 1 and their like."""

    def _deserialize(self, value: object, *_: object, **__: object) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class WholeField(fields.Integer):
    """A whole number; to the library, true is one."""

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> int:
        if isinstance(value, bool):
            raise self.make_error("invalid")
        return super()._deserialize(value, *args, **kwargs)


_LEAVES: Final[Mapping[Any, tuple[Callable[..., fields.Field[Any]], Mapping[str, object]]]] = {
    str: (fields.String, {}),
    int: (WholeField, {"strict": True}),
    bool: (TruthField, {}),
    float: (fields.Float, {}),
    dict: (fields.Dict, {}),
}
"""The field of each type of ``PLAIN``."""


class ShapeSchema(Schema):
    """The schema of one shape; it loads an instance, and refuses unknown keys."""

    shape: ClassVar[type]
    error_messages: ClassVar[dict[str, str]] = {  # type: ignore[misc]
        "unknown": "is not a field of this body; remove it",
        "type": "must be an object",
    }

    @post_load
    def build(self, data: dict[str, Any], **_: object) -> object:
        """Return the instance."""
        return self.shape(**data)


class ValueField(fields.Field[object]):
    """A value that has a form of its own."""

    def __init__(self, form: ValueForm, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.form = form

    def _deserialize(self, value: object, attr: str | None, data: Mapping[str, Any] | None, **_: object) -> object:
        del attr, data
        if self.form.schema["type"] == "string" and not isinstance(value, str):
            raise ValidationError(f"must be {PLAIN[str].wanted}")
        try:
            return self.form.parse(value)
        except ValueError as error:
            raise ValidationError(requirement(str(error))) from None


class TupleField(fields.List[Any]):
    """A list of the wire, which is a tuple inside."""

    def _deserialize(self, *args: Any, **kwargs: Any) -> Any:
        return tuple(super()._deserialize(*args, **kwargs))


@cache
def schema_of(shape: type) -> type[Schema]:
    """Return the schema of a shape. Its name is the component's in the published document."""
    made = ShapeSchema.from_dict({part.name: _field(part) for part in parts(shape)}, name=name_of(shape))
    made.shape = shape  # type: ignore[attr-defined]
    return made


def load(shape: type[T], value: Mapping[str, object]) -> T:
    """Return the instance of a JSON object; ``ValidationError`` names everything that is wrong."""
    kind: type = shape
    return cast("T", schema_of(kind)().load(value))


def name_of(shape: type) -> str:
    """Return a shape's name in the published document."""
    return _NAMES.get(shape, shape.__name__)


def _field(part: Part) -> fields.Field[Any]:
    known: dict[str, Any] = {
        "required": part.default is MISSING,
        "allow_none": part.nullable and not part.omitted,
        "error_messages": dict(_PLAIN),
    }
    if part.default not in {MISSING, None}:
        known["load_default"] = part.default
    if part.note.description:
        known["metadata"] = {"description": part.note.description}
    if part.json_of is not None:
        return fields.Nested(schema_of(part.json_of), **known)
    return _field_of(part.kind, part, known)


def _field_of(kind: Kind, part: Part, known: dict[str, Any]) -> fields.Field[Any]:
    match kind:
        case Nested(shape):
            return fields.Nested(schema_of(shape), **known)
        case ListOf(of):
            return TupleField(_field_of(of, part, {}), **known)
        case OneOf(values):
            return fields.String(validate=check.OneOf(values), **known)
        case MapOf(key, of):
            inner = {"keys": _field_of(key, part, {}), "values": _field_of(of, part, {})}
            return _plain_field(dict, part, known, **inner)
        case Scalar(of):
            form = form_of(of)
            return _plain_field(of, part, known) if form is None else ValueField(form, **known)


def _plain_field(of: Any, part: Part, known: dict[str, Any], **more: Any) -> fields.Field[Any]:
    wanted = plain_of(of).wanted
    field, options = _LEAVES[of]
    known["error_messages"] = {**known.get("error_messages", {}), "invalid": f"must be {wanted}"}
    return field(validate=_checks(part), **known, **options, **more)


def _checks(part: Part) -> list[check.Validator]:
    note, found = part.note, list[check.Validator]()
    if note.minimum is not None:
        found.append(check.Range(min=note.minimum, error="must be at least {min}"))
    if note.maximum is not None:
        found.append(check.Range(max=note.maximum, error="must be at most {max}"))
    if note.max_length is not None:
        found.append(check.Length(max=note.max_length, error="must have at most {max} characters"))
    if note.pattern:
        found.append(check.Regexp(note.pattern, error=f"must match {note.pattern}"))
    return found
