"""Free ports on 127.0.0.1, each given to one taker at a time.

A port that was given is not given again, by this process or by another stack on this machine, until it is released or
its owner ends. The claim is an abstract Unix socket, which the kernel drops with its owner and which lives in the same
network namespace as the port. Ports come from below the range that outgoing connections use, so that no client's source
port takes one away. A program that does not know of this can still do so, and a server that lost its port is started
again on another (``runtime.Runtime.start_listening``).
"""

import random
import socket
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_LOWEST: Final = 15_000
_ATTEMPTS: Final = 400


class PortClaim:
    """One port, held until ``release``."""

    def __init__(self, port: int, claim: socket.socket) -> None:
        self.port = port
        self._claim = claim

    def release(self) -> None:
        """Give the port back."""
        self._claim.close()


def claim_port() -> PortClaim:
    """Claim a port on which nothing listens now."""
    ceiling = _ephemeral_start()
    drawn = random.SystemRandom()
    for _ in range(_ATTEMPTS):
        port = drawn.randrange(_LOWEST, ceiling)
        if (claim := _claimed(port)) is not None:
            return PortClaim(port, claim)
    raise OSError(f"no free port found on {HOST}")


def _claimed(port: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0bounty-local-stack-port-{port}")
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except OSError:
        claim.close()
        return None
    return claim


def _ephemeral_start() -> int:
    """Return where the range of outgoing ports starts; a range that leaves no ports below is used itself."""
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        start = 32_768
    return start if start >= _LOWEST + 2_000 else 60_000
