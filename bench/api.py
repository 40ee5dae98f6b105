"""The api's figures: signed and conditional reads through the real server, against Flask's hello-world on the same one.

Everything runs on one machine: the server, PostgreSQL, the node, the object storage and the client that makes the load.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
import urllib3
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.types import BountyId
from local_stack.process import Child
from service_api.publishing.stored_pages import store_page

from bench.figures import Figure, Report, median
from bench.http.load import get, load, rate
from bench.http.pages import report_page
from bench.http.starting import start_python
from bench.watching.processes import cpu_seconds
from tests.api.conftest import Service, running_service
from tests.api.pages import page_for
from tests.api.running import RunningApi, start_api
from tests.api.test_submissions import Sealed, open_bounty, seal

ROUNDS, SECONDS = 5, 3.0
RSS_FROM, RSS_TO = 2_000, 200_000
COLD, WARM = 300, 20
_REFERENCE: Final = "Flask hello-world, same server"


def run(report: Report) -> None:
    """Measure the group."""
    with running_service() as service, _hello(service) as hello:
        sealed = submission(service)
        service.world.node.mine(3)
        api = start_api(service.runtime, service.variables)
        signed, conditional = signed_reads(service, sealed), _conditional(api.port, sealed.bounty_id)
        floor = [get("/recovered")]
        for port, requests in ((api.port, signed), (api.port, conditional), (hello.port, [get("/"), *floor])):
            load(port, requests, seconds=1.0)
        # Of a signed read: what proving its signer leaves, alone, and where each proof hands the lock over.
        measured = (
            ("signed_get", signed, 200, 8, 0.36),
            ("signed_get_alone", signed, 200, 1, 0.42),
            ("public_detail", conditional, 304, 8, 0.7),
        )
        for name, requests, status, connections, goal in measured:
            wanted = [(api.port, requests, status), (hello.port, [get("/")], 200), (hello.port, floor, 200)]
            rates = [[rate(*each, connections=connections, seconds=SECONDS) for each in wanted] for _ in range(ROUNDS)]
            value, reference, recovered = map(median, zip(*rates, strict=True))
            said = f"ratio >= {goal}, connections: {connections}"
            if requests is signed:
                said += f"; hello-world with one recovery of a key: {recovered / reference:.2f}"
            report(Figure(f"api.{name}", value, "requests/s", said, value / reference >= goal, _REFERENCE, reference))
        _cold(service, hello, report)
        _rss(api.child, api.port, [*conditional, *signed], report)
    report_page(report)


def details(service: Service, count: int) -> list[bytes]:
    """Reads of as many open bounties, each with a page and a Submission."""
    world, requests = service.world, []
    for number in range(count):
        page = page_for(world, title=f"Open for work, {number}", deadline=world.time() + 100_000)
        store_page(service.resources.engine, spec_commitment(page), page, parse_challenge(page))
        bounty_id = world.fund(page)
        world.submit(bounty_id, world.solver(1))
        requests.append(get(f"/api/bounties/{bounty_id}"))
    world.finalize()
    return requests


def _cold(service: Service, hello: RunningApi, report: Report) -> None:
    """CPU of a bounty's detail that no process has kept: each of many bounties is asked for once."""
    requests = details(service, COLD + WARM)
    api = start_api(service.runtime, service.variables)
    value = _cpu_of_each(api, requests)
    floor = _cpu_of_each(hello, [get("/read")] * (COLD + WARM))
    goal = f"<= 1.5; hello-world with one statement of the database {floor:.2f}"
    report(Figure("api.cold_detail", value, "ms of the api's CPU", goal, value <= 1.5))
    service.runtime.family.end([api.child])


def _cpu_of_each(server: RunningApi, requests: list[bytes]) -> float:
    """Milliseconds of the server's CPU, once it has answered some."""
    warm = load(server.port, requests[COLD:], count=WARM)
    before = cpu_seconds({"server": server.child.pid})
    seen = load(server.port, requests[:COLD], count=COLD)
    assert set(warm.statuses) == set(seen.statuses) == {200}, seen.statuses
    return (cpu_seconds({"server": server.child.pid}) - before) / COLD * 1000


def _rss(child: Child, port: int, requests: list[bytes], report: Report) -> None:
    """The worker's memory: what answers is the child's own child."""
    total = int(os.environ.get("SERVICE_BENCH_REQUESTS", RSS_TO))
    load(port, requests, count=RSS_FROM)
    before = _worker_rss(child.pid)
    load(port, requests, count=total - RSS_FROM)
    after = _worker_rss(child.pid)
    ok = after <= 130 and after / before <= 1.05
    goal = f"<= 130 and ratio <= 1.05, after {total} requests"
    report(Figure("api.worker_rss", after, "MB", goal, ok, f"after {RSS_FROM} requests", before))


def _worker_rss(parent: int) -> float:
    """Megabytes of the largest process below ``parent``."""
    return float(max(child.memory_info().rss for child in psutil.Process(parent).children()) / 2**20)


def signed_reads(service: Service, sealed: Sealed) -> list[bytes]:
    """Reads of one Submission by everybody who may."""
    path = f"/api/bounties/{sealed.bounty_id}/submissions/{sealed.envelope.commitment()}/content"
    readers = [service.world.people.poster.wallet, *(service.world.guardian(n) for n in (1, 2, 3))]
    headers = [service.authorization(reader.private_key, "GET", path) for reader in readers]
    return [get(path, f"Authorization: {header}") for header in headers]


def _conditional(port: int, bounty_id: BountyId) -> list[bytes]:
    path = f"/api/bounties/{bounty_id}"
    etag = urllib3.request("GET", f"http://127.0.0.1:{port}{path}").headers["ETag"]
    return [get(path, f"If-None-Match: {etag}")]


def submission(service: Service) -> Sealed:
    with tempfile.TemporaryDirectory() as folder:
        sealed = seal(service, Path(folder), open_bounty(service), service.world.solver(1))
        assert sealed.upload() == 200
        assert sealed.prepare().status_code == 201
    service.world.submit(sealed.bounty_id, service.world.solver(1), sealed.envelope.commitment())
    service.world.finalize()
    return sealed


@contextmanager
def _hello(service: Service) -> Iterator[RunningApi]:
    """The reference's server."""
    internal, database = service.runtime.port(), service.variables["SERVICE_DATABASE_URL"]
    call = "'bench.http.hello:application', host='127.0.0.1', port=int(sys.argv[1]), internal_port=int(sys.argv[2])"
    code = f"import sys; from service_common.web.server import serve; serve({call})"
    child, port = start_python(
        service.runtime,
        "hello",
        lambda port: ["-c", code, str(port), str(internal)],
        200,
        SERVICE_DATABASE_URL=database,
    )
    yield RunningApi(port, internal, child)
    service.runtime.family.end([child])
