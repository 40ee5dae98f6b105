"""Deleting uploads that became no Submission.

An object is deleted only when the chain is final past its bounty's deadline by a day and no final ``submit`` of that
bounty recorded an envelope that names it. Of a Solver with a final ``submit`` whose envelope is not here, no object of
that bounty is deleted until ``ENVELOPE_DAYS`` after its judging: one of them may be its work, as after a restore of a
dump that is older than the envelope. Not for ever: a ``submit`` of an envelope that nobody has costs little. Objects of
bounties the index does not know, of other deployments and of a day or younger are left alone. Deletion is by
generation, so that nothing uploaded meanwhile is hit. What a run looks at is there again on the next.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Final

from bounty_protocol.domain.envelope.locator import StorageLocation, parse_locator
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.types import BountyId
from service_common.db import app as t
from service_common.db import hub_index
from service_common.db.engine import writing
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import read_bounty
from service_common.log import get_logger
from sqlalchemy import Engine, Text, any_, delete, literal, select
from sqlalchemy.dialects.postgresql import ARRAY

from service_api.storage.gcs import GcsStore, ObjectInfo
from service_api.storage.lifetimes import DAY_SECONDS, ENVELOPE_GRACE_DAYS
from service_api.storage.room import is_its_envelope

ENVELOPE_DAYS: Final = 30
"""For how long after the judging deadline a missing envelope may come again, and its sealed bytes are still there."""

_AT_ONCE: Final = 1_000
"""Objects of one bounty that are held together: anybody may upload any number of them."""

Placed = tuple[StorageLocation, ObjectInfo]

log = get_logger(__name__)


def delete_orphans(source: FactSource, store: GcsStore, of_bounty: BountyId | None = None) -> int:
    """Delete the objects that no Submission uses, of one bounty or of all; return how many."""
    count = 0
    for bounty_id, objects in groupby(_objects(source, store, of_bounty), key=lambda each: each[0].bounty_id):
        while found := list(islice(objects, _AT_ONCE)):
            with source.open() as facts:
                bounty = read_bounty(facts.connection, bounty_id)
                if bounty is None:
                    break
                if facts.head.finalized_time < bounty.terms.submission_deadline + ENVELOPE_GRACE_DAYS * DAY_SECONDS:
                    break
                orphans = _orphans(facts, bounty, found)
            for info in orphans:
                count += _delete(source.engine, store, info)
    return count


def _objects(source: FactSource, store: GcsStore, of_bounty: BountyId | None) -> Iterator[Placed]:
    """Yield the objects of this deployment's bucket, each bounty's together."""
    folder = "" if of_bounty is None else f"{of_bounty}/"
    for info in store.list(f"submissions/{source.chain_id}/{source.hub_address}/{folder}"):
        try:
            yield parse_locator(info.locator), info
        except ValueError:
            log.warning("an object that no Solver can have uploaded", locator=info.locator[:200])


def _orphans(facts: HubFacts, bounty: Bounty, objects: list[Placed]) -> list[ObjectInfo]:
    """Return the bounty's objects that no final Submission of their Solver names, or may name once its envelope is
    restored.
    """
    s, e = hub_index.submissions.c, t.submission_envelopes.c
    solvers = literal(list({place.solver_address for place, _ in objects}), ARRAY(Text))
    recorded = facts.connection.execute(
        select(s.solver, e.storage_locator)
        .outerjoin_from(hub_index.submissions, t.submission_envelopes, is_its_envelope())
        .where(s.bounty_id == bounty.bounty_id, s.block_number <= facts.head.finalized_number)
        .where(s.solver == any_(solvers))
        .distinct()
    ).all()
    named = {row.storage_locator for row in recorded}
    final = facts.head.finalized_time
    waits = final < bounty.terms.judging_deadline + ENVELOPE_DAYS * DAY_SECONDS
    awaited = {row.solver for row in recorded if row.storage_locator is None} if waits else set()
    return [
        info
        for place, info in objects
        if info.created_at <= final - DAY_SECONDS and info.locator not in named and place.solver_address not in awaited
    ]


def _delete(engine: Engine, store: GcsStore, info: ObjectInfo) -> bool:
    deleted = store.delete(info.locator, generation=info.generation)
    v = t.verified_objects.c
    with writing(engine) as connection:
        connection.execute(
            delete(t.verified_objects).where(v.storage_locator == info.locator, v.generation == info.generation)
        )
    if deleted:
        log.info("orphan deleted", locator=info.locator, byte_length=info.byte_length)
    return deleted
