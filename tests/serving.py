"""A server of the standard library at work in a thread of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from threading import Thread


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Answer until the block ends; then the port is closed and the thread gone, at once."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
