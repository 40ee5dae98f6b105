"""What is drawn at a terminal: one line that changes, and what is left of it."""

import io
import re
import sys

import pytest
from service_cli.ui.output import Progress, bar, say, set_quiet

from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal
from tests.raw_server import raw_server


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


def test_list__of_an_api_that_takes_the_request_and_never_answers__shows_a_clock(poster: Terminal) -> None:
    with raw_server(lambda: [b""], pause=300.0) as silent:
        home = Terminal(poster.home, {**poster.environment, "SERVICE_API_BASE_URL": silent.url.rpartition("/v1")[0]})
        seen = at_terminal(home, "bounty:list", stop_when=lambda text: "so far" in text)
    assert seen.code == 130
    assert "waiting for the API at 127.0.0.1" in seen.screen
    assert seen.screen.endswith("interrupted; run the command again to continue\n")


def test_wait__that_is_short_or_not_at_a_terminal__shows_no_clock(poster: Terminal) -> None:
    assert "so far" not in at_terminal(poster, "bounty:list").screen


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress__on_a_terminal__draws_one_line_and_clears_it_before_anything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("service_cli.ui.output._BAR_SECONDS", 0.0)
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
    monkeypatch.setattr("service_cli.ui.output._BAR_SECONDS", 0.0)
    set_quiet(True)
    with Progress("sealing") as progress:
        progress(1, 4)
    assert screen.getvalue() == ""


def test_progress__on_no_terminal__draws_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("sealing") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_progress_bar__at_any_point__is_one_line_of_known_width() -> None:
    assert bar("sealing", 0, 100, 0.0) == "sealing [........................]   0% 0 bytes/s"
    assert bar("sealing", 50, 100, 1.0) == "sealing [############............]  50% 50 bytes/s 1 s left"
    assert bar("sealing", 100, 100, 1.0).endswith("100% 100 bytes/s done")
    assert bar("sealing", 0, 0, 1.0).endswith("100% 0 bytes/s done")
    assert bar("sealing", 60, 100, 1.0, already=50).endswith(" 60% 10 bytes/s 4 s left")
    for done in range(0, 10**10, 10**9):
        assert re.fullmatch(
            r"x \[[#.]{24}\] +\d+% \d+(\.\d)? ([kMG]B|bytes?)/s( \d+ s left)?", bar("x", done, 10**10, 7.0)
        )
