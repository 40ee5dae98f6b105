"""Comparison of kept data with its source, so that damage is noticed before a reader needs it.

Each inspection walks over all rows of one kind in the order of their keys, a part in each run, and begins again a day
or a week after it began. What it finds is a row of ``app.defects``, which names the bounty, until it is whole again.
Readers have checks of their own and are served nothing of it.

- ``titles``: what lists show and search is what the page states; else it is written anew, or goes where the page is
  altered; and no page of a bounty is gone that was kept here.
- ``verdicts``: a written Verdict hashes to its commitment, else readers are told that none is held; and its row names
  the bounty and the Guardian that it names.
- ``records``: a VerificationRecord is what the facts make.
- ``envelopes``: no envelope of an active Submission is gone that was kept here.
- ``objects``: the envelope of each active Submission hashes to its commitment, and the object that it names is there,
  in a generation that was verified, with the length and the storage's own checksum that this one had then.
- ``bytes``: the SHA-256 of those objects, within a number of bytes a day.

Work that is known to be lost is looked at in every run: what its Solver put back is hashed at once, within the same
bytes a day. ``look_again`` looks at everything that is known to be damaged, for an operator who has repaired it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.envelope import CiphertextReference, Envelope
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.bounties import RecordError
from bounty_protocol.wire.values import RecordFailure
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import reading, single, writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import INDEX_UNAVAILABLE
from service_common.log import get_logger
from sqlalchemy import (
    Column,
    Engine,
    Row,
    Select,
    Table,
    case,
    delete,
    exists,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from service_api.bounty_pages import read_bounty_page
from service_api.dependencies import Dependencies
from service_api.storage.verify import Verification, verify_object
from service_api.usecases.ciphertexts import OTHER_BYTES, find_object, keep_verified, known_good, verify
from service_api.usecases.defects import (
    KnownDefect,
    Looked,
    LostWork,
    Walk,
    delete_old_notices,
    forget,
    list_known,
    list_lost,
    lost_as,
    note,
    note_again,
    note_known,
)
from service_api.usecases.kept_envelopes import kept_envelope
from service_api.usecases.pages import shown_of, summarize
from service_api.usecases.pending import is_active, is_recorded
from service_api.usecases.verification_records import find_record

AT_A_RUN: Final = 2_000
"""Of each kind: of 200,000 bounties within a week, at a run an hour."""
_ROWS: Final = 100
"""That are read at a time."""
HASHING_SECONDS = 600.0
"""Of a run, after which it begins no more: an upload that somebody waits for is hashed by the same worker."""
_AWAY: Final = frozenset({"storage_unavailable", INDEX_UNAVAILABLE})
"""Failures that others watch: the other inspections go on without it."""
_MOST_BOUNTIES: Final = 100
"""That are named for one page which they share."""
_AFTER_ALL: Final = "~"
"""Begins the positions of lost pages, which come after the last page."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Inspection:
    """A walk from a position on, how often it begins, and after how many subjects it is written how far it is."""

    look: Callable[[Dependencies, str], Iterator[Looked]]
    every: timedelta
    at_a_time: int = 100


class _EnoughToday(Exception):
    """As many bytes were read as a day may have."""


def inspect_kept(deps: Dependencies) -> int:
    """Go on with every inspection that is due; how many subjects were looked at."""
    _note_recorded(deps.engine)
    count = sum(_go_on(deps, name, inspection) for name, inspection in INSPECTIONS.items() if name is not Walk.BYTES)
    ends = time.monotonic() + HASHING_SECONDS
    _look_at_lost(deps, ends)  # before the walk over the bytes takes all that a day may have
    count += _go_on(deps, Walk.BYTES, INSPECTIONS[Walk.BYTES], ends)
    delete_old_notices(deps.engine)
    return count


def look_again(deps: Dependencies) -> int:
    """Look now at what is known to be damaged, so that what was repaired no longer counts; how many findings there
    were. Sealed bytes are hashed within the day's bound: what it leaves out stays known. ``ServiceError`` where the
    storage or the index is away."""
    known = list_known(deps.engine)
    for each in known:
        try:
            if found := _LOOK_AGAIN[each.inspection](deps, each):
                note_known(deps.engine, each.inspection, found)
            else:
                forget(deps.engine, each)
        except _EnoughToday:
            log.warning("not looked at: SERVICE_INSPECTED_MEBIBYTES are hashed for today", subject=each.subject)
    return len(known)


