"""How soon a connection shows that the machine at its other end is gone.

A process that ends closes its connections. A machine that is lost, or a pod whose network went with its node, sends
nothing at all: what was sent to it is sent again and again, and a read waits as for a slow answer. TCP can tell the two
apart, since a machine that is there acknowledges what it got, however long its program takes for the answer.
"""

import socket
from typing import Final

NEAR_SECONDS: Final = 2
"""Between two pods of a cluster."""
STORE_SECONDS: Final = 5
"""To a database, where work is lost with a connection: a virtual machine that moves stands still a second or two."""
FAR_SECONDS: Final = 20
"""Over the internet, where a mobile connection may be away for a while."""


def tcp_options(seconds: int) -> dict[int, int]:
    """Options of ``IPPROTO_TCP`` that, with ``SO_KEEPALIVE``, end a connection that acknowledges nothing for so long.

    An idle one is asked after as long, too. A system without one of these options goes without it.
    """
    wanted = {"TCP_KEEPIDLE": seconds, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": seconds, "TCP_USER_TIMEOUT": seconds * 1000}
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}


def socket_options(seconds: int) -> list[tuple[int, int, int]]:
    """The same for a socket, with ``TCP_NODELAY``, as urllib3 takes them."""
    return [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, option, value) for option, value in tcp_options(seconds).items()),
    ]


def libpq_options(seconds: int) -> dict[str, int]:
    """The same for a connection of libpq."""
    return {
        "keepalives_idle": seconds,
        "keepalives_interval": 1,
        "keepalives_count": seconds,
        "tcp_user_timeout": seconds * 1000,
    }
