"""A service behind the api that accepts connections and never answers: who asks it waits, and nobody else does."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from threading import Thread

import pytest
from bounty_protocol.errors import ServiceError
from local_stack.ports import HOST
from service_api.app import make_app
from service_api.delivery.forwarding import MAX_READS, MAX_READS_OF_NETWORK
from service_common.web.problems import envelope

from tests.api.conftest import Service, failed
from tests.api.contract import checked_client
from tests.api.running import Answer, RunningApi, start_api
from tests.cli.servers import Server, as_json
from tests.waiting import wait_until

READERS = 12
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


@pytest.fixture(params=["SERVICE_DELIVERY_URL"])
def api(service: Service, silence: Silence, request: pytest.FixtureRequest) -> Iterator[RunningApi]:
    """An api for which the service of a variable is silent."""
    silent = {request.param: f"http://{HOST}:{silence.port}", "SERVICE_FORWARDED_HOPS": "1"}
    api = start_api(service.runtime, dict(service.variables) | silent)
    yield api
    service.runtime.family.end([api.child])


@pytest.mark.attack(f"public reads that wait for the delivery service: {MAX_READS} at a time in each process")
def test_reads_that_the_delivery_service_does_not_answer__hold_up_no_other_read(
    api: RunningApi, silence: Silence
) -> None:
    with ThreadPoolExecutor(MAX_READS) as pool:
        held = [pool.submit(ask, api, f"203.0.113.{number}") for number in range(MAX_READS)]
        wait_until(lambda: len(silence.accepted) == MAX_READS)
        for limit in range(1, 4):
            assert api.request("GET", f"/api/bounties?limit={limit}").status == 200
        _is_refused(ask(api, "203.0.113.99"))
        assert not any(each.done() for each in held)
        for each in silence.accepted:
            each.shutdown(socket.SHUT_RDWR)
        for each_held in held:
            _is_refused(each_held.result(30))


def test_refusal_of_delivery_counts_there_alone(service: Service) -> None:
    refusal = envelope(ServiceError("delivery_unavailable", "Deliveries pause."))
    inner = Server(lambda _: as_json(refusal, 503, **{"Retry-After": "9"}))
    deps, before = service.resources, failed()
    there = replace(deps, config=replace(deps.config, delivery_url=inner.url))
    answer = checked_client(make_app(there)).get("/api/deployment/delivery-key")
    inner.close()
    assert (answer.status_code, answer.headers["Retry-After"], failed()) == (503, "9", before)
    assert service.client.get("/api/deployment/delivery-key").status_code == 503
    assert failed() == before + 1, "nobody is there"


@pytest.mark.attack
def test_one_address__has_two_reads_at_the_delivery_service(api: RunningApi, silence: Silence) -> None:
    with ThreadPoolExecutor(MAX_READS_OF_NETWORK) as pool:
        held = [pool.submit(ask, api, "203.0.113.1") for _ in range(MAX_READS_OF_NETWORK)]
        wait_until(lambda: len(silence.accepted) == MAX_READS_OF_NETWORK)
        refused = ask(api, "203.0.113.1")
        assert (refused.status, refused.code) == (503, "service_overloaded")
        for each in silence.accepted:
            each.shutdown(socket.SHUT_RDWR)
        for each_held in held:
            _is_refused(each_held.result(30))


@pytest.mark.parametrize("api", ["SERVICE_BEACON_URLS"], indirect=True)
@pytest.mark.attack("reads of a deployment that wait for its beacon, unknown yet: one at a time in each process")
def test_reads_of_a_deployment_whose_beacon_does_not_answer__are_refused_but_one(
    api: RunningApi, silence: Silence
) -> None:
    with ThreadPoolExecutor(READERS) as pool:
        answers = [pool.submit(api.request, "GET", "/api/deployment") for _ in range(READERS)]
        wait_until(lambda: bool(silence.accepted))
        for limit in range(1, 4):
            assert api.request("GET", f"/api/bounties?limit={limit}").status == 200
        refused = [each.result(30) for each in answers]
    assert {(each.status, each.code) for each in refused} == {(503, "bounty_chain_state_unavailable")}
    assert len(silence.accepted) == 1


def ask(api: RunningApi, address: str) -> Answer:
    """A read of a network address."""
    return api.request("GET", STATUS, ("X-Forwarded-For", address))


def _is_refused(answer: Answer) -> None:
    assert (answer.status, answer.code) == (503, "delivery_unavailable")