def _go_on(deps: Dependencies, name: Walk, inspection: Inspection, ends: float = float("inf")) -> int:
    position = _position(deps.engine, name, inspection.every)
    if position is None:
        return 0
    count, is_over, batch = 0, False, list[Looked]()
    try:
        for each in islice(inspection.look(deps, position), AT_A_RUN):
            batch.append(each)
            count += 1
            if len(batch) == inspection.at_a_time:
                note(deps.engine, name, batch)
                batch = []
                if time.monotonic() > ends:
                    break
        else:
            is_over = count < AT_A_RUN
    except _EnoughToday:
        log.info("inspection goes on tomorrow", inspection=name)
    except ServiceError as error:
        if error.code not in _AWAY:
            raise
        log.warning("left to the next run", inspection=name, reason=error.message)
    if batch:
        note(deps.engine, name, batch)
    if is_over:
        _end(deps.engine, name)
    return count


def _position(engine: Engine, name: Walk, every: timedelta) -> str | None:
    """After which key to go on; None where the next walk is not due."""
    i = t.inspections.c
    with writing(engine) as connection:
        connection.execute(insert(t.inspections).values(name=name).on_conflict_do_nothing())
        waits = ((i.position == "") & (i.ended_at > func.now() - every)).label("waits")
        row = connection.execute(select(i.position, waits).where(i.name == name)).one()
        if row.waits:
            return None
        if row.position == "":
            connection.execute(update(t.inspections).where(i.name == name).values(began_at=func.now()))
    return str(row.position)


def _end(engine: Engine, name: Walk) -> None:
    """The next walk begins at the first row; what this one did not see any more is no defect."""
    d, i = t.defects.c, t.inspections.c
    with writing(engine) as connection:
        began = select(i.began_at).where(i.name == name).scalar_subquery()
        connection.execute(delete(t.defects).where(d.inspection == name, d.seen_at < began))
        connection.execute(update(t.inspections).where(i.name == name).values(position="", ended_at=i.began_at))


def _rows_after(
    engine: Engine, rows: Select[*tuple[Any, ...]], key: Column[Any], position: str | int
) -> Iterator[Row[*tuple[Any, ...]]]:
    """All rows whose key comes after ``position``, in its order, a part at a time; nothing is open in between."""
    while True:
        with reading(engine) as connection:
            found = connection.execute(rows.where(key > position).order_by(key).limit(_ROWS)).all()
        yield from found
        if not found:
            return
        position = getattr(found[-1], key.name)


# ---------------------------------------------------------------- titles


def _pages() -> Select[Any]:
    """Kept pages, each with what lists show of it."""
    p, s = t.challenge_pages.c, t.challenge_summaries.c
    return select(p.spec_commitment, p.content, s.title, s.summary, s.tags, s.folded, s.grams).outerjoin_from(
        t.challenge_pages, t.challenge_summaries, s.spec_commitment == p.spec_commitment
    )


def _look_at_titles(deps: Dependencies, position: str) -> Iterator[Looked]:
    for row in _rows_after(deps.engine, _pages(), t.challenge_pages.c.spec_commitment, position):
        yield from _look_at_title(deps, row)
    with writing(deps.engine) as connection:
        p, known = t.challenge_pages.c.spec_commitment, t.published_pages.c.spec_commitment
        of_a_bounty = exists().where(h.bounties.c.spec_commitment == p)
        new = select(p).where(of_a_bounty, ~exists().where(known == p))
        connection.execute(insert(t.published_pages).from_select(["spec_commitment"], new).on_conflict_do_nothing())
    for row in _rows_after(deps.engine, _lost_pages(), known, position.partition(_AFTER_ALL)[2]):
        yield from _look_at_lost_page(deps, Bytes32(row.spec_commitment))


def _lost_pages() -> Select[tuple[str]]:
    """Commitments of pages that were kept here, and are not any more."""
    known = t.published_pages.c.spec_commitment
    return select(known).where(~exists().where(t.challenge_pages.c.spec_commitment == known))


def _look_at_lost_page(deps: Dependencies, commitment: Bytes32) -> Iterator[Looked]:
    for bounty_id in _bounties_of(deps.engine, commitment):
        yield Looked(_AFTER_ALL + commitment, commitment, bounty_id, "the page that was published here is gone")


