"""An envelope against the bounty it is offered for."""

from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.domain.envelope.checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.types import BountyId, ChainId

from tests.protocol.domain.test_envelope import envelope
from tests.vectors.samples import BEACON, BINDING, BOUNTY_ID, CHAIN_ID, HUB, POSTER, REVEAL_AT, ROSTER, SOLVER, word

EXPECTED = ExpectedEnvelope(
    chain_id=CHAIN_ID,
    hub_address=HUB,
    bounty_id=BOUNTY_ID,
    solver_address=SOLVER,
    spec_commitment=word("spec"),
    roster=ROSTER,
    reveal_policy=BEACON.info.reveal_policy(REVEAL_AT),
)


def test_envelope__for_this_bounty__no_difference() -> None:
    assert envelope_differences(envelope(), EXPECTED) == []


@pytest.mark.spec(56)
@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("chain_id", {"binding": replace(BINDING, chain_id=ChainId(8453))}),
        ("hub_address", {"binding": replace(BINDING, hub_address=POSTER)}),
        ("bounty_id", {"binding": replace(BINDING, bounty_id=BountyId(8))}),
        ("solver_address", {"binding": replace(BINDING, solver_address=POSTER)}),
        ("spec_commitment", {"spec_commitment": word("other")}),
        ("guardian_roster_hash", {"guardian_roster_hash": word("other")}),
        ("recipients_commitment", {"recipients_commitment": word("other")}),
    ],
)
def test_envelope__of_something_else__that_field_named(path: str, changes: dict[str, Any]) -> None:
    assert [issue.path for issue in envelope_differences(envelope(**changes), EXPECTED)] == [path]


@pytest.mark.spec(57)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beacon_chain_hash", word("other chain")),
        ("reveal_at", REVEAL_AT - 3),
        ("round", EXPECTED.reveal_policy.round - 1),
        ("round", EXPECTED.reveal_policy.round + 1),
    ],
)
def test_other_reveal_point_names_its_field(name: str, value: Any) -> None:
    policy = replace(EXPECTED.reveal_policy, **{name: value})
    issues = envelope_differences(envelope(reveal_policy=policy), EXPECTED)
    assert [issue.path for issue in issues] == [f"reveal_policy.{name}"]


def test_replayed_envelope_lists_every_difference() -> None:
    issues = envelope_differences(envelope(), replace(EXPECTED, solver_address=POSTER, bounty_id=BountyId(8)))
    assert [issue.path for issue in issues] == ["bounty_id", "solver_address"]
