"""The delivery keyring: which key is current, which are retired and since when, and which may be destroyed.

The current key is the one in effect on the Hub, so that a key can be made ready before it is published and no Guardian
ever sees a key that the chain does not show. The file's first key is current only until the Hub has published one; if
the Hub's is not held here, none is current. A retired key takes new wraps for a stated grace, since Guardians may have
read it just before. A withdrawn key takes none, and while it leaves the Hub without a key no wrap is taken at all.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from bounty_protocol.chain.hub import Hub
from bounty_protocol.clock import iso_utc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.lifecycle.delivery_keys import DeliveryKeys
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32, UnixSeconds, to_bytes
from service_common.config import SettingWrong
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


@dataclass(frozen=True, slots=True)
class Keys:
    """The keyring as the Hub's publications order it at one moment: the current key first, if there is one."""

    held: tuple[HeldKey, ...]
    published: DeliveryKeys

    @property
    def current(self) -> Identity | None:
        """The key that Guardians are to wrap to; None while deliveries pause."""
        return self.held[0].identity if self.held[0].state is KeyState.CURRENT else None

    def require_current(self) -> Identity:
        """Return the current key; 503 while deliveries pause, which is the service's failure only where the Hub has a
        key in effect, whose private key is not here.
        """
        if (current := self.current) is not None:
            return current
        if self.published.current is not None:
            text = "The delivery key in effect on the Hub is not one of this service's keys."
            raise ServiceError("delivery_unavailable", text, retry_after=_LONGEST_WAIT)
        announced, now = self.published.announced, self.published.now
        message = "A delivery key was withdrawn, and no key of this service is in effect; deliveries pause"
        until = "" if announced is None else f" until {iso_utc(announced.begins)}"
        wait = _LONGEST_WAIT if announced is None else min(_LONGEST_WAIT, announced.begins - now)
        raise ServiceError(
            "delivery_unavailable", f"{message}{until}.", retry_after=wait, is_failure=not self.published.paused
        )

    def accepted(self, grace_seconds: int) -> list[Identity]:
        """Return the keys that a new wrap may be made for, the current one first; 503 while deliveries pause."""
        self.require_current()
        return [key.identity for key in self.held if key.takes_wraps(self.published.now, grace_seconds)]


@cache
def key_id(public_key: Bytes32) -> str:
    """Return the first 8 bytes of the key's SHA-256, hex."""
    return "0x" + hashlib.sha256(to_bytes(public_key)).hexdigest()[:16]


def read_keys(connection: Connection, now: UnixSeconds, keyring: Sequence[Identity]) -> Keys:
    """Read the standing of each key of the keyring at ``now``, the newest indexed block's time."""
    published = read_delivery_keys(connection, now)
    held = [identity.public_key for identity in keyring]
    current = published.current
    if current is None and not published.paused:
        current = next((key for key in held if not published.is_withdrawn(key)), None)
    keys = [
        HeldKey(identity, _state(published, identity.public_key, current), published.retired_at(identity.public_key))
        for identity in keyring
    ]
    return Keys(tuple(sorted(keys, key=lambda key: key.state is not KeyState.CURRENT)), published)


def _state(published: DeliveryKeys, key: Bytes32, current: Bytes32 | None) -> KeyState:
    if published.is_withdrawn(key):
        return KeyState.WITHDRAWN
    if key == current:
        return KeyState.CURRENT
    if published.announced is not None and published.announced.key == key:
        return KeyState.ANNOUNCED
    return KeyState.HELD if published.retired_at(key) is None else KeyState.RETIRED


def check_keys(hub: Hub, keyring: Sequence[Identity]) -> str:
    """Compare the keyring with the Hub itself; ``SettingWrong`` if its key in effect is not held here."""
    published = hub.delivery_key()
    if int(published, 16) == 0:
        return "the Hub has no key in effect"
    if published not in {identity.public_key for identity in keyring}:
        raise SettingWrong(
            f"the Hub's key {key_id(published)} is none of SERVICE_DELIVERY_PRIVATE_KEYS_FILE, which opens no new wraps"
        )
    return f"{key_id(published)} is in effect on the Hub"


def describe_keys(facts: HubFacts, keyring: Sequence[Identity], grace_seconds: int) -> list[dict[str, object]]:
    """Return what an operator needs to know about each key before removing it from the file; nothing secret."""
    counted = select(t.wraps.c.key_id, func.count()).group_by(t.wraps.c.key_id)
    wraps: dict[str, int] = {row[0]: row[1] for row in facts.connection.execute(counted)}
    described: list[dict[str, object]] = []
    now = facts.head.block_time
    for key in read_keys(facts.connection, now, keyring).held:
        count, takes = wraps.pop(key.key_id, 0), key.takes_wraps(now, grace_seconds)
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
