"""The randomness beacon, for pages: their policy lets them reach no relay, so that they ask here.

Each signature is verified, which is a service to the pages and no authority: a page verifies it again.
"""

from threading import Semaphore
from typing import Final

from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.chain.deployment import BeaconRecord
from bounty_protocol.clock import Clock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, HttpGet, NotYet
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import Failure, SealedDataError
from service_common.recent import Recent

_KEPT_SECONDS: Final = 3_600.0
_MOST_KEPT: Final = 1_024
_SILENT_SECONDS: Final = 10.0
"""For how long pages are not kept waiting by relays that did not answer."""
_AT_ONCE: Final = 8
"""Questions to relays at a time, so that callers who ask for old rounds do not occupy every thread."""


class BeaconUnavailable(Exception):
    """No relay answers at the moment, or too many callers wait for one."""


class RoundNotOut(Exception):
    """The round has no signature yet; ask again after ``retry_after`` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class Rounds:
    """The verified answers of relays, kept. Thread-safe."""

    def __init__(self, record: BeaconRecord, http: HttpGet, clock: Clock) -> None:
        self._record, self._http, self._clock = record, http, clock
        self._places = Semaphore(_AT_ONCE)
        self._silent_until = self._no_rounds_until = 0.0
        self._info: Recent[str, BeaconInfo] = Recent(_KEPT_SECONDS, 1, clock)
        self._rounds: Recent[int, Beacon] = Recent(_KEPT_SECONDS, _MOST_KEPT, clock)

    @property
    def chain_hash(self) -> str:
        """Which beacon, in hex without 0x."""
        return self._record.chain_hash[2:]

    def info(self) -> BeaconInfo | None:
        """The beacon with its clock; None where that is known from no record and no relay answers."""
        if self._clock.monotonic() < self._silent_until:
            return None
        try:
            return self._info.get("info", lambda: beacon_info(self._record, self._http))
        except SealedDataError:
            self._silent_until = self._clock.monotonic() + _SILENT_SECONDS
            return None

    def round(self, number: int) -> Beacon:
        """The signature of a round; raises ``RoundNotOut`` and ``BeaconUnavailable``."""
        info = self.info()
        if info is None:
            raise BeaconUnavailable
        if (wait := info.time_of(number) - self._clock.now()) > 0:
            raise RoundNotOut(wait)
        return self._rounds.get(number, lambda: self._asked(info, number))

    def _asked(self, info: BeaconInfo, number: int) -> Beacon:
        if self._clock.monotonic() < self._no_rounds_until or not self._places.acquire(blocking=False):
            raise BeaconUnavailable
        try:
            found = BeaconClient(self._record.urls, info, self._http, self._clock).round(number)
        except SealedDataError as error:
            if error.failure is Failure.BEACON_UNAVAILABLE:
                self._no_rounds_until = self._clock.monotonic() + _SILENT_SECONDS
            raise BeaconUnavailable from None
        finally:
            self._places.release()
        if isinstance(found, NotYet):
            raise RoundNotOut(found.retry_after)
        return found
