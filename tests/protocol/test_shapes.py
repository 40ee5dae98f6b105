"""Shapes: one dataclass is JSON, what reads it, and nothing else."""

import json
import re
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import pytest
from bounty_protocol.domain.lifecycle.bounty import Winner
from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome, SettlementReason
from bounty_protocol.shapes import OMITTED, Note, keys, to_json
from bounty_protocol.types import BlockNumber, BountyId, TokenAmount
from bounty_protocol.wire.bounties import Block, BountyItem, BountyList, Facts
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.submissions import UploadTarget, UploadTargetRequest
from bounty_protocol.wire.values import Finality

from tests.vectors.samples import FACTS, ROSTER, SOLVER, word


@dataclass(frozen=True, slots=True)
class Inner:
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class Outer:
    bounty_id: BountyId
    many: tuple[Inner, ...]
    data: bytes
    kind: Outcome
    maybe: Inner | None
    count: Annotated[int, Note(minimum=1, maximum=9)]
    word: Literal["yes"] = "yes"
    absent: Annotated[TokenAmount | None, OMITTED] = None


FULL = Outer(BountyId(7), (Inner(TokenAmount(2**200)),), b"\x00\xff", Outcome.AWARDED, Inner(TokenAmount(0)), 3)
JSON = {
    "bounty_id": "7",
    "many": [{"amount": str(2**200)}],
    "data": "AP8=",
    "kind": "awarded",
    "maybe": {"amount": "0"},
    "count": 3,
    "word": "yes",
}


@pytest.mark.spec(36, 39)
def test_shape_has_decimals_base64_and_no_omitted_key() -> None:
    assert json.loads(json.dumps(to_json(FULL))) == JSON
    assert to_json(Outer(BountyId(1), (), b"", Outcome.AWARDED, None, 1, absent=TokenAmount(5))) == {
        "bounty_id": "1",
        "many": [],
        "data": "",
        "kind": "awarded",
        "maybe": None,
        "count": 1,
        "word": "yes",
        "absent": "5",
    }
    assert type(to_json(FULL)["kind"]) is str, "no value of our own is left"
    assert keys(Inner) == {"amount"}


def facts(winner: Winner | None) -> Facts:
    if winner is None:
        return FACTS
    ending = {"outcome": Outcome.AWARDED, "settlement_reason": SettlementReason.JUDGED, "winner": winner}
    return replace(FACTS, status=BountyStatus.FINAL, accepting=False, **ending)  # type: ignore[arg-type]


LIST = BountyList(
    tuple(
        BountyItem(BountyId(n), facts(winner), n, Finality.UNSAFE, Block(BlockNumber(n), word("block")))
        for n, winner in enumerate((None, Winner(SOLVER, word("work"))), start=1)
    ),
    None,
)


@pytest.mark.parametrize(
    "value", [FULL, LIST, ROSTER, UploadTargetRequest(word("x"), 1)], ids=lambda v: type(v).__name__
)
def test_shape__written_and_read_again__is_the_same(value: object) -> None:
    answer = json.loads(json.dumps(to_json(value)))
    assert read(type(value), answer) == value


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bounty_id": 7}, "bounty_id must be a string"),
        ({"bounty_id": "0"}, "bounty_id must be a whole number from 1 to 9223372036854775807"),
        ({"bounty_id": None}, "bounty_id must not be null"),
        ({"count": True}, "count must be a whole number"),
        ({"count": 2.0}, "count must be a whole number"),
        ({"kind": "lost"}, "kind must be awarded or no_valid_submission"),
        ({"word": "no"}, "word must be yes"),
        ({"many": {}}, "many must be a list"),
        ({"many": [{"amount": "1"}, {}]}, "many.1.amount is missing"),
        ({"maybe": []}, "maybe must be an object"),
        ({"maybe": {"amount": "-1"}}, "maybe.amount must be "),
    ],
)
def test_wrong_answer_is_refused_by_its_place(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(Outer, {**JSON, **changed})


def test_answer_may_have_more_than_its_shape() -> None:
    assert read(Outer, {**JSON, "more": 1}) == FULL
    assert read(Outer, {name: value for name, value in JSON.items() if name != "word"}) == FULL
    with pytest.raises(ValueError, match="the answer must be an object"):
        read(Outer, [])


@pytest.mark.parametrize("headers", [7, ["a"], {"a": 1}])
def test_answer__of_texts_by_name__has_texts_only(headers: object) -> None:
    answer = {"upload_url": "u", "upload_method": "PUT", "expires_at": "2030-01-01T00:00:00Z", "storage_locator": "l"}
    assert read(UploadTarget, {**answer, "upload_headers": {"a": "b"}}).upload_headers == {"a": "b"}
    with pytest.raises(ValueError, match=r"upload_headers(\.a)? must be "):
        read(UploadTarget, {**answer, "upload_headers": headers})
