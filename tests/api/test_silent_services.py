"""A service behind the api that accepts connections and never answers: who asks it waits, and nobody else does."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from bounty_protocol.errors import ServiceError
from flask import Flask
from local_stack.ports import HOST
from service_api.app import make_app
from service_api.delivery.forwarding import MAX_READS, MAX_READS_OF_NETWORK
from service_common.web.problems import envelope

from tests.api.conftest import Service, error_of, failed
from tests.api.contract import checked_client
from tests.cli.servers import Server, as_json
from tests.waiting import wait_until

READERS = 12
UNAVAILABLE = (503, "delivery_unavailable")
STATUS = "/api/bounties/1/delivery/status?submission_commitment=0x" + "1f" * 32


class Silence:
    """A server that only accepts."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self.accepted: list[socket.socket] = []
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.accepted.append(self._listener.accept()[0])
            except OSError:
                return

    def hang_up(self) -> None:
        for each in self.accepted:
            each.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Close what was accepted, so that nobody waits any more."""
        with ExitStack() as closing:
            for each in (self._listener, *self.accepted):
                closing.callback(each.close)
            self._listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def silence() -> Iterator[Silence]:
    silence = Silence()
    yield silence
    silence.end()


def app_of(service: Service, **config: Any) -> Flask:
    """An api behind one proxy, with other settings."""
    own = service.resources.config
    changed = replace(own, web=replace(own.web, forwarded_hops=1), **config)
    return make_app(replace(service.resources, config=changed))


def ask(app: Flask, address: str, path: str = STATUS) -> tuple[int, str]:
    """The status and the error code of a read of a network address."""
    answer = app.test_client().get(path, headers={"Callers": address})
    return answer.status_code, str(error_of(answer)["code"]) if answer.status_code >= 400 else ""


def others_are_answered(app: Flask) -> bool:
    return {ask(app, "203.0.113.50", f"/api/bounties?limit={limit}")[0] for limit in range(1, 4)} == {200}


def test_silent_delivery_holds_up_no_other_read(service: Service, silence: Silence) -> None:
    app = app_of(service, delivery_url=f"http://{HOST}:{silence.port}")
    with ThreadPoolExecutor(MAX_READS) as pool:
        held = [pool.submit(ask, app, f"203.0.113.{number}") for number in range(MAX_READS)]
        wait_until(lambda: len(silence.accepted) == MAX_READS)
        assert others_are_answered(app)
        assert ask(app, "203.0.113.99") == UNAVAILABLE
        assert not any(each.done() for each in held)
        silence.hang_up()
        assert {each.result(30) for each in held} == {UNAVAILABLE}


def test_refusal_of_delivery_counts_there_alone(service: Service) -> None:
    refusal = envelope(ServiceError("delivery_unavailable", "Deliveries pause."))
    deps, before = service.resources, failed()
    with Server(lambda _: as_json(refusal, 503, **{"Retry-After": "9"})) as inner:
        there = replace(deps, config=replace(deps.config, delivery_url=inner.url))
        answer = checked_client(make_app(there)).get("/api/deployment/delivery-key")
    assert (answer.status_code, answer.headers["Retry-After"], failed()) == (503, "9", before)
    assert service.client.get("/api/deployment/delivery-key").status_code == 503
    assert failed() == before + 1, "nobody is there"


def test_head_of_a_forwarded_read_has_its_length(service: Service) -> None:
    key = {"delivery_public_key": "0x" + "1f" * 32, "key_id": "0x" + "0" * 16, "algorithm": "x25519-sealed-box"}
    with Server(lambda _: as_json(key)) as inner:
        client = checked_client(app_of(service, delivery_url=inner.url))
        read, stated = client.get("/api/deployment/delivery-key"), client.head("/api/deployment/delivery-key")
    assert (stated.status_code, stated.headers["Content-Length"]) == (200, str(len(read.data)))


def test_one_address_has_two_reads_at_delivery(service: Service, silence: Silence) -> None:
    app = app_of(service, delivery_url=f"http://{HOST}:{silence.port}")
    with ThreadPoolExecutor(MAX_READS_OF_NETWORK) as pool:
        held = [pool.submit(ask, app, "203.0.113.1") for _ in range(MAX_READS_OF_NETWORK)]
        wait_until(lambda: len(silence.accepted) == MAX_READS_OF_NETWORK)
        assert ask(app, "203.0.113.1") == (503, "service_overloaded")
        silence.hang_up()
        assert {each.result(30) for each in held} == {UNAVAILABLE}


def test_silent_beacon_holds_up_one_read(service: Service, silence: Silence) -> None:
    beacon = replace(service.resources.config.beacon, urls=(f"http://{HOST}:{silence.port}",))
    app = app_of(service, beacon=beacon)
    with ThreadPoolExecutor(READERS) as pool:
        answers = [pool.submit(ask, app, f"203.0.113.{number}", "/api/deployment") for number in range(READERS)]
        wait_until(lambda: bool(silence.accepted))
        assert others_are_answered(app)
        refused = {each.result(30) for each in answers}
    assert refused == {(503, "bounty_chain_state_unavailable")}
    assert len(silence.accepted) == 1
