"""The delivery keyring: which key is current, which are retired and since when, and which may be destroyed.

The current key is the one in effect on the Hub, so that a key can be made ready before it is published and no Guardian
ever sees a key that the chain does not show. The file's first key is current only where the Hub publishes none that is
held here. A retired key takes new wraps for a stated grace, since Guardians may have read it just before. A withdrawn
key takes none, and while it leaves the Hub without a key no wrap is taken at all.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from bounty_protocol.clock import iso_utc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.delivery_keys import DeliveryKeys
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32, UnixSeconds, to_bytes
from bounty_protocol.wire.delivery import DeliveryKey
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_delivery_keys
from sqlalchemy import Connection, func, select

from service_delivery import tables as t

_LONGEST_WAIT: Final = 600
"""Seconds of the longest Retry-After."""


class KeyState(StrEnum):
    """The standing of a held key by the Hub's publications; ``held`` was never in effect."""

    CURRENT = "current"
    ANNOUNCED = "announced"
    HELD = "held"
    RETIRED = "retired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Pause:
    """No key that is held here is in effect, because one was withdrawn, until another one is.

    ``is_owners``: the Hub has none in effect. Else it has one whose private key is not here, which is a failure.
    """

    until: UnixSeconds | None
    now: UnixSeconds
    is_owners: bool

    def refusal(self) -> ServiceError:
        """Return the refusal for anyone who wraps to this key."""
        message = "A delivery key was withdrawn, and no key of this service is in effect; deliveries pause"
        until = "" if self.until is None else f" until {iso_utc(self.until)}"
        wait = _LONGEST_WAIT if self.until is None else min(_LONGEST_WAIT, self.until - self.now)
        return ServiceError(
            "delivery_unavailable", f"{message}{until}.", retry_after=wait, is_failure=not self.is_owners
        )


@dataclass(frozen=True, slots=True)
class AcceptedKeys:
    """The keys that a wrap may be made for; none while deliveries pause."""

    keys: tuple[Identity, ...]
    paused: Pause | None


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key of this deployment. ``retired_at`` is when another one took effect or it was withdrawn, by chain time."""

    identity: Identity
    state: KeyState
    retired_at: UnixSeconds | None

    @property
    def key_id(self) -> str:
        """Return the key's name."""
        return key_id(self.identity.public_key)

    def takes_wraps(self, now: int, grace_seconds: int) -> bool:
        """Return whether a Guardian may still wrap to it; never to a withdrawn key."""
        if self.state is KeyState.WITHDRAWN:
            return False
        return self.state is not KeyState.RETIRED or now < (self.retired_at or 0) + grace_seconds


@cache
def key_id(public_key: Bytes32) -> str:
    """Return the first 8 bytes of the key's SHA-256, hex."""
    return "0x" + hashlib.sha256(to_bytes(public_key)).hexdigest()[:16]


def current_key(connection: Connection, now: UnixSeconds, keyring: Sequence[Identity]) -> Identity | Pause:
    """Return the key to which Guardians wrap."""
    published = read_delivery_keys(connection, now)
    held = _held(published, keyring)
    return _pause(published, held) or held[0].identity


def accepted_keys(facts: HubFacts, keyring: Sequence[Identity], grace_seconds: int) -> AcceptedKeys:
    """Return the keys for which a new wrap may be made, the current one first; none while deliveries pause."""
    now = facts.head.block_time
    published = read_delivery_keys(facts.connection, now)
    held = _held(published, keyring)
    if (paused := _pause(published, held)) is not None:
        return AcceptedKeys((), paused)
    keys = [key.identity for key in held if key.takes_wraps(now, grace_seconds)]
    return AcceptedKeys(tuple(keys), None)


def describe_current_key(facts: HubFacts, keyring: Sequence[Identity]) -> DeliveryKey:
    """Return the current key for wrapping; 503 while deliveries pause."""
    current = current_key(facts.connection, facts.head.block_time, keyring)
    if isinstance(current, Pause):
        raise current.refusal()
    return DeliveryKey(current.public_key, key_id(current.public_key), "x25519-sealed-box")


def _pause(published: DeliveryKeys, held: Sequence[HeldKey]) -> Pause | None:
    if held[0].state is KeyState.CURRENT:
        return None
    announced = published.announced
    return Pause(None if announced is None else announced.begins, published.now, is_owners=published.paused)


def _held(published: DeliveryKeys, keyring: Sequence[Identity]) -> tuple[HeldKey, ...]:
    """Return the keyring as the Hub's own publications order it; the current key first, if there is one."""
    held = [identity.public_key for identity in keyring]
    current = published.current
    if current not in held and not published.paused:
        current = next((key for key in held if not published.is_withdrawn(key)), None)
    keys = []
    for identity in keyring:
        retired_at = published.retired_at(identity.public_key)
        keys.append(HeldKey(identity, _state(published, identity.public_key, current), retired_at))
    return tuple(sorted(keys, key=lambda key: key.state is not KeyState.CURRENT))


def _state(published: DeliveryKeys, key: Bytes32, current: Bytes32 | None) -> KeyState:
    if published.is_withdrawn(key):
        return KeyState.WITHDRAWN
    if key == current:
        return KeyState.CURRENT
    if published.announced is not None and published.announced.key == key:
        return KeyState.ANNOUNCED
    return KeyState.HELD if published.retired_at(key) is None else KeyState.RETIRED


def describe_keys(facts: HubFacts, keyring: Sequence[Identity], grace_seconds: int) -> list[dict[str, object]]:
    """Return what an operator needs to know about each key before removing it from the file; nothing secret."""
    counted = select(t.wraps.c.key_id, func.count()).group_by(t.wraps.c.key_id)
    wraps: dict[str, int] = {row[0]: row[1] for row in facts.connection.execute(counted)}
    described: list[dict[str, object]] = []
    published = read_delivery_keys(facts.connection, facts.head.block_time)
    for key in _held(published, keyring):
        count = wraps.pop(key.key_id, 0)
        takes = key.takes_wraps(facts.head.block_time, grace_seconds)
        until = key.retired_at if key.state is KeyState.RETIRED else None
        described.append(
            {
                "key_id": key.key_id,
                "delivery_public_key": key.identity.public_key,
                "state": key.state,
                "retired_at": key.retired_at,
                "takes_wraps_until": None if until is None else until + grace_seconds,
                "wraps": count,
                "may_be_destroyed": not takes and not count,
            }
        )
    described += [{"key_id": name, "state": "missing", "wraps": count} for name, count in sorted(wraps.items())]
    return described
