"""What people reach in place of the api itself: a proxy that passes everything on, and can keep answers too long."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import urllib3

from tests.serving import serving

_OF_ONE_CONNECTION: Final = frozenset(
    {"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding"}
)
"""Fields that the proxy has of its own."""


@dataclass(frozen=True, slots=True)
class PassedAnswer:
    """An answer of the api, and when it came, by a clock that only goes on."""

    status: int
    fields: Sequence[tuple[str, str]]
    body: bytes
    at: float


@dataclass
class FrontDoor:
    """A running proxy before the api."""

    url: str
    keeps: bool = False
    """Whether a read is answered with what it was answered first, whatever the api says of how long that may be."""
    kept: dict[str, PassedAnswer] = field(default_factory=dict)

    def keep_nothing(self) -> None:
        """Pass everything on again, and forget what was kept."""
        self.keeps = False
        self.kept.clear()


@contextmanager
def front_door(api: str) -> Iterator[FrontDoor]:
    """A front door before the api of this address, which passes everything on until it is set to keep answers."""
    http = urllib3.PoolManager(maxsize=20)

    class _Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = made.kept.get(self.path) if made.keeps else None
            answer = found or self._of_the_api(None)
            if made.keeps and answer.status == 200:
                made.kept.setdefault(self.path, answer)
            self._give(answer, [("Age", str(int(time.monotonic() - answer.at)))] if found else [])

        def do_POST(self) -> None:
            self._give(self._of_the_api(self.rfile.read(int(self.headers.get("Content-Length", "0")))), [])

        def _of_the_api(self, body: bytes | None) -> PassedAnswer:
            try:
                answer = http.request(
                    self.command, api + self.path, body=body, headers=dict(_passed(self.headers.items())),
                    retries=False, redirect=False, timeout=60, decode_content=False,
                )  # fmt: skip
            except urllib3.exceptions.HTTPError:  # the api is away
                return PassedAnswer(502, [], b"", time.monotonic())
            return PassedAnswer(answer.status, _passed(answer.headers.items()), answer.data, time.monotonic())

        def _give(self, answer: PassedAnswer, more: Sequence[tuple[str, str]]) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits for it any more
                self.send_response(answer.status)
                for name, value in (*answer.fields, *more, ("Content-Length", str(len(answer.body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class _Server(ThreadingHTTPServer):
        daemon_threads = True

    server = _Server(("127.0.0.1", 0), _Passing)
    made = FrontDoor(f"http://127.0.0.1:{server.server_port}")
    with serving(server):
        yield made


def _passed(fields: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in fields if name.lower() not in _OF_ONE_CONNECTION]
