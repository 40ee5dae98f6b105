"""The time, and deadlines that have passed: by the chain, and by this machine's clock."""

import time

from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.types import UnixSeconds

from service_cli.chain.session import ChainClient
from service_cli.errors import CommandRefused
from service_cli.ui.output import warn
from service_cli.ui.text import clock_off, duration, moment

_SET_THE_CLOCK = (
    "Nothing was signed. Set this machine's clock, or use another RPC endpoint; if the chain itself has stopped, wait."
)


def signing_time(chain: ChainClient) -> UnixSeconds:
    """Return the start of an authorization's hour: the earlier of the newest block's time and this machine's.

    ``time_disagrees`` if they are far apart: the chain is the wrong one or has stopped, or somebody lies.
    """
    is_moved, times = chain.settings.has_moved_time(), []
    for each in chain.everywhere:
        newest, clock = each.latest().time, int(time.time())
        is_idle = chain.is_local and newest < clock  # a local chain may make a block only for a transaction
        off = clock_off(newest, clock, f"the newest block of {each.named}")
        if off is not None and not (is_moved or is_idle):
            raise CommandRefused("time_disagrees", f"{off[0].upper()}{off[1:]}.", next_action=_SET_THE_CLOCK)
        times.append(newest if is_moved else min(newest, clock))
    return UnixSeconds(min(times))


def is_over(moment: UnixSeconds, finalized: UnixSeconds, clock: UnixSeconds | None) -> bool:
    """Return whether finality has come to a moment and, if this machine's clock counts, so has that."""
    return finalized >= moment and (clock is None or clock >= moment)


def latest_moment(chain: ChainClient) -> UnixSeconds:
    """Return the latest time that an endpoint or this machine's clock shows: any earlier moment may have passed."""
    clock = () if chain.settings.has_moved_time() else (int(time.time()),)
    return UnixSeconds(max(*(each.latest().time for each in chain.everywhere), 0, *clock))


def warn_of_late_chain(chain: ChainClient, deadline: UnixSeconds, what: str) -> None:
    """Warn before ``what`` is signed if every endpoint's newest block is old: it may not be mined in time.

    One endpoint that is behind says nothing about the chain, so the youngest of the newest blocks counts.
    """
    if chain.is_local:  # a local chain may make a block only for a transaction
        return
    newest = max(each.latest().time for each in chain.everywhere)
    if (behind := int(time.time()) - newest) > STANDS_STILL_SECONDS:
        warn(
            f"warning: the chain's newest block is {duration(behind)} old by this machine's clock. {what} counts only "
            f"in a block before {moment(deadline, newest)}; if the chain produces none until then, it comes too "
            "late. For force inclusion see docs/client.md"
        )


def has_passed(chain: ChainClient, moment: UnixSeconds) -> bool:
    """Return whether the finalized block of every endpoint and this machine's clock have come to a moment."""
    clock = None if chain.settings.has_moved_time() else UnixSeconds(int(time.time()))
    return all(is_over(moment, each.finalized().time, clock) for each in chain.everywhere)
