"""Text that the service's operator withholds: shown as that, read by those who take part, and no obstacle to them."""

from pathlib import Path

import pytest
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.withheld import Withheld

from tests.cli.api_twin import ApiTwin, refusal, withheld_error
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

NOTICE = Withheld("An order of a court", UnixSeconds(1_800_000_000), UnixSeconds(1_900_000_000))


@pytest.fixture
def withheld(ledger: Ledger, api: ApiTwin) -> tuple[int, bytes]:
    """A bounty to be judged, and its page, which is withheld."""
    bounty, page = ledger.fund(seconds=100, judging=20 * 86_400)
    api.keep_page(page)
    api.withheld[spec_commitment(page)] = NOTICE
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    return bounty, page


def test_withheld_verdict_is_read_back_and_recorded(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, withheld: tuple[int, bytes]
) -> None:
    home = person(ledger, api, rpc, tmp_path / "third", "guardian-3")
    (home.home / "why.md").write_text("Nothing runs.\n")
    error = withheld_error("written_verdict_withheld", NOTICE)
    api.scripts["verdict_read"] = lambda _: refusal(451, error.code, error.message)
    ran = home.run("guardian:verdict", str(withheld[0]), "no_valid_submission", "--unopened", "why.md")
    (document,) = api.verdicts.values()
    assert ran.last["report_commitment"] == report_commitment(document)
    assert NOTICE.reason in ran.words
    shown = home.run("bounty:show", "--verdicts", str(withheld[0]))
    assert {each["code"] for each in shown.events[1:]} == {"written_verdict_withheld"}


def test_withheld_page_needs_consent(ledger: Ledger, api: ApiTwin, solver: Terminal) -> None:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    work = str(folder)
    bounty, page = ledger.fund(seconds=20_000)
    api.keep_page(page)
    api.withheld[spec_commitment(page)] = NOTICE
    refused = solver.run("solver:submit", str(bounty), work, code=1).last
    assert refused["code"] == "challenge_withheld"
    assert NOTICE.reason in str(refused["message"])
    ran = solver.run("solver:submit", "--accept-term-differences", str(bounty), work)
    assert ran.names[-1] == "submit.submission_recorded"
