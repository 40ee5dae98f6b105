"""The floors of ``floors.json``: what each ordinary call has to pay for, whatever code does it."""

import json
from collections.abc import Iterator
from typing import Final

import pytest
from local_stack import anvil

from tests.contracts.floors import above_floor
from tests.contracts.life import Life, new_life, play
from tools.generate.gas import FLOORS, figures

LIFE: Final = (
    *("createBountyWithAuthorization", "submit", "second submit"),
    *("recordVerdict", "second recordVerdict", "deciding recordVerdict", "claim"),
)
CALLS: Final = {
    "create_with_authorization": LIFE[:1],
    "create": ("createBounty",),
    "submit": ("submit",),
    "verdict": ("recordVerdict",),
    "deciding_verdict": ("deciding recordVerdict",),
    "claim": ("claim",),
    "refund": ("claimRefund",),
    "settle": ("settle",),
    "guardian_fee": ("claimGuardianFee",),
    "protocol_fee": ("claimProtocolFee",),
    "lifecycle": LIFE,
}
"""What a figure of the snapshot consists of."""
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


def test_floors__of_the_page__are_those_computed(above: dict[str, int]) -> None:
    gas = figures()
    computed = {name: gas[name] - sum(above[call] for call in calls) for name, calls in CALLS.items()}
    assert json.loads(FLOORS.read_text(encoding="utf-8")) == computed


def test_calls_are_within_a_tenth_of_their_floor(above: dict[str, int]) -> None:
    gas = figures()
    for name, calls in CALLS.items():
        assert 0 < sum(above[call] for call in calls) < MOST * gas[name], name
