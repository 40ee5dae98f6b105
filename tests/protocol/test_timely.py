"""Answers that are there in time, or count as none."""

import errno
import socket
from collections.abc import Iterator

import pytest
import urllib3
from bounty_protocol.timely import TimelyHttp, may_pass

from tests.raw_server import raw_server, whole

LENGTH = 4_000


def pieces(size: int) -> Iterator[bytes]:
    answer = whole(bytes(LENGTH))
    head = len(answer) - LENGTH
    yield answer[:head]
    yield from (answer[at : at + size] for at in range(head, len(answer), size))


def test_file_that_drips_ends_whatever_its_length() -> None:
    with raw_server(lambda: pieces(1), pause=0.02) as slow:
        http = TimelyHttp(0.3, least_rate=10_000, timeout=5.0)
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            http.exchange("GET", slow.url, most_bytes=LENGTH)


def test_file_at_the_least_rate_may_take_longer() -> None:
    with raw_server(lambda: pieces(400), pause=0.05) as server:
        http = TimelyHttp(0.3, least_rate=2_000, timeout=5.0)
        assert http.exchange("GET", server.url, most_bytes=LENGTH).body == bytes(LENGTH)
        http = TimelyHttp(0.3, timeout=5.0)
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            http.exchange("GET", server.url, most_bytes=LENGTH)


def test_connection_that_tcp_gives_up_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object) -> None:
        raise TimeoutError(errno.ETIMEDOUT, "")

    with raw_server(lambda: pieces(LENGTH)) as server:
        monkeypatch.setattr(socket.SocketIO, "readinto", gives_up)
        with pytest.raises(urllib3.exceptions.ProtocolError):
            TimelyHttp(0.3, timeout=5.0).exchange("GET", server.url, most_bytes=LENGTH)


PASSING = {408, 429, 502, 503, 504, *range(520, 531)}
"""Of a server that is limited or down, and of a proxy or CDN before it (docs/interface.md)."""


def test_statuses_that_may_pass() -> None:
    assert {status for status in range(100, 600) if may_pass(status)} == PASSING
