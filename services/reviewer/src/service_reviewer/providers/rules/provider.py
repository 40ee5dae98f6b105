"""The deterministic reviewer.

The same page at the same moment gets the same issues, each with where and what to change; nothing leaves this process.
It judges form and clarity, never merit. What it cannot see (a contradiction in other terms, a task that makes no sense)
is left to Guardians and to a provider that reads.
"""

import json
from itertools import chain
from typing import Final

from service_common.errors import MAX_ISSUES, Issue
from service_common.rubric import Rubric, current_rubric

from service_reviewer.providers.port import Judgement, Material
from service_reviewer.providers.rules.credentials import CREDENTIALS
from service_reviewer.providers.rules.leftovers import LEFTOVERS
from service_reviewer.providers.rules.measurable import MEASURABLE
from service_reviewer.providers.rules.reading import MAX_LINES_AND_CELLS, MAX_PASSAGES, Reading, lines_and_cells
from service_reviewer.providers.rules.references import REFERENCES
from service_reviewer.providers.rules.rule import Rule
from service_reviewer.providers.rules.steering import STEERING
from service_reviewer.providers.rules.terms import LIMITS, PAYMENT
from service_reviewer.providers.rules.times import TIMES

MODEL: Final = "rules-3"
"""Changes whenever the same page could get other issues than before."""
_TOO_MANY_PARTS: Final = Issue(
    "body",
    f"Consists of more than {MAX_PASSAGES:,} paragraphs, headings, list entries and table cells. Join what belongs "
    "together, so that a person can read the page to its end.",
)

RULES: Final[tuple[Rule, ...]] = (MEASURABLE, TIMES, PAYMENT, LIMITS, LEFTOVERS, REFERENCES, STEERING, CREDENTIALS)
"""In the order of their issues; the last one's come first, since a page with a secret is withheld."""


class RulesProvider:
    """Applies the rubric's checkable points; ``rubric`` is the text that the judgement is recorded against."""

    def __init__(self, rubric: Rubric | None = None) -> None:
        self._rubric = rubric or current_rubric()

    def judge(self, material: Material) -> Judgement:
        """All issues at once, at most ``MAX_ISSUES``."""
        reading = None if lines_and_cells(material.page.body) > MAX_LINES_AND_CELLS else Reading.of(material)
        if reading is None or len(reading.passages) > MAX_PASSAGES:
            return self.judgement([_TOO_MANY_PARTS], withhold=True)  # nobody has looked for secrets
        secrets = list(CREDENTIALS.check(reading))
        issues = dict.fromkeys(secrets[:MAX_ISSUES])
        for issue in chain.from_iterable(rule.check(reading) for rule in RULES if rule is not CREDENTIALS):
            if len(issues) == MAX_ISSUES:
                break
            issues[issue] = None
        return self.judgement(list(issues), withhold=bool(secrets))

    def judgement(self, issues: list[Issue], *, withhold: bool) -> Judgement:
        """These issues as the rules' judgement."""
        output = json.dumps([[issue.path, issue.message] for issue in issues]).encode()
        return Judgement(issues, "rules", MODEL, self._rubric.text.encode(), output, withhold=withhold)