def _look_at_page_again(deps: Dependencies, known: KnownDefect) -> list[Looked]:
    with reading(deps.engine) as connection:
        row = connection.execute(_pages().where(t.challenge_pages.c.spec_commitment == known.subject)).first()
        is_lost = connection.execute(
            select(_lost_pages().where(t.published_pages.c.spec_commitment == known.subject).exists())
        ).scalar_one()
    if row is None:
        return list(_look_at_lost_page(deps, Bytes32(known.subject))) if is_lost else []
    return list(_look_at_title(deps, row))


def _look_at_title(deps: Dependencies, row: Row[*tuple[Any, ...]]) -> Iterator[Looked]:
    commitment, page = Bytes32(row.spec_commitment), bytes(row.content)
    if is_altered := spec_commitment(page) != commitment:
        with writing(deps.engine) as connection:
            connection.execute(
                delete(t.challenge_summaries).where(t.challenge_summaries.c.spec_commitment == commitment)
            )
    elif _is_shown_as_another(row, page):
        log.error("what lists show of a page was not the page's", spec_commitment=commitment)
        with writing(deps.engine) as connection:
            summarize(connection, commitment, parse_challenge(page))
    for bounty_id in _bounties_of(deps.engine, commitment) if is_altered else ():
        yield Looked(commitment, commitment, bounty_id, "the stored page does not hash to its commitment")
    if not is_altered:
        yield Looked(commitment, commitment)


def _bounties_of(engine: Engine, commitment: Bytes32) -> list[BountyId]:
    b = h.bounties.c
    with reading(engine) as connection:
        named = select(b.bounty_id).where(b.spec_commitment == commitment).limit(_MOST_BOUNTIES)
        return [BountyId(found) for found in connection.execute(named).scalars()]


def _is_shown_as_another(row: Row[*tuple[Any, ...]], page: bytes) -> bool:
    try:
        challenge = parse_challenge(page)
    except ServiceError:  # of a former release, which published other pages
        return False
    return any(getattr(row, name) != value for name, value in shown_of(challenge).items())


# ---------------------------------------------------------------- verdicts


def _verdicts() -> Select[tuple[str, int, str, bytes]]:
    w = t.written_verdicts.c
    return select(w.report_commitment, w.bounty_id, w.guardian, w.content)


def _look_at_verdicts(deps: Dependencies, position: str) -> Iterator[Looked]:
    for row in _rows_after(deps.engine, _verdicts(), t.written_verdicts.c.report_commitment, position):
        yield _look_at_verdict(row)


def _look_at_verdict_again(deps: Dependencies, known: KnownDefect) -> list[Looked]:
    with reading(deps.engine) as connection:
        its_row = _verdicts().where(t.written_verdicts.c.report_commitment == known.subject)
        return [_look_at_verdict(row) for row in connection.execute(its_row)]


def _look_at_verdict(row: Row[tuple[str, int, str, bytes]]) -> Looked:
    commitment, content = row.report_commitment, bytes(row.content)
    bounty_id, wrong = BountyId(row.bounty_id), None
    if report_commitment(content) != commitment:
        wrong = "the stored Verdict does not hash to its commitment"
    elif (verdict := _readable(content)) is not None:
        bounty_id = verdict.bounty_id
        if (bounty_id, verdict.guardian_address) != (row.bounty_id, row.guardian):
            wrong = "the row of the stored Verdict names another bounty or Guardian"
    return Looked(commitment, commitment, bounty_id, wrong)


def _readable(content: bytes) -> WrittenVerdict | None:
    """A written Verdict; None where it is of a former release, which wrote others."""
    try:
        return parse_verdict(content)
    except ServiceError:
        return None


# ---------------------------------------------------------------- records


def _look_at_records(deps: Dependencies, position: str) -> Iterator[Looked]:
    key = t.verification_records.c.bounty_id
    for row in _rows_after(deps.engine, select(key), key, int(position or 0)):
        yield _look_at_record(deps, BountyId(row.bounty_id))


def _look_at_record(deps: Dependencies, bounty_id: BountyId) -> Looked:
    return Looked(str(bounty_id), f"VerificationRecord {bounty_id}", bounty_id, _wrong_record(deps, bounty_id))


def _wrong_record(deps: Dependencies, bounty_id: BountyId) -> str | None:
    with single(deps.engine) as connection:
        head, page = read_bounty_page(connection, deps.config.chain.chain_id, bounty_id)
    record = None if page is None else find_record(deps, deps.facts, deps.facts.require_readable(head), page)
    if isinstance(record, RecordError) and record.code is RecordFailure.DERIVATION_FAILED:
        return "it is not what the facts make, or they contradict one another"
    return None


