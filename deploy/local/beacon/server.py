"""drand's HTTP API over a local chain.

Routes, each also under ``/<chain hash>``: ``/info``, ``/public/latest``, ``/public/<round>``, ``/health``; and
``/chains``. A round that is not due is 425 with Retry-After, an unknown path or chain 404.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from bounty_protocol.clock import Clock

from beacon.chain import LocalBeacon

_ROUTE: Final = re.compile(r"(?:/([0-9a-f]{64}))?/(info|health|public/latest|public/([1-9][0-9]{0,17}))")
Answer = tuple[int, object, dict[str, str]]


class BeaconServer(ThreadingHTTPServer):
    """One chain served on one address; a thread for each connection."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], chain: LocalBeacon, clock: Clock) -> None:
        super().__init__(address, _Handler)
        self.chain = chain
        self.clock = clock

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"


def answer(path: str, chain: LocalBeacon, clock: Clock) -> Answer:
    """Return status, JSON body and headers for a path."""
    if path == "/chains":
        return 200, [chain.info.chain_hash[2:]], {}
    found = _ROUTE.fullmatch(path)
    if found is None or found[1] not in {None, chain.info.chain_hash[2:]}:
        return 404, {"error": "not found"}, {}
    if found[2] == "info":
        return 200, chain.info_json(), {}
    latest = chain.latest_round(clock.now())
    if found[2] == "health":
        return 200, {"current": latest, "expected": latest}, {}
    return _round(int(found[3]) if found[3] else latest, latest, chain, clock)


def _round(number: int, latest: int, chain: LocalBeacon, clock: Clock) -> Answer:
    if not 1 <= number <= latest:
        due_at = chain.info.time_of(max(number, 1))
        return 425, {"error": "too early"}, {"Retry-After": str(max(due_at - clock.now(), 1))}
    return 200, chain.beacon_json(number), {"Cache-Control": "no-store"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head
    server: BeaconServer

    def do_GET(self) -> None:
        status, value, headers = answer(self.path.partition("?")[0], self.server.chain, self.server.clock)
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*", **headers}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Keep quiet: the stack's log is for the services."""
