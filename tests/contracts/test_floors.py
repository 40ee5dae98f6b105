"""The floors in the gas table of docs/hub.md: what each ordinary call has to pay for, whatever code does it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from local_stack import anvil

from tests.contracts.floors import above_floor
from tests.contracts.life import Life, new_life, play

TOP: Final = Path(__file__).resolve().parents[2]
LIFE: Final = (
    *("createBountyWithAuthorization", "submit", "second submit"),
    *("recordVerdict", "second recordVerdict", "deciding recordVerdict", "claim"),
)
ROWS: Final = {
    "`createBountyWithAuthorization`": ("create_with_authorization", LIFE[:1]),
    "`createBounty`": ("create", ("createBounty",)),
    "`submit`, the first": ("submit", ("submit",)),
    "`recordVerdict`, the first": ("verdict", ("recordVerdict",)),
    "`recordVerdict`, the deciding one": ("deciding_verdict", ("deciding recordVerdict",)),
    "`claim`": ("claim", ("claim",)),
    "`claimRefund`": ("refund", ("claimRefund",)),
    "`settle`": ("settle", ("settle",)),
    "`claimGuardianFee`": ("guardian_fee", ("claimGuardianFee",)),
    "`claimProtocolFee`": ("protocol_fee", ("claimProtocolFee",)),
    "whole life: authorization, two Submissions, three Verdicts, claim": ("lifecycle", LIFE),
}
"""A row of the table: its figure in the snapshot, and the calls that it consists of."""
MOST: Final = 0.10
"""The part of any of these calls' gas that the Hub's own code takes at most."""


@pytest.fixture(scope="module")
def above() -> Iterator[dict[str, int]]:
    """What the Hub's own code takes, by call."""
    with anvil.start(mining="automine", keep_steps=True) as node:
        life = new_life(node)
        play(life)
        yield {name: above_floor(node, done) for name, done in life.done.items() if _is_of_hub(life, name)}


def _is_of_hub(life: Life, name: str) -> bool:
    return str(life.node.w3.eth.get_transaction(life.done[name])["to"]).lower() == life.local.hub.address


def figures() -> dict[str, int]:
    found = json.loads((TOP / "contracts/snapshots/hub.gas.json").read_text(encoding="utf-8"))
    return {name.removeprefix("hub.gas."): int(gas) for name, gas in found.items()}


def test_page__shows_the_computed_floors(above: dict[str, int]) -> None:
    page = (TOP / "docs/hub.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (.*) \| [\d,]* \| [\d,]+ \| ([\d,]+) \|$", page, re.MULTILINE)
    gas = figures()
    expected = {row: gas[name] - sum(above[call] for call in calls) for row, (name, calls) in ROWS.items()}
    assert {row: int(floor.replace(",", "")) for row, floor in shown} == expected


def test_calls__of_people__are_within_a_tenth_of_their_floor(above: dict[str, int]) -> None:
    gas = figures()
    for name, calls in ROWS.values():
        assert 0 < sum(above[call] for call in calls) < MOST * gas[name], name
