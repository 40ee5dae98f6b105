"""The Hub follows the model's rules, in random histories that reach every event and every refusal."""

from typing import Any

import pytest
from bounty_protocol.chain.abi import parse_abi
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.campaign import FULL, SEED, size
from tests.contracts.evm import ARTIFACTS, PYREVM
from tests.contracts.machine import REACHED, HubMachine
from tests.contracts.values import Terms
from tests.contracts.walk import walk

# Reached by forge with hostile tokens and bad deployments, which these histories have not.
ELSEWHERE = {
    "Deployed",
    "EscrowNotReceived",
    "InvalidConfiguration",
    "Reentered",
    "RosterNotFound",
    "TokenTransferFailed",
    "ValueTooLarge",
}
SETTINGS = settings(
    max_examples=size(40, 4_000),
    stateful_step_count=60,
    derandomize=not FULL,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.spec(6, 16, 61, 98, 103, 104, 105, 106)
@pytest.mark.usefixtures("counted")
def test_hub__random_histories__agree_with_the_model() -> None:
    REACHED.clear()
    run_state_machine_as_test(HubMachine, settings=SETTINGS)
    assert {"RefundClaimed", "GuardianFeeClaimed", "VerdictRecorded"} <= set(REACHED)  # the walks reach the rest


@pytest.mark.usefixtures("counted")
def test_long_walks_reach_every_event_and_refusal() -> None:
    REACHED.clear()
    for place in range(size(2, 200)):
        walk(4_000 * SEED + place, 1_500)
    abi = parse_abi((ARTIFACTS / "Hub.abi.json").read_text(encoding="utf-8"))
    names = {error.name for error in abi.errors.values()} | {event.name for event in abi.events.values()}
    reasons = {f"reason {reason}" for reason in (1, 2, 3, 4)}
    assert set(REACHED) == (names - ELSEWHERE) | reasons


@pytest.mark.usefixtures("counted")
@pytest.mark.skipif(not PYREVM, reason="pyrevm has no wheel for this Python and platform: only anvil plays here")
def test_one_walk_is_the_same_on_both_evms() -> None:
    REACHED.clear()
    walk(4_000 * SEED + 1, size(300, 1_500), "both")
    assert len(REACHED) > 25  # events, refusals and reasons


@pytest.mark.parametrize("field", range(8))
def test_each_term_changes_the_nonce(field: int) -> None:
    machine = HubMachine()
    machine.begin(250, 300, 3, 1, False)
    bounty = machine.model.bounties[0]
    value = bounty.terms[field]
    other = value ^ 1 if isinstance(value, int) else b"\3" * 32
    change: dict[str, Any] = {Terms._fields[field]: other}
    changed = bounty.terms._replace(**change)
    nonces = [machine.hub.read("authorizationNonce", tuple(terms), bounty.poster) for terms in (bounty.terms, changed)]
    assert nonces == ["0x" + machine.model.nonce(terms, bounty.poster).hex() for terms in (bounty.terms, changed)]
    assert nonces[0] != nonces[1]
