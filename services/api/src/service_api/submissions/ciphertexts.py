"""The uploaded ciphertext behind an envelope: is it there, and is it the one?

Bytes are hashed once per object generation and the result is kept. An object that is not the right one is emptied by
its generation, so the Solver can upload again; one that was found to be right is never deleted, whatever a later
request states of it. What is in the place of recorded work no reader has deleted: the work is noted as lost, and it is
hashed once more before it goes, for the Solver who uploads the work again. Hashing that takes longer
than the request's bound, or comes while this process hashes as much as it may, is continued by the queue ``artifacts``,
and the caller gets 503 ``storage_verification_pending`` and comes back.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bounty_protocol.domain.envelope import CiphertextReference
from bounty_protocol.errors import Issue, ServiceError
from redis.exceptions import RedisError
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.jobs import JobKind, QueueName, enqueue, is_running, message
from service_common.log import get_logger
from sqlalchemy import Engine, delete, exists, select, update
from sqlalchemy.dialects.postgresql import insert

from service_api.dependencies import Dependencies
from service_api.metrics import CIPHERTEXT_BYTES, CIPHERTEXTS
from service_api.storage.pending import is_active, is_recorded
from service_api.storage.port import ObjectInfo
from service_api.storage.verify import Verification, verify_object

VERIFY_BOUND_SECONDS = 10.0
"""About 1 GiB at the speed of a local disk; the rest is the queue's."""
VERIFY: Final = JobKind(
    QueueName.ARTIFACTS,
    "service_api.jobs.verify_artifact",
    run_seconds=3_600,
    retries=(10, 60),  # the storage may be away for a moment
    at_front=True,  # a person waits for it
)
_WRONG_SECONDS: Final = 3_600
"""How long readers are told of other bytes without hashing them again."""
_WORK: Final = ("bounty_id", "solver", "submission_commitment")
_USUAL_SPEED: Final = 50_000_000
"""Bytes in a second: only to estimate when to try again."""

log = get_logger(__name__)


def require_uploaded(deps: Dependencies, wanted: CiphertextReference) -> None:
    """Return when the stored bytes are the announced ones; else the Solver's 400, or 503 while it is not known."""
    found = deps.store.stat(wanted.storage_locator)
    if found is None:
        raise _not_uploaded("is not in place: nothing is uploaded, or other bytes were and have been removed")
    if not _is_announced(deps, found, wanted, by_solver=True):
        if known_good(deps, found) is not None:
            raise _not_uploaded("is in place, but its verified bytes have another length than this envelope states")
        raise _not_uploaded("was uploaded with other bytes and has been removed; upload it again")


def make_place(deps: Dependencies, wanted: CiphertextReference) -> None:
    """Have other bytes removed from the place of recorded work, for its Solver who is to upload it; 503 while it is not
    known what is there.

    The Solver is charged for an upload of as many bytes before, and what was hashed once is known or gone.
    """
    found = deps.store.stat(wanted.storage_locator)
    if found is not None:
        _is_announced(deps, found, wanted, by_solver=True)


def generation_of(deps: Dependencies, wanted: CiphertextReference, *, may_hash: bool = True) -> int:
    """The generation that holds the bytes of a recorded Submission; an error where the storage has them no more.

    Unless the request ``may_hash``, one that nobody has hashed is left to the queue: ``storage_verification_pending``.
    """
    found = find_object(deps, wanted.storage_locator)
    if found is None or not _is_announced(deps, found, wanted, may_hash=may_hash):
        raise ServiceError(
            "solver_submission_content_invalid",
            "The storage does not hold the ciphertext of this Submission any more.",
            next_action="Ask the Solver or another Guardian for the sealed bytes; the commitment proves them.",
        )
    return found.generation


def find_object(deps: Dependencies, locator: str) -> ObjectInfo | None:
    """The object of recorded work; None only where the storage shows twice that it has none, and the bucket answers.

    One that is missing, as by a wrong setting, has no object either: that is ``storage_unavailable``.
    """
    found = deps.store.stat(locator)
    if found is None:
        deps.store.check()
        found = deps.store.stat(locator)
    return found


def verify(
    deps: Dependencies,
    info: ObjectInfo,
    wanted: CiphertextReference,
    keep_going: Callable[[], bool],
    *,
    may_delete_recorded: bool = False,
) -> Verification:
    """Hash one generation, keep a good result, delete a bad object, unless it is of recorded work: that is noted, and
    known to readers for a while."""
    result = verify_object(
        deps.store, info, sha256=wanted.sha256, byte_length=wanted.byte_length, keep_going=keep_going
    )
    CIPHERTEXTS.labels(result.value).inc()
    if result is Verification.MATCHES:
        if keep_verified(deps.engine, info, wanted):  # else another process hashed it in the meantime
            CIPHERTEXT_BYTES.inc(wanted.byte_length)
        _forget_lost(deps.engine, info.locator)
    elif result is Verification.DIFFERS:
        lengths = {"byte_length": info.byte_length, "announced": wanted.byte_length}
        log.warning("other bytes than announced", locator=info.locator, **lengths)
        if may_delete_recorded or not _note_lost(deps.engine, info.locator):
            deps.store.empty(info.locator, generation=info.generation)
        else:
            _note_wrong(deps, info)
    return result


def _note_lost(engine: Engine, locator: str) -> bool:
    """Note the active work that names this place as lost; whether any recorded one does."""
    e = t.submission_envelopes.c
    columns = e.bounty_id, e.solver, e.submission_commitment, is_active(t.submission_envelopes).label("active")
    named = select(*columns).where(e.storage_locator == locator, is_recorded())
    with writing(engine) as connection:
        works = connection.execute(named).mappings().all()
        lost = [{name: work[name] for name in _WORK} for work in works if work["active"]]
        if lost:
            connection.execute(insert(t.defects).values(lost).on_conflict_do_nothing())
            log.warning("sealed work is lost", locator=locator)
    return bool(works)


