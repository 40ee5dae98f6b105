"""Events of the Hub in sentences: each has its own, and one that a later Hub has is its name."""

import pytest
from bounty_protocol.chain.abi import hub_abi
from service_cli.ui.progress import sentence

FIELDS = {
    "poster": "P", "solver": "S", "guardian": "G", "recipient": "R", "winner": "W", "submission_commitment": "C",
    "escrow_amount": "25", "amount": "24", "refund": "23",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "more", "text"),
    [
        ("BountyCreated", {}, "created by {poster} with {escrow_amount} in escrow"),
        ("VerdictRecorded", {"kind": "no_valid_submission"}, "{guardian} judged: no valid Submission"),
        ("BountyFinalized", {"outcome": "awarded", "reason": "judged"},
         "it is final: awarded to {winner} (the Guardians' Verdicts decided)"),
        ("BountyFinalized", {"outcome": "no_valid_submission", "reason": "tomorrow", "winner": None},
         "it is final: no winner (); {refund} go back to the Poster"),
        ("OfTomorrow{x}", {}, "OfTomorrowx"),
    ],
)  # fmt: skip
def test_sentence__of_an_event__has_who_and_how_much(name: str, more: dict[str, object], text: str) -> None:
    assert sentence(name, FIELDS | more) == text


def test_sentence__of_every_event_about_one_bounty__is_there() -> None:
    about_one = {event.name for event in hub_abi().events.values() if "bountyId" in {one.name for one in event.inputs}}
    told = {name for name in about_one if sentence(name, FIELDS | _ending(name)) != name}
    assert about_one - told == set()


def _ending(name: str) -> dict[str, object]:
    endings: dict[str, dict[str, object]] = {
        "VerdictRecorded": {"kind": "awarded"},
        "BountyFinalized": {"outcome": "awarded"},
    }
    return endings.get(name, {})
