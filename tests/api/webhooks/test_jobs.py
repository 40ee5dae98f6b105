"""The worker as its image runs it: a process on the queue that is killed, drained and started again."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
from local_stack.process import Child, minimal_environment
from service_api.webhooks import jobs
from service_api.webhooks.config import read_config
from service_api.webhooks.jobs import LEASE, LOCK_SPACE, deliver, ensure_sending
from service_common.config import ConfigurationError
from service_common.jobs.queues import message
from sqlalchemy import text

from tests.api.conftest import WEBHOOK_KEY, Service, running_service
from tests.api.webhooks.receiving import Receiving, receiving
from tests.api.webhooks.test_registration import Subscriber


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Of its own: the worker would send what other tests register."""
    with running_service() as started:
        yield started


@pytest.fixture(scope="module")
def variables(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(json.dumps([WEBHOOK_KEY.to_text()]))
    keys.chmod(0o400)
    return {
        "SERVICE_CHAIN_ID": str(service.world.chain_id),
        "SERVICE_HUB_ADDRESS": service.world.hub_address,
        "SERVICE_DATABASE_URL": service.world.database.url("service_webhooks"),
        "SERVICE_REDIS_URL": service.variables["SERVICE_REDIS_URL"],
        "SERVICE_WEBHOOK_INSECURE_LOOPBACK": "yes",
        "SERVICE_WEBHOOK_PRIVATE_KEYS_FILE": str(keys),
    }


@pytest.fixture
def receiver() -> Iterator[Receiving]:
    with receiving() as started:
        yield started


def start(service: Service, variables: Mapping[str, str]) -> tuple[Child, int]:
    """A worker, and its internal port."""
    port = service.runtime.port()
    program = Path(sys.executable).parent / "service-api"
    environment = {**minimal_environment(service.runtime.logs), **variables, "SERVICE_INTERNAL_PORT": str(port)}
    return service.runtime.family.spawn(
        f"webhooks-{port}", [program, "webhooks"], environment=environment, cwd=service.runtime.logs
    ), port


def happen(service: Service) -> None:
    service.world.create()
    service.world.finalize()


def heard(receiver: Receiving) -> set[tuple[object, object]]:
    """The facts that it was told of, each once."""
    return {(each["event"]["block_hash"], each["event"]["log_index"]) for each in receiver.facts()}


def test_worker__that_is_killed_or_stopped__is_followed_by_one_that_goes_on(
    service: Service, variables: Mapping[str, str], receiver: Receiving
) -> None:
    subscriber = Subscriber(service)
    subscriber.register(receiver.url(), all_bounties=True)
    killed, _ = start(service, variables)
    receiver.wait_for("webhook.challenge")
    happen(service)
    receiver.wait_for("hub.facts")
    service.runtime.family.end([killed], kill=True)
    happen(service)
    stopped, port = start(service, variables)
    receiver.wait_for("hub.facts")
    with urllib3.PoolManager() as http:
        shown = http.request("GET", f"http://127.0.0.1:{port}/metrics", timeout=30).data.decode()
        ready = http.request("GET", f"http://127.0.0.1:{port}/readyz", timeout=30).json()
    assert ready == {"ready": True, "failing": []}
    assert 'service_webhooks{state="active"} 1.0' in shown
    assert "service_webhooks_lag_seconds" in shown
    service.runtime.family.end([stopped])
    assert stopped.exit_status() == 0
    assert len(heard(receiver)) == 2
    assert subscriber.list()[0]["state"] == "active"


def test_job__while_one_waits_or_gives_signs_of_life__is_not_enqueued_again(service: Service) -> None:
    redis = service.dependencies.redis
    redis.flushall()  # what the worker of the test before left
    redis.set(LEASE, 1)  # nobody's: it has no end
    assert ensure_sending(redis)
    assert not ensure_sending(redis)  # one was enqueued a moment ago
    redis.delete(LEASE)
    assert not ensure_sending(redis)  # it still waits


def test_job__beside_one_that_sends__ends_at_once(
    service: Service, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with service.world.engine("service_webhooks").connect() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK_SPACE}, {service.world.chain_id})"))
        assert deliver(message()) == "another one sends"


@contextmanager
def sending(service: Service) -> Iterator[None]:
    """A job that sends, until its lock is taken from it."""
    with ThreadPoolExecutor() as threads:
        job = threads.submit(deliver, message())
        try:
            yield
        finally:
            with service.world.engine("service_webhooks").connect() as connection:
                of_lock = f"locktype = 'advisory' AND classid = {LOCK_SPACE}"
                held = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {of_lock}"
                assert connection.execute(text(held)).scalars().all() == [True]
            assert job.result(timeout=600) == "DatabaseUnavailable"


def test_job__at_rest__is_woken_by_the_index_and_ends_with_its_lock(
    service: Service, variables: Mapping[str, str], receiver: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(jobs, "REST_SECONDS", 600.0)  # what comes sooner was notified of
    Subscriber(service).register(receiver.url(), all_bounties=True, finality="unsafe")
    with sending(service):
        receiver.wait_for("webhook.challenge")
        for _ in range(2):
            service.world.create()
            service.world.index()
            receiver.wait_for("hub.facts")
    assert len(heard(receiver)) == 2


def test_job__on_a_machine_whose_clock_was_a_day_ahead__sends_at_once(
    service: Service, variables: Mapping[str, str], receiver: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    true = time.time
    Subscriber(service).register(receiver.url(), all_bounties=True, finality="unsafe")
    for ahead in (86_400, 0):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: true() + ahead)
        with sending(service):
            service.world.create()
            service.world.index()
            receiver.wait_for("hub.facts")
    assert len(heard(receiver)) == 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"SERVICE_CHAIN_ID": "x"}, "SERVICE_CHAIN_ID"),
        ({"SERVICE_CHAIN_ID": "84532"}, "SERVICE_WEBHOOK_INSECURE_LOOPBACK"),
        ({"SERVICE_WEBHOOK_PRIVATE_KEYS": "[]"}, "SERVICE_WEBHOOK_PRIVATE_KEYS"),
        ({"SERVICE_WEBHOOK_PRIVATE_KEYS_FILE": ""}, "SERVICE_WEBHOOK_PRIVATE_KEYS_FILE"),
        ({"SERVICE_DATABASE_URL": ""}, "SERVICE_DATABASE_URL"),
    ],
)
def test_setting__that_is_wrong__is_named(variables: Mapping[str, str], changed: dict[str, Any], named: str) -> None:
    assert WEBHOOK_KEY.to_text() not in repr(read_config(variables))
    with pytest.raises(ConfigurationError) as refused:
        read_config({**variables, **changed})
    assert [problem for problem in refused.value.problems if named in problem]
