"""Run a call with a timeout.

While one call hangs no other is started, so that a dependency that never answers holds one thread and no more.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Generic, TypeVar

from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from service_common.db.errors import DatabaseUnavailable
from service_common.log import get_logger

T = TypeVar("T")
log = get_logger(__name__)


class BoundedCall(Generic[T]):
    """One function and its call in progress."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._lock = Lock()
        self._running: Future[T] | None = None

    def begin(self) -> Future[T]:
        """Return the call in progress, else a new one."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                Thread(target=self._run, args=(self._running,), daemon=True, name="bounded").start()
            return self._running

    def _run(self, running: Future[T]) -> None:
        try:
            running.set_result(self._function())
        except Exception as error:  # noqa: BLE001  # it belongs to the caller that waits
            running.set_exception(error)


class Figures(Collector):
    """Metrics that a function reads at each scrape; none if it fails or takes longer than ``seconds``: the others are
    reported.
    """

    def __init__(self, read: Callable[[], Iterable[Metric]], seconds: float = 2.0) -> None:
        self._read = BoundedCall(lambda: list(read()))
        self._seconds = seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the figures that can be read in time."""
        try:
            figures = self._read.begin().result(self._seconds)
        except (TimeoutError, DatabaseUnavailable, ChainUnavailable, RpcRefused, RedisError):
            return
        except Exception:
            log.exception("figures could not be read")
            return
        yield from figures
