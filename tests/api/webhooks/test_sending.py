"""One attempt: what a receiver may answer, how long it may take, and to which machine the connection goes."""

import json
import socket
import ssl
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest
from service_api.webhooks import sending
from service_api.webhooks.names import NameLookups
from service_api.webhooks.receivers import Receiver, ReceiverRules, parse_receiver
from service_api.webhooks.sending import AttemptEnd, AttemptResult, Outgoing, Sender

from tests.api.webhooks.key_updates import renewing_keys
from tests.api.webhooks.naming import name_server
from tests.api.webhooks.receiving import Got, Receiving, certificate_for, receiving, writing_bytes
from tests.api.webhooks.test_receivers import lookup_of

LOCAL = ReceiverRules(loopback=True)
PUBLIC = "93.184.216.34"
BODY = b'{"type":"webhook.test"}'
LONG = 60.0
"""No test takes as long."""


@pytest.fixture
def server() -> Iterator[Receiving]:
    with receiving() as started:
        yield started


def send(port: int, outgoing: Outgoing | None = None, seconds: float = LONG) -> AttemptResult:
    receiver = Receiver(False, "127.0.0.1", port, "/hook?key=value")
    return Sender(LOCAL).send(receiver, outgoing or Outgoing(BODY, {"webhook-id": "msg_1"}), seconds)


def test_message__to_a_receiver_that_takes_it__arrives_as_it_is(server: Receiving) -> None:
    outcome = send(server.port)
    assert (outcome.result, outcome.status) == (AttemptEnd.DELIVERED, 204)
    (got,) = server.got
    assert (got.path, got.body, got.headers["webhook-id"]) == ("/hook?key=value", BODY, "msg_1")
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["Host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, AttemptEnd.DELIVERED),
        (299, AttemptEnd.DELIVERED),
        (301, AttemptEnd.REDIRECTED),
        (307, AttemptEnd.REDIRECTED),
        (400, AttemptEnd.REFUSED),
        (410, AttemptEnd.GONE),
        (503, AttemptEnd.REFUSED),
    ],
)
def test_answer__by_its_status__is_how_the_attempt_ended(server: Receiving, status: int, result: AttemptEnd) -> None:
    server.answer = lambda _: (status, b"")
    outcome = send(server.port)
    assert (outcome.result, outcome.status, len(server.got)) == (result, status, 1)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (b'{"challenge":"right","more":1}', AttemptEnd.DELIVERED),
        (b'{"challenge":"wrong"}', AttemptEnd.WRONG_CHALLENGE),
        (b'{"challenge":["right"]}', AttemptEnd.WRONG_CHALLENGE),
        (b'"right"', AttemptEnd.WRONG_CHALLENGE),
        (b"right", AttemptEnd.WRONG_CHALLENGE),
        (b"\xff", AttemptEnd.WRONG_CHALLENGE),
        (b"[" * 5_000, AttemptEnd.WRONG_CHALLENGE),
        (b"", AttemptEnd.WRONG_CHALLENGE),
    ],
)
def test_challenge__by_what_is_answered__is_met_or_not(server: Receiving, body: bytes, result: AttemptEnd) -> None:
    server.answer = lambda _: (200, body)
    assert send(server.port, Outgoing(BODY, {}, "right")).result is result


CHUNKS = b'8\r\n{"challe\r\n8\r\nnge":"ri\r\n5\r\nght"}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, AttemptEnd.DELIVERED),
        (b'HTTP/1.1 200 OK\r\n\r\n{"challenge":"right"}', AttemptEnd.DELIVERED),
        (b'HTTP/1.0 200 OK\r\nContent-Length: 21\r\n\r\n{"challenge":"right"}', AttemptEnd.DELIVERED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", AttemptEnd.NO_ANSWER),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", AttemptEnd.NO_ANSWER),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", AttemptEnd.NO_ANSWER),
        (b"", AttemptEnd.NO_ANSWER),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000 + b"\r\n", AttemptEnd.NO_ANSWER),
    ],
)
def test_answer__as_bytes__is_read_or_refused(answer: bytes, result: AttemptEnd) -> None:
    with writing_bytes(iter([answer])) as port:
        assert send(port, Outgoing(BODY, {}, "right")).result is result


@pytest.mark.parametrize("piece", [b"X" * 4_096, b"HTTP/1.1 200 OK\r\nX: y\r\n"])
def test_answer__without_an_end__is_left_after_a_few_kib(piece: bytes) -> None:
    with writing_bytes(repeat(piece)) as port:
        assert send(port, Outgoing(BODY, {}, "right")).result is AttemptEnd.NO_ANSWER


def drip() -> Iterator[bytes]:
    """A header that goes on, a byte at a time, for longer than any attempt."""
    yield b"HTTP/1.1 200 OK\r\nX: "
    pause, other = socket.socketpair()
    with pause, other:
        pause.settimeout(0.05)
        while True:
            try:
                pause.recv(1)
            except TimeoutError:
                yield b"y"


def test_answer__that_does_not_come_in_time__is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, writing_bytes(drip()) as dripping:
        for port in (silent.getsockname()[1], dripping):
            assert send(port, seconds=0.5).result is AttemptEnd.TIMED_OUT


def test_nobody__at_the_address__is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert send(port).result is AttemptEnd.UNREACHABLE


