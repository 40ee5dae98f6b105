"""What people at a real terminal see beside the events: words for bounties, one line that changes, and Ctrl-C."""

import io
import json
import re
import sys

import pytest
from service_cli.shell.output import Progress, say, set_quiet

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal

ADDRESS = "0x" + "ab" * 20
OPEN = {
    "status": "open", "escrow_amount": "25000000", "poster_address": ADDRESS, "submission_deadline": 4_000_000_000,
    "reveal_at": 4_000_003_600, "judging_deadline": 4_000_100_000, "outcome": None,
    "settlement_reason": None, "winner": None,
}  # fmt: skip
FINAL = OPEN | {
    "status": "final", "outcome": "awarded", "settlement_reason": "judged",
    "winner": {"solver_address": ADDRESS, "submission_commitment": "0x" + "cd" * 32},
}  # fmt: skip
REFUNDED = OPEN | {"status": "final", "outcome": "no_valid_submission", "settlement_reason": "guardians_silent"}


def item(bounty_id: str, facts: object, count: object = 1) -> dict[str, object]:
    return {"bounty_id": bounty_id, "facts": facts, "active_submission_count": count}


def test_list__at_a_terminal__tells_each_bounty_in_a_line(api: ApiTwin, poster: Terminal) -> None:
    items = [item("1", OPEN, 2), item("2", OPEN | {"submission_deadline": 5, "reveal_at": 6, "judging_deadline": 7})]
    items += [item("3", FINAL), item("4", REFUNDED, 0)]
    api.listed = {"items": items, "next_cursor": None}
    seen = at_terminal(poster, "bounty:list")
    lines = seen.screen.splitlines()
    assert seen.code == 0
    assert [json.loads(line)["bounty_id"] for line in seen.stdout.splitlines()] == ["1", "2", "3", "4"]
    assert re.fullmatch(
        r"bounty 1: 25000000 base units \(25 \w+\); 2 Submissions; Submissions until 2096-10-02 07:06:40 UTC \(in .*\)",
        lines[0],
    )
    assert lines[1].endswith("1 Submission; time is up; anyone can settle it now")
    assert lines[2].endswith(f"awarded to {ADDRESS} (judged)")
    assert lines[3].endswith("0 Submissions; ended without a valid Submission (guardians silent)")


@pytest.mark.parametrize(
    "strange",
    [
        item("1", {"escrow_amount": "many"}),
        item("1", {**OPEN, "reveal_at": "soon"}),
        item("1", OPEN, "two"),
        item("1\x1b[2J\x07", []),
    ],
    ids=["an amount", "a time", "a count", "a terminal's codes"],
)
def test_list__facts_of_another_shape_at_a_terminal__says_so_and_drives_nothing(
    api: ApiTwin, poster: Terminal, strange: dict[str, object]
) -> None:
    api.listed = {"items": [strange], "next_cursor": None}
    seen = at_terminal(poster, "bounty:list")
    assert seen.code == 0
    assert "its facts cannot be read" in seen.screen
    assert "\x1b" not in seen.screen
    assert "\x07" not in seen.screen


def test_show__at_a_terminal__tells_money_people_and_page(api: ApiTwin, poster: Terminal, ended: int) -> None:
    seen = at_terminal(poster, "bounty:show", str(ended))
    assert seen.code == 0
    assert f"bounty {ended}: 25000000 base units" in seen.screen
    assert f"  Poster:    {poster_address(api)}" in seen.screen
    assert "  Guardians: 3, of whom 2 must agree" in seen.screen
    assert "  page:      " in seen.screen


def poster_address(api: ApiTwin) -> str:
    return api.ledger.people.poster.address


def test_list__without_a_terminal_or_quiet__says_nothing(api: ApiTwin, poster: Terminal) -> None:
    api.listed = {"items": [item("1", OPEN)], "next_cursor": None}
    assert poster.run("bounty:list").words == ""
    assert at_terminal(poster, "bounty:list", "--quiet").screen == ""


@pytest.mark.parametrize("columns", [20, 80])
def test_wait__interrupted_at_a_terminal_of_any_width__keeps_to_one_line_and_clears_it(
    ledger: Ledger, poster: Terminal, columns: int
) -> None:
    bounty, _ = ledger.fund(seconds=500)
    drawn = "\x1b[K"
    seen = at_terminal(poster, "bounty:watch", str(bounty), columns=columns, stop_when=lambda text: drawn in text)
    before, _, after = seen.screen.rpartition("\r\x1b[K")
    lines = re.findall(r"\r\x1b\[K([^\r\n\x1b]+)", before)
    assert (seen.code, bool(lines)) == (130, True)
    assert max(map(len, lines)) < columns
    assert after == "interrupted; run the command again to continue\n"


def test_wait__on_a_terminal_that_redraws_nothing__prints_plain_lines(ledger: Ledger, poster: Terminal) -> None:
    bounty, _ = ledger.fund(seconds=500)
    seen = at_terminal(
        poster, "bounty:watch", str(bounty), stop_when=lambda text: "Submissions until" in text, TERM="dumb"
    )
    assert (seen.code, "\x1b" in seen.screen) == (130, False)


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress__on_a_terminal__draws_one_line_and_clears_it_before_anything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("service_cli.shell.output._BAR_SECONDS", 0.0)
    with Progress("sealing") as progress:
        progress(1, 4)
        say("something else")
        progress(4, 4)
    text = screen.getvalue()
    assert "sealing [######" in text
    assert "\r\x1b[Ksomething else\n" in text
    assert "100%" in text
    assert text.endswith("\r\x1b[K")
    assert text.count("\n") == 1


def test_progress__when_quiet__draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("service_cli.shell.output._BAR_SECONDS", 0.0)
    set_quiet(True)
    with Progress("sealing") as progress:
        progress(1, 4)
    assert screen.getvalue() == ""
