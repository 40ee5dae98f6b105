"""The api, the reviewer's worker and the delivery service as processes that send their traces to one collector."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment

from tests.api.conftest import Service
from tests.api.running import RunningApi
from tests.fakes.collector import Collector
from tests.fakes.model import KEY, ModelTwin

LEAKED = "LEAKED"
QUEUES = 7
"""A database of the queues of their own: the session's reviewer, which sends nothing, must not take their jobs."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What runs."""

    collector: Collector
    api: RunningApi
    logs: Path
    passwords: list[str]
    """What no span may hold: those of the database and the queues, and the model's key."""

    def log_lines(self, process: str) -> list[dict[str, object]]:
        """What a process logged, as far as it is whole."""
        text = (self.logs / f"{process}.log").read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


@contextmanager
def traced_processes(service: Service, collector: Collector) -> Iterator[Traced]:
    """All three, until the block ends."""
    model = ModelTwin()
    keys = service.runtime.secret("traced-keys.json", json.dumps([service.world.delivery.to_text()]))
    url = service.variables["SERVICE_REDIS_URL"].rpartition("/")[0] + f"/{QUEUES}"
    common = {"SERVICE_REDIS_URL": url, **collector.variables()}
    chain = {name: service.variables[name] for name in service.variables if "CHAIN_ID" in name or "HUB" in name}
    chain |= {
        "SERVICE_BLOCK_TIME_SECONDS": "2",
        "SERVICE_PUBLIC_HOST": service.variables["SERVICE_PUBLIC_HOST"],
        "SERVICE_RPC_URLS": service.world.node.url.replace("://", f"://reader:{LEAKED}-rpc@"),
    }
    database = service.world.database
    delivery_port, api_port, internal_port = (service.runtime.port() for _ in range(3))
    children = [
        _spawn(
            service,
            ["service-delivery", "serve"],
            common | chain | {"SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys), "SERVICE_PORT": str(delivery_port)},
            "service_delivery",
        ),
        _spawn(service, ["service-reviewer", "worker"], common | model.variables(), "service_reviewer"),
        _spawn(
            service,
            ["service-api", "serve"],
            dict(service.variables)
            | common
            | chain
            | {"SERVICE_DELIVERY_URL": f"http://{HOST}:{delivery_port}"}
            | {"SERVICE_PORT": str(api_port), "SERVICE_INTERNAL_PORT": str(internal_port)},
            "service_api",
        ),
    ]
    for child, port in zip((children[0], children[2]), (delivery_port, api_port), strict=True):
        service.runtime.family.wait(child, lambda port=port: _answers(port), 60.0)  # type: ignore[misc]
    passwords = [*database.passwords.values(), url.split(":")[2].partition("@")[0], KEY]
    yield Traced(collector, RunningApi(api_port, internal_port, children[2]), service.runtime.logs, passwords)
    service.runtime.family.end(children)
    model.close()


def _spawn(service: Service, command: list[str], variables: dict[str, str], role: str) -> Child:
    program, *words = command
    return service.runtime.family.spawn(
        f"traced-{program}",
        [Path(sys.executable).parent / program, *words],
        environment=minimal_environment(service.runtime.logs)
        | {
            "SERVICE_DATABASE_URL": service.world.database.url(role),
            "SERVICE_INTERNAL_PORT": str(service.runtime.port()),
        }
        | variables,
        cwd=service.runtime.logs,
    )


def _answers(port: int) -> bool:
    try:
        return urllib3.request("GET", f"http://{HOST}:{port}/healthz", retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False
