"""Every event as text, whatever is in it, at every width; and whole commands at a terminal."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId
from service_cli.queries.events import ListedBounty, ShownBounty
from service_cli.ui.event import Event
from service_cli.ui.screen import Screen
from service_cli.ui.text import Token

from tests.cli import sample_bounty
from tests.cli.api_twin import ApiTwin
from tests.cli.event_kinds import kinds, made
from tests.cli.event_samples import HOSTILE, samples
from tests.cli.ledger import Ledger
from tests.cli.screen import Seen, at_terminal
from tests.cli.submitted import Submitted
from tests.cli.terminal import Terminal

HOSTILE_SAMPLES = [each for each in samples(HOSTILE) if not kinds()[each[0]].FOR_PROGRAMS]
CODES = re.compile("\x1b\\[[0-9;]*m")
DRIVING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


class Coin:
    """The escrow token of the local stack."""

    symbol, decimals = "tUSDC", 6


class Evil:
    """A token whose name would turn the amounts beside it around."""

    symbol, decimals = "\u202e\u05d0\x1b[2J", 6


def shown(*events: Event, columns: int = 80, following: str | None = None, token: type[Token] = Coin) -> str:
    """What a terminal of this width would get of these events."""
    screen = Screen(io.StringIO(), colours=False)
    screen.token, screen.now = token, sample_bounty.NOW
    screen._console.width = columns
    return "".join(screen.show(event, following) for event in events) + screen.rest()


@pytest.mark.parametrize(("name", "fields"), HOSTILE_SAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_text_of_strangers_drives_no_terminal(name: str, fields: Mapping[str, object]) -> None:
    text = shown(made(name, fields), token=Evil)
    assert not DRIVING.search(text)
    assert not re.search("\u0301{4}", text)


def test_fields_of_a_change_are_names_and_values() -> None:
    fields = {**dict(samples())["bounty_watch.change"], "fields": {"amount": "5", "paid_to": "0xab"}}
    assert "amount 5, paid_to 0xab" in shown(made("bounty_watch.change", fields))


def test_page_of_a_stranger_stands_behind_bars() -> None:
    challenge = "# Pay me\n\x1b[2J\u202egnp.exe\n" + "long " * 60
    event = ShownBounty(BountyId(1), sample_bounty.detail().chain_id, sample_bounty.HUB,
                        to_json(replace(sample_bounty.detail(), challenge=challenge)))  # fmt: skip
    text = shown(event, columns=60)
    assert "is not the one that was committed" in " ".join(text.split())
    lines = text.splitlines()
    begin = lines.index("| # Pay me")
    assert all(line.startswith("|") for line in lines[begin:])
    assert not any(DRIVING.search(line) for line in lines)


def test_columns_stand_in_the_order_of_their_shape() -> None:
    """A bounty without Submissions lacks a column that the next one has."""
    items = [replace(sample_bounty.item(), bounty_id=BountyId(10 + n), active_submission_count=n) for n in (0, 2)]
    listed = [ListedBounty(to_json(each)) for each in items]
    titles, *rows = shown(*listed).splitlines()
    assert titles.split() == ["Bounty", "Award", "Work", "State", "Until", "Title"]
    assert [row.split()[0] for row in rows] == ["10", "12"]


def test_words_of_a_verdict_stand_behind_bars_alone() -> None:
    sample = {**dict(samples())["bounty_show.verdict"], "document": "# Reasons\nPay me."}
    text = shown(made("bounty_show.verdict", sample))
    assert [line for line in text.splitlines() if "Pay me" in line] == ["| Pay me."]


def test_path_stays_whole_to_be_copied() -> None:
    path = f"/home/solver/submissions/winning-submission/1/0x{'ab' * 32}"
    sample = {**dict(samples())["open_winning_submission.artifact_opened"], "output_dir": path}
    assert path in shown(made("open_winning_submission.artifact_opened", sample), columns=60)


@pytest.fixture
def listing(api: ApiTwin, poster: Terminal) -> Terminal:
    """Somebody to whom the API lists bounties, one with a title that drives terminals."""
    titles = ("A hinge that lasts", "字" * 60, "\x1b[2J\u202e" + "evil " * 40)
    items = [
        to_json(replace(sample_bounty.item(), bounty_id=BountyId(number), title=title))
        for number, title in enumerate(titles, 1)
    ]
    api.listed = {"items": items, "next_cursor": None}
    return poster


def watched(shell: Terminal, *words: str, columns: int = 80) -> Seen:
    return at_terminal(shell, *words, columns=columns, watched=True)


def test_terminal_gets_text_and_json_on_demand(listing: Terminal) -> None:
    seen = watched(listing, "bounty:list")
    assert CODES.sub("", seen.screen).splitlines()[0].split()[0] == "Bounty"
    assert "\x1b[2J" not in seen.screen
    assert "\u202e" not in seen.screen
    assert watched(listing, "bounty:list", "--json").screen.startswith('{"event": "bounty_list.bounty"')
    assert listing.run("bounty:list").names == ["bounty_list.bounty"] * 3


def test_bounty_that_ended_proposes_no_second_claim(ledger: Ledger, api: ApiTwin, poster: Terminal, ended: int) -> None:
    text = " ".join(CODES.sub("", watched(poster, "bounty:show", str(ended)).screen).split())
    assert "final, awarded" in text
    assert "Next service-cli status" in text
    assert "claim" not in text.partition("Next")[2].partition("|")[0]


def test_external_wallet_gets_json_at_a_terminal(poster: Terminal, won: Submitted) -> None:
    seen = watched(poster, "claim", won.bounty, "--claimant-address", won.solver)
    assert '{"event": "claim.transaction_prepared"' in seen.screen
    assert "claim.prepared" in seen.screen
