"""Which delivery key the Hub has at a moment, and since when another is not, from the events in their order.

A second derivation of what the contract keeps in two words: a published key takes effect at the moment that its event
names; one that is published before that moment takes its place, and a withdrawn key is gone at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bounty_protocol.domain.lifecycle.hub_events import DeliveryKeyPublished, DeliveryKeyWithdrawn
from bounty_protocol.types import Bytes32, UnixSeconds

Change = tuple[DeliveryKeyPublished | DeliveryKeyWithdrawn, UnixSeconds]
"""An event and the time of its block."""


@dataclass(frozen=True, slots=True)
class KeyPeriod:
    """A key from the moment it takes effect. It ends when the next one does, or when it was withdrawn."""

    key: Bytes32
    begins: UnixSeconds
    withdrawn_at: UnixSeconds | None = None


@dataclass(frozen=True, slots=True)
class DeliveryKeys:
    """Every key that took effect or is going to, oldest first, as of ``now``."""

    periods: tuple[KeyPeriod, ...]
    withdrawals: Mapping[Bytes32, UnixSeconds]
    """When a key was withdrawn the last time, in effect or announced."""
    now: UnixSeconds

    @property
    def current(self) -> Bytes32 | None:
        """The key in effect; None before the first and after it was withdrawn."""
        begun = self._begun()
        return begun[-1].key if begun and begun[-1].withdrawn_at is None else None

    @property
    def announced(self) -> KeyPeriod | None:
        """The key that takes effect later."""
        return self.periods[-1] if self.periods and self.periods[-1].begins > self.now else None

    @property
    def paused(self) -> bool:
        """Whether deliveries pause: there was a key, and it was withdrawn."""
        return bool(self.withdrawals) and self.current is None

    def is_withdrawn(self, key: Bytes32) -> bool:
        """Return whether a key was withdrawn and has not taken effect again since."""
        at = self.withdrawals.get(key)
        return at is not None and not any(
            period.key == key and period.begins >= at and period.withdrawn_at is None for period in self._begun()
        )

    def retired_at(self, key: Bytes32) -> UnixSeconds | None:
        """Return when a key last ceased to be in effect; None for one that is or never was in effect."""
        begun = self._begun()
        for number in range(len(begun) - 1, -1, -1):
            if begun[number].key == key:
                following = begun[number + 1].begins if number + 1 < len(begun) else None
                return begun[number].withdrawn_at or following
        return None

    def _begun(self) -> tuple[KeyPeriod, ...]:
        return tuple(period for period in self.periods if period.begins <= self.now)


def delivery_keys_at(changes: Iterable[Change], now: UnixSeconds) -> DeliveryKeys:
    """Return the keys as of ``now``, from every change up to then in the order of the chain."""
    periods: list[KeyPeriod] = []
    withdrawals: dict[Bytes32, UnixSeconds] = {}
    for event, time in changes:
        announced = periods[-1] if periods and periods[-1].begins > time else None
        if isinstance(event, DeliveryKeyPublished):
            if announced is not None:
                periods.pop()
            periods.append(KeyPeriod(event.key, event.effective_from))
            continue
        if announced is not None and announced.key == event.key:
            periods.pop()
            announced = None
        current = len(periods) - (1 if announced is None else 2)
        if current >= 0 and periods[current].key == event.key and periods[current].withdrawn_at is None:
            periods[current] = replace(periods[current], withdrawn_at=time)
        withdrawals[event.key] = time
    return DeliveryKeys(tuple(periods), withdrawals, now)
