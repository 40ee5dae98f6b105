"""An operator's mistakes are told by the command ``check``, and end a start with which the api would serve wrongly."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from local_stack import anvil
from local_stack.process import minimal_environment

from tests.api.conftest import Service
from tests.waiting import wait_until

NOWHERE = "http://127.0.0.1:1"
WRONG_EXIT, FOUND_EXIT = 2, 1


def ran(service: Service, changed: Mapping[str, str], *words: str) -> tuple[int, str]:
    """Run a process that ends by itself; return its exit code and everything that it says."""
    port = {"SERVICE_PORT": str(service.runtime.port()), "SERVICE_INTERNAL_PORT": str(service.runtime.port())}
    environment = {**minimal_environment(service.runtime.logs), **service.variables, **port, **changed}
    program = str(Path(sys.executable).parent / "service-api")
    done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=False, timeout=120)
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    return done.returncode, told


def wrong(told: str) -> set[str]:
    """The names of what ``check`` found wrong."""
    return {line[5:].split(":")[0].strip() for line in told.splitlines() if line.startswith("WRONG")}


def test_check_of_a_right_deployment_finds_nothing(service: Service) -> None:
    code, told = ran(service, {}, "check")
    assert (code, wrong(told)) == (0, set())
    for name in ("database", "redis", "chain", "storage", "bucket", "endpoint 1", "clock", "callers' addresses"):
        assert f"ok     {name}: " in told


def test_each_mistake_has_a_line_of_its_own(service: Service) -> None:
    url, redis = service.variables["SERVICE_DATABASE_URL"], service.variables["SERVICE_REDIS_URL"]
    mistakes: dict[str, tuple[dict[str, str], set[str]]] = {
        "role": ({"SERVICE_DATABASE_URL": service.world.database.url("service_indexer")}, {"database"}),
        "owner": ({"SERVICE_DATABASE_URL": service.world.database.url()}, {"database"}),
        "password": ({"SERVICE_DATABASE_URL": url.replace("service_api:", "service_api:x")}, {"database"}),
        "redis": ({"SERVICE_REDIS_URL": redis.replace("//:", "//:x")}, {"redis"}),
        "no password": ({"SERVICE_REDIS_URL": "redis://" + redis.partition("@")[2]}, {"redis"}),
        "hub": ({"SERVICE_HUB_ADDRESS": "0x" + "22" * 20}, {"chain", "endpoint 1"}),
        "endpoint": ({"SERVICE_RPC_URLS": f"{NOWHERE},{service.world.node.url}"}, {"endpoint 1"}),
        "bucket": ({"SERVICE_STORAGE_BUCKET": "somebody-elses"}, {"storage", "bucket"}),
    }
    for name, (changed, found) in mistakes.items():
        code, told = ran(service, changed, "check")
        assert (name, code, wrong(told)) == (name, FOUND_EXIT, found), told
        assert "no answer in time" not in told


def test_worker_without_a_right_redis_password_says_so(service: Service) -> None:
    """It goes on, since the password may be put right at the server, too."""
    wrong_url = service.variables["SERVICE_REDIS_URL"].replace("//:", "//:x")
    child = service.runtime.family.spawn(
        f"api-worker-{service.runtime.port()}",
        [Path(sys.executable).parent / "service-api", "worker"],
        environment={
            **minimal_environment(service.runtime.logs),
            **service.variables,
            "SERVICE_REDIS_URL": wrong_url,
            "SERVICE_INTERNAL_PORT": str(service.runtime.port()),
        },
        cwd=service.runtime.logs,
    )
    wait_until(lambda: "the queue server does not answer" in child.log_path.read_text())
    service.runtime.family.end([child])
    told = child.log_path.read_text()
    assert '"dependency": "redis"' in told
    assert "refuses the user or password of SERVICE_REDIS_URL" in told
    assert ("Traceback" in told, wrong_url in told) == (False, False)


@pytest.mark.parametrize("process", ["serve", "worker"])
def test_start_ends_where_it_would_serve_wrongly(service: Service, process: str) -> None:
    with anvil.start(chain_id=31_338) as other:
        both = f"{service.world.node.url},{other.url}"
        for changed, words in (
            ({"SERVICE_DATABASE_URL": service.world.database.url("service_indexer")}, "logs in as service_indexer"),
            ({"SERVICE_HUB_ADDRESS": "0x" + "22" * 20}, "no contract at SERVICE_HUB_ADDRESS"),
            ({"SERVICE_RPC_URLS": both}, "endpoint 2: the RPC endpoint serves a chain other than SERVICE_CHAIN_ID"),
        ):
            code, told = ran(service, changed, process)
            assert (code, words in told) == (WRONG_EXIT, True), told
