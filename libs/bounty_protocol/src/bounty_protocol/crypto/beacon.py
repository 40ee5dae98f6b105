"""Beacon signatures from drand relays, each of them verified.

A ``Beacon`` from here carries the beacon's own signature for its round, no matter which relay sent it. A round that no
relay has yet is ``NotYet`` with the time to try again, so waiting is never an error. The relays' answers decide, not
this machine's clock, except that a round far in the future is not requested. Raises ``beacon_unavailable`` when no
relay gives a usable answer and ``beacon_invalid`` when the only answers were forged.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bounty_protocol.clock import Clock
from bounty_protocol.crypto.beacon_info import BeaconInfo, parse_info
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.types import Bytes32, UnixSeconds

MAX_CLOCK_SKEW: Final = 3_600
"""A round due within this many seconds is requested: our clock may be slow."""
TIMEOUT_SECONDS: Final = 5.0
MAX_CACHED: Final = 4_096
_NOT_YET: Final = (404, 425)


@dataclass(frozen=True, slots=True)
class RelayAnswer:
    """Status and bounded body of one GET."""

    status: int
    body: bytes


class HttpGet(Protocol):
    """One GET without redirects; raises ``OSError`` where there is no answer in time."""

    def get(self, url: str, timeout: float) -> RelayAnswer: ...


@dataclass(frozen=True, slots=True)
class Beacon:
    """A round and its signature (48 bytes)."""

    round: int
    signature: bytes


@dataclass(frozen=True, slots=True)
class NotYet:
    """The round is not published yet; ask again after ``retry_after`` seconds."""

    round: int
    due_at: UnixSeconds
    retry_after: int


def verify_beacon(beacon: Beacon, info: BeaconInfo) -> bool:
    """Return whether the signature is the beacon's for the round."""
    from bounty_protocol.crypto import bls

    return bls.verify(beacon.round, beacon.signature, info.public_key_bytes)


def fetch_info(urls: Sequence[str], chain_hash: Bytes32, public_key: str, http: HttpGet) -> BeaconInfo:
    """Fetch genesis and period of a chain, given its hash and key, from the first relay that has them."""
    refused: SealedDataError | None = None
    for url in urls:
        try:
            answer = http.get(f"{_relay(url, chain_hash)}/info", TIMEOUT_SECONDS)
            if answer.status == 200:
                return parse_info(answer.body, chain_hash, public_key)
        except OSError:
            continue
        except SealedDataError as error:
            refused = error
    raise refused or _unavailable(f"no beacon relay answers for chain {chain_hash}")


class BeaconClient:
    """Queries several relays in turn and remembers what verified."""

    def __init__(self, urls: Sequence[str], info: BeaconInfo, http: HttpGet, clock: Clock) -> None:
        self.info = info
        self._relays = [_relay(url, info.chain_hash) for url in urls]
        self._http = http
        self._clock = clock
        self._cache: dict[int, Beacon] = {}

    def round(self, number: int) -> Beacon | NotYet:
        """Fetch the signature of a round, or return when to retry."""
        if number in self._cache:
            return self._cache[number]
        if number < 1:
            raise SealedDataError(Failure.BEACON_INVALID, "beacon rounds count from 1")
        wait = self.info.time_of(number) - self._clock.now()
        if wait > MAX_CLOCK_SKEW:
            return self._not_yet(number)
        return self._ask(number)

    def latest(self) -> Beacon:
        """Fetch the newest round that a relay serves."""
        beacon = self._ask(None)
        if isinstance(beacon, NotYet):
            raise _unavailable("the beacon has not published its first round yet")
        return beacon

    def _ask(self, number: int | None) -> Beacon | NotYet:
        forged = missing = False
        for relay in self._relays:
            try:
                answer = self._http.get(f"{relay}/public/{number or 'latest'}", TIMEOUT_SECONDS)
            except OSError:
                continue
            if answer.status in _NOT_YET:
                missing = True
            if answer.status != 200:
                continue
            beacon = _parse(answer.body)
            if beacon is None or number not in (None, beacon.round) or not verify_beacon(beacon, self.info):
                forged = True
                continue
            self._remember(beacon)
            return beacon
        if missing:
            return self._not_yet(number or 1)
        if forged:
            raise SealedDataError(
                Failure.BEACON_INVALID, "every relay that answered sent a signature that is not the beacon's"
            )
        raise _unavailable("no beacon relay answers")

    def _not_yet(self, number: int) -> NotYet:
        due_at = self.info.time_of(number)
        return NotYet(number, due_at, max(due_at - self._clock.now(), min(self.info.period_seconds, 3)))

    def _remember(self, beacon: Beacon) -> None:
        if len(self._cache) >= MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[beacon.round] = beacon


def _relay(url: str, chain_hash: Bytes32) -> str:
    """Return a relay's address for one chain; an address that already names the chain is left as it is."""
    base = url.rstrip("/")
    return base if base.endswith(chain_hash[2:]) else f"{base}/{chain_hash[2:]}"


def _parse(body: bytes) -> Beacon | None:
    try:
        value = json.loads(body)
        number, signature = value["round"], bytes.fromhex(value["signature"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Beacon(number, signature) if isinstance(number, int) and 0 < number < 2**63 else None


def _unavailable(message: str) -> SealedDataError:
    return SealedDataError(Failure.BEACON_UNAVAILABLE, message)
