"""The rules' findings on a page that nobody publishes: charged to nobody, stored and logged nowhere.

A few pages are judged at a time, each in a process of its own that ends (``providers/bounded.py``); of more, each waits
for a moment and is then refused. No model is asked.
"""

from dataclasses import dataclass
from threading import BoundedSemaphore
from time import time
from typing import Annotated, Final

from bounty_protocol.chain.hub_constants import MAX_DECIMALS
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.errors import Issue, ServiceError, shown_issues
from bounty_protocol.readiness import VERSION
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import Note
from bounty_protocol.types import MAX_INT64, UnixSeconds
from bounty_protocol.wire.publication import PageFindings
from service_common.log import get_logger

from service_reviewer.providers.bounded import BoundedRules, RulesFailed
from service_reviewer.providers.rules import RulesProvider

JUDGE_SECONDS: Final = 8.0
"""For the rules on one page; the worst page of the largest size takes a fourth of it."""
AT_ONCE: Final = 2
"""Pages that one process judges at a time."""
PATIENCE_SECONDS: Final = 2.0
"""For how long a page waits for its turn."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FindingsQuery:
    """The assumptions about a deployment where none is named: the present, a token as USDC, and no reveal
    delay."""

    now: UnixSeconds | None = None
    reveal_delay: Annotated[int | None, Note("In seconds.", minimum=0, maximum=MAX_INT64)] = None
    token_symbol: Annotated[str, Note("Of the escrow token.", max_length=64)] = "USDC"  # noqa: S105  # money
    token_decimals: Annotated[int, Note("Of the escrow token.", minimum=0, maximum=MAX_DECIMALS)] = 6


class PageJudge:
    """Judges pages for those who ask now. Thread-safe."""

    def __init__(self, rules: RulesProvider | None = None) -> None:
        self._rules = BoundedRules(rules or RulesProvider(), JUDGE_SECONDS)
        self._places = BoundedSemaphore(AT_ONCE)

    def findings(self, page: bytes, asked: FindingsQuery) -> PageFindings:
        """The issues with the page: those of its form, else the rules' issues."""
        rubric = current_rubric()
        return PageFindings(rubric.version, rubric.hash, VERSION, tuple(shown_issues(self._issues(page, asked))))

    def _issues(self, page: bytes, asked: FindingsQuery) -> list[Issue]:
        try:
            challenge = parse_challenge(page)
        except ServiceError as error:
            return list(error.issues)
        now = UnixSeconds(int(time())) if asked.now is None else asked.now
        return self._judge(Material(challenge, page, now, asked.reveal_delay, asked.token_symbol, asked.token_decimals))

    def _judge(self, material: Material) -> list[Issue]:
        if not self._places.acquire(timeout=PATIENCE_SECONDS):
            raise ServiceError("service_overloaded", "Too many pages are being checked at the moment.")
        try:
            return list(self._rules.judge(material).issues)
        except RulesFailed as failure:
            log.error("no findings", at=str(failure), byte_length=len(material.content))  # noqa: TRY400
            raise ServiceError("service_overloaded", "This page could not be checked in time.") from None
        finally:
            self._places.release()


def check_rules() -> None:
    """Whether pages can be judged here: raises where the rules get no process, no time, or do not work."""
    BoundedRules(RulesProvider(), JUDGE_SECONDS).judge(_SMALL)


_PAGE: Final = b"""---
version: 1
title: A title
summary: A summary.
escrow_amount: 1000000
submission_deadline: 2000000000
judging_window_seconds: 86400
acceptance_criteria:
  - "`make test` exits with 0."
deliverables:
  - A patch.
---

# Challenge

Fix it.
"""
_SMALL: Final = Material(parse_challenge(_PAGE), _PAGE, UnixSeconds(1_900_000_000))
"""The page of the readiness check."""
