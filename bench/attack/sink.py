"""A server that reads requests and answers nothing useful: ``python -m bench.attack.sink PORT``.

What is sent to it costs the sender as much as what is sent to the service, and the machine little else.
"""

import asyncio
import re
import sys
from typing import Final, cast

ANSWER: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Sink(asyncio.Protocol):
    """One connection: each request is answered once all of it is there."""

    def __init__(self) -> None:
        self._head = b""
        self._missing = 0
        """Bytes of the present body that are still to come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        while data:
            if self._missing:
                used = min(self._missing, len(data))
                self._missing, data = self._missing - used, data[used:]
            else:
                head, separator, data = (self._head + data).partition(b"\r\n\r\n")
                if not separator:
                    self._head = head
                    return
                self._head, found = b"", _LENGTH.search(head)
                self._missing = int(found[1]) if found else 0
            if not self._missing:
                self._transport.write(ANSWER)


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
