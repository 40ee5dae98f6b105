"""After a rotation: stored wraps are wrapped again to the current key, so that retired keys can be destroyed.

A wrap changes only from one that opens to another that opens to the same key, checked against the envelope that the
chain commits to; one that does not open is left as it is and counted. A content key is in memory for the length of one
wrap and is stored nowhere.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds
from service_common.db.engine import reading, writing
from sqlalchemy import Connection, Engine, RowMapping, func, select, tuple_, update

from service_delivery import tables as t
from service_delivery.bounties import read_envelope
from service_delivery.keys import key_id, read_keys

BATCH = 500


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """How a run ended; ``left``: all wraps of other keys than the current one, whatever the reason."""

    rewrapped: int
    left: int


def rewrap(engine: Engine, now: UnixSeconds, keyring: Sequence[Identity]) -> Rewrapped:
    """Rewrap every wrap made for another key that still opens to the key current at ``now``; none while deliveries
    pause.
    """
    c, place = t.wraps.c, tuple_(*t.wraps.primary_key)
    with reading(engine) as connection:
        current = read_keys(connection, now, keyring).current
    if current is None:
        return Rewrapped(0, 0)
    name, done = key_id(current.public_key), 0
    held = [key_id(key.public_key) for key in keyring]
    # Go on by primary key: wraps that do not open cannot keep the others from their turn.
    batch = select(t.wraps).where(c.key_id.in_(held), c.key_id != name).order_by(*t.wraps.primary_key).limit(BATCH)
    others = batch
    while True:
        with reading(engine) as connection:
            rows = connection.execute(others).mappings().all()
            renewed = [(row, _renewed(connection, row, keyring, current)) for row in rows]
        if not rows:
            break
        others = batch.where(place > tuple(rows[-1][column.name] for column in t.wraps.primary_key))
        for row, wrapped in renewed:
            if wrapped is None:
                continue
            same = [c[column.name] == row[column.name] for column in t.wraps.primary_key]
            unchanged = update(t.wraps).where(*same, c.wrapped_key == row["wrapped_key"])
            with writing(engine) as connection:
                done += connection.execute(unchanged.values(wrapped_key=wrapped, key_id=name)).rowcount
    with reading(engine) as connection:
        left = connection.execute(select(func.count()).where(c.key_id != name)).scalar_one()
    return Rewrapped(done, left)


def _renewed(connection: Connection, row: RowMapping, keyring: Sequence[Identity], current: Identity) -> bytes | None:
    """Return the same key, wrapped to the current one; None if it does not open."""
    bounty_id, solver = BountyId(row["bounty_id"]), Address(row["solver"])
    try:
        envelope = read_envelope(connection, bounty_id, solver, Bytes32(row["submission_commitment"]))
        wrapped = base64.b64encode(bytes(row["wrapped_key"])).decode()
        identity = sealed_box.unwrap(wrapped, keyring, envelope.content_public_key)
    except (ServiceError, SealedDataError):
        return None
    return base64.b64decode(sealed_box.wrap(identity, current.public_key))
