"""An HTTP server whose answers are any bytes, in pieces and at a pace that a test chooses."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from socketserver import StreamRequestHandler, ThreadingTCPServer

from tests.serving import serving


@dataclass
class RawServer:
    """A running one: how many connections it took, and whether a client hung up in the middle of an answer."""

    url: str
    connections: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)


@contextmanager
def raw_server(pieces: Callable[[], Iterable[bytes]], pause: float = 0.0) -> Iterator[RawServer]:
    """Answers each request with these pieces, and waits for ``pause`` seconds after each."""
    ends = threading.Event()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            made.connections += 1
            with suppress(ConnectionResetError):  # by a client that has read enough
                self._answer()

        def _answer(self) -> None:
            while head := list(takewhile(bool, iter(self.rfile.readline, b"\r\n"))):  # an empty one: hung up
                lengths = [line.split(b":")[1] for line in head if line.lower().startswith(b"content-length:")]
                self.rfile.read(sum(map(int, lengths)))
                try:
                    for piece in pieces():
                        self.wfile.write(piece)
                        ends.wait(pause)
                except OSError:
                    made.hung_up.set()
                    return

    class Server(ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    server = Server(("127.0.0.1", 0), Handler)
    made = RawServer(f"http://127.0.0.1:{server.server_address[1]}/v1/secret-key")
    with serving(server):
        try:
            yield made
        finally:
            ends.set()


def whole(body: bytes, status: str = "200 OK") -> bytes:
    """An answer as one piece."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
