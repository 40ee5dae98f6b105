"""A process that takes messages of any number of webhooks over TLS, and prints when each lot of them is there.

``python -m bench.receivers CERTIFICATE COUNT``: prints its port, then after each ``COUNT`` messages the time.
"""

import asyncio
import contextlib
import ssl
import sys
import time

_ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


async def serve(certificate: str, lot: int) -> None:
    """Until the process is ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    taken = 0

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(_ANSWER)
            await writer.drain()
            taken += 1
            if taken % lot == 0:
                print(time.time(), flush=True)
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
