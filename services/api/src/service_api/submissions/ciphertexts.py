"""The uploaded ciphertext behind an envelope: is it there, and is it the one?

Bytes are hashed once per object generation and the result is kept. An object that is not the right one is emptied by
its generation, so the Solver can upload again; one that was found to be right is never deleted, whatever a later
request states of it. What is in the place of recorded work no reader has deleted: the work is noted as lost, and it is
hashed once more before it goes, for the Solver who uploads the work again. Hashing that takes longer
than the request's bound, or comes while this process hashes as much as it may, is continued by the queue ``artifacts``,
and the caller gets 503 ``storage_verification_pending`` and comes back.
"""

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from threading import BoundedSemaphore
from typing import Final

from bounty_protocol.domain.envelope.document import CiphertextReference
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Bytes32
from prometheus_client import Counter
from redis import Redis
from redis.exceptions import RedisError
from service_common.counters import counter_by
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.jobs import JobKind, QueueName, enqueue, is_running, message
from service_common.log import get_logger
from sqlalchemy import Engine, delete, exists, select
from sqlalchemy.dialects.postgresql import insert

from service_api.storage.gcs import GcsStore, ObjectInfo
from service_api.storage.room import is_active, is_recorded

VERIFY_BOUND_SECONDS = 10.0
"""About 1 GiB at the speed of a local disk; the rest is the queue's."""
MAX_VERIFYING: Final = 8
"""Ciphertexts that one process hashes at a time while their requests wait; more go to the queue at once."""
VERIFY: Final = JobKind(
    QueueName.ARTIFACTS,
    "service_api.jobs.verify_artifact",
    run_seconds=3_600,
    at_front=True,  # a person waits for it
)
_WRONG_SECONDS: Final = 3_600
"""How long readers are told of other bytes without hashing them again."""
_WORK: Final = ("bounty_id", "solver", "submission_commitment")
_USUAL_SPEED: Final = 50_000_000
"""Bytes in a second: only to estimate when to try again."""

log = get_logger(__name__)


class Verification(StrEnum):
    """The verified facts of one generation of an object: whether its bytes have the stated length and SHA-256.

    The uploader's claims and the storage's own checksums prove nothing here.
    """

    MATCHES = "matches"
    DIFFERS = "differs"
    UNFINISHED = "unfinished"


CIPHERTEXTS: Final = counter_by(
    "result",
    Verification,
    "service_ciphertexts_total",
    "Uploaded ciphertexts hashed, by result; `unfinished` ones continue in the queue",
)
CIPHERTEXT_BYTES: Final = Counter(
    "service_ciphertext_bytes_total", "Bytes of uploaded ciphertexts that match the announced ones"
)


