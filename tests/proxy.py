"""A TCP proxy of the tests in front of a real server: slow, silent, or gone and back, while the server itself goes on.

Bytes pass unchanged and in order; ``delay`` holds each piece of an answer back so long; ``cut`` ends every
connection and refuses new ones at the same address until ``mend``; ``connections`` are those that are open now. Of
answers ``most`` bytes pass; a connection that has more keeps it for itself from then on.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from local_stack.ports import HOST

_PIECE = 65_536


class Proxy:
    """One listening address before one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: int) -> None:
        self._loop, self._target = loop, target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.delay = 0.0
        self.port = 0
        self.most: int | None = None
        self.answered = 0
        """Bytes that passed from the server to clients."""
        self.asked = bytearray()
        """What clients sent."""

    def forget(self) -> None:
        """Count anew, and hold nothing more back."""
        self.most, self.answered, self.asked = None, 0, bytearray()

    @property
    def connections(self) -> int:
        """Clients connected now."""
        return len(self._writers) // 2

    def url(self, original: str) -> str:
        """An address of the server, through this proxy."""
        assert f":{self._target}" in original
        return original.replace(f":{self._target}", f":{self.port}", 1)

    def cut(self) -> None:
        """End every connection; nobody listens any more."""
        self._run(self._close())

    def mend(self) -> None:
        """Listen again, as fast as ever."""
        self.delay = 0.0
        self._run(self._listen())

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            further, onward = await asyncio.open_connection(HOST, self._target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, onward}
        self._writers |= both
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._pass_on(reader, onward, slow=False), self._pass_on(further, writer, slow=True))
        self._writers -= both

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE):
                if slow and self.delay:
                    await asyncio.sleep(self.delay)
                if not slow:
                    self.asked += piece
                    writer.write(piece)
                    await writer.drain()
                    continue
                passing = piece if self.most is None else piece[: max(0, self.most - self.answered)]
                self.answered += len(passing)
                writer.write(passing)
                await writer.drain()
                if len(passing) < len(piece):
                    await asyncio.Event().wait()  # until the connection is cut
        writer.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


@contextmanager
def proxies(*targets: int) -> Iterator[list[Proxy]]:
    """A proxy before each of these ports, all in one thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = [Proxy(loop, target) for target in targets]
    try:
        for proxy in made:
            proxy.mend()
        yield made
    finally:
        for proxy in made:
            proxy.cut()
        asyncio.run_coroutine_threadsafe(_settle(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _settle() -> None:
    """Let what was cut come to its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
