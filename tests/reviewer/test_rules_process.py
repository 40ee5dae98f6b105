"""The rules end, whatever a page does to them; what a page did is told from what the rules did."""

from collections.abc import Callable
from typing import Final

import psutil
import pytest
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.review import review
from service_reviewer import rules
from service_reviewer.rules import RulesFailed, judge_by_rules

from tests.reviewer import misbehaving
from tests.reviewer.labelled import labelled_pages
from tests.waiting import wait_until

PAGES: Final = [page.material for page in labelled_pages()]


def behaving(what: Callable[..., object]) -> list[Issue]:
    """The judgement of rules that do this."""
    return judge_by_rules(PAGES[0], rules=f"{misbehaving.__name__}:{what.__name__}")


def helper() -> psutil.Process:
    """The process whose children judge."""
    assert rules._HELPER.process is not None
    return psutil.Process(rules._HELPER.process.pid)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time ends after a second; what a busy machine needs for that is no part of these tests."""
    monkeypatch.setattr(rules, "CPU_SECONDS", 1)
    monkeypatch.setattr(rules, "SECONDS", 600.0)


def test_rules_in_their_process_judge_alike() -> None:
    for material in (PAGES[0], PAGES[-1]):
        assert judge_by_rules(material) == list(review(material))


@pytest.mark.parametrize(
    "what", [misbehaving.spin, misbehaving.out_of_memory, misbehaving.killed], ids=lambda what: what.__name__
)
def test_page_that_kills_its_process_is_parked(brief: None, what: Callable[..., object]) -> None:
    judgement = behaving(what)
    assert [issue.path for issue in judgement] == ["body"]
    assert "longer to read" in judgement[0].message
    wait_until(lambda: helper().children() == [])


def test_helper_that_is_gone_is_started_again() -> None:
    judge_by_rules(PAGES[0])
    before = helper()
    before.kill()
    before.wait(30)
    assert judge_by_rules(PAGES[0]) == list(review(PAGES[0]))
    assert helper().pid != before.pid


def test_rules_without_processor_time_judge_nothing(brief: None, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by_rules(PAGES[0])  # the helper has loaded
    monkeypatch.setattr(rules, "SECONDS", 0.5)
    with pytest.raises(RulesFailed, match="processor time"):
        behaving(misbehaving.asleep)
    wait_until(lambda: helper().children() == [])


def test_mistake_of_the_rules_is_raised() -> None:
    with pytest.raises(RulesFailed, match=r"^\w+ > .*misbehaving.py:[0-9]+ in mistaken$") as caught:
        behaving(misbehaving.mistaken)
    assert "a mistake of the rules" not in str(caught.value)
