"""Somebody at the pages, as ``./noxw -s market`` has it: an act ends on the chain, or with the page's own words."""

from pathlib import Path

import pytest
from demo.bounty import Cast
from demo.examples import artifact

from tests.e2e.wallet_pages import wallet_of
from tests.pages.driver import Browser
from tools.market.log import RunLog
from tools.market.pages import PageFailed, PersonAtPages


def person(cast: Cast, browser: Browser, name: str, folder: Path) -> PersonAtPages:
    return PersonAtPages(str(cast.stack.pages_url), wallet_of(cast, name), browser, RunLog(folder / "log"))


@pytest.fixture
def solver(cast: Cast, browser: Browser, tmp_path: Path) -> PersonAtPages:
    return person(cast, browser, "solver-2", tmp_path)


def test_person__that_submits_on_a_page__has_it_on_the_chain(cast: Cast, solver: PersonAtPages, tmp_path: Path) -> None:
    bounty = cast.fund(submission_seconds=600, judging_seconds=600, title="Worked on at the pages")
    assert cast.page_shows(bounty, "Open for work")
    solver.submit(int(bounty.bounty_id), artifact(tmp_path, note="Sealed in a market."), is_late=lambda: False)
    assert any(cast.stack.hub.hub.call("getSubmission", int(bounty.bounty_id), cast.address("solver-2")))
    assert solver.log.counts == {}, "no script failed"


def test_person__whom_a_page_offers_no_such_act__is_told_so_and_goes_on(
    cast: Cast, solver: PersonAtPages, tmp_path: Path
) -> None:
    bounty = cast.fund(submission_seconds=600, judging_seconds=600, title="Looked at on the pages")
    assert cast.page_shows(bounty, "Open for work")
    with pytest.raises(PageFailed, match="999999: 404"):
        solver.claim(999_999)
    with pytest.raises(PageFailed, match="too late"):
        solver.submit(int(bounty.bounty_id), tmp_path, is_late=lambda: True)
    with pytest.raises(PageFailed, match="nothing happened"):
        solver.claim(int(bounty.bounty_id))


def test_person__that_judges_on_a_page__has_each_verdict_on_the_chain(
    cast: Cast, browser: Browser, tmp_path: Path
) -> None:
    bounty = cast.fund(submission_seconds=40, judging_seconds=900, title="Judged at the pages")
    number, hub = int(bounty.bounty_id), cast.stack.hub.hub
    work = cast.submit(bounty, "solver-2", note="To be judged.")
    cast.wait_for(bounty.reveal_at)
    guardian = person(cast, browser, "guardian-1", tmp_path)
    for kind, commitment in ((2, None), (1, work.commitment)):
        guardian.judge(number, f"Judged as {kind}.", commitment, is_late=lambda: False)
        assert hub.call("getVerdict", number, cast.address("guardian-1"))[0] == kind
