"""Values that stay true for a while, kept per process.

Promises: nothing is handed out at ``seconds`` of age or older; at most ``limit`` values are kept; a failure to make a
value is never kept. Thread-safe.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from service_common.clock import Clock
from service_common.storage.port import DownloadTarget
from service_common.types import Address, BountyId, Bytes32

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
CONTENT_SECONDS: Final = 1.0
DOWNLOAD_LIFETIME_SECONDS: Final = 5 * 60
MAX_KEPT: Final = 512


class Recent(Generic[K, V]):
    """Values by key, each with the moment before it was made."""

    def __init__(self, seconds: float, limit: int) -> None:
        self._seconds, self._limit = seconds, limit
        self._lock = Lock()
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K, clock: Clock, make: Callable[[], V]) -> V:
        """The kept value where it is young enough, else a new one."""
        now = clock.monotonic()
        found = self._kept.get(key)
        if found is not None and now - found[0] < self._seconds:
            return found[1]
        value = make()
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (now, value)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True)
class SharedContent:
    """One Submission's content and who may read it: the same answer for each of them."""

    readers: frozenset[Address]
    answer: dict[str, object]


def recent_contents() -> Recent[tuple[BountyId, Bytes32], SharedContent]:
    """Submissions read within the last second: what the index says may be that much older."""
    return Recent(CONTENT_SECONDS, MAX_KEPT)


def recent_downloads() -> Recent[str, DownloadTarget]:
    """Download URLs by storage locator, for half their life."""
    return Recent(DOWNLOAD_LIFETIME_SECONDS / 2, MAX_KEPT)
