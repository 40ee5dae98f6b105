"""A command behind a provider with quirks: what it refuses costs time, and nothing is done twice."""

from functools import partial
from pathlib import Path

import pytest

from tests.campaign import FULL
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.providers import QUIRKS, ProviderTwin, provider_before

MOST_RUNS = 20
"""Of the command: one that an endpoint ends is run again, and goes on where it was."""
SELDOM = {f"{status}, seldom": partial(ProviderTwin.lose_one_of, number=20, status=status) for status in (520, 524)}
"""A command asks some thirty times, and each time an answer is lost it ends: one of three would end every run."""
PLAYED = {name: quirk for name, quirk in QUIRKS.items() if name not in {"no estimates", "520", "524"}} | SELDOM
"""This client signs no gas that no endpoint estimated."""
TELLING = (
    "no unbounded estimates",
    "a full pool, once",
    "one transaction in flight, once",
    "batches of ten",
    "524, seldom",
)
"""Those that a transaction meets; the night plays the others."""


@pytest.mark.parametrize("quirk", PLAYED if FULL else TELLING)
def test_submission_behind_a_quirk_is_recorded_once(
    ledger: Ledger, api: ApiTwin, bounty: str, tmp_path: Path, quirk: str
) -> None:
    work, account = tmp_path / "work", ledger.people.solvers[0].address
    work.mkdir()
    (work / "main.py").write_text("print(1)\n")
    before = ledger.nonce(account)
    with provider_before(ledger.node.url) as twin:
        PLAYED[quirk](twin)
        solver = person(ledger, api, twin, tmp_path / "solver", "solver-1")
        for _ in range(MOST_RUNS):
            ran = solver.run_any("solver:submit", bounty, str(work))
            if ran.last["event"] == "submit.submission_recorded":
                break
            assert ran.last["code"] == "chain_unavailable"
    assert ran.last["event"] == "submit.submission_recorded"
    assert ledger.nonce(account) == before + 1
