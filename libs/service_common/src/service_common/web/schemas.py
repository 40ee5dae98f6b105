"""marshmallow schemas of the frozen dataclasses in ``bounty_protocol.wire``, which stay the one definition.

A schema reads what somebody sent, and the published document is made of the same schemas. The fields are stricter than
marshmallow's own, which take "yes" for true, "3" and 3.7 for 3, and enums by their names: each value has exactly the
JSON that ``bounty_protocol.wire.values`` states. Unknown keys are refused, and everything that is wrong is named at
once.
"""

from collections.abc import Mapping
from dataclasses import MISSING
from functools import cache
from typing import Any, ClassVar, Final, cast

from bounty_protocol.errors import requirement
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, Note, OneOf, Part, Scalar, parts
from bounty_protocol.wire.values import PLAIN, ValueForm, form_of
from marshmallow import RAISE, Schema, ValidationError, fields, post_load, validate

UNKNOWN: Final = "is not a field of this body; remove it"
_MESSAGES: Final = {"required": "is missing", "null": "must not be null"}


class ShapeSchema(Schema):
    """The schema of one dataclass: what it loads is an instance."""

    shape: ClassVar[type]
    error_messages = {"type": "must be an object", "unknown": UNKNOWN}  # noqa: RUF012 - marshmallow's own name

    class Meta:
        """Unknown keys are refused."""

        unknown = RAISE

    @post_load
    def make(self, data: dict[str, Any], **_: object) -> object:
        """Return the instance; the class itself has the values of absent keys."""
        return self.shape(**data)


class FormField(fields.Field[object]):
    """A value that has a form of its own: an address, an amount, an enum by its value, base64."""

    def __init__(self, form: ValueForm, **options: Any) -> None:
        super().__init__(**options)
        self.form = form

    def _deserialize(self, value: object, *_: object, **__: object) -> object:
        if self.form.schema["type"] == "string" and not isinstance(value, str):
            raise ValidationError(f"must be {PLAIN[str].wanted}")
        try:
            return self.form.parse(value)
        except ValueError as error:
            raise ValidationError(requirement(str(error))) from None


class WholeNumber(fields.Integer):
    """A number that is written as a whole one."""

    def _deserialize(self, value: object, *_: object, **__: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.make_error("invalid")


class Number(fields.Float):
    """A number, and no text that could be one."""

    def _deserialize(self, value: object, *_: object, **__: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise self.make_error("invalid")


class TrueOrFalse(fields.Boolean):
    """One of the two, and nothing like it."""

    def _deserialize(self, value: object, *_: object, **__: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self.make_error("invalid")


PLAIN_FIELDS: Final[Mapping[Any, type[fields.Field[Any]]]] = {
    str: fields.String,
    int: WholeNumber,
    float: Number,
    bool: TrueOrFalse,
    dict: fields.Dict,
}
"""By the type that annotates a field, if its values are JSON as they are."""


class TupleField(fields.List[object]):
    """A list, which is a tuple inside."""

    def _deserialize(self, value: Any, *arguments: Any, **options: Any) -> Any:
        return tuple(super()._deserialize(value, *arguments, **options))


@cache
def schema_of(shape: type) -> ShapeSchema:
    """Return the schema of a dataclass; ``KeyError`` if a type in it has no field here."""
    made = cast(
        "type[ShapeSchema]", ShapeSchema.from_dict({p.name: _field_of(p) for p in parts(shape)}, name=shape.__name__)
    )
    made.shape = shape
    return made()


def _field_of(part: Part) -> fields.Field[Any]:
    """Return the field of one part of a shape; the document describes a value with a form where the form is defined."""
    has_form = isinstance(part.kind, Scalar) and form_of(part.kind.of) is not None
    described = {"description": part.note.description or None, "default": part.default}
    stated = {} if has_form else {name: each for name, each in described.items() if each not in {None, MISSING}}
    return _field(
        Nested(part.json_of) if part.json_of else part.kind,
        required=part.default is MISSING,
        allow_none=part.nullable and not part.omitted,
        validate=_bounds(part.note),
        metadata=stated,
    )


def _field(kind: Kind, **options: Any) -> fields.Field[Any]:
    """Return the field of one kind of annotation; ``options`` are marshmallow's."""
    messages = dict(_MESSAGES)
    options = {"allow_none": False, **options, "error_messages": messages}
    match kind:
        case Nested(shape):
            return fields.Nested(lambda: schema_of(shape), **options)
        case ListOf(of):
            messages["invalid"] = "must be a list"
            return TupleField(_field(of), **options)
        case MapOf(key, of):
            messages["invalid"] = "must be an object"
            return fields.Dict(_field(key), _field(of), **options)
        case OneOf(known):
            messages["invalid"] = f"must be {' or '.join(known)}"
            options["validate"] = validate.OneOf(known, error=messages["invalid"])
            return fields.String(**options)
        case Scalar(of):
            if (form := form_of(of)) is not None:
                return FormField(form, **options)
            messages["invalid"] = f"must be {PLAIN[of].wanted}"
            return PLAIN_FIELDS[of](**options)


def _bounds(note: Note) -> list[validate.Validator]:
    """Return the bounds that a field's note states, each refused in its own words."""
    found: list[validate.Validator] = []
    if note.minimum is not None:
        found.append(validate.Range(min=note.minimum, error="must be at least {min}"))
    if note.maximum is not None:
        found.append(validate.Range(max=note.maximum, error="must be at most {max}"))
    if note.max_length is not None:
        found.append(validate.Length(max=note.max_length, error="must have at most {max} characters"))
    if note.pattern:
        found.append(validate.Regexp(note.pattern, error="must match {regex}"))
    return found
