"""A job as Redis has it, where anyone who can write to Redis may have written it: what ``enqueue`` writes, bounded.

RQ reads more: what to call when a job ends, what to repeat, and bytes of zlib that a few KB make gigabytes of.
"""

import zlib
from base64 import b64decode
from typing import Final

from rq.exceptions import NoSuchJobError, StopRequested
from rq.job import Job
from rq.results import Result
from rq.timeouts import BaseTimeoutException
from rq.utils import as_text

from service_common.log import get_logger

INFLATED_BYTES: Final = 1024 * 1024
"""The most that a job's message or traceback may be; the largest, a page under review, is 350 KB."""
_FIELDS: Final = frozenset(
    {
        *("data", "meta", "origin", "description", "status", "worker_name"),
        *("created_at", "enqueued_at", "started_at", "ended_at", "last_heartbeat"),
        *("timeout", "ttl", "result_ttl", "failure_ttl"),
    }
)

log = get_logger(__name__)


class StoredJob(Job):
    """A job of which callbacks, retries and repeats are not read."""

    def restore(self, raw_data):  # type: ignore[no-untyped-def]  # RQ gives it no types
        """What ``enqueue`` writes, and RQ while the job runs.

        Raises ``NoSuchJobError`` for what cannot be read: whoever looks for a job then finds none, and goes on.
        """
        read = {as_text(name): value for name, value in raw_data.items()}
        if "data" not in read:  # the server lost the job, and has only a later sign of its life
            raise NoSuchJobError(f"the job {self.id} is no longer there")
        try:
            data = inflate(read["data"])
            super().restore({name: value for name, value in read.items() if name in _FIELDS} | {"data": b""})
        except (StopRequested, BaseTimeoutException):  # a signal that came meanwhile: no fault of the job's
            raise
        except Exception as error:  # RQ has one for each field that is malformed
            log.warning("a job in Redis cannot be read", job_id=self.id, reason=type(error).__name__)
            raise NoSuchJobError(f"the job {self.id} cannot be read") from error
        self.data = data

    def latest_result(self, timeout: int = 0) -> Result | None:
        """How the job ended last; waits for so many seconds. Raises for what cannot be read."""
        return _StoredResult.fetch_latest(self, serializer=self.serializer, timeout=timeout)


class _StoredResult(Result):
    @classmethod
    def restore(cls, job_id, result_id, payload, connection, serializer=None):  # type: ignore[no-untyped-def]
        read = {as_text(name): value for name, value in payload.items()}
        if read.get("exc_string"):
            inflate(b64decode(read["exc_string"]))
        return super().restore(job_id, result_id, payload, connection, serializer)


def inflate(packed: bytes) -> bytes:
    """What was packed with zlib; ``ValueError`` for more than ``INFLATED_BYTES``, ``zlib.error`` for other bytes."""
    inflating = zlib.decompressobj()
    found = inflating.decompress(packed, INFLATED_BYTES)
    if not inflating.eof and inflating.decompress(inflating.unconsumed_tail, 1):
        raise ValueError(f"it is more than {INFLATED_BYTES} bytes")
    return found
