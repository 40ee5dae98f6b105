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
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, RowMapping, func, select, tuple_, update

from service_delivery import tables as t
from service_delivery.usecases.envelopes import read_envelope
from service_delivery.usecases.keys import Pause, current_key, key_id

BATCH = 500

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """How a run ended; ``left``: all wraps of other keys than the current one, whatever the reason."""

    rewrapped: int
    left: int


def rewrap(engine: Engine, now: UnixSeconds, keyring: Sequence[Identity]) -> Rewrapped:
    """Wrap wraps of other keys again to the one current at ``now``, until a ``BATCH`` is done or none opens any more;
    none while deliveries pause."""
    c, held = t.wraps.c, [key_id(key.public_key) for key in keyring]
    with reading(engine) as connection:
        current = current_key(connection, now, keyring)
    if isinstance(current, Pause):
        return Rewrapped(0, 0)
    name = key_id(current.public_key)
    # By the primary key from the last one on: however many do not open, the others have their turn.
    place, last, done, unopened = tuple_(*t.wraps.primary_key), None, 0, 0
    others = select(t.wraps).where(c.key_id.in_(held), c.key_id != name).order_by(*t.wraps.primary_key).limit(BATCH)
    while done < BATCH:
        with reading(engine) as connection:
            rows = connection.execute(others if last is None else others.where(place > last)).mappings().all()
            renewed = [(row, _renewed(connection, row, keyring, current)) for row in rows]
        if not rows:
            break
        last = tuple(rows[-1][column.name] for column in t.wraps.primary_key)
        done += sum(_replace(engine, row, wrapped, name) for row, wrapped in renewed if wrapped is not None)
        unopened += sum(wrapped is None for _, wrapped in renewed)
    with reading(engine) as connection:
        unopened += connection.execute(select(func.count()).where(c.key_id.not_in(held))).scalar_one()
        left = connection.execute(select(func.count()).where(c.key_id != name)).scalar_one()
    if unopened:
        log.error("wraps that no key held here opens", wraps=unopened, left=left)
    return Rewrapped(done, left)


def _renewed(connection: Connection, row: RowMapping, keyring: Sequence[Identity], current: Identity) -> bytes | None:
    """The same key, wrapped to the current one."""
    try:
        envelope = read_envelope(
            connection,
            BountyId(row["bounty_id"]),
            Address(row["solver"]),
            Bytes32(row["submission_commitment"]),
        )
        held = base64.b64encode(bytes(row["wrapped_key"])).decode()
        identity = sealed_box.unwrap(held, keyring, envelope.content_public_key)
    except (ServiceError, SealedDataError):
        return None
    return base64.b64decode(sealed_box.wrap(identity, current.public_key))


def _replace(engine: Engine, row: RowMapping, wrapped: bytes, name: str) -> int:
    """Write it where the row is still the one that was read."""
    c = t.wraps.c
    same = (
        c.bounty_id == row["bounty_id"],
        c.solver == row["solver"],
        c.submission_commitment == row["submission_commitment"],
        c.wrapped_key == row["wrapped_key"],
    )
    with writing(engine) as connection:
        return connection.execute(update(t.wraps).where(*same).values(wrapped_key=wrapped, key_id=name)).rowcount
