"""Lists of /subgraph that are longer than an answer: what of them is compared, and what is not held against anybody."""

import re
from collections.abc import Mapping
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
from service_checker import graphql
from service_checker.reading import AnswerCheck
from service_checker.report import CheckReport

ROWS = {f"{number}-0": {"id": f"{number}-0", "block_number": number, "amount": str(number)} for number in range(20)}


class Lists:
    """The lists of an API that has these rows, and answers at most two, after at most four others."""

    def __init__(self, shown: Mapping[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in (("PAGE", 2), ("MOST_ROWS", 2), ("MOST_SKIPPED", 4)):
            monkeypatch.setattr(graphql, name, value)
        monkeypatch.setattr(graphql, "rows", lambda _: {"claims": ROWS})
        monkeypatch.setattr(graphql, "_asked", self._asked)
        self._shown = shown
        self.reading: Any = SimpleNamespace(
            findings=CheckReport(),
            api=SimpleNamespace(received=0, bound_part=lambda _: None),
            chain=SimpleNamespace(head=SimpleNamespace(number=1)),
            moment=lambda _: SimpleNamespace(world=None),
        )
        self.reading.value = MethodType(AnswerCheck.value, self.reading)

    def _asked(self, _reading: object, query: str, variables: Mapping[str, Any], _where: str) -> tuple[Any, Any]:
        found = sorted(self._shown.values(), key=lambda row: row["block_number"], reverse="desc" in query)
        for condition, value in variables.get("where", {}).items():
            name, _, operation = condition.partition("_")
            found = [row for row in found if graphql._chooser(name, f"_{operation}" if operation else "", value)(row)]
        first = int(re.findall(r"first: (\d+)", query)[0])
        skip = int((re.findall(r"skip: (\d+)", query) or ["0"])[0])
        return found[skip : skip + first], [SimpleNamespace(world=None)]


def test_rows__beyond_what_pages_reach__are_compared_at_both_ends_and_passed_over_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = Lists(ROWS, monkeypatch)
    graphql._check_rows(lists.reading, "claims")
    assert lists.reading.findings.found == []
    assert len(lists.reading.findings.skipped["graphql.rows"]) == 8


@pytest.mark.parametrize("number", [1, 18])
def test_row__that_differs_at_either_end_of_a_long_list__is_found(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    altered = {**ROWS, f"{number}-0": {**ROWS[f"{number}-0"], "amount": "7000"}}
    lists = Lists(altered, monkeypatch)
    graphql._check_rows(lists.reading, "claims")
    assert [each.where for each in lists.reading.findings.found] == [f"/subgraph claims {number}-0 amount"]


def test_filter__that_leaves_more_rows_than_an_answer_has__is_right_in_any_full_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = Lists(ROWS, monkeypatch)
    graphql._check_filters(lists.reading, "claims", "Claim_filter", "amount")
    assert lists.reading.findings.found == []


def test_filter__whose_full_answer_has_a_row_too_many__is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists({"-1-0": {"id": "-1-0", "block_number": -1, "amount": "5"}, **ROWS}, monkeypatch)
    graphql._check_filters(lists.reading, "claims", "Claim_filter", "amount")
    assert {each.where for each in lists.reading.findings.found} >= {"/subgraph claims amount_lt 10"}
