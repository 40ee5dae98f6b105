"""The delivery keyring: which key is current, which are retired and since when, and which may be destroyed.

The current key is the one that the Hub publishes, so that a key can be made ready before it is published and no
Guardian ever sees a key that the chain does not show. The file's first key is current only where the Hub publishes none
that is held here. A retired key takes new wraps for a stated grace, since Guardians may have read it just before.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from service_common.crypto.x25519 import Identity
from service_common.db import delivery as t
from service_common.db import hub_index
from service_common.db.hub_facts import HubFacts
from service_common.types import Bytes32, UnixSeconds, to_bytes
from service_common.wire.delivery import DeliveryKey
from sqlalchemy import Connection, func, select


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key of this deployment. ``retired_at`` is when the Hub published another one after it, by chain time."""

    identity: Identity
    current: bool
    retired_at: UnixSeconds | None

    @property
    def key_id(self) -> str:
        """The key's name."""
        return key_id(self.identity.public_key)

    def takes_wraps(self, now: int, grace_seconds: int) -> bool:
        """Whether a Guardian may still wrap to it."""
        return self.current or self.retired_at is None or now < self.retired_at + grace_seconds


@cache
def key_id(public_key: Bytes32) -> str:
    """The first 8 bytes of the key's SHA-256, hex."""
    return "0x" + hashlib.sha256(to_bytes(public_key)).hexdigest()[:16]


def held_keys(connection: Connection, keyring: Sequence[Identity]) -> tuple[HeldKey, ...]:
    """The keyring as the Hub's own publications order it; the current key first."""
    c = hub_index.delivery_keys.c
    rows = connection.execute(select(c.key, c.time).order_by(c.block_number, c.log_index)).all()
    published = [Bytes32(row.key) for row in rows]
    retired: dict[Bytes32, UnixSeconds] = {}
    for before, after in pairwise(rows):
        retired[Bytes32(before.key)] = UnixSeconds(after.time)
    on_chain = published[-1] if published else None
    held = {identity.public_key for identity in keyring}
    current = on_chain if on_chain in held else keyring[0].public_key
    keys = [
        HeldKey(identity, identity.public_key == current, None if identity.public_key == on_chain else found)
        for identity in keyring
        for found in (retired.get(identity.public_key),)
    ]
    return tuple(sorted(keys, key=lambda key: not key.current))


def current_key(connection: Connection, keyring: Sequence[Identity]) -> Identity:
    """The key that Guardians are to wrap to."""
    return held_keys(connection, keyring)[0].identity


def accepted_keys(facts: HubFacts, keyring: Sequence[Identity], grace_seconds: int) -> tuple[Identity, ...]:
    """The keys that a new wrap may be made for, the current one first."""
    now = facts.head.block_time
    keys = held_keys(facts.connection, keyring)
    return tuple(key.identity for key in keys if key.takes_wraps(now, grace_seconds))


def describe_current_key(connection: Connection, keyring: Sequence[Identity]) -> DeliveryKey:
    """The current key, for those who wrap to it."""
    public_key = current_key(connection, keyring).public_key
    return DeliveryKey(public_key, key_id(public_key), "x25519-sealed-box")


def describe_keys(facts: HubFacts, keyring: Sequence[Identity], grace_seconds: int) -> list[dict[str, object]]:
    """What an operator needs to know of each key before taking it out of the file; nothing secret."""
    counted = select(t.wraps.c.key_id, func.count()).group_by(t.wraps.c.key_id)
    wraps: dict[str, int] = {row[0]: row[1] for row in facts.connection.execute(counted)}
    described: list[dict[str, object]] = []
    for key in held_keys(facts.connection, keyring):
        count = wraps.pop(key.key_id, 0)
        takes = key.takes_wraps(facts.head.block_time, grace_seconds)
        described.append(
            {
                "key_id": key.key_id,
                "delivery_public_key": key.identity.public_key,
                "state": "current" if key.current else "held" if key.retired_at is None else "retired",
                "retired_at": key.retired_at,
                "takes_wraps_until": None if key.retired_at is None else key.retired_at + grace_seconds,
                "wraps": count,
                "may_be_destroyed": not takes and not count,
            }
        )
    described += [{"key_id": name, "state": "missing", "wraps": count} for name, count in sorted(wraps.items())]
    return described
