"""Checks that the copy is complete and true, in the follower's job.

It runs in a thread of the job, on connections of its own, so that the copy goes on meanwhile; it ends with the job, and
the next one begins where this one was. A check that fails is logged and due again, and ends no other.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Final

from bounty_protocol.chain.json_rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from redis.exceptions import RedisError
from service_common.db.engine import engine_of_job
from service_common.db.errors import DatabaseUnavailable
from service_common.jobs.queues import connect
from service_common.log import get_logger
from sqlalchemy import Engine

from service_indexer.comparing import Comparer
from service_indexer.conduct import note_contradictions
from service_indexer.config import IndexerConfig
from service_indexer.source import source_of
from service_indexer.vouching import ComparisonStopped, vouch

PAUSE_SECONDS: Final = 5.0
VOUCH_AGAIN_SECONDS: Final = 3_600.0
"""After a comparison that found a difference: the copy is the same, and comparing is not free."""
NOT_DUE_SECONDS: Final = 60.0
"""How often to look whether there is something to compare."""
LAST_SECONDS: Final = 5.0
"""How long the end of the job waits for a check. One that still waits for an endpoint has noted nothing, and is made
again by the next job."""
_DAY_SECONDS: Final = 86_400.0

log = get_logger(__name__)


@dataclass
class _Task:
    """A repeated task; it returns the seconds until the next time."""

    run: Callable[[], float]
    due: float = 0.0

    def attempt(self) -> None:
        """Run it, and note when it is due again."""
        pause = NOT_DUE_SECONDS  # where it fails
        try:
            pause = self.run()
        except ComparisonStopped:
            pass  # the job ends
        except (ChainUnavailable, DatabaseUnavailable) as error:
            log.warning("cannot check the copy", reason=str(error))
        except Exception:  # rows that nobody foresaw must not end the other checks
            log.exception("cannot check the copy")
        self.due = time.monotonic() + pause


class Checking:
    """The thread of one job."""

    def __init__(self, config: IndexerConfig) -> None:
        self._config, self._rpc = config, config.chain.rpc()
        self._ended = Event()
        self._thread = Thread(target=self._run, name="checking", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(LAST_SECONDS)
        with suppress(RedisError):
            redis = connect(self._config.redis_url)
            note_contradictions(redis, self._config.chain.chain_id, self._rpc.endpoints)
            redis.close()

    def _run(self) -> None:
        with engine_of_job(self._config.database_url, application="indexer-checking", limited=False) as engine:
            tasks = [_Task(lambda: self._vouch(engine))]
            if self._config.compare_calls:
                comparer = self._comparer(engine)
                tasks.append(_Task(lambda: self._compare(comparer)))
            while not self._ended.wait(PAUSE_SECONDS):
                for task in tasks:
                    if task.due <= time.monotonic() and not self._ended.is_set():
                        task.attempt()

    def _vouch(self, engine: Engine) -> float:
        vouched = vouch(engine, self._config.chain.chain_id, self._ended)
        return VOUCH_AGAIN_SECONDS if vouched is not None and not vouched.equal else PAUSE_SECONDS

    def _comparer(self, engine: Engine) -> Comparer:
        """It queries the last endpoint first, which is another than the follower's where there is one."""
        chain = self._config.chain
        self._rpc.endpoints.succeeded(self._rpc.endpoints.all[-1], prefer=True)
        return Comparer(engine, chain.chain_id, source_of(self._config, self._rpc), BlockNumber(chain.first_block + 1))

    def _compare(self, comparer: Comparer) -> float:
        return NOT_DUE_SECONDS if comparer.step() is None else _DAY_SECONDS / self._config.compare_calls
