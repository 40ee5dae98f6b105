"""How soon a connection shows that the machine at its other end is gone.

A process that ends closes its connections. A machine that is lost, or a pod whose network went with its node, sends
nothing at all: what was sent to it is sent again and again, and a read waits as for a slow answer. TCP can tell the two
apart, since a machine that is there acknowledges what it got, however long its program takes for the answer.

A program that does not read is no different from a lost machine once the buffers between are full. So these options are
for connections that send little at a time, or with a time in which a program has to read whatever is sent to it.
"""

import socket
from typing import Final

STORE_SECONDS: Final = 5
"""To the queues' server, whose commands are short: a virtual machine that moves stands still a second or two."""

_MOST_PROBES: Final = 127
"""As many as Linux takes."""


def tcp_options(seconds: int) -> dict[int, int]:
    """Options of ``IPPROTO_TCP`` that, with ``SO_KEEPALIVE``, end a connection that acknowledges nothing for that long.

    An idle connection is probed after a third of that time, and then each second. An option that the system lacks is
    skipped.
    """
    wanted = {
        "TCP_KEEPIDLE": _first_probe(seconds),
        "TCP_KEEPINTVL": 1,
        "TCP_KEEPCNT": min(seconds, _MOST_PROBES),
        "TCP_USER_TIMEOUT": seconds * 1000,
    }
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}


def libpq_options(seconds: int) -> dict[str, int]:
    """Return libpq's options that end such a connection."""
    return {
        "keepalives_idle": _first_probe(seconds),
        "keepalives_interval": 1,
        "keepalives_count": min(seconds, _MOST_PROBES),
        "tcp_user_timeout": seconds * 1000,
    }


def _first_probe(seconds: int) -> int:
    """Return after how many seconds of silence to probe first; the rest is for probes that may be lost."""
    return max(1, seconds // 3)
