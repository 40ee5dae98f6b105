"""Every event has its text, whatever is in it, at every width."""

import json
import re
from collections.abc import Mapping

import pytest
from service_cli.shell.output import FOR_PROGRAMS
from service_cli.shell.render.printer import MODULES, Printer, text_of, texts_of
from service_cli.shell.render.screen import Screen, width
from service_cli.shell.text import NOTHING, About

from tests.cli import tour
from tests.cli.event_samples import HOSTILE, samples
from tests.cli.event_schemas import schemas

SAMPLES = [each for each in samples() if each[0] not in FOR_PROGRAMS]
HOSTILE_SAMPLES = [each for each in samples(HOSTILE) if each[0] not in FOR_PROGRAMS]
KNOWN = (NOTHING, tour.about(gas=1, happened=0))
LONG_WORD = 90
"""A hash behind a bar: no longer word is in an event but a command, which is a line of its own."""


def printed(name: str, fields: Mapping[str, object], about: About, columns: int | None = 80) -> str:
    """One event as text; fails where it is printed as JSON instead."""

    def in_json() -> str:
        raise AssertionError(f"{name} has no text of {fields}")

    printer = Printer(lambda now: Screen(columns, colours=False, now=now or tour.NOW))
    return printer.show(name, fields, lambda: about, in_json) + printer.rest()


def test_texts__has_every_event_of_the_page_and_no_other() -> None:
    """A new event fails here until its text is in the module of its command's role in ``shell/render``."""
    named = {name for prefix in MODULES for name in texts_of(prefix)}
    assert named == set(schemas()) - {"<prefix>"} - set(FOR_PROGRAMS)
    assert {name.partition(".")[0] for name in named} == set(MODULES)
    assert all(text_of(name) for name in named)


@pytest.mark.parametrize(("name", "fields"), SAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_text__of_an_event__is_sentences_at_every_width(name: str, fields: Mapping[str, object]) -> None:
    for about in KNOWN:
        for columns in (40, 80, 200, None):
            text = printed(name, fields, about, columns)
            assert text.endswith("\n")
            assert "None" not in text
            assert all(width(line) <= (columns or 10**9) for line in text.splitlines() if not _is_whole(line))


def _is_whole(line: str) -> bool:
    """A line that is longer than a screen so that it can be copied: a command, or one word."""
    words = line.split()
    return "service-cli " in line or len(words) == 1 or any(len(word) > 60 for word in words)


@pytest.mark.parametrize(("name", "fields"), HOSTILE_SAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_text__of_what_others_wrote__drives_no_terminal(name: str, fields: Mapping[str, object]) -> None:
    for about in (NOTHING, About(Evil(), tour.NOW)):
        text = printed(name, fields, about)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
        assert not re.search("\u0301{4}", text)


class Evil:
    """A token that calls itself what clears the screen."""

    symbol, decimals = "\x1b[2J\u202eCOIN", 6


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("claim.claimed", {}),
        ("claim.claimed", {"claimable_amount": "many", "tx_hash": "0x"}),
        ("claim.claimed", {"claimable_amount": True, "tx_hash": "0x"}),
        ("bounty_list.bounty", {"bounty_id": "1\x1b[2J", "facts": {}}),
        ("bounty_show.bounty", {"bounty_id": "1", "facts": {"escrow_amount": []}}),
        ("guardian_judgeable.bounty", {"bounty_id": "1", "judging_deadline": "soon", "submissions": [7]}),
        ("an.event_of_tomorrow", {"a": 1}),
    ],
)
def test_text__that_cannot_be_made__leaves_the_event_as_json(name: str, fields: Mapping[str, object]) -> None:
    printer = Printer(lambda now: Screen(80, colours=False, now=now or tour.NOW))
    shown = printer.show(name, fields, None, lambda: json.dumps({"event": name, **fields}) + "\n")
    assert json.loads(shown) == {"event": name, **fields}
    assert "\x1b" not in shown


@pytest.mark.parametrize("amount", ["24000000", "1"])
def test_text__of_an_unknown_token__is_in_base_units(amount: str) -> None:
    fields = {"tx_hash": "0xab", "block_number": 1, "claimable_amount": amount}
    assert "24 tUSDC" in printed("claim.claimed", {**fields, "claimable_amount": "24000000"}, tour.about())
    assert f"{int(amount):,} base units" in printed("claim.claimed", fields, NOTHING)


class Backwards:
    """A token whose name is read from right to left."""

    symbol, decimals = "\u05d0\u05d1USD\u0661", 6


def test_text__of_a_token_named_from_right_to_left__keeps_numbers_in_their_order() -> None:
    fields = {"tx_hash": "0xab", "block_number": 1, "claimable_amount": "24000000"}
    assert "24 USD are in" in printed("claim.claimed", fields, About(Backwards()))
