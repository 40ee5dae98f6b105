"""A page that is still partly the template: what is left to fill in is named, one by one."""

import re

import pytest
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.types import UnixSeconds
from service_cli.work.template import leftovers, template

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal


@pytest.mark.parametrize("options", [["--check"], []])
def test_template_names_every_placeholder(poster: Terminal, api: ApiTwin, options: list[str]) -> None:
    poster.run("poster:new")
    ran = poster.run("poster:publish-fund", *options, "bounty_challenge.md", code=1)
    assert ran.last["code"] == "page_unfinished"
    text = (poster.home / "bounty_challenge.md").read_text()
    placeholders = re.findall(r"<[^<>\n]+>", text)
    assert len(placeholders) == 7
    assert all(f"still the template's {one}" in ran.words for one in placeholders)
    assert "paragraph on units" in ran.words
    assert not api.approvals()


def test_template_is_never_written_over(shell: Terminal) -> None:
    ran = shell.run("poster:new")
    named = {"event": "poster_new.written", "path": "bounty_challenge.md"}
    understood = dict.fromkeys(("escrow_amount", "submission_deadline", "judging_window_seconds"))
    assert ran.last == {**named, **understood}
    page = (shell.home / "bounty_challenge.md").read_bytes()
    assert parse_challenge(page).judging_window_seconds == 3 * 86_400
    assert shell.run("poster:new", code=1).last["code"] == "file_exists"
    assert shell.run("poster:new", "missing/page.md", code=1).last["code"] == "file_unwritable"
    assert (shell.home / "bounty_challenge.md").read_bytes() == page


def test_human_values_become_exact_numbers(
    shell: Terminal,
) -> None:
    ran = shell.run("poster:new", "--escrow", "400 USDC", "--deadline", "2099-01-31", "--judging", "36 hours")
    page = parse_challenge((shell.home / "bounty_challenge.md").read_bytes())
    assert (page.escrow_amount, page.submission_deadline, page.judging_window_seconds) == (
        400_000_000, 4_073_587_199, 129_600,
    )  # fmt: skip
    assert ran.last["submission_deadline"] == page.submission_deadline


@pytest.mark.parametrize("number", ["0", "7"])
def test_judging_without_unit_gets_one_that_is_taken(shell: Terminal, number: str) -> None:
    wrong = shell.run("poster:new", "--judging", number, code=2).words
    meant = wrong.rpartition("such as ")[2].strip().rstrip(".")
    assert shell.run("poster:new", "--judging", meant).names == ["poster_new.written"]


def test_filled_in_template_is_ready() -> None:
    now = UnixSeconds(1_795_000_000)
    text = template(now)
    parse_challenge(text.encode())
    placeholders = re.findall(r"<[^<>\n]+>", text)
    assert len(list(leftovers(text.encode()))) == len(placeholders) + 1
    filled = "\n".join(text.splitlines()[:-2])
    for number, placeholder in enumerate(placeholders):
        words = f"`python check.py {number}` prints {number} for each of the ten files, one by one, and exits 0"
        filled = filled.replace(placeholder, f"'{words}'" if placeholder in text.split("acceptance")[0] else words)
    page = filled.encode()
    assert not list(leftovers(page))
    assert not review(Material(parse_challenge(page), page, now))


def test_award_works_out_the_escrow(ledger: Ledger, poster: Terminal) -> None:
    deadline = str(ledger.time() + 10 * 86_400)
    ran = poster.run("poster:new", "--award", "400 USDC", "--deadline", deadline)
    page = parse_challenge((poster.home / "bounty_challenge.md").read_bytes())
    award = [escrow - escrow // 100 - escrow * 3 // 100 for escrow in (page.escrow_amount - 1, page.escrow_amount)]
    assert award[0] < 400_000_000 <= award[1]
    assert "note: this Hub pays in tUSDC; the award is read as tUSDC, not as USDC" in ran.words
    parts = [int(str(ran.last[name])) for name in ("winner_award", "guardian_fee", "protocol_fee")]
    assert (parts[0], sum(parts), ran.last["escrow_amount"]) == (award[1], page.escrow_amount, str(page.escrow_amount))
