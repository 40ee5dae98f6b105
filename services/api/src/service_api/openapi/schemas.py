"""Shapes as JSON Schema, as the published document shows them."""

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, Final

from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, Note, OneOf, Part, Scalar, parts
from bounty_protocol.wire.deployment import RubricDocument
from bounty_protocol.wire.values import PLAIN, VALUES, form_of

Json = dict[str, Any]
_NAMES: Final[Mapping[type, str]] = {Roster: "GuardianRoster", RubricDocument: "Rubric"}
"""Shapes that the document names otherwise than the code."""
_NULL: Final = {"type": "null"}


class Schemas:
    """The named schemas of one document: every named value, and the shapes that were referred to."""

    def __init__(self) -> None:
        self.named: dict[str, Json] = {form.name: dict(form.schema) for form in VALUES.values() if form.name}

    def of(self, shape: Any) -> Json:
        """Return a reference to a shape or a named value; the schema of any text for a media type, or nothing."""
        if shape is None or isinstance(shape, str):
            return {"type": "string"}
        if shape in VALUES:
            return _ref(str(VALUES[shape].name))
        name = _NAMES.get(shape, shape.__name__)
        if name not in self.named:
            self.named[name] = {}  # a shape may have itself inside
            self.named[name] = {
                "type": "object",
                "description": shape.__doc__,
                "properties": {part.name: self.of_part(part) for part in parts(shape)},
                "required": sorted(part.name for part in parts(shape) if part.default is MISSING),
                "additionalProperties": False,
            }
        return _ref(name)

    def of_part(self, part: Part) -> Json:
        """Return the schema of one field, with what is noted of it."""
        schema = self._of_kind(Nested(part.json_of) if part.json_of else part.kind)
        has_form = isinstance(part.kind, Scalar) and form_of(part.kind.of) is not None
        if part.nullable and not part.omitted:
            if has_form:
                schema = {"oneOf": [schema, _NULL]}
            elif "$ref" in schema:
                schema = {"anyOf": [schema, _NULL]}
            else:
                schema["type"] = [schema["type"], "null"]
        if not has_form:  # which is described where it is defined
            schema |= _noted(part.note)
            if part.default not in {MISSING, None}:
                schema["default"] = part.default
        return schema

    def _of_kind(self, kind: Kind) -> Json:
        match kind:
            case Nested(shape):
                return self.of(shape)
            case ListOf(of):
                return {"type": "array", "items": self._of_kind(of)}
            case OneOf(values):
                return {"type": "string", "enum": list(values)}
            case MapOf(_, of):
                return {"type": "object", "additionalProperties": self._of_kind(of)}
            case Scalar(of):
                if (form := form_of(of)) is not None:
                    return _ref(form.name) if form.name else dict(form.schema)
                return {"type": PLAIN[of].json} | ({"additionalProperties": {}} if of is dict else {})


def _noted(note: Note) -> Json:
    noted = {
        "description": note.description or None,
        "minimum": note.minimum,
        "maximum": note.maximum,
        "maxLength": note.max_length,
        "pattern": note.pattern or None,
    }
    return {key: value for key, value in noted.items() if value is not None}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
