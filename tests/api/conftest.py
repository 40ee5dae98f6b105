"""The api in this process over real servers: PostgreSQL, Valkey, a node, the GCS twin, the beacon, a review worker."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import header_at
from flask.testing import FlaskClient
from local_stack import anvil, beacon, gcs, postgres, valkey
from local_stack.process import minimal_environment
from local_stack.runtime import Runtime, running
from prometheus_client import REGISTRY
from service_api.app import make_app
from service_api.config import read_config
from service_api.resources import Resources, make_resources
from service_common import log
from service_common.db import app as t
from service_common.db.engine import writing
from service_common.web.dependencies import provided
from sqlalchemy import delete
from werkzeug.test import TestResponse

from tests.api.contract import checked_client
from tests.api.running import RunningApi, start_api
from tests.protocol.auth.signing import Key
from tests.servers import Database, DatabaseServer
from tests.world import ChainClock, World, make_world

T = TypeVar("T")
HOST = "bounties.example"
AHEAD_SECONDS = 100_000
"""How far the chain's time is ahead of the machine's. An api process goes by the machine's clock: without this,
it would take a chain on which no test has mined for a minute for one whose index is behind."""


@dataclass
class Service:
    """The api, its world, and a way to call it as someone."""

    world: World
    client: FlaskClient
    resources: Resources
    gcs: gcs.GcsServer
    beacon: beacon.RunningBeacon
    runtime: Runtime
    variables: Mapping[str, str]

    def get(self, path: str, **headers: str) -> TestResponse:
        return self.client.get(path, headers=headers)

    def authorization(self, private_key: str, method: str, path: str, *, query: str = "", body: bytes = b"") -> str:
        """An Authorization header with a fresh signature of this key."""
        key = Key(bytes.fromhex(private_key.removeprefix("0x")))
        block = header_at(self.world.rpc, "latest")
        approval = RequestToSign(method, path, query, body, HOST).approval(block.number, block.hash)
        domain = SigningDomain(self.world.chain_id, self.world.hub_address)
        return approval_header(key.address, key.sign(digest(domain, approval)), approval)

    def signed(
        self,
        private_key: str,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        media_type: str | None = None,
    ) -> TestResponse:
        """One request with a fresh signature of this key."""
        headers = {"Authorization": self.authorization(private_key, method, path, query=query, body=body)}
        if media_type is not None:
            headers["Content-Type"] = media_type
        url = path + (f"?{query}" if query else "")
        return self.client.open(url, method=method, data=body or None, headers=headers)

    def publish(self, page: bytes) -> TestResponse:
        """Publish a page as the Poster."""
        poster = self.world.people.poster
        return self.signed(
            poster.wallet.private_key,
            "POST",
            "/api/bounty-challenge-specs/prepare-publication",
            query=f"poster_address={poster.address}",
            body=page,
            media_type="text/markdown",
        )


@pytest.fixture(autouse=True)
def equal_start(request: pytest.FixtureRequest) -> None:
    """Each test begins with an index at the chain's tip and a whole quota of reviews, whichever ran before it.

    The chain and the Poster are the same in all. A test that took a minute and mined at its end would leave the index
    behind: then the next one's unknown bounty is a 503 and not a 404.
    """
    if "service" in request.fixturenames:
        service: Service = request.getfixturevalue("service")
        service.world.index()
        with writing(service.resources.engine) as connection:
            connection.execute(delete(t.review_charges))
            connection.execute(delete(t.processed_approvals))


@pytest.fixture(scope="session")
def running_api(service: Service) -> RunningApi:
    """The api as the images run it, at every address of IPv4 and IPv6, behind one proxy: its own process, the real WSGI
    server in front; it ends with the session."""
    settings = {"SERVICE_HOST": "::", "SERVICE_INTERNAL_HOST": "::", "SERVICE_FORWARDED_HOPS": "1"}
    return start_api(service.runtime, {**service.variables, **settings})


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with running_service() as started:
        yield started


@contextmanager
def running_service() -> Iterator[Service]:
    """Every server, a world on them, and the api in this process."""
    log.configure("api")  # as the processes do; the library's default renders whole tracebacks in colour
    with (
        running() as runtime,
        postgres.start(runtime) as server,
        valkey.start(runtime) as redis,
        anvil.start(runtime, mining="automine") as node,
        gcs.start(runtime) as storage,
        beacon.start(runtime, period_seconds=3) as drand,
    ):
        database = DatabaseServer.on(server).new()
        with make_world(node, database) as world:
            world.finalize_at(world.time() + AHEAD_SECONDS)
            runtime.family.spawn(
                "reviewer",
                [Path(sys.executable).parent / "service-reviewer", "worker"],
                environment=minimal_environment(runtime.logs)
                | {
                    "SERVICE_DATABASE_URL": database.url("service_reviewer"),
                    "SERVICE_REDIS_URL": redis.url(),
                    "SERVICE_REVIEW_PROVIDER": "rules",
                    "SERVICE_INTERNAL_PORT": str(runtime.port()),
                },
                cwd=runtime.logs,
            )
            variables = api_variables(world, database, redis, storage, drand)
            resources = make_resources(read_config(variables))
            resources = replace(resources, clock=ChainClock(world.rpc))
            yield Service(world, checked_client(make_app(resources)), resources, storage, drand, runtime, variables)
            resources.close()
        database.close()


@contextmanager
def another_chain(service: Service) -> Iterator[Service]:
    """The same servers with a chain and a database of their own, for what would disturb others or counts everything."""
    database = DatabaseServer(service.world.database.server, service.world.database.passwords).new()
    with anvil.start(mining="automine") as node, make_world(node, database) as world:
        world.finalize_at(world.time() + AHEAD_SECONDS)
        variables = {
            **service.variables,
            "SERVICE_CHAIN_ID": str(world.chain_id),
            "SERVICE_HUB_ADDRESS": world.hub_address,
            "SERVICE_RPC_URLS": node.url,
            "SERVICE_DATABASE_URL": database.url("service_api"),
        }
        resources = replace(make_resources(read_config(variables)), clock=ChainClock(world.rpc))
        client = checked_client(make_app(resources))
        yield replace(service, world=world, client=client, resources=resources, variables=variables)
        resources.close()
    database.close()


def api_variables(
    world: World,
    database: Database,
    redis: valkey.ValkeyServer,
    storage: gcs.GcsServer,
    drand: beacon.RunningBeacon,
) -> Mapping[str, str]:
    """The api's environment."""
    return {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_RPC_URLS": world.node.url,
        "SERVICE_PUBLIC_HOST": HOST,
        "SERVICE_DATABASE_URL": database.url("service_api"),
        "SERVICE_REDIS_URL": redis.url(),
        "SERVICE_DELIVERY_URL": "http://127.0.0.1:9",
        "SERVICE_REVIEWER_URL": "http://127.0.0.1:9",
        "SERVICE_STORAGE_BUCKET": storage.bucket,
        "SERVICE_STORAGE_ENDPOINT": storage.url,
        "SERVICE_STORAGE_CREDENTIALS": storage.credentials_file.read_text(),
        "SERVICE_BEACON_URLS": drand.url,
        "SERVICE_BEACON_CHAIN_HASH": drand.chain_hash,
        "SERVICE_BEACON_PUBLIC_KEY": drand.public_key,
        "SERVICE_REVIEW_QUOTA": "4",
        # One session of tests asks for more than anybody does in an hour; the budgets have their own tests.
        "SERVICE_BUDGET_FACTOR": "1000",
    }


def used_by(client: FlaskClient, kind: type[T]) -> T:
    """What the routes of a client's app use of a type."""
    with client.application.app_context():
        return provided(kind)


def failed() -> float:
    """Answers that count against what is promised."""
    return _outcomes("failed")


def answered() -> float:
    """Answers that count for what is promised."""
    return _outcomes("answered")


def _outcomes(result: str) -> float:
    return REGISTRY.get_sample_value("service_http_outcomes_total", {"result": result}) or 0.0


def error_of(response: TestResponse) -> dict[str, object]:
    """The error envelope of a response, checked to be one."""
    error = json.loads(response.data)["error"]
    assert set(error) - {"retry_not_before"} == {"code", "message", "issues", "next_action"}
    assert all(set(issue) == {"path", "message"} for issue in error["issues"])
    if response.status_code in {429, 503}:
        assert int(response.headers["Retry-After"]) >= 1
    assert response.headers["X-Correlation-Id"]
    found: dict[str, object] = error
    return found
