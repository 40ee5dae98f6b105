"""Once a day: the recorded Submissions whose envelope or sealed bytes are not here.

Each is a row of ``defects``, as work is whose bytes were found to be others. A row goes once bytes that were verified
are in the place that a kept envelope names. Only the active Submissions of final blocks are looked at. The bucket is
listed once in a run: work that comes back meanwhile may count as missing until the next.
"""

from typing import Any, Final

from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import reading, writing
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import is_newest
from service_common.log import get_logger
from sqlalchemy import Connection, Select, and_, delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from service_api.storage.gcs import GcsStore
from service_api.storage.room import is_its_envelope

_LOGGED: Final = 20
_WORK: Final = ("bounty_id", "solver", "submission_commitment")

log = get_logger(__name__)


def note_missing(source: FactSource, store: GcsStore) -> int:
    """Note missing work and forget what has returned; return how many are missing."""
    with source.open() as facts:
        final = facts.head.finalized_number
    found = store.list(f"submissions/{source.chain_id}/{source.hub_address}/")
    generations = {info.locator: info.generation for info in found if info.byte_length}
    missing: list[dict[str, Any]] = []
    its_key = tuple_(*(t.defects.c[name] for name in _WORK))
    with reading(source.engine) as connection:
        for works in connection.execute(_recorded(final)).mappings().partitions():
            lacking, here = [], []
            for work in works:
                key, found_there = {name: work[name] for name in _WORK}, generations.get(work["storage_locator"])
                if found_there is None:
                    lacking.append(key)
                elif found_there == work["generation"]:
                    here.append(tuple(key.values()))
            with writing(source.engine) as writer:
                if lacking:
                    writer.execute(insert(t.defects).values(lacking).on_conflict_do_nothing())
                writer.execute(delete(t.defects).where(its_key.in_(here)))
            missing += lacking
    if missing:
        log.error("recorded work is missing", count=len(missing), works=missing[:_LOGGED])
    return len(missing)


def count_missing(connection: Connection) -> int:
    """Count the active Submissions that are known to lack their envelope or their bytes."""
    is_theirs = and_(*(h.submissions.c[name] == t.defects.c[name] for name in _WORK))
    active = select(func.count()).select_from(t.defects).join(h.submissions, is_theirs)
    return connection.execute(active.where(is_newest(h.submissions, "solver"))).scalar_one()


def _recorded(final: int) -> Select[Any]:
    """Select the active Submissions of final blocks, each with its envelope's place and the generation verified there,
    to be read a thousand at a time.
    """
    s, e, v = h.submissions.c, t.submission_envelopes.c, t.verified_objects.c
    verified = select(func.max(v.generation)).where(v.storage_locator == e.storage_locator).scalar_subquery()
    return (
        select(*(s[name] for name in _WORK), e.storage_locator, verified.label("generation"))
        .outerjoin_from(h.submissions, t.submission_envelopes, is_its_envelope())
        .where(is_newest(h.submissions, "solver"), s.block_number <= final)
        .execution_options(yield_per=1_000)
    )