def _forget_lost(engine: Engine, locator: str) -> None:
    """The bytes in this place are right, as after its Solver uploaded them again."""
    d, e = t.defects.c, t.submission_envelopes.c
    named = exists().where(e.storage_locator == locator, *(d[name] == e[name] for name in _WORK))
    with writing(engine) as connection:
        connection.execute(delete(t.defects).where(named))


def _note_wrong(deps: Dependencies, info: ObjectInfo) -> None:
    with suppress(RedisError):  # else the next reader has it hashed again
        deps.redis.set(_wrong_key(info), 1, ex=_WRONG_SECONDS)


def _is_known_wrong(deps: Dependencies, info: ObjectInfo) -> bool:
    """Whether this very generation was found a moment ago not to be what its place is for."""
    try:
        return bool(deps.redis.exists(_wrong_key(info)))
    except RedisError:
        return False


def _wrong_key(info: ObjectInfo) -> str:
    return f"other-bytes:{info.locator}:{info.generation}"


@dataclass(frozen=True, slots=True)
class HashedObject:
    """A generation that was hashed: what it was found to be and when, and the storage's own checksum of it, where it is
    kept."""

    reference: CiphertextReference
    checksum: str | None
    verified_at: datetime


def known_good(deps: Dependencies, info: ObjectInfo) -> HashedObject | None:
    """The result of hashing this very generation; None where it never was."""
    v = t.verified_objects.c
    with reading(deps.engine) as connection:
        row = connection.execute(
            select(v.sha256, v.byte_length, v.checksum, v.verified_at).where(
                v.storage_locator == info.locator, v.generation == info.generation
            )
        ).first()
    return (
        None
        if row is None
        else HashedObject(CiphertextReference(row.sha256, row.byte_length, info.locator), row.checksum, row.verified_at)
    )


def keep_verified(engine: Engine, info: ObjectInfo, wanted: CiphertextReference) -> bool:
    """Keep that this generation is these bytes, and the checksum where none is kept yet; whether it was not known."""
    row = {
        "storage_locator": info.locator,
        "generation": info.generation,
        "sha256": wanted.sha256,
        "byte_length": wanted.byte_length,
        "checksum": info.checksum,
    }
    v = t.verified_objects
    kept = v.c.storage_locator == info.locator, v.c.generation == info.generation
    with writing(engine) as connection:
        statement = insert(v).values(row).on_conflict_do_nothing().returning(v.c.generation)
        is_first = connection.execute(statement).first() is not None
        if not is_first:
            connection.execute(update(v).where(*kept, v.c.checksum.is_(None)).values(checksum=info.checksum))
    return is_first


def _is_announced(
    deps: Dependencies,
    info: ObjectInfo,
    wanted: CiphertextReference,
    *,
    may_hash: bool = True,
    by_solver: bool = False,
) -> bool:
    """Whether the stored bytes are the announced ones; an object that was never found good and is not is removed, of
    recorded work where its Solver asks."""
    if (known := known_good(deps, info)) is not None:
        return known.reference == wanted
    if not by_solver and _is_known_wrong(deps, info):
        return False
    result = _verify_now(deps, info, wanted, by_solver=by_solver) if may_hash else Verification.UNFINISHED
    if result is Verification.UNFINISHED:
        _continue_in_queue(deps, info, wanted, by_solver=by_solver)
        message = "The upload is still being verified."
        raise ServiceError("storage_verification_pending", message, retry_after=_patience(wanted))
    return result is Verification.MATCHES


def _verify_now(deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference, *, by_solver: bool) -> Verification:
    """Within the request's bound, unless the queue is at it already or this process hashes as much as it may."""
    if _queue_is_at_it(deps, info, wanted) or not deps.verify_places.acquire(blocking=False):
        return Verification.UNFINISHED
    try:
        ends = time.monotonic() + VERIFY_BOUND_SECONDS
        result = verify(deps, info, wanted, lambda: time.monotonic() < ends, may_delete_recorded=by_solver)
    finally:
        deps.verify_places.release()
    if result is Verification.UNFINISHED:
        with suppress(RedisError):  # else the next request reads as much in vain
            deps.redis.set(_tried_key(info), 1, ex=VERIFY.run_seconds)
    return result


def _queue_is_at_it(deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference) -> bool:
    """Whether the job runs, or a request tried and could not end it: a job that waits behind another holds up nothing
    that a request can hash."""
    if is_running(deps.engine, _job_id(info, wanted)):
        return True
    try:
        return bool(deps.redis.exists(_tried_key(info)))
    except RedisError:
        return False


def _tried_key(info: ObjectInfo) -> str:
    return f"tried:{info.locator}:{info.generation}"


def _continue_in_queue(deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference, *, by_solver: bool) -> None:
    try:
        argument = message(storage_locator=info.locator, by_solver=by_solver)
        enqueue(deps.redis, deps.engine, VERIFY, _job_id(info, wanted), argument)
    except RedisError as error:  # the next request tries again
        log.warning("verification not queued", reason=type(error).__name__)


def _job_id(info: ObjectInfo, wanted: CiphertextReference) -> str:
    return f"verify-{wanted.sha256[2:]}-{info.generation}"


def _patience(wanted: CiphertextReference) -> int:
    return max(2, min(30, wanted.byte_length // _USUAL_SPEED))


def _not_uploaded(what: str) -> ServiceError:
    issue = Issue("ciphertext", what)
    return ServiceError("invalid_solver_submission", "The ciphertext is not in place.", issues=[issue])
