"""Which delivery key is in effect, against the contract's own model, and which keys are gone."""

from dataclasses import dataclass, field

import pytest
from bounty_protocol.domain.lifecycle.delivery_keys import DeliveryKeys, delivery_keys_at
from bounty_protocol.domain.lifecycle.hub_events import DeliveryKeyPublished, DeliveryKeyWithdrawn
from bounty_protocol.types import Bytes32, UnixSeconds, to_bytes
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.model import HubModel
from tests.contracts.values import Config, Refused

OWNER = "0x" + "01" * 20
DELAY = 10
A, B, C = (Bytes32("0x" + f"{number:02x}" * 32) for number in (9, 10, 11))


@dataclass
class History:
    """The owner's calls on the contract's model, and the events that they log."""

    now: int = 100
    model: HubModel = field(
        default_factory=lambda: HubModel(
            "0x" + "aa" * 20, 1, Config("0x" + "bb" * 20, OWNER, 1, 1, 1, 1, 1, 1, DELAY, 0, 0, OWNER)
        )
    )
    changes: list[tuple[DeliveryKeyPublished | DeliveryKeyWithdrawn, UnixSeconds]] = field(default_factory=list)

    def publish(self, key: Bytes32) -> None:
        (logged,) = self.model.publish_delivery_key(OWNER, to_bytes(key), self.now)
        effective = logged.values["effective_from"]
        assert isinstance(effective, int)
        self.changes.append((DeliveryKeyPublished(key, UnixSeconds(effective)), UnixSeconds(self.now)))

    def withdraw(self, key: Bytes32) -> None:
        self.model.withdraw_delivery_key(OWNER, to_bytes(key), self.now)
        self.changes.append((DeliveryKeyWithdrawn(key), UnixSeconds(self.now)))

    def keys(self, later: int = 0) -> DeliveryKeys:
        return delivery_keys_at(self.changes, UnixSeconds(self.now + later))

    def derived(self, later: int) -> tuple[bytes, tuple[bytes, int]]:
        """The key in effect and the announced one, by the events, as the contract writes them."""
        found = self.keys(later)
        current = bytes(32) if found.current is None else to_bytes(found.current)
        announced = found.announced
        return current, (bytes(32), 0) if announced is None else (to_bytes(announced.key), announced.begins)

    def held(self, later: int) -> tuple[bytes, tuple[bytes, int]]:
        """The same by the contract's model."""
        at = self.now + later
        return self.model.delivery_key(at), self.model.announced_delivery_key(at)


CALLS = st.tuples(st.sampled_from(["publish", "withdraw"]), st.sampled_from([A, B, C]), st.integers(0, 2 * DELAY))


@given(calls=st.lists(CALLS, max_size=12))
def test_keys_are_the_contracts_at_every_moment(
    calls: list[tuple[str, Bytes32, int]],
) -> None:
    history = History()
    for name, key, seconds in calls:
        history.now += seconds
        if name == "publish":
            history.publish(key)
        else:
            try:
                history.withdraw(key)
            except Refused:
                continue
        for later in (0, DELAY - 1, DELAY, 3 * DELAY):
            assert history.derived(later) == history.held(later)


def test_replaced_key_retires_when_the_next_counts() -> None:
    history = History()
    history.publish(A)
    history.publish(B)
    assert (history.keys(DELAY - 1).current, history.keys(DELAY - 1).retired_at(A)) == (A, None)
    assert (history.keys(DELAY).current, history.keys(DELAY).retired_at(A)) == (B, history.now + DELAY)
    assert not history.keys(DELAY).is_withdrawn(A)


def test_key_replaced_early_was_never_in_effect() -> None:
    history = History()
    history.publish(A)
    history.publish(B)
    history.now += 1
    history.publish(C)
    assert history.keys(DELAY - 1).current == A
    assert history.keys(DELAY).current == C
    assert history.keys(DELAY).retired_at(B) is None


@pytest.mark.parametrize("announced", [True, False])
def test_withdrawn_key_is_gone_until_it_counts_again(announced: bool) -> None:
    history = History()
    history.publish(A)
    if announced:
        history.publish(B)
    key = B if announced else A
    history.withdraw(key)
    assert history.keys().is_withdrawn(key)
    assert history.keys().paused is not announced
    history.publish(key)
    assert history.keys(DELAY - 1).is_withdrawn(key)
    assert not history.keys(DELAY).is_withdrawn(key)
    assert (history.keys(DELAY).current, history.keys(DELAY).paused) == (key, False)


def test_no_key_before_the_first_and_no_pause() -> None:
    keys = History().keys()
    assert (keys.current, keys.announced, keys.paused, keys.is_withdrawn(A)) == (None, None, False, False)
