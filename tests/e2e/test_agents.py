"""A whole bounty in which Poster, Solver and Guardians act over MCP alone, on the real stack."""

import pytest
from demo import agents
from demo.bounty import Cast

pytestmark = pytest.mark.nightly


def test_bounty_by_agents_alone(cast: Cast) -> None:
    steps: list[str] = []

    def verified(step: str, how: str, holds: bool) -> None:
        assert holds, (step, how)
        steps.append(step)

    agents.play(cast, verified, submission_seconds=40, judging_seconds=300, title="By agents")
    assert steps == [
        "check", "fund", "find", "evaluate", "submit", "open", "open", "judge", "claim", "open winning work", "watch",
    ]  # fmt: skip
