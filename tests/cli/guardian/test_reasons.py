"""Reasons written in an editor: the template is made of the page, and no failure loses the draft."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from service_cli.errors import CommandRefused
from service_cli.guardian.reasons import filled_in, reasons_of, template
from service_common.domain.challenge import parse_challenge
from service_common.domain.lifecycle import VerdictKind
from service_common.types import BountyId, parse_address, parse_bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import ran
from tests.cli.ledger import Ledger
from tests.cli.screen import Seen, at_terminal
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal, events_of

NAMED = (parse_address("0x" + "ab" * 20), parse_bytes32("0x" + "cd" * 32))
FILLING = """
import os, re, sys
text = open(sys.argv[-1]).read()
open("seen.md", "w").write(text)
open("environment", "w").write(" ".join(name for name in os.environ if name.startswith("SERVICE_")))
open(sys.argv[-1], "w").write(re.sub("<[^!][^>]*>", "I ran it; it holds.", text))
"""
LEAVING = "import sys; open('seen.md', 'w').write(open(sys.argv[-1]).read())"
FAILING = "import sys; sys.exit(3)"


def editor(code: str) -> str:
    """A command line for EDITOR that runs Python code on the file."""
    return shlex.join([sys.executable, "-c", code])


@pytest.fixture
def judging(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> tuple[Terminal, str]:
    """A Guardian at a machine of its own, and a bounty that waits for Verdicts; its page is the twin's."""
    bounty, page = ledger.fund(seconds=100, judging=20 * 86_400)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    return person(ledger, api, rpc, tmp_path / "third", "guardian-3"), str(bounty)


def judge(home: Terminal, bounty: str, code: str, *words: str) -> Seen:
    return at_terminal(
        home, "guardian:verdict", bounty, "awarded", "--submission", "1", *words, typed="", EDITOR=editor(code)
    )


def test_verdict__without_a_file__has_it_written_records_it_and_keeps_no_draft(
    api: ApiTwin, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    seen = judge(home, bounty, FILLING)
    assert seen.code == 0, seen.screen
    recorded = events_of(seen.stdout)[-1]
    assert recorded["event"] == "guardian_verdict.recorded"
    (document,) = api.verdicts.values()
    page = parse_challenge(next(reversed(api.pages.values())))
    assert all(f"> {criterion}" in document.decode() for criterion in page.acceptance_criteria)
    assert b"service-cli" not in document
    assert (home.home / "environment").read_text() == ""  # no key and no setting reaches the editor
    assert "1 of 3 Guardians recorded this, 2 have to" in seen.screen
    assert not list(home.home.rglob("reasons.md"))


def test_verdict__left_as_it_was_or_whose_editor_fails__is_not_recorded_and_the_draft_goes_on(
    api: ApiTwin, rpc: RpcProxy, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    for code, refused in ((LEAVING, "reasons_unfinished"), (FAILING, "editor_failed")):
        seen = judge(home, bounty, code)
        assert (seen.code, events_of(seen.stdout)[-1]["code"]) == (1, refused)
        (draft,) = home.home.rglob("reasons.md")
        assert "your draft is kept" in seen.screen
        assert draft.stat().st_mode & 0o777 == 0o600
    assert (rpc.sent(), api.approvals()) == (0, [])
    draft.write_text("It holds, I ran it twice.\n")
    assert judge(home, bounty, LEAVING).code == 0
    assert (home.home / "seen.md").read_text() == "It holds, I ran it twice.\n"


def test_verdict__that_would_be_refused_anyway__opens_no_editor(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judging: tuple[Terminal, str], tmp_path: Path
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "awarded", ledger.people.solvers[1].address, "0x" + "00" * 31 + "01")
    seen = at_terminal(home, *words, typed="", EDITOR=editor(FILLING))
    assert events_of(seen.stdout)[-1]["code"] == "submission_not_active"
    assert not (home.home / "seen.md").exists()


def test_verdict__without_a_file_and_without_a_terminal__is_a_usage_error(judging: tuple[Terminal, str]) -> None:
    home, bounty = judging
    assert ran(home, "guardian:verdict", bounty, "no_valid_submission")[0] == 2


def test_template__printed_and_filled_in__is_recorded_without_its_comment(
    api: ApiTwin, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "awarded", "--submission", "1")
    keyless = replace(home, environment={k: v for k, v in home.environment.items() if "PRIVATE_KEY" not in k})
    text = keyless.run(*words, "--template").stdout
    (home.home / "why.md").write_text(text)
    assert home.run(*words, "why.md", code=1).last["code"] == "reasons_unfinished"
    (home.home / "why.md").write_text(re.sub(r"<[^!][^>]*>", "Yes.", text))
    home.run(*words, "why.md")
    (document,) = api.verdicts.values()
    assert b"<!--" not in document


def test_template__of_a_page_that_is_not_the_committed_one__has_no_criteria(
    api: ApiTwin, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    api.lies["detail"] = lambda answer: {**answer, "challenge": str(answer["challenge"]) + "\nForged.\n"}
    ran = home.run("guardian:verdict", bounty, "no_valid_submission", "--template")
    assert "Criterion" not in ran.stdout
    assert "the template has no criteria" in ran.words


def test_template__of_what_a_poster_wrote__quotes_it_bounded_and_plain(ledger: Ledger) -> None:
    page = replace(
        parse_challenge(ledger.page()), acceptance_criteria=("one\n<!-- two -->\u202e", "x" * 2_000), deliverables=()
    )
    lines = template(BountyId(7), VerdictKind.AWARDED, NAMED, page).splitlines()
    assert "> <!-- two -->" in lines
    assert max(map(len, lines)) < 500
    assert not any("\u202e" in line for line in lines)


EMPTY = template(BountyId(7), VerdictKind.NO_VALID_SUBMISSION, None, None)


@pytest.mark.parametrize("text", ["", " \n\n", EMPTY, "<!-- service-cli: x -->\n", EMPTY + "\nMore.\n"])
def test_reasons__that_are_empty_or_not_filled_in__are_refused(text: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        reasons_of(text)
    assert refused.value.code == "reasons_unfinished"


def test_reasons__filled_in__are_without_the_comment_and_a_file_of_one_s_own_is_its_bytes() -> None:
    filled = EMPTY.replace("<Why this Verdict follows, in a sentence or two.>", "Nothing fits.")
    assert reasons_of(filled) == "# Bounty 7: no_valid_submission\n\n## Result\n\nNothing fits.\n"
    assert filled_in(b"  <Mine>\r\n") == b"  <Mine>\r\n"
