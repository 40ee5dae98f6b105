"""The rules end, whatever a page does to them; what a page did is told from what the rules did."""

import os
import signal
import time
from collections.abc import Callable

import pytest
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from service_reviewer import rules
from service_reviewer.rules import RulesFailed, judge_by_rules

from tests.reviewer.labelled import labelled_pages


def behaving(what: Callable[[], object], material: Material) -> list[Issue]:
    """The judgement of rules that do something first."""

    def rules_of(judged: Material) -> tuple[Issue, ...]:
        what()
        return review(judged)

    return judge_by_rules(material, rules=rules_of)


def spin() -> None:
    while True:
        pass


def asleep() -> None:
    time.sleep(60)


def out_of_memory() -> None:
    raise MemoryError


def mistaken() -> None:
    raise KeyError("a mistake of the rules")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time ends after a second; what a busy machine needs for that is no part of these tests."""
    monkeypatch.setattr(rules, "CPU_SECONDS", 1)
    monkeypatch.setattr(rules, "SECONDS", 600.0)


PAGES = [page.material for page in labelled_pages()]


def test_rules_in_their_process_judge_alike() -> None:
    for material in (PAGES[0], PAGES[-1]):
        assert judge_by_rules(material) == list(review(material))


@pytest.mark.parametrize("what", [spin, out_of_memory, killed], ids=lambda what: what.__name__)
def test_page_that_kills_its_process_is_parked(
    brief: None, what: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    forked, fork = list[int](), os.fork

    def remembered() -> int:
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr(os, "fork", remembered)
    judgement = behaving(what, PAGES[0])
    assert [issue.path for issue in judgement] == ["body"]
    assert "longer to read" in judgement[0].message
    (child,) = forked
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)  # nobody is left behind


def test_rules_judge_after_a_fork() -> None:
    """As in a worker of the server: the lock around a fork is not held there by a thread that it does not have."""
    page, expected = PAGES[0], list(review(PAGES[0]))
    with rules._FORKING.lock:
        worker = os.fork()
        if worker == 0:
            signal.alarm(30)
            os._exit(0 if judge_by_rules(page) == expected else 1)
    assert os.waitpid(worker, 0)[1] == 0


def test_rules_without_processor_time_judge_nothing(brief: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "SECONDS", 0.2)
    with pytest.raises(RulesFailed, match="processor time"):
        behaving(asleep, PAGES[0])


def test_mistake_of_the_rules_is_raised() -> None:
    with pytest.raises(RulesFailed, match=r"^\w+ > .*test_rules_process.py:[0-9]+ in mistaken$") as caught:
        behaving(mistaken, PAGES[0])
    assert "a mistake of the rules" not in str(caught.value)
