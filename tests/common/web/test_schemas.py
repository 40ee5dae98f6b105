"""Bodies and queries: read by marshmallow schemas of the shapes, strictly, everything wrong named at once."""

import json
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.delivery import RetrieveRequest, WrapRequest
from bounty_protocol.wire.submissions import UploadTargetRequest
from service_common.web.parsing import load_json
from service_common.web.schemas import schema_of

from tests.protocol.test_shapes import FULL, JSON, Outer
from tests.vectors.samples import word

T = TypeVar("T")


def loaded(shape: type[T], body: object) -> T:
    return load_json(json.dumps(body).encode(), shape, code="invalid_request")


def refused(shape: type[object], body: object) -> list[tuple[str, str]]:
    with pytest.raises(ServiceError) as error:
        loaded(shape, body)
    return [(issue.path, issue.message) for issue in error.value.issues]


@pytest.mark.parametrize("value", [FULL, replace(FULL, maybe=None), UploadTargetRequest(word("x"), 1)])
def test_body_of_a_shape_is_its_instance(value: object) -> None:
    assert loaded(type(value), to_json(value)) == value


def test_absent_key_has_the_value_of_the_shape() -> None:
    assert loaded(Outer, {name: value for name, value in JSON.items() if name != "word"}) == FULL


@pytest.mark.spec(39, 87)
@pytest.mark.parametrize(
    ("changed", "path", "message"),
    [
        ({"bounty_id": 7}, "bounty_id", "must be a string"),
        ({"bounty_id": "0"}, "bounty_id", "must be a whole number from 1 to 9223372036854775807"),
        ({"bounty_id": None}, "bounty_id", "must not be null"),
        ({"count": 0}, "count", "must be at least 1"),
        ({"count": 10}, "count", "must be at most 9"),
        ({"count": 2.0}, "count", "must be a whole number"),
        ({"count": True}, "count", "must be a whole number"),
        ({"kind": "lost"}, "kind", "must be awarded or no_valid_submission"),
        ({"word": "no"}, "word", "must be yes"),
        ({"absent": None}, "absent", "must not be null"),
        ({"many": {}}, "many", "must be a list"),
        ({"many": [{"amount": "1"}, {"amount": 1}]}, "many.1.amount", "must be a string"),
        ({"maybe": []}, "maybe", "must be an object"),
        ({"maybe": {"amount": "1", "more": 1}}, "maybe.more", "is not a field of this body; remove it"),
        ({"more": 1}, "more", "is not a field of this body; remove it"),
    ],
)
def test_wrong_value_is_refused_in_plain_words(changed: dict[str, object], path: str, message: str) -> None:
    assert refused(Outer, {**JSON, **changed}) == [(path, message)]


@pytest.mark.parametrize(
    "body",
    [
        {"z": 1, "bounty_id": 7, "a": 2, "many": [5, {"amount": "1", "y": 3, "b": 4}]},
        {"_schema": 1, "key": 2, "value": 3},
    ],
)
def test_unknown_keys_follow_in_the_order_of_the_body(body: dict[str, object]) -> None:
    paths = [path for path, message in refused(Outer, {**JSON, **body}) if "is not a field" in message]
    inner = [f"many.1.{name}" for name in ("y", "b")] if "many" in body else []
    assert paths == inner + [name for name in body if name not in JSON]


@dataclass(frozen=True, slots=True)
class Unmapped:
    value: complex


def test_type_without_a_field_has_no_schema() -> None:
    with pytest.raises(KeyError):
        schema_of(Unmapped)


def test_shape__without_its_required_keys__names_each() -> None:
    missing = ["solver_address", "submission_commitment"]
    assert refused(WrapRequest, {"wrapped_key": "A"}) == [(name, "is missing") for name in missing]


@pytest.mark.parametrize("key", ["0x" + "00" * 32, "0x" + "ff" * 32, "0x01"])
def test_fresh_key__that_is_none__is_refused(key: str) -> None:
    assert [path for path, _ in refused(RetrieveRequest, {"poster_ephemeral_public_key": key})] == [
        "poster_ephemeral_public_key"
    ]
    good = loaded(RetrieveRequest, {"poster_ephemeral_public_key": "0x" + "0A" * 32})
    assert good.poster_ephemeral_public_key == "0x" + "0a" * 32