class Ciphertexts:
    """The sealed work in the bucket, and what is known of its bytes. Thread-safe."""

    def __init__(self, engine: Engine, store: GcsStore, redis: Redis) -> None:
        self.engine, self.store, self.redis = engine, store, redis
        self.places = BoundedSemaphore(MAX_VERIFYING)

    def require_uploaded(self, wanted: CiphertextReference) -> None:
        """Return if the stored bytes are the announced ones; else raise the Solver's 400, or 503 while that
        is unknown.
        """
        found = self.store.stat(wanted.storage_locator)
        if found is None:
            raise _not_uploaded("is not in place: nothing is uploaded, or other bytes were and have been removed")
        if not self._is_announced(found, wanted, by_solver=True):
            if self.known_good(found) is not None:
                raise _not_uploaded(
                    "is in place, but its verified bytes do not have the length stated in this envelope"
                )
            raise _not_uploaded("was uploaded with other bytes and has been removed; upload it again")

    def make_place(self, wanted: CiphertextReference) -> None:
        """Remove wrong bytes from the locator of recorded work, so that its Solver can upload it; 503 while it is
        unknown what is there.

        The Solver is charged beforehand for an upload of that size; whatever was hashed is then known or gone.
        """
        found = self.store.stat(wanted.storage_locator)
        if found is not None:
            self._is_announced(found, wanted, by_solver=True)

    def clear_impostor(self, wanted: CiphertextReference) -> None:
        """Remove an object whose length alone shows that it is not the announced one."""
        found = self.store.stat(wanted.storage_locator)
        if found is None or (not found.encoded and found.byte_length == wanted.byte_length):
            return
        if (known := self.known_good(found)) is not None:
            message = f"must be {known.byte_length}: the ciphertext with that digest is already in place"
            issue = Issue("ciphertext_byte_length", message)
            raise ServiceError(
                "invalid_solver_submission", "The ciphertext with this digest has another length.", issues=[issue]
            )
        self.store.empty(wanted.storage_locator, generation=found.generation)

    def generation_of(self, wanted: CiphertextReference, *, may_hash: bool = True) -> int:
        """Return the generation that holds the bytes of a recorded Submission; raise if the storage has lost them.

        Unless the request ``may_hash``, a generation that was never hashed is left to the queue:
        ``storage_verification_pending``.
        """
        found = self.store.stat(wanted.storage_locator)
        if found is None:
            self.store.check()  # a bucket that is missing, as by a wrong setting, has no object either
        if found is None or not self._is_announced(found, wanted, may_hash=may_hash):
            raise ServiceError(
                "solver_submission_content_invalid",
                "The storage no longer holds the ciphertext of this Submission.",
                next_action="Ask the Solver or another Guardian for the sealed bytes; the commitment proves them.",
            )
        return found.generation

    def verify(
        self,
        info: ObjectInfo,
        wanted: CiphertextReference,
        keep_going: Callable[[], bool],
        *,
        may_delete_recorded: bool = False,
    ) -> Verification:
        """Hash one generation, store a good result, delete a bad object. A bad object of recorded work is noted
        instead, and reported to readers for a while.
        """
        result = verify_object(
            self.store, info, sha256=wanted.sha256, byte_length=wanted.byte_length, keep_going=keep_going
        )
        CIPHERTEXTS.labels(result.value).inc()
        if result is Verification.MATCHES:
            if _keep_verified(self.engine, info, wanted):  # else another process hashed it in the meantime
                CIPHERTEXT_BYTES.inc(wanted.byte_length)
        elif result is Verification.DIFFERS:
            lengths = {"byte_length": info.byte_length, "announced": wanted.byte_length}
            log.warning("bytes other than announced", locator=info.locator, **lengths)
            if may_delete_recorded or not _note_lost(self.engine, info.locator):
                self.store.empty(info.locator, generation=info.generation)
            else:
                with suppress(RedisError):  # else the next reader has it hashed again
                    self.redis.set(_wrong_key(info), 1, ex=_WRONG_SECONDS)
        return result

    def known_good(self, info: ObjectInfo) -> CiphertextReference | None:
        """Return the result of hashing this generation; None if it was never hashed."""
        v = t.verified_objects.c
        found = select(v.sha256, v.byte_length).where(
            v.storage_locator == info.locator, v.generation == info.generation
        )
        with reading(self.engine) as connection:
            row = connection.execute(found).first()
        return None if row is None else CiphertextReference(row.sha256, row.byte_length, info.locator)

    def _is_announced(
        self, info: ObjectInfo, wanted: CiphertextReference, *, may_hash: bool = True, by_solver: bool = False
    ) -> bool:
        """Return whether the stored bytes are the announced ones. A wrong object is removed, but one of recorded work
        only if its Solver asks.
        """
        if (known := self.known_good(info)) is not None:
            return known == wanted
        if not by_solver and self._is_noted(_wrong_key(info)):
            return False
        result = self._verify_now(info, wanted, by_solver=by_solver) if may_hash else Verification.UNFINISHED
        if result is Verification.UNFINISHED:
            try:
                argument = message(storage_locator=info.locator, by_solver=by_solver)
                enqueue(self.redis, self.engine, VERIFY, _job_id(info, wanted), argument)
            except RedisError as error:  # the next request tries again
                log.warning("verification not queued", reason=type(error).__name__)
            patience = max(2, min(30, wanted.byte_length // _USUAL_SPEED))
            text = "The upload is still being verified."
            raise ServiceError("storage_verification_pending", text, retry_after=patience)
        return result is Verification.MATCHES

    def _verify_now(self, info: ObjectInfo, wanted: CiphertextReference, *, by_solver: bool) -> Verification:
        """Hash within the request's limit, unless the queue is doing it, an earlier request could not finish it, or
        this process already hashes as much as it may. A job that waits behind another does not delay what a request can
        hash.
        """
        if is_running(self.engine, _job_id(info, wanted)) or self._is_noted(_tried_key(info)):
            return Verification.UNFINISHED
        if not self.places.acquire(blocking=False):
            return Verification.UNFINISHED
        try:
            ends = time.monotonic() + VERIFY_BOUND_SECONDS
            result = self.verify(info, wanted, lambda: time.monotonic() < ends, may_delete_recorded=by_solver)
        finally:
            self.places.release()
        if result is Verification.UNFINISHED:
            with suppress(RedisError):  # else the next request reads as much in vain
                self.redis.set(_tried_key(info), 1, ex=VERIFY.run_seconds)
        return result

    def _is_noted(self, key: str) -> bool:
        try:
            return bool(self.redis.exists(key))
        except RedisError:
            return False


def verify_object(
    store: GcsStore,
    info: ObjectInfo,
    *,
    sha256: Bytes32,
    byte_length: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> Verification:
    """Compare one generation with what it should be, in constant memory; ``keep_going`` is called before each chunk."""
    if info.encoded or info.byte_length != byte_length:
        return Verification.DIFFERS
    digest, length = hashlib.sha256(), 0
    for chunk in store.read(info):
        digest.update(chunk)
        length += len(chunk)
        if length < byte_length and not keep_going():
            return Verification.UNFINISHED
    is_right = length == byte_length and "0x" + digest.hexdigest() == sha256
    return Verification.MATCHES if is_right else Verification.DIFFERS


def _keep_verified(engine: Engine, info: ObjectInfo, wanted: CiphertextReference) -> bool:
    """Store that this generation holds these bytes, and that the work at its locator is not lost any more; return
    whether the first was new.
    """
    row = {"generation": info.generation, "sha256": wanted.sha256, "byte_length": wanted.byte_length}
    kept = insert(t.verified_objects).values(storage_locator=info.locator, **row)
    d, e = t.defects.c, t.submission_envelopes.c
    named = exists().where(e.storage_locator == info.locator, *(d[name] == e[name] for name in _WORK))
    with writing(engine) as connection:
        added = connection.execute(kept.on_conflict_do_nothing().returning(t.verified_objects.c.generation)).first()
        connection.execute(delete(t.defects).where(named))
    return added is not None


def _note_lost(engine: Engine, locator: str) -> bool:
    """Note the active work at this locator as lost; return whether any recorded work is there."""
    e = t.submission_envelopes.c
    columns = e.bounty_id, e.solver, e.submission_commitment, is_active().label("active")
    named = select(*columns).where(e.storage_locator == locator, is_recorded())
    with writing(engine) as connection:
        works = connection.execute(named).mappings().all()
        lost = [{name: work[name] for name in _WORK} for work in works if work["active"]]
        if lost:
            connection.execute(insert(t.defects).values(lost).on_conflict_do_nothing())
            log.warning("sealed work is lost", locator=locator)
    return bool(works)


def _wrong_key(info: ObjectInfo) -> str:
    """Return the key that is set while this generation is known to be wrong for its locator."""
    return f"other-bytes:{info.locator}:{info.generation}"


def _tried_key(info: ObjectInfo) -> str:
    """Return the key that is set once a request could not finish hashing this generation."""
    return f"tried:{info.locator}:{info.generation}"


def _job_id(info: ObjectInfo, wanted: CiphertextReference) -> str:
    return f"verify-{wanted.sha256[2:]}-{info.generation}"


def _not_uploaded(what: str) -> ServiceError:
    issue = Issue("ciphertext", what)
    return ServiceError("invalid_solver_submission", "The ciphertext is not in place.", issues=[issue])
