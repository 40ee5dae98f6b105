"""The randomness beacon's rounds, for pages: their policy lets them reach no relay, so that they ask here.

They are under the path that relays have, so that a page reads them as it would read a relay. Each signature is
verified, which is a service to the pages and no authority: a page verifies it again. What verified is kept: a relay is
a stranger's server, and is asked for a round once.
"""

import re
from collections.abc import Callable, Sequence
from threading import Lock, Semaphore
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, HttpGet, NotYet
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.errors import ServiceError
from flask import Blueprint, Response
from service_common.recent import Recent
from service_common.web.authentication import public, read_query
from service_common.web.dependencies import provided
from werkzeug.exceptions import NotFound

from service_api.versions import json_version, render_version

_KEPT_SECONDS: Final = 3_600.0
_MOST_KEPT: Final = 1_024
_SILENT_SECONDS: Final = 10.0
"""For how long pages are not kept waiting by relays that did not answer."""
_AT_ONCE: Final = 8
"""Questions to relays at a time, so that callers who ask for old rounds do not occupy every thread."""
_ROUND: Final = re.compile(r"[1-9][0-9]{0,14}")
_FOREVER: Final = "public, max-age=31536000, immutable"

routes = Blueprint("rounds", __name__)


class RoundLater(Exception):
    """There is no signature to show now; ask again after ``seconds``: by default, since no relay answers, or too many
    callers wait for one.
    """

    def __init__(
        self, seconds: int = 5, status: int = 503, text: str = "No relay of the beacon answers at the moment."
    ) -> None:
        super().__init__(text)
        self.seconds, self.status = seconds, status


def _not_out(seconds: int) -> RoundLater:
    return RoundLater(seconds, 425, "This round is not out yet.")


class Rounds:
    """The verified answers of relays, kept. Thread-safe."""

    def __init__(self, urls: Sequence[str], info: Callable[[], BeaconInfo], http: HttpGet, clock: Clock) -> None:
        self._urls, self._read_info, self._http, self._clock = urls, info, http, clock
        self._lock, self._places = Lock(), Semaphore(_AT_ONCE)
        self._undescribed_until = self._silent_until = 0.0
        self._rounds: Recent[int, Beacon] = Recent(_KEPT_SECONDS, _MOST_KEPT, clock)

    def info(self) -> BeaconInfo | None:
        """Return the beacon with its clock; None if no record has it and no relay answers."""
        with self._lock:
            if self._clock.monotonic() < self._undescribed_until:
                return None
            try:
                return self._read_info()
            except ServiceError:
                self._undescribed_until = self._clock.monotonic() + _SILENT_SECONDS
                return None

    def round(self, chain_hash: str, number: int) -> Beacon:
        """Return the signature of a round; raise ``RoundLater``, or ``NotFound`` for another beacon."""
        info = self.info()
        if info is None:
            raise RoundLater
        if chain_hash != info.chain_hash.removeprefix("0x"):
            raise NotFound
        if (wait := info.time_of(number) - self._clock.now()) > 0:
            raise _not_out(wait)
        return self._rounds.get(number, lambda: self._asked(info, number))

    def _asked(self, info: BeaconInfo, number: int) -> Beacon:
        if self._clock.monotonic() < self._silent_until or not self._places.acquire(blocking=False):
            raise RoundLater
        try:
            found = BeaconClient(self._urls, info, self._http, self._clock).round(number)
        except SealedDataError as error:
            if error.failure is Failure.BEACON_UNAVAILABLE:
                self._silent_until = self._clock.monotonic() + _SILENT_SECONDS
            raise RoundLater from None
        finally:
            self._places.release()
        if isinstance(found, NotYet):
            raise _not_out(found.retry_after)
        return found


@routes.get("/beacon/<chain_hash>/public/<number>")
@public
def get_round(chain_hash: str, number: str) -> Response:
    """Answer with the signature of one round; 425 before it is published."""
    read_query(allowed=frozenset())
    if _ROUND.fullmatch(number) is None:
        raise NotFound
    try:
        found = provided(Rounds).round(chain_hash, int(number))
    except RoundLater as later:
        headers = {"Retry-After": str(later.seconds), "Cache-Control": "no-store"}
        return Response(f"{later}\n", later.status, mimetype="text/plain", headers=headers)
    return render_version(json_version({"round": found.round, "signature": found.signature.hex()}, _FOREVER))
