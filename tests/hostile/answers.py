"""Malformed answers of a server that is wrong on purpose, and a server that gives them: by the first part of the path.

Each is made around a body that its client would take. ``TAKEN`` answers are unusual and whole, and have to be taken;
``EITHER`` ones are read differently by good libraries; all others have to be refused, in time and within memory.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, repeat, takewhile
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event
from typing import Final

from tests.serving import serving

Make = Callable[[bytes], Iterable[bytes]]
OK: Final = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SPACES: Final = repeat(b" " * 65_536)
MANY: Final = 1 << 26
"""Bytes of what is long, and would be taken if it were short."""


def whole(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Connection: close", b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join([*lines, b"", body])


def chunked(body: bytes, size: int, form: bytes = b"%x") -> Iterator[bytes]:
    """The body in chunks, each size written in a ``form``."""
    yield CHUNKED
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        yield form % len(piece) + b"\r\n" + piece + b"\r\n"
    yield b"0\r\n\r\n"


def _drip(data: bytes) -> Iterator[bytes]:
    """Byte by byte; the server pauses after each that is alone."""
    return (data[at : at + 1] for at in range(len(data)))


def _filled(first: bytes, piece: bytes, last: bytes, length: int = MANY) -> Iterator[bytes]:
    """A JSON text of about that length, announced or not."""
    count = (1 << 16) // len(piece)
    yield OK + b"\r\n" + first
    for _ in range(length // (len(piece) * count)):
        yield piece * count
    yield last


@cache
def _compressed(bits: int) -> bytes:
    """``MANY`` spaces, in little memory."""
    compress = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join([*(compress.compress(b" " * 65_536) for _ in range(MANY // 65_536)), compress.flush()])


def _bomb(name: bytes, bits: int, *, twice: bool = False) -> Make:
    def make(_: bytes) -> Iterable[bytes]:
        made = _compressed(bits)
        return [whole(gzip.compress(made) if twice else made, b"Content-Encoding: " + name)]

    return make


def _json(text: bytes) -> Make:
    return lambda _: [whole(text)]


HEADS: Final[dict[str, Make]] = {
    "closed": lambda _: [],
    "silent": lambda _: _drip(b"H" * 1_000),
    "another-protocol": lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    "no-status": lambda body: [whole(body).replace(b" 200 OK", b"")],
    "status-of-letters": lambda body: [whole(body, status=b"2x0 OK")],
    "status-of-five-digits": lambda body: [whole(body, status=b"20000 OK")],
    "status-0": lambda body: [whole(body, status=b"000 OK")],
    "negative-status": lambda body: [whole(body, status=b"-20 OK")],
    "status-without-end": lambda _: chain([b"HTTP/1.1 200 "], repeat(b"O" * 65_536)),
    "drip-of-head": lambda body: _drip(OK + b"X: " + b"y" * 1_000 + b"\r\n\r\n" + body),
    "field-without-end": lambda _: chain([OK, b"X: "], repeat(b"y" * 65_536)),
    "fields-without-end": lambda _: chain([OK], repeat(b"X: y\r\n" * 1_000)),
    "long-fields": lambda body: [OK, (b"X: " + b"y" * 60_000 + b"\r\n") * 90, b"\r\n", body],
    "continue-without-end": lambda _: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "hints-without-end": lambda _: repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 500),
    "continue-with-long-fields": lambda _: repeat(b"HTTP/1.1 100 Continue\r\nX: " + b"y" * 30_000 + b"\r\n\r\n"),
    "other-protocol-from-here": lambda _: [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", b"\0" * 100_000],
    "no-content": lambda _: [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "not-modified": lambda _: [b"HTTP/1.1 304 Not Modified\r\n\r\n"],
    "redirect": lambda body: [whole(body, b"Location: http://127.0.0.1:1/", status=b"302 Found")],
    "redirect-to-file": lambda body: [whole(body, b"Location: file:///etc/passwd", status=b"307 Temporary Redirect")],
    "redirect-to-itself": lambda body: [whole(body, b"Location: /", status=b"308 Permanent Redirect")],
}
LENGTHS: Final[dict[str, Make]] = {
    "length-too-short": lambda body: [OK + b"Content-Length: %d\r\n\r\n" % (len(body) - 1) + body],
    "length-too-long": lambda body: [OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body],
    "length-too-long-and-silent": lambda body: [
        OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 99) + body,
        *_drip(b" " * 60),
    ],
    "length-of-4-exabytes": lambda _: chain([OK + b"Content-Length: 4611686018427387904\r\n\r\n"], SPACES),
    "length-of-many-digits": lambda _: chain([OK + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n"], SPACES),
    "body-without-end": lambda _: chain([OK + b"\r\n"], SPACES),
    "drip-of-body": lambda body: chain(
        [OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 90)], _drip(b" " * 90 + body)
    ),
}
CHUNKS: Final[dict[str, Make]] = {
    "chunk-of-exabytes": lambda _: chain([CHUNKED + b"ffffffffffffffff\r\n"], SPACES),
    "chunk-size-of-many-digits": lambda _: [CHUNKED + b"f" * 60_000 + b"\r\n"],
    "negative-chunk": lambda body: [CHUNKED + b"-5\r\n" + body],
    "chunk-size-of-letters": lambda body: [CHUNKED + b"xyz\r\n" + body],
    "chunk-size-that-is-empty": lambda body: [CHUNKED + b"\r\n" + body],
    "chunk-extension-without-end": lambda _: chain([CHUNKED + b"1;"], repeat(b"x" * 65_536)),
    "chunks-without-end": lambda _: chain([CHUNKED], repeat(b"1\r\n \r\n" * 1_000)),
    "chunks-with-long-extensions": lambda _: chain([CHUNKED], repeat(b"1;" + b"x" * 30_000 + b"\r\n \r\n")),
    "no-last-chunk": lambda body: [CHUNKED + b"%x\r\n" % (len(body) + 1) + body],
    "trailers-without-end": lambda body: chain(
        [CHUNKED + b"%x\r\n" % len(body) + body + b"\r\n0\r\n"], repeat(b"X: y\r\n" * 999)
    ),
}
ENCODINGS: Final[dict[str, Make]] = {
    "gzip-bomb": _bomb(b"gzip", 31),
    "deflate-bomb": _bomb(b"deflate", 15),
    "gzip-in-gzip": _bomb(b"gzip, gzip", 31, twice=True),
    "gzip-in-capitals": _bomb(b"GZIP", 31),
    "gzip-chunks": lambda body: [
        OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n",
        *(b"%x\r\n" % len(part) + part + b"\r\n0\r\n\r\n" for part in [gzip.compress(body)]),
    ],
}
TEXTS: Final[dict[str, Make]] = {
    "lists-of-lists": lambda _: _filled(b'{"jsonrpc":"2.0","id":0,"result":[', b"[],", b"[]]}"),
    "empty-objects": lambda _: _filled(b'{"jsonrpc":"2.0","id":0,"result":[', b"{},", b"{}]}"),
    "strings-outside-latin": lambda _: _filled(b'{"jsonrpc":"2.0","id":0,"result":"', "😀".encode(), b'"}'),
    "long-error": lambda _: _filled(
        b'{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"m","data":[', b"[],", b"[]]}}"
    ),
    "thousands-of-values": lambda _: [whole(b'{"id":0,"result":[' + b"[]," * 20_000 + b"[]]}")],
    "spaces-without-end": lambda _: chain([OK + b"\r\n"], SPACES),
    "nested-deeply": _json(b"[" * 100_000),
    "nested-deeply-in-a-key": _json(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "long-integer": _json(b'{"id":0,"result":' + b"9" * 60_000 + b"}"),
    "long-fraction": _json(b'{"id":0,"result":0.' + b"9" * 60_000 + b"}"),
    "no-number": _json(b'{"id":0,"result":NaN}'),
    "not-utf-8": _json(b'{"id":0,"result":"\xff"}'),
    "half-a-character": _json(b'{"id":0,"result":"\\ud800"}'),
    "byte-order-mark": _json(b'\xef\xbb\xbf{"id":0,"result":"0x1"}'),
    "utf-16": _json('{"id":0,"result":"0x1"}'.encode("utf-16")),
    "nul": _json(b"\0" * 1_000),
    "null": _json(b"null"),
    "list": _json(b"[]"),
    "empty": _json(b""),
    "html": _json(b"<html><body>Sign in</body></html>"),
    "more-after-the-end": lambda body: [whole(body + b"]" if body[:1] == b"{" else body + b"x")],
}
TAKEN: Final[dict[str, Make]] = {
    "as-usual": lambda body: [whole(body)],
    "byte-by-byte": lambda body: [whole(body)[at : at + 1] for at in range(len(whole(body)))],
    "until-the-end": lambda body: [OK + b"\r\n" + body],
    "small-chunks": lambda body: chunked(body, 1),
    "one-chunk": lambda body: chunked(body, len(body)),
    "continue-first": lambda body: [b"HTTP/1.1 100 Continue\r\n\r\n" + whole(body)],
    "length-with-zeros": lambda body: [OK + b"Content-Length: 000%d\r\n\r\n" % len(body) + body],
    "chunk-with-zeros": lambda body: chunked(body, len(body), b"000%x"),
    "encoding-that-is-none": lambda body: [whole(body, b"Content-Encoding: identity")],
    "no-reason": lambda body: [whole(body).replace(b"200 OK", b"200 ")],
}
EITHER: Final[dict[str, Make]] = {
    "hints-first": lambda body: [b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + whole(body)],
    "line-feeds-alone": lambda body: [b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(body) + body],
    "version-9": lambda body: [whole(body).replace(b"HTTP/1.1", b"HTTP/9.9")],
    "field-without-colon": lambda body: [whole(body, b"nonsense")],
    "space-before-colon": lambda body: [whole(body, b"X : y")],
    "folded-field": lambda body: [whole(body, b"X: y\r\n z")],
    "nul-in-field": lambda body: [whole(body, b"X: \0")],
    "two-lengths": lambda body: [whole(body, b"Content-Length: 5")],
    "the-same-length-twice": lambda body: [whole(body, b"Content-Length: %d" % len(body))],
    "negative-length": lambda body: [OK + b"Content-Length: -5\r\n\r\n" + body],
    "length-of-letters": lambda body: [OK + b"Content-Length: x\r\n\r\n" + body],
    "length-and-chunks": lambda body: [
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        *list(chunked(body, len(body)))[1:],
    ],
    "transfer-nobody-knows": lambda body: [OK + b"Transfer-Encoding: x-unknown\r\n\r\n" + body],
    "gzip-as-transfer": lambda body: [OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", *list(chunked(body, 9))[1:]],
    "chunk-without-line-end": lambda body: [CHUNKED + b"%x\r\n" % len(body) + body + b"XX0\r\n\r\n"],
    "encoding-nobody-knows": lambda body: [whole(body, b"Content-Encoding: x-unknown")],
    "many-encodings": lambda body: [whole(body, b"Content-Encoding: " + b"gzip, " * 500 + b"gzip")],
    "gzip-that-is-none": lambda body: [whole(body, b"Content-Encoding: gzip")],
    "thousand-fields": lambda body: [OK, b"X: y\r\n" * 1_000, b"\r\n", body],
    "second-answer-behind": lambda body: [whole(body) * 2],
    "keys-twice": lambda body: [whole(body.replace(b"{", b'{"id":7,', 1))],
}
REFUSED: Final[dict[str, Make]] = {**HEADS, **LENGTHS, **CHUNKS, **ENCODINGS, **TEXTS}
ALL: Final[dict[str, Make]] = {**REFUSED, **TAKEN, **EITHER}
OF_JSON: Final = frozenset(TEXTS)
"""Refused for what the text is, by clients that read JSON."""


@contextmanager
def hostile_server(body: bytes, pause: float = 0.05) -> Iterator[str]:
    """The address of a server that answers a request for ``/NAME/…`` as ``ALL[NAME]`` does, ``body`` being what its
    client would take. After a byte that is alone it waits for ``pause`` seconds, except in ``byte-by-byte``."""
    ended = Event()
    for bits in (15, 31):
        _compressed(bits)  # before anybody waits

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            head = list(takewhile(bool, iter(self.rfile.readline, b"\r\n")))
            if not head:
                return
            lengths = [line.split(b":")[1] for line in head if line.lower().startswith(b"content-length:")]
            self.rfile.read(sum(map(int, lengths)))
            name = head[0].split(b" ")[1].decode().split("/")[1].partition("?")[0]
            with suppress(OSError):
                for piece in ALL[name](body):
                    if ended.is_set():
                        return
                    self.wfile.write(piece)
                    if len(piece) == 1 and name != "byte-by-byte":
                        ended.wait(pause)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    with serving(server):
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            ended.set()


def rpc_answer(result: object = "0x1") -> bytes:
    """What a JSON-RPC endpoint answers to one call."""
    return json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()
