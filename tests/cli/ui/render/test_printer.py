"""Every event has its text, whatever is in it, at every width."""

import re
from collections.abc import Mapping

import pytest
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, ChainId
from service_cli.bounty.events import FetchedRecord, ListedBounty, ShownBounty
from service_cli.claimant.events import PaidClaim
from service_cli.ui.event import Event
from service_cli.ui.render.printer import Printer
from service_cli.ui.render.screen import Screen, width
from service_cli.ui.text import NOTHING, About

from tests.cli import tour
from tests.cli.event_kinds import kinds, made
from tests.cli.event_samples import HOSTILE, samples

SAMPLES = [each for each in samples() if not kinds()[each[0]].FOR_PROGRAMS]
HOSTILE_SAMPLES = [each for each in samples(HOSTILE) if not kinds()[each[0]].FOR_PROGRAMS]
KNOWN = (NOTHING, tour.about(gas=1, happened=0))
LONG_WORD = 90
"""A hash behind a bar: no longer word is in an event but a command, which is a line of its own."""


def printed(name: str, fields: Mapping[str, object], about: About, columns: int | None = 80) -> str:
    """One event as text; fails where it is printed as JSON instead."""

    def in_json() -> str:
        raise AssertionError(f"{name} has no text of {fields}")

    printer = Printer(lambda known: Screen(columns, colours=False, now=known.now or tour.NOW, about=known))
    return printer.show(made(name, fields), lambda: about, in_json) + printer.rest()


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
    "event",
    [
        ListedBounty({"bounty_id": "1\x1b[2J", "facts": {}}),
        ShownBounty(BountyId(1), ChainId(1), tour.HUB, {"facts": {"escrow_amount": []}}),
        FetchedRecord({"settlement": 7}),
        PaidClaim(Bytes32("0x"), BlockNumber(1), "many"),  # type: ignore[arg-type]
    ],
    ids=lambda event: type(event).__name__,
)
def test_text__that_cannot_be_made__leaves_the_event_as_json(event: Event) -> None:
    printer = Printer(lambda known: Screen(80, colours=False, now=tour.NOW, about=known))
    assert printer.show(event, None, lambda: "as json") == "as json"


@pytest.mark.parametrize("amount", ["24000000", "1"])
def test_text__of_an_unknown_token__is_in_base_units(amount: str) -> None:
    fields = {"tx_hash": "0x" + "ab" * 32, "block_number": 1, "claimable_amount": amount}
    assert "24 tUSDC" in printed("claim.claimed", {**fields, "claimable_amount": "24000000"}, tour.about())
    assert f"{int(amount):,} base units" in printed("claim.claimed", fields, NOTHING)


class Backwards:
    """A token whose name is read from right to left."""

    symbol, decimals = "\u05d0\u05d1USD\u0661", 6


def test_text__of_a_token_named_from_right_to_left__keeps_numbers_in_their_order() -> None:
    fields = {"tx_hash": "0x" + "ab" * 32, "block_number": 1, "claimable_amount": "24000000"}
    assert "24 USD are in" in printed("claim.claimed", fields, About(Backwards()))
