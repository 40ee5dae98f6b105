"""The deterministic reviewer: the rules of ``bounty_protocol.readiness`` as a provider; nothing leaves this process."""

import json
from collections.abc import Sequence

from bounty_protocol.errors import Issue
from bounty_protocol.readiness import VERSION
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.rubric import Rubric, current_rubric

from service_reviewer.providers.port import Judgement


class RulesProvider:
    """Applies the rubric's checkable points; ``rubric`` is the text that the judgement is recorded against."""

    def __init__(self, rubric: Rubric | None = None) -> None:
        self._rubric = rubric or current_rubric()

    def judge(self, material: Material) -> Judgement:
        """All issues at once."""
        found = review(material)
        return self.judgement(list(found.issues), withhold=found.withhold)

    def judgement(self, issues: Sequence[Issue], *, withhold: bool) -> Judgement:
        """These issues as the rules' judgement."""
        output = json.dumps([[issue.path, issue.message] for issue in issues]).encode()
        return Judgement(issues, "rules", VERSION, self._rubric.text.encode(), output, withhold=withhold)
