"""Relays that lie about more than rounds: their answers are bounded, whatever the status."""

from collections.abc import Iterator

import pytest
from bounty_protocol.crypto.beacon_http import MAX_BODY, Urllib3Get

from tests.raw_server import raw_server, whole

STATUSES = ["200 OK", "404 Not Found", "425 Too Early", "500 Internal Server Error"]


@pytest.mark.parametrize("status", STATUSES)
def test_answer__of_any_length__is_not_read_to_its_end(status: str) -> None:
    def long() -> Iterator[bytes]:
        yield f"HTTP/1.1 {status}\r\nContent-Length: {1 << 28}\r\n\r\n".encode()
        for _ in range(1 << 8):
            yield bytes(1 << 20)

    with raw_server(long) as relay:
        with pytest.raises(OSError, match="more than 16384 bytes"):
            Urllib3Get().get(relay.url, 5.0)
        assert relay.hung_up.wait(20)


@pytest.mark.parametrize("status", STATUSES)
def test_answer__that_drips__is_given_up(status: str) -> None:
    answer = whole(b"{}" + b" " * 60, status)
    http = Urllib3Get(answer_seconds=0.2)
    dripping = raw_server(lambda: (answer[at : at + 1] for at in range(len(answer))), pause=0.05)
    with dripping as relay, pytest.raises(OSError, match=r"no answer|broke off"):
        http.get(relay.url, 5.0)


@pytest.mark.parametrize("status", STATUSES)
def test_connection_serves_the_next_request(status: str) -> None:
    with raw_server(lambda: [whole(b"x" * MAX_BODY, status)]) as relay:
        http = Urllib3Get()
        assert [len(http.get(relay.url, 5.0).body) for _ in range(3)] == [MAX_BODY] * 3
        assert relay.connections == 1
