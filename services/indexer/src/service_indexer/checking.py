"""What the follower's job does beside following: showing that the copy is complete and true.

It runs in a thread of the job, on connections of its own, so that the copy goes on meanwhile; it ends with the job, and
the next one begins where this one was.
"""

from threading import Event, Thread
from typing import Final

from service_common.chain.json_rpc import ChainUnavailable
from service_common.db.engine import DatabaseUnavailable, engine_of_job
from service_common.log import get_logger
from sqlalchemy import Engine

from service_indexer.config import IndexerConfig
from service_indexer.vouching import Interrupted, vouch

PAUSE_SECONDS: Final = 2.0
VOUCH_AGAIN_SECONDS: Final = 3_600.0
"""After a comparison that found a difference: the copy is the same, and comparing is not free."""

log = get_logger(__name__)


class Checking:
    """The thread of one job."""

    def __init__(self, config: IndexerConfig) -> None:
        self._config = config
        self._ended = Event()
        self._thread = Thread(target=self._run, name="checking", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with engine_of_job(self._config.database_url, application="indexer-checking", limited=False) as engine:
            wait = PAUSE_SECONDS
            while not self._ended.wait(wait):
                try:
                    wait = self._check(engine)
                except Interrupted:
                    return
                except (ChainUnavailable, DatabaseUnavailable) as error:
                    log.warning("cannot check the copy", reason=str(error))

    def _check(self, engine: Engine) -> float:
        """Do what is due; how long to wait then."""
        vouched = vouch(engine, self._config.chain.chain_id, self._ended)
        return VOUCH_AGAIN_SECONDS if vouched is not None and not vouched.equal else PAUSE_SECONDS
