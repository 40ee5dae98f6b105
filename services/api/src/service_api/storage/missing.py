"""Once a day: the recorded Submissions whose envelope or sealed bytes are not here.

Each is a row of ``defects``, as work is whose bytes were found to be others. A row goes once bytes that were verified
are in the place that a kept envelope names. Only the active Submissions of final blocks are looked at.
"""

from collections.abc import Iterator
from typing import Any, Final

from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import reading, writing
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import is_newest
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, RowMapping, and_, delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from service_api.storage.gcs import GcsStore
from service_api.storage.pending import is_its_envelope

AT_A_TIME: Final = 1_000
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
    for works in _recorded(source.engine, final):
        lacking = [work for work in works if work["storage_locator"] not in generations]
        missing += [{name: work[name] for name in _WORK} for work in lacking]
        here = [work for work in works if generations.get(work["storage_locator"]) == work["generation"] is not None]
        _write(source.engine, lacking, here)
    if missing:
        log.error("recorded work is missing", count=len(missing), works=missing[:_LOGGED])
    return len(missing)


def count_missing(connection: Connection) -> int:
    """Count the active Submissions that are known to lack their envelope or their bytes."""
    is_theirs = and_(*(h.submissions.c[name] == t.defects.c[name] for name in _WORK))
    active = select(func.count()).select_from(t.defects).join(h.submissions, is_theirs)
    return connection.execute(active.where(is_newest(h.submissions, "solver"))).scalar_one()


def _recorded(engine: Engine, final: int) -> Iterator[list[RowMapping]]:
    """Yield the active Submissions of final blocks, each with its envelope's place and the generation
    verified there.
    """
    s, e, v = h.submissions.c, t.submission_envelopes.c, t.verified_objects.c
    verified = select(func.max(v.generation)).where(v.storage_locator == e.storage_locator).scalar_subquery()
    of_work = (
        *(s[name] for name in _WORK),
        e.storage_locator,
        verified.label("generation"),
        s.block_number,
        s.log_index,
    )
    place = tuple_(s.block_number, s.log_index)
    some = (
        select(*of_work)
        .outerjoin_from(h.submissions, t.submission_envelopes, is_its_envelope())
        .where(is_newest(h.submissions, "solver"), s.block_number <= final)
        .order_by(s.block_number, s.log_index)
        .limit(AT_A_TIME)
    )
    following = some
    while True:
        with reading(engine) as connection:
            rows = list(connection.execute(following).mappings())
        if rows:
            yield rows
        if len(rows) < AT_A_TIME:
            return
        following = some.where(place > (rows[-1]["block_number"], rows[-1]["log_index"]))


def _write(engine: Engine, lacking: list[RowMapping], here: list[RowMapping]) -> None:
    key = tuple_(*(t.defects.c[name] for name in _WORK))
    with writing(engine) as connection:
        if lacking:
            rows = [{name: work[name] for name in _WORK} for work in lacking]
            connection.execute(insert(t.defects).values(rows).on_conflict_do_nothing())
        if here:
            connection.execute(delete(t.defects).where(key.in_([tuple(work[name] for name in _WORK) for work in here])))
