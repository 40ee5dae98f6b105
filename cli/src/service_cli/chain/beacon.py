"""The beacon that work is sealed for: which one, and the signature of a round."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.clock import ShiftedClock, SystemClock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, NotYet
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import SealedDataError

from service_cli.config.settings import BEACON, Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import say
from service_cli.ui.text import clock_off, moment

WAIT_SECONDS: Final = 10
"""A round due within this time is waited for: the beacon and this machine may differ by seconds."""


def beacon_of(settings: Settings) -> BeaconInfo:
    """Return the beacon that this deployment seals for."""
    with _relays_asked():
        return beacon_info(settings.beacon(), Urllib3Get())


def round_signature(settings: Settings, info: BeaconInfo, number: int, chain_time: int | None = None) -> Beacon:
    """Return the signature of a round; wait for a round that is nearly due, refuse a later one.

    This machine's clock decides what is due; if it is far from the chain's time, the refusal says so. If somebody moves
    the time of a local chain, the chain's time counts.
    """
    clock = SystemClock()
    if chain_time is not None and settings.has_moved_time():
        ahead = chain_time - clock.now()
        clock = ShiftedClock(lambda: ahead)
    client = BeaconClient(settings.beacon().urls, info, Urllib3Get(), clock)
    ends, shown = time.monotonic() + WAIT_SECONDS, False
    while True:
        with _relays_asked():
            found = client.round(number)
        if not isinstance(found, NotYet):
            return found
        if found.retry_after > WAIT_SECONDS or time.monotonic() > ends:
            now = clock.now()
            due = moment(int(found.due_at), now)
            message = f"Nobody can open this before the reveal point; the beacon's round {number} is due at {due}."
            next_action = "Run the command again after that time."
            if found.due_at <= now:  # the relays contradict this machine's clock
                message = f"The beacon's round {number} is not published, though it was due by this machine's clock."
                next_action = "Check this machine's clock; if it is right, the relays are late: run the command again."
            elif chain_time is not None and (off := clock_off(chain_time, now, "the newest block")) is not None:
                message, next_action = f"{message} But {off}.", "Set this machine's clock, then run the command again."
            raise CommandRefused("reveal_point_not_reached", message, next_action=next_action)
        if not shown:
            say(f"waiting for the beacon's round {number}")
            shown = True
        time.sleep(max(0.3, min(found.retry_after, 3)))


@contextmanager
def _relays_asked() -> Iterator[None]:
    """Turn silent or lying relays into a failure that may pass, unlike a fault in sealed data."""
    try:
        yield
    except SealedDataError as error:
        next_action = f"Try again, or check {', '.join(BEACON)}."
        raise CommandFailed(error.code, error.message, next_action=next_action) from None
