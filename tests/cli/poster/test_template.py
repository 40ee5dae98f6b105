"""A page that is still partly the template: what is left to fill in is named, one by one."""

import re

import pytest
from service_common.domain.challenge import parse_challenge

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


@pytest.mark.parametrize("options", [["--check"], []])
def test_check__of_the_template__names_every_placeholder_and_the_paragraph(
    poster: Terminal, api: ApiTwin, options: list[str]
) -> None:
    written = poster.run("poster:new")
    assert "fill in what is in angle brackets" in written.words
    assert "--check bounty_challenge.md" in written.words
    ran = poster.run("poster:publish-fund", *options, "bounty_challenge.md", code=1)
    assert ran.last["code"] == "page_unfinished"
    text = (poster.home / "bounty_challenge.md").read_text()
    placeholders = re.findall(r"<[^<>\n]+>", text)
    assert len(placeholders) == 7
    assert all(f"still the template's {one}" in ran.words for one in placeholders)
    assert "paragraph on units" in ran.words
    assert not api.approvals()


def test_check__of_a_page_with_angle_brackets_of_its_own__is_told_and_goes_on(
    ledger: Ledger, poster: Terminal, rpc: RpcProxy
) -> None:
    page = ledger.page() + b"The head has a <title>, reads <https://a.example> and <what you choose>.\n"
    ran = poster.run("poster:publish-fund", "--check", "-", stdin=page)
    assert ran.last["event"] == "publish_fund.checked"
    assert ran.words.count("note:") == 1
    assert "<what you choose>" in ran.words


def test_new__a_template__parses_and_is_never_written_over(shell: Terminal) -> None:
    ran = shell.run("poster:new")
    assert ran.last == {"event": "poster_new.written", "path": "bounty_challenge.md"}
    page = (shell.home / "bounty_challenge.md").read_bytes()
    assert parse_challenge(page).judging_window_seconds == 3 * 86_400
    assert shell.run("poster:new", code=1).last["code"] == "file_exists"
    assert shell.run("poster:new", "missing/page.md", code=1).last["code"] == "file_unwritable"
    assert (shell.home / "bounty_challenge.md").read_bytes() == page


def test_new__with_values_as_people_write_them__writes_exact_numbers_and_shows_what_was_understood(
    shell: Terminal,
) -> None:
    ran = shell.run("poster:new", "--escrow", "400 USDC", "--deadline", "2099-01-31", "--judging", "36 hours")
    page = parse_challenge((shell.home / "bounty_challenge.md").read_bytes())
    assert (page.escrow_amount, page.submission_deadline, page.judging_window_seconds) == (
        400_000_000, 4_073_587_199, 129_600,
    )  # fmt: skip
    assert "2099-01-31 23:59:59 UTC" in ran.words
    assert "1 d 12 h" in ran.words


@pytest.mark.parametrize("option", [("--escrow", "25"), ("--deadline", "31.1.2099"), ("--judging", "3 months")])
def test_new__with_a_value_that_could_mean_two_things__is_a_usage_error(
    shell: Terminal, option: tuple[str, str]
) -> None:
    assert "such as" in shell.run("poster:new", *option, code=2).words
    assert not (shell.home / "bounty_challenge.md").exists()