# ---------------------------------------------------------------- envelopes


def _kept_envelopes() -> Select[Any]:
    """Keys of active Submissions whose envelope was kept here, each with whether it still is."""
    r, e = t.recorded_envelopes.c, t.submission_envelopes.c
    same = (e.bounty_id == r.bounty_id) & (e.solver == r.solver) & (e.submission_commitment == r.submission_commitment)
    rows = select(r.bounty_id, r.solver, r.submission_commitment, e.solver.is_not(None).label("is_here"))
    kept = rows.outerjoin_from(t.recorded_envelopes, t.submission_envelopes, same)
    return kept.where(is_active(t.recorded_envelopes))


def _look_at_envelopes(deps: Dependencies, position: str) -> Iterator[Looked]:
    for place, row in _submissions_after(deps.engine, _kept_envelopes(), t.recorded_envelopes, position):
        yield _look_at_kept_envelope(place, row)


def _note_recorded(engine: Engine) -> None:
    """Keep the keys of envelopes whose Submission the index has by now."""
    r, e = t.recorded_envelopes, t.submission_envelopes.c
    columns = ["bounty_id", "solver", "submission_commitment"]
    known = [r.c[name] == e[name] for name in columns]
    new = select(*(e[name] for name in columns)).where(is_recorded(), ~exists().where(*known))
    try:
        with writing(engine) as connection:
            connection.execute(insert(r).from_select(columns, new).on_conflict_do_nothing())
    except DatabaseUnavailable as error:  # the inspections go on, and note it the next time
        log.warning("envelopes that are recorded by now are not noted", reason=str(error))


def _look_at_envelope_again(deps: Dependencies, known: KnownDefect) -> list[Looked]:
    r = t.recorded_envelopes.c
    its_row = (r.bounty_id == known.bounty_id) & (r.submission_commitment == known.subject)
    with reading(deps.engine) as connection:
        return [_look_at_kept_envelope("", row) for row in connection.execute(_kept_envelopes().where(its_row))]


def _look_at_kept_envelope(place: str, row: Row[*tuple[Any, ...]]) -> Looked:
    """Its bytes may be in the storage: it is no lost work, and nothing that its Solver uploads restores it."""
    wrong = None if row.is_here else "the envelope that was stored here is gone"
    return Looked(place, row.submission_commitment, BountyId(row.bounty_id), wrong, row.solver)


# ---------------------------------------------------------------- objects


