"""The beacon as the client uses it: its description, and the signature of one round."""

import time
from typing import Final

from service_common.chain.beacon_settings import beacon_info
from service_common.clock import SystemClock
from service_common.crypto.beacon import Beacon, BeaconClient, NotYet
from service_common.crypto.beacon_http import Urllib3Get
from service_common.crypto.beacon_info import BeaconInfo

from service_cli.outcome import Refused
from service_cli.output import say
from service_cli.settings import Settings
from service_cli.words import moment

WAIT_SECONDS: Final = 10
"""A round due within this time is waited for: the beacon and this machine may differ by seconds."""


def beacon_of(settings: Settings) -> BeaconInfo:
    """The beacon that this deployment seals for."""
    return beacon_info(settings.beacon(), Urllib3Get())


def round_signature(settings: Settings, info: BeaconInfo, number: int) -> Beacon:
    """The signature of a round; a round that is nearly due is waited for, a later one is refused."""
    client = BeaconClient(settings.beacon().urls, info, Urllib3Get(), SystemClock())
    ends, told = time.monotonic() + WAIT_SECONDS, False
    while isinstance(found := client.round(number), NotYet):
        if found.retry_after > WAIT_SECONDS or time.monotonic() > ends:
            due = moment(int(found.due_at), int(time.time()))
            message = f"Nobody can open this before the reveal point; the beacon's round {number} is due at {due}."
            raise Refused("reveal_point_not_reached", message, next_action="Run the command again after that time.")
        if not told:
            say(f"waiting for the beacon's round {number}")
            told = True
        time.sleep(max(0.3, min(found.retry_after, 3)))
    return found
