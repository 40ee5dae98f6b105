"""``/metrics`` of a watch, for Prometheus. Connections that send nothing keep nobody waiting."""

import asyncio
import threading
from contextlib import suppress
from typing import Final

SCRAPE_SECONDS: Final = 5.0
"""For one scrape: its request, its answer, and until the other side hangs up."""
MAX_REQUEST: Final = 8_192
MAX_SCRAPES: Final = 64
"""Connections at a time: one more ends the oldest."""


class MetricsServer:
    """Serves ``text`` in a thread of its own, each connection once and for a bounded time."""

    text = ""
    """Nothing, and 503, before the first check has ended."""

    def __init__(self, host: str, port: int) -> None:
        """Raises ``OSError`` where the port cannot be had; 0 takes a free one."""
        self._loop = asyncio.new_event_loop()
        self._scrapes = dict[asyncio.Task[None], asyncio.StreamWriter]()  # the oldest first
        try:
            starting = asyncio.start_server(self._scrape, host, port, limit=MAX_REQUEST)
            self._server = self._loop.run_until_complete(starting)
        except OSError:
            self._loop.close()
            raise
        host, port, *_ = self._server.sockets[0].getsockname()
        self.address: Final[tuple[str, int]] = (host, port)
        """Where it listens."""
        self._thread = threading.Thread(target=self._loop.run_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What Prometheus scrapes."""
        host, port = self.address
        return f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"

    def close(self) -> None:
        """End what is open, and give the port back."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for writer in self._scrapes.values():
            writer.transport.abort()
        if self._scrapes:
            await asyncio.wait(self._scrapes)
        await asyncio.sleep(0)  # what the streams themselves do after the last scrape

    async def _scrape(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._scrapes) >= MAX_SCRAPES:
            self._scrapes.pop(next(iter(self._scrapes))).transport.abort()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a connection is served by a task
        self._scrapes[task] = writer
        try:
            with suppress(TimeoutError, OSError, asyncio.IncompleteReadError):
                async with asyncio.timeout(SCRAPE_SECONDS):
                    writer.write(self._answer(await _head(reader)))
                    await writer.drain()
                    writer.write_eof()
                    # Closed with something unread, the connection would be reset, and the answer lost on its way.
                    while await reader.read(MAX_REQUEST):
                        pass
        finally:
            self._scrapes.pop(task, None)
            writer.transport.abort()

    def _answer(self, head: bytes | None) -> bytes:
        if head is None:
            status, text = "431 Request Header Fields Too Large", "The request is too long.\n"
        elif head.split(b" ")[:2] != [b"GET", b"/metrics"]:
            status, text = "404 Not Found", "The metrics are at /metrics.\n"
        else:
            status, text = "200 OK" if self.text else "503 Service Unavailable", self.text
        body = text.encode()
        fields = f"Content-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + body


async def _head(reader: asyncio.StreamReader) -> bytes | None:
    """A request as far as it matters; None where it is too long."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return None
