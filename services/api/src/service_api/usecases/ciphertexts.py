"""The uploaded ciphertext behind an envelope: is it there, and is it the one?

Promises: bytes are hashed once per object generation and the result is kept; an object that is not the one is deleted
by its generation, so the Solver can upload again; what takes longer than the request's bound is continued by the
queue ``artifacts`` and the caller told to come back (503 ``storage_verification_pending``).
"""

import time
from collections.abc import Callable

from rq.exceptions import DuplicateJobError
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.domain.envelope import CiphertextReference
from service_common.errors import Issue, ServiceError
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.storage.port import ObjectInfo
from service_common.storage.verify import Verification, verify_object
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from service_api.dependencies import Dependencies

VERIFY_BOUND_SECONDS = 10.0
"""About 1 GiB at the speed of a local disk; the rest is the queue's."""


def require_uploaded(deps: Dependencies, wanted: CiphertextReference) -> None:
    """Return when the stored bytes are the announced ones."""
    info = deps.store.stat(wanted.storage_locator)
    if info is None:
        raise _not_uploaded("is not uploaded yet")
    if is_known_good(deps, info, wanted):
        return
    ends = time.monotonic() + VERIFY_BOUND_SECONDS
    result = verify(deps, info, wanted, lambda: time.monotonic() < ends)
    if result is Verification.DIFFERS:
        raise _not_uploaded("was uploaded with other bytes and has been removed; upload it again")
    if result is Verification.UNFINISHED:
        _continue_in_queue(deps, info, wanted)
        raise ServiceError("storage_verification_pending", "The upload is still being verified.", retry_after=5)


def verify(
    deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference, keep_going: Callable[[], bool]
) -> Verification:
    """Hash one generation, keep a good result, delete a bad object."""
    result = verify_object(
        deps.store, info, sha256=wanted.sha256, byte_length=wanted.byte_length, keep_going=keep_going
    )
    if result is Verification.MATCHES:
        row = {
            "storage_locator": info.locator,
            "generation": info.generation,
            "sha256": wanted.sha256,
            "byte_length": wanted.byte_length,
        }
        with writing(deps.engine) as connection:
            connection.execute(insert(t.verified_objects).values(row).on_conflict_do_nothing())
    elif result is Verification.DIFFERS:
        deps.store.delete(info.locator, generation=info.generation)
    return result


def is_known_good(deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference) -> bool:
    """Whether this very generation was hashed before and is the announced ciphertext."""
    v = t.verified_objects.c
    with reading(deps.engine) as connection:
        row = connection.execute(
            select(v.sha256, v.byte_length).where(v.storage_locator == info.locator, v.generation == info.generation)
        ).first()
    return row is not None and (row.sha256, row.byte_length) == (wanted.sha256, wanted.byte_length)


def _continue_in_queue(deps: Dependencies, info: ObjectInfo, wanted: CiphertextReference) -> None:
    try:
        open_queue(QueueName.ARTIFACTS, deps.redis).enqueue(
            "service_api.jobs.verify_artifact",
            message(storage_locator=info.locator, sha256=wanted.sha256, byte_length=wanted.byte_length),
            job_id=f"verify-{wanted.sha256[2:]}-{info.generation}",
            unique=True,
            job_timeout=3600,
            result_ttl=0,
            failure_ttl=3600,
        )
    except DuplicateJobError:
        return


def _not_uploaded(what: str) -> ServiceError:
    issue = Issue("ciphertext", what)
    return ServiceError("invalid_solver_submission", "The ciphertext is not in place.", issues=[issue])