@dataclass(frozen=True, slots=True)
class _Submitted:
    """An active Submission's envelope; None where the stored one is altered."""

    position: str
    bounty_id: BountyId
    solver: Address
    commitment: Bytes32
    envelope: Envelope | None

    def found(self, what: "_Wrong | None") -> Looked:
        """What an inspection found of it."""
        text, is_lost = (None, False) if what is None else (what.text, what.is_lost)
        return Looked(self.position, self.commitment, self.bounty_id, text, self.solver, is_lost)


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A defect of sealed work; lost where the storage has no such bytes."""

    text: str
    is_lost: bool = True


_ALTERED: Final = _Wrong("the stored envelope does not hash to its commitment", is_lost=False)
_MISSING: Final = _Wrong("the storage has no ciphertext")
_OTHER_BYTES: Final = _Wrong(OTHER_BYTES)
_NOT_GIVEN: Final = _Wrong("the storage does not give the ciphertext, though it answers otherwise", is_lost=False)


def _not_given(deps: Dependencies, error: ServiceError) -> _Wrong:
    """What an error says about one object, so that no walk ends at it for ever. Raises one of a storage that is away,
    or of something else."""
    if error.code != "storage_unavailable":
        raise error
    deps.store.check()
    return _NOT_GIVEN


def _look_at_objects(deps: Dependencies, position: str) -> Iterator[Looked]:
    for each in _active(deps.engine, position):
        yield each.found(_ALTERED if each.envelope is None else _wrong_object(deps, each.envelope.ciphertext))


def _wrong_object(deps: Dependencies, wanted: CiphertextReference) -> _Wrong | None:
    try:
        info = find_object(deps, wanted.storage_locator)
    except ServiceError as error:
        return _not_given(deps, error)
    if info is None:
        return _MISSING
    known = known_good(deps, info)
    if known is None:  # put back from somewhere else, or put in its place: known once it is hashed, as readers do
        return _Wrong("the ciphertext was replaced, and what is in its place is not verified", is_lost=False)
    if known.reference != wanted or info.byte_length != wanted.byte_length or info.encoded:
        return _Wrong("the ciphertext has another length than the envelope states")
    if known.checksum is None:
        keep_verified(deps.engine, info, wanted)
    elif known.checksum != info.checksum:
        return _Wrong("the storage's checksum of the ciphertext is another than when it was verified")
    return None


def _look_at_lost(deps: Dependencies, ends: float) -> None:
    """Once more at work that is lost, of which some may have been put back."""
    try:
        for lost in list_lost(deps.engine, _ROWS):
            if time.monotonic() > ends:
                return
            try:
                _look_at_one_lost(deps, lost)
            except _EnoughToday:  # others were hashed by a reader
                log.info("what was put back is hashed tomorrow", bounty_id=lost.bounty_id)
    except ServiceError as error:
        if error.code not in _AWAY:
            raise
        log.warning("left to the next run", inspection="lost work", reason=error.message)


def _look_at_one_lost(deps: Dependencies, lost: LostWork) -> None:
    e = t.submission_envelopes.c
    key = (e.bounty_id == lost.bounty_id, e.solver == lost.solver, e.submission_commitment == lost.commitment)
    with reading(deps.engine) as connection:
        row = connection.execute(_active_envelopes().where(*key)).first()
    envelope = None if row is None else kept_envelope(row)
    if envelope is None:
        return  # replaced by its Solver, or altered: that is for the walks
    work = _Submitted("", lost.bounty_id, lost.solver, lost.commitment, envelope)
    is_hashed, wrong = _look_at_put_back(deps, envelope.ciphertext, lost.found_at)
    note_again(deps.engine, work.found(wrong), is_hashed=is_hashed)


def _look_at_work_again(deps: Dependencies, known: KnownDefect) -> list[Looked]:
    """At its object, or at its bytes, by the inspection that found it; nothing is left to look at of work that its
    Solver has replaced."""
    e = t.submission_envelopes.c
    key = (e.bounty_id == known.bounty_id, e.submission_commitment == known.subject)
    with reading(deps.engine) as connection:
        row = connection.execute(_active_envelopes().where(*key)).first()
    if row is None:
        return []
    envelope = kept_envelope(row)
    work = _Submitted("", known.bounty_id, row.solver, row.submission_commitment, envelope)
    if known.inspection is Walk.BYTES:
        return [work.found(_wrong_bytes(deps, work))]
    if envelope is None:
        return [work.found(_ALTERED)]
    _, wrong = _look_at_put_back(deps, envelope.ciphertext, known.found_at)
    return [work.found(wrong)]


def _look_at_put_back(deps: Dependencies, wanted: CiphertextReference, lost_at: datetime) -> tuple[bool, _Wrong | None]:
    """Whether what is there was hashed since it was lost, and what is wrong with it."""
    try:
        is_hashed = _is_put_back_hashed(deps, wanted, lost_at)
    except ServiceError as error:
        return False, _not_given(deps, error)
    return is_hashed, _wrong_object(deps, wanted)


def _is_put_back_hashed(deps: Dependencies, wanted: CiphertextReference, lost_at: datetime) -> bool:
    """Whether what is there was hashed since the work was found lost, here if nobody did it yet. Other bytes are
    removed, so that the right ones can still be put there."""
    info = deps.store.stat(wanted.storage_locator)
    if info is None:
        return False
    if (known := known_good(deps, info)) is not None:
        return known.verified_at > lost_at
    _take(deps, wanted.byte_length)
    verify(deps, info, wanted, lambda: True, may_delete_recorded=True)
    return True


# ---------------------------------------------------------------- bytes


def _look_at_bytes(deps: Dependencies, position: str) -> Iterator[Looked]:
    for each in _active(deps.engine, position):
        yield each.found(_wrong_bytes(deps, each))


def _wrong_bytes(deps: Dependencies, work: _Submitted) -> _Wrong | None:
    """What hashing finds, now or the last time. That there is nothing to hash is the other inspection's finding: it is
    over once the object is there, as after an hour of a wrong setting, and needs nothing of what a day may hash. So is
    an altered envelope, which names no bytes. Bytes that were wrong stay so until they are hashed again."""
    if work.envelope is None:
        return _as_known(deps, work)
    wanted = work.envelope.ciphertext
    try:
        info = find_object(deps, wanted.storage_locator)
        if info is None:
            note_known(deps.engine, Walk.OBJECTS, [work.found(_MISSING)])
            return _as_known(deps, work)
        _take(deps, wanted.byte_length)
        found = verify_object(deps.store, info, sha256=wanted.sha256, byte_length=wanted.byte_length)
    except ServiceError as error:
        return _not_given(deps, error)
    if found is Verification.DIFFERS:
        return _OTHER_BYTES
    keep_verified(deps.engine, info, wanted)
    return None


def _as_known(deps: Dependencies, work: _Submitted) -> _Wrong | None:
    """Other bytes that were found before; a former release noted missing ones here, too."""
    known = lost_as(deps.engine, Walk.BYTES, work.commitment)
    return None if known in (None, _MISSING.text) else _OTHER_BYTES


def _take(deps: Dependencies, byte_length: int) -> None:
    """Count what is going to be read, a killed run's, too; ``_EnoughToday`` where the day has no more, but the first of
    a day is always read."""
    i, most = t.inspections.c, deps.config.inspected_bytes
    if most == 0:
        raise _EnoughToday
    today = i.day == func.current_date()
    is_left = ~today | (i.spent_bytes == 0) | (i.spent_bytes + byte_length <= most)
    spent = case((today, i.spent_bytes), else_=0) + byte_length
    with writing(deps.engine) as connection:
        connection.execute(insert(t.inspections).values(name=Walk.BYTES).on_conflict_do_nothing())
        taken = connection.execute(
            update(t.inspections)
            .where(i.name == Walk.BYTES, is_left)
            .values(day=func.current_date(), spent_bytes=spent)
            .returning(i.name)
        ).first()
    if taken is None:
        raise _EnoughToday


def _active(engine: Engine, position: str) -> Iterator[_Submitted]:
    """Envelopes of active Submissions, in the order of their keys."""
    for place, row in _submissions_after(engine, _active_envelopes(), t.submission_envelopes, position):
        yield _Submitted(place, BountyId(row.bounty_id), row.solver, row.submission_commitment, kept_envelope(row))


def _submissions_after(
    engine: Engine, rows: Select[Any], table: Table, position: str
) -> Iterator[tuple[str, Row[*tuple[Any, ...]]]]:
    """All rows of a table with a row for each Submission that come after ``position``, each with its own; as
    ``_rows_after``."""
    c = table.c
    key = tuple_(c.bounty_id, c.solver, c.submission_commitment)
    after: tuple[int, str, str] = (0, "", "")
    if position:
        number, solver, commitment = position.split()
        after = int(number), solver, commitment
    while True:
        with reading(engine) as connection:
            found = connection.execute(rows.where(key > after).order_by(*key).limit(_ROWS)).all()
        for row in found:
            after = (row.bounty_id, row.solver, row.submission_commitment)
            yield " ".join(map(str, after)), row
        if not found:
            return


def _active_envelopes() -> Select[Any]:
    e = t.submission_envelopes.c
    rows = select(e.bounty_id, e.solver, e.submission_commitment, e.content)
    return rows.where(is_active(t.submission_envelopes))


_DAY: Final = timedelta(hours=23)
"""A little less, so that a run which comes an hour later is not too early each time."""
INSPECTIONS: Final = {
    Walk.TITLES: Inspection(_look_at_titles, _DAY),
    Walk.VERDICTS: Inspection(_look_at_verdicts, _DAY),
    Walk.RECORDS: Inspection(_look_at_records, _DAY),
    Walk.ENVELOPES: Inspection(_look_at_envelopes, _DAY),
    Walk.OBJECTS: Inspection(_look_at_objects, _DAY),
    Walk.BYTES: Inspection(_look_at_bytes, timedelta(days=7), at_a_time=1),
}
_LOOK_AGAIN: Final[dict[Walk, Callable[[Dependencies, KnownDefect], list[Looked]]]] = {
    Walk.TITLES: _look_at_page_again,
    Walk.VERDICTS: _look_at_verdict_again,
    Walk.RECORDS: lambda deps, known: [_look_at_record(deps, known.bounty_id)],
    Walk.ENVELOPES: _look_at_envelope_again,
    Walk.OBJECTS: _look_at_work_again,
    Walk.BYTES: _look_at_work_again,
}
