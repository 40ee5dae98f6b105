"""Connections whose request does not come to its end are ended, and no others."""

import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

import pytest
from service_common.web.slow import LEAST_BYTES_A_SECOND, SlowConnections
from structlog.testing import capture_logs

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts for each connection")


@contextmanager
def served() -> Iterator[tuple[socket.socket, socket.socket, SlowConnections]]:
    """A client's end, the server's end, and who looks after the server's port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname(), timeout=5) as client,
        listening.accept()[0] as accepted,
    ):
        yield client, accepted, SlowConnections(listening.getsockname()[1], seconds=60.0)


def pause() -> None:
    """The kernel counts in milliseconds."""
    time.sleep(0.05)


def test_connection__whose_body_drips__is_ended_after_a_grace() -> None:
    with served() as (client, accepted, looking):
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n")
        for moment in (0.0, 5.0, 9.9):
            client.sendall(b"x")
            pause()
            assert looking.end(moment) == 0
        client.sendall(b"x")
        pause()
        assert looking.end(10.0) == 1
        accepted.recv(1_000)
        assert accepted.recv(1_000) == b""
        assert client.recv(1_000) == b""


def test_connection__whose_body_comes_at_the_least_rate__is_ended_when_its_time_is_over() -> None:
    with served() as (client, accepted, looking):
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n")
        pause()
        assert looking.end(0.0) == 0
        for moment in range(5, 60, 5):
            client.sendall(b"x" * 5 * LEAST_BYTES_A_SECOND)
            pause()
            assert looking.end(float(moment)) == 0
        assert looking.end(60.0) == 1
        while accepted.recv(100_000):
            pass


def test_connection__that_waits_for_its_answer__is_not_called_slow() -> None:
    with served() as (client, _, looking):
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
        pause()
        assert [looking.end(moment) for moment in (0.0, 10.0, 30.0, 59.9)] == [0, 0, 0, 0]


def test_connection__that_falls_silent_in_the_middle__is_ended() -> None:
    with served() as (client, _, looking):
        client.sendall(b"POST / HTTP/1.1\r\n")
        pause()
        assert [looking.end(0.0), looking.end(60.0)] == [0, 1]


def test_connection__that_is_answered_each_time__is_never_ended() -> None:
    with served() as (client, accepted, looking):
        for moment in range(0, 600, 50):
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            accepted.recv(1_000)
            assert looking.end(float(moment)) == 0
            accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            client.recv(1_000)
            pause()
            assert looking.end(moment + 25.0) == 0


def test_connection__that_idles_before_or_after_an_answer__is_never_ended() -> None:
    with served() as (client, accepted, looking):
        assert [looking.end(0.0), looking.end(1_000.0)] == [0, 0]
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        accepted.recv(1_000)
        pause()
        accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        client.recv(1_000)
        pause()
        assert [looking.end(2_000.0), looking.end(3_000.0)] == [0, 0]


def test_connections__of_other_ports__are_nobodys_business() -> None:
    with served() as (client, _, _looking), served() as (_other, _accepted, looking_elsewhere):
        client.sendall(b"POST / HTTP/1.1\r\n")
        pause()
        assert [looking_elsewhere.end(0.0), looking_elsewhere.end(1_000.0)] == [0, 0]


def descriptors() -> set[str]:
    """With the one that the list itself needs."""
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def use_up_every_descriptor() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(descriptors()) + 16,) * 2)
    with suppress(OSError):
        while True:
            os.open(os.devnull, os.O_RDONLY)


def end_a_silent_one_without_descriptors() -> None:
    """In a process of its own."""
    with served() as (client, accepted, looking):
        client.sendall(b"POST / HTTP/1.1\r\n")
        pause()
        use_up_every_descriptor()
        with capture_logs() as logged:
            assert [looking.end(0.0), looking.end(60.0)] == [0, 1]
        assert [entry["event"] for entry in logged] == ["no file descriptor is free"]
        accepted.recv(1_000)
        assert accepted.recv(1_000) == b""


def test_connection__that_is_silent_while_no_descriptor_is_free__is_ended() -> None:
    process = get_context("spawn").Process(target=end_a_silent_one_without_descriptors)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_look__leaves_no_descriptor_behind() -> None:
    with served() as (client, _, looking):
        client.sendall(b"POST / HTTP/1.1\r\n")
        pause()
        before = descriptors()
        assert [looking.end(0.0), looking.end(60.0)] == [0, 1]
        assert descriptors() == before
