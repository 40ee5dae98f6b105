"""Deleting uploads that became no Submission.

An object is deleted only when the chain is final past its bounty's deadline by a day and no final ``submit`` of that
bounty recorded an envelope that names it. Of a Solver with a final ``submit`` whose envelope is not here, or is another
one than was recorded, no object of that bounty is deleted until ``ENVELOPE_DAYS`` after its judging: one of them may be
its work, as after a restore of a dump that is older than the envelope. Not for ever: a ``submit`` of an envelope that
nobody has costs little.
Objects of bounties the index does not know, of other deployments and of a day or younger are left alone. Deletion is by
generation, so that nothing uploaded meanwhile is hit. What a run looks at is there again on the next: an interrupted
run loses nothing.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.envelope import Envelope, parse_envelope
from bounty_protocol.domain.locator import parse_locator
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId
from service_common.db import app as t
from service_common.db import hub_index
from service_common.db.engine import writing
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import read_bounty
from service_common.log import get_logger
from sqlalchemy import Column, Engine, Row, Select, Text, any_, delete, literal, select
from sqlalchemy.dialects.postgresql import ARRAY

from service_api.storage.port import ObjectInfo, ObjectStore

DAY_SECONDS: Final = 86_400
ENVELOPE_DAYS: Final = 30
"""For how long after the judging deadline a missing envelope may come again, and its sealed bytes are still there."""

_AT_ONCE: Final = 1_000
"""Objects of one bounty that are held together: anybody may upload any number of them."""

log = get_logger(__name__)


def delete_orphans(source: FactSource, store: ObjectStore) -> int:
    """How many objects were deleted."""
    count = 0
    for bounty_id, objects in groupby(_objects(source, store), key=lambda info: parse_locator(info.locator).bounty_id):
        while found := list(islice(objects, _AT_ONCE)):
            with source.open() as facts:
                bounty = read_bounty(facts.connection, bounty_id)
                if bounty is None:
                    break
                if facts.head.finalized_time < bounty.terms.submission_deadline + DAY_SECONDS:
                    break
                orphans = _orphans(facts, bounty, found)
            for info in orphans:
                count += _delete(source.engine, store, info)
    return count


def _objects(source: FactSource, store: ObjectStore) -> Iterator[ObjectInfo]:
    """The objects of this deployment's bucket, each bounty's together."""
    for info in store.list(f"submissions/{source.chain_id}/{source.hub_address}/"):
        try:
            parse_locator(info.locator)
        except ValueError:
            log.warning("an object that no Solver can have uploaded", locator=info.locator[:200])
        else:
            yield info


def _orphans(facts: HubFacts, bounty: Bounty, objects: list[ObjectInfo]) -> list[ObjectInfo]:
    bounty_id = bounty.bounty_id
    young, listed = facts.head.finalized_time - DAY_SECONDS, _listed(facts, bounty_id, objects)
    unlisted = [info for info in objects if info.locator not in listed and info.created_at <= young]
    recorded = _recorded(facts, bounty_id, {_solver(info) for info in unlisted})
    waits = facts.head.finalized_time < bounty.terms.judging_deadline + ENVELOPE_DAYS * DAY_SECONDS
    awaited = recorded.without_envelope if waits else frozenset[Address]()
    unnamed = [info for info in unlisted if info.locator not in recorded.locators]
    orphans = [info for info in unnamed if _solver(info) not in awaited]
    if kept := len(unnamed) - len(orphans):
        log.warning("uploads kept, since an envelope of their Solver is missing", bounty_id=bounty_id, objects=kept)
    return orphans


def _solver(info: ObjectInfo) -> Address:
    return parse_locator(info.locator).solver_address


def _listed(facts: HubFacts, bounty_id: BountyId, objects: list[ObjectInfo]) -> frozenset[str]:
    """The places among those of ``objects`` that the rows of recorded envelopes say: enough to keep an object."""
    e, places = t.submission_envelopes.c, literal([info.locator for info in objects], ARRAY(Text))
    rows = facts.connection.execute(
        _final(facts, bounty_id, e.storage_locator).where(e.storage_locator == any_(places))
    )
    return frozenset(row.storage_locator for row in rows)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What the final ``submit`` calls of some Solvers of a bounty are proven to refer to."""

    locators: frozenset[str]
    """The places that their envelopes name."""
    without_envelope: frozenset[Address]
    """Solvers of whom one has no envelope here, so that nobody knows its place."""


def _recorded(facts: HubFacts, bounty_id: BountyId, solvers: Collection[Address]) -> _Recorded:
    """By the envelopes themselves: what their rows say beside them may be altered, and deletes nothing."""
    s, e = hub_index.submissions.c, t.submission_envelopes.c
    columns = (s.solver, s.submission_commitment, e.content)
    rows = facts.connection.execute(
        _final(facts, bounty_id, *columns).where(s.solver == any_(literal(list(solvers), ARRAY(Text))))
    )
    found = [(Address(row.solver), _kept_envelope(row)) for row in rows]
    return _Recorded(
        frozenset(envelope.ciphertext.storage_locator for _, envelope in found if envelope is not None),
        frozenset(solver for solver, envelope in found if envelope is None),
    )


def _kept_envelope(row: Row[*tuple[Any, ...]]) -> Envelope | None:
    """The envelope in a row with ``solver``, ``submission_commitment`` and ``content``; None where the content is none
    of that Submission, or not there."""
    try:
        envelope = parse_envelope(bytes(row.content or b""))
    except ServiceError:
        return None
    is_its_own = envelope.commitment() == row.submission_commitment and envelope.solver_address == row.solver
    return envelope if is_its_own else None


def _final(facts: HubFacts, bounty_id: BountyId, *columns: Column[Any]) -> Select[Any]:
    """The final Submissions of a bounty, each with its envelope where one is here."""
    e, s = t.submission_envelopes.c, hub_index.submissions.c
    same = (s.bounty_id == e.bounty_id) & (s.solver == e.solver) & (s.submission_commitment == e.submission_commitment)
    submissions = select(*columns).outerjoin_from(hub_index.submissions, t.submission_envelopes, same)
    return submissions.where(s.bounty_id == bounty_id, s.block_number <= facts.head.finalized_number)


def _delete(engine: Engine, store: ObjectStore, info: ObjectInfo) -> bool:
    """Whether it was deleted: one that the storage refuses to delete, though it answers otherwise, is left there."""
    try:
        deleted = store.delete(info.locator, generation=info.generation)
    except ServiceError as error:
        if error.code != "storage_unavailable":
            raise
        store.check()
        log.warning("an orphan that the storage does not delete", locator=info.locator)
        return False
    v = t.verified_objects.c
    with writing(engine) as connection:
        connection.execute(
            delete(t.verified_objects).where(v.storage_locator == info.locator, v.generation == info.generation)
        )
    log.info("orphan deleted", locator=info.locator, byte_length=info.byte_length)
    return deleted