@pytest.mark.attack
def test_name__that_does_not_resolve_or_is_private__is_not_connected_to() -> None:
    def unknown(*_: object) -> list[str]:
        raise OSError

    def never(*_: object) -> socket.socket:
        raise AssertionError("a connection was opened")

    receiver = parse_receiver("https://receiver.example/", LOCAL)
    # One word for all, so that nobody learns which names there are inside.
    for lookup in (unknown, lookup_of(), lookup_of("127.0.0.1"), lookup_of(PUBLIC, "169.254.169.254")):
        outcome = Sender(LOCAL, lookup=lookup, dial=never).send(receiver, Outgoing(BODY, {}), LONG)
        assert outcome.result is AttemptEnd.UNRESOLVABLE


@pytest.mark.attack
def test_name__whose_address_changes_after_the_lookup__is_dialled_where_it_was_checked(tmp_path: Path) -> None:
    asked, dialled = [], []
    inside, trusting = certificate_for("receiver.example", tmp_path)

    def records(name: str) -> list[str]:
        asked.append(name)
        return [PUBLIC] if len(asked) <= 2 else ["127.0.0.1"]  # of both questions of the first attempt

    with receiving(inside) as secure, name_server(records) as servers:

        def dial(address: tuple[str, int], seconds: float) -> socket.socket:
            dialled.append(address)
            return socket.create_connection(("127.0.0.1", secure.port), seconds)

        receiver = parse_receiver("https://receiver.example/hook", ReceiverRules())
        sender = Sender(ReceiverRules(), lookup=NameLookups(servers).addresses, dial=dial, tls=trusting)
        assert sender.send(receiver, Outgoing(BODY, {}), LONG).result is AttemptEnd.DELIVERED
        assert (asked, dialled) == (["receiver.example"] * 2, [(PUBLIC, 443)])
        assert [each.headers["Host"] for each in secure.got] == ["receiver.example"]
        assert sender.send(receiver, Outgoing(BODY, {}), LONG).result is AttemptEnd.UNRESOLVABLE
        assert len(dialled) == len(secure.got) == 1


@pytest.mark.attack
def test_name__by_what_its_servers_do__has_addresses_or_none() -> None:
    many = [f"93.184.{number // 250}.{number % 250 + 1}" for number in range(300)]
    zone: dict[str, list[str] | None] = {
        "one.example": [PUBLIC],
        "silent.example": None,
        "unknown.example": [],
        "endless.example": many,
    }
    with name_server(zone.__getitem__) as servers:
        names = NameLookups(servers)
        assert names.addresses("one.example", LONG) == [PUBLIC]
        for name in ("silent.example", "unknown.example", "endless.example"):
            assert names.addresses(name, 0.3) == []


@pytest.mark.attack
def test_receiver__that_renews_its_keys_for_ever__is_left_after_a_few_kib(tmp_path: Path) -> None:
    inside, trusting = certificate_for("receiver.example", tmp_path)
    with renewing_keys(inside, tmp_path) as port:
        sender = Sender(
            ReceiverRules(),
            lookup=lookup_of(PUBLIC),
            dial=lambda _, seconds: socket.create_connection(("127.0.0.1", port), seconds),
            tls=trusting,
        )
        outcome = sender.send(parse_receiver("https://receiver.example/", ReceiverRules()), Outgoing(BODY, {}), LONG)
        assert outcome.result is AttemptEnd.NO_ANSWER


@pytest.mark.attack
def test_attempt__that_used_up_its_processor_time__is_ended(server: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    assert send(server.port).result is AttemptEnd.DELIVERED
    monkeypatch.setattr(sending, "CPU_SECONDS", -1.0)
    assert send(server.port).result is AttemptEnd.TIMED_OUT


@pytest.mark.parametrize("named", ["other.example", None])
def test_certificate__of_another_name_or_issuer__gets_no_message(named: str | None, tmp_path: Path) -> None:
    inside, trusting = certificate_for(named or "receiver.example", tmp_path)
    with receiving(inside) as secure:
        sender = Sender(
            ReceiverRules(),
            lookup=lookup_of(PUBLIC),
            dial=lambda _, seconds: socket.create_connection(("127.0.0.1", secure.port), seconds),
            tls=trusting if named else ssl.create_default_context(),
        )
        outcome = sender.send(parse_receiver("https://receiver.example/", ReceiverRules()), Outgoing(BODY, {}), LONG)
        assert outcome.result is AttemptEnd.TLS_FAILED
        assert secure.got == []


def test_machine__that_does_not_answer__leaves_its_turn_to_the_next(server: Receiving) -> None:
    dialled = []

    def dial(address: tuple[str, int], seconds: float) -> socket.socket:
        dialled.append(address[0])
        if address[0] == PUBLIC:
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", server.port), seconds)

    receiver = Receiver(False, "receiver.example", 80, "/")
    sender = Sender(ReceiverRules(), lookup=lookup_of(PUBLIC, "1.1.1.1"), dial=dial)
    assert sender.send(receiver, Outgoing(BODY, {}), LONG).result is AttemptEnd.DELIVERED
    assert dialled == [PUBLIC, "1.1.1.1"]


def test_message__that_is_long__arrives_whole(server: Receiving) -> None:
    seen: list[Got] = server.got
    body = json.dumps({"type": "x", "long": "y" * 2_000_000}).encode()
    assert send(server.port, Outgoing(body, {})).result is AttemptEnd.DELIVERED
    assert seen[0].body == body
