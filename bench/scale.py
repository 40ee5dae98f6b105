"""Three processes of the api before a read replica of an index of 100,000 bounties: what an event and a public read
cost the primary and the replica, beside one process that reads the primary.

The index is made by the indexer itself of a generated chain (``bench.generated``) while the replica follows. Each read
asks about another bounty, where there are 3,600 or more, so that no process kept its answer. Everything shares the
machine's cores, so what counts is processor time; the clock's is beside it. It takes ten minutes and 15 GB of disk;
SERVICE_BENCH_BOUNTIES makes the index smaller.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from local_stack import gcs, postgres, valkey
from local_stack.runtime import Runtime, running
from service_common import log

from bench.figures import Figure, Report
from bench.generated.bounties import Population
from bench.generated.copying import copy_chain
from bench.generated.questions import history
from bench.generated.reading import variables
from bench.http.load import get, load, post, quantile
from bench.watching.processes import taken
from tests.api.running import RunningApi, start_api
from tests.servers import DatabaseServer

BOUNTIES: Final = int(os.environ.get("SERVICE_BENCH_BOUNTIES", "100000"))
PROCESSES: Final = 3
RATE: Final = 90
"""Reads a second of all processes together: less than half of what two cores can answer while they also send them."""
READS: Final = RATE * 40
WARM_READS: Final = 20
"""Of each process, which loads with its first ones what is loaded once."""


@dataclass(frozen=True, slots=True)
class ReadCost:
    """Milliseconds of the processor of one read, in the api and in each server; the latencies in seconds."""

    api: float
    servers: Mapping[str, float]
    latencies: Sequence[float]

    @property
    def whole(self) -> float:
        return self.api + sum(self.servers.values())

    def p99(self) -> float:
        """In milliseconds."""
        return quantile(self.latencies, 0.99) * 1_000


def run(report: Report) -> None:
    """Measure the group."""
    log.configure("bench", logging.ERROR)
    with ExitStack() as stack:
        primary = stack.enter_context(postgres.start())
        server, replica = DatabaseServer.on(primary), primary.replica()
        redis, storage = stack.enter_context(valkey.start()), stack.enter_context(gcs.start())
        pids = {"primary": _pid(primary), "replica": _pid(replica)}
        before = _used(pids)
        copied = copy_chain(server.new(), Population(bounties=BOUNTIES, life=min(1_000, BOUNTIES // 2)))
        primary.wait_for_replica(replica, 600.0)
        _report_copy(before, _used(pids), copied.whole.events, report)

        environment = variables(copied.database, redis.url(), storage.credentials_file)
        of_replica = replica.url(copied.database.name, user="service_api", password=server.passwords["service_api"])
        requests = _requests(copied.population)
        runtime = stack.enter_context(running())
        with_replica = {**environment, "SERVICE_DATABASE_READ_URL": of_replica}
        _read(runtime, environment, 1, requests, pids)  # a decided bounty's record is derived by its first read
        one = _read(runtime, environment, 1, requests, pids)
        several = _read(runtime, environment, PROCESSES, requests, pids)
        _report_reads(one, several, _read(runtime, with_replica, PROCESSES, requests, pids), report)


def _report_copy(before: Mapping[str, float], after: Mapping[str, float], events: int, report: Report) -> None:
    primary, replica = ((after[name] - before[name]) / events * 1_000_000 for name in ("primary", "replica"))
    report(Figure("scale.event_primary", primary, "us CPU", "for one event, with all that a server does", None))
    goal = "ratio <= 1: it keeps up"
    report(Figure("scale.event_replica", replica, "us CPU", goal, replica <= primary, "the primary", primary))


def _report_reads(one: ReadCost, several: ReadCost, replicated: ReadCost, report: Report) -> None:
    goal = f"ratio <= 1.5: {PROCESSES} processes share what one answers"
    ok = several.whole / one.whole <= 1.5
    report(Figure("scale.read_processes", several.whole, "ms CPU", goal, ok, "one process", one.whole))
    ok = replicated.whole / several.whole <= 1.2
    goal, reference = "ratio <= 1.2: a replica costs a read nothing", "no replica"
    report(Figure("scale.read_cpu", replicated.whole, "ms CPU", goal, ok, reference, several.whole))
    share = replicated.servers["primary"] / sum(replicated.servers.values())
    goal = "of what PostgreSQL does for reads, <= 0.1 is the primary's"
    report(Figure("scale.primary_share", share, "ratio", goal, share <= 0.1))
    ok = replicated.p99() <= 100
    report(Figure("scale.read_p99", replicated.p99(), "ms", f"<= 100, at {RATE}/s", ok, reference, several.p99()))


def _requests(population: Population) -> list[bytes]:
    """About bounties all over the index: mostly one, sometimes those of its Solver, or a page's history."""
    requests = []
    for place in range(READS):
        bounty = 1 + place * (population.bounties - 1) // READS
        if place % 10 == 0:
            asked = history(bounty)
            requests.append(post(asked.path, asked.body or b""))
        elif place % 5 == 0:
            requests.append(get(f"/api/bounties?limit=10&solver_address={population.solver(bounty, 0)}"))
        else:
            requests.append(get(f"/api/bounties/{bounty}"))
    return requests


def _read(
    runtime: Runtime, environment: Mapping[str, str], processes: int, requests: Sequence[bytes], servers: dict[str, int]
) -> ReadCost:
    """All requests once, by so many new processes side by side."""
    apis = [start_api(runtime, environment) for _ in range(processes)]
    pids = servers | {f"api {number}": api.child.pid for number, api in enumerate(apis)}
    for api in apis:
        load(api.port, requests[-WARM_READS:], count=WARM_READS)
    before = _used(pids)
    with ThreadPoolExecutor(processes) as pool:
        seen = list(pool.map(lambda each: _load(each[1], requests[each[0] :: processes], processes), enumerate(apis)))
    used = {name: (value - before[name]) / len(requests) * 1_000 for name, value in _used(pids).items()}
    runtime.family.end([api.child for api in apis])
    api_cpu = sum(value for name, value in used.items() if name not in servers)
    return ReadCost(api_cpu, {name: used[name] for name in servers}, [each for some in seen for each in some])


def _load(api: RunningApi, requests: Sequence[bytes], processes: int) -> list[float]:
    seen = load(api.port, requests, count=len(requests), rate=RATE / processes)
    if set(seen.statuses) != {200}:
        raise RuntimeError(f"reads were answered with {seen.statuses}")
    return seen.latencies


def _pid(server: postgres.PostgresServer) -> int:
    if server.child is None:
        raise RuntimeError("a database server does not run")
    return server.child.pid


def _used(pids: dict[str, int]) -> dict[str, float]:
    """Seconds of the processor of each and all below it, ended ones included."""
    return {name: each.cpu for name, each in taken(pids).items()}
