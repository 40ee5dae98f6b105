"""The whole service on one machine: a bounty's cost in CPU, and two minutes of mixed requests.

Everything is local and shares the cores: all services as processes of their own, PostgreSQL, Valkey, the node, the
object storage, and the client that makes the load. The mixture is what a deployment sees: mostly reads of bounties,
signed reads of content, the list, the GraphQL endpoint, documents and delivery status.
"""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from bounty_protocol.types import ChainId
from demo.bounty import Cast, Funded, Submitted
from local_stack.stack import Stack, running_stack
from service_common.db.engine import make_engine, reading, writing
from service_common.db.hub_index import open_bounties
from service_indexer.deadlines import has_work
from sqlalchemy import literal, select

from bench.attack.asking import readers, signer
from bench.figures import Figure, Report
from bench.http.load import Load, get, load, post
from bench.watching.processes import cpu_of, main_processes, weighed
from tests.waiting import wait_until

RATE: Final = 500
SECONDS: Final = float(os.environ.get("SERVICE_BENCH_SECONDS", "120"))
IDLE_SECONDS: Final = 10.0
LIVES: Final = 4
LIVES_IDLE_SECONDS: Final = 30.0
"""Being idle takes more than the lives do that are measured beside it, so it is measured before and after them."""
MANY: Final = 1_000
"""Bounties over which requests are spread, none favoured."""
ESCROW: Final = 25_000_000
GAS: Final = 400_000


def run(report: Report) -> None:
    """Measure the group."""
    with running_stack() as stack, tempfile.TemporaryDirectory() as folder:
        cast = Cast(stack, Path(folder))
        cast.fund(submission_seconds=30, judging_seconds=60)  # one-time loading counts for none after it
        _wait_for_rest(stack)
        idle = _idle(stack)
        goal = f"<= 15, beside 5 blocks a second, which one process reads and writes with {_follow(stack) * 1000:.1f}"
        report(Figure("service.idle_cpu", idle * 1000, "ms/s", goal, idle <= 0.015))
        weight = sum(weighed(main_processes(stack)).values()) / 1_000_000
        report(Figure("service.rss", weight, "MB of all services", "<= 700, idle", weight <= 700))
        before, began = cpu_of(stack), time.perf_counter()
        bounty, submitted = _lifecycles(cast)
        used, lasted = cpu_of(stack) - before, time.perf_counter() - began
        idle = (idle + _idle(stack)) / 2
        each = (used - idle * lasted) / LIVES
        goal = f"<= 0.25, of {LIVES} side by side; idle took {idle * lasted:.2f} meanwhile"
        report(Figure("service.lifecycle_cpu", each, "s", goal, each <= 0.25))
        requests = _mixture(int(bounty.bounty_id), submitted.commitment, _signed_reads(stack, bounty, submitted))
        load(_port(stack), requests, seconds=3.0)
        _tell(report, load(_port(stack), requests, connections=64, seconds=SECONDS, rate=RATE))


def _wait_for_rest(stack: Stack) -> None:
    """Until no bounty is open and the settler has nothing to do."""
    engine = make_engine(stack.launcher.databases["service_indexer"], application="bench", pool_size=1)

    def rests() -> bool:
        with reading(engine) as connection:
            is_open = connection.execute(select(open_bounties.c.bounty_id).limit(1)).first() is not None
        return not is_open and not has_work(engine, ChainId(stack.anvil.chain_id))

    wait_until(rests, 300)
    engine.dispose()


def _idle(stack: Stack) -> float:
    """Return seconds of CPU in a second while there is no request."""
    before = cpu_of(stack)
    time.sleep(LIVES_IDLE_SECONDS)
    return (cpu_of(stack) - before) / LIVES_IDLE_SECONDS


def _follow(stack: Stack) -> float:
    """Return seconds of CPU in a second of the least that following a chain takes, of one process alone."""
    engine = make_engine(stack.launcher.databases["service_indexer"], application="bench", pool_size=1)

    def look() -> None:
        stack.anvil.rpc.batch([("eth_getBlockByNumber", ["latest", False]), ("eth_getLogs", [{}])])
        with writing(engine) as connection:
            connection.execute(select(literal(1)))

    look()  # connects
    began = time.process_time()
    for _ in range(int(IDLE_SECONDS)):
        time.sleep(1)
        look()
    engine.dispose()
    return (time.process_time() - began) / IDLE_SECONDS


def _tell(report: Report, seen: Load) -> None:
    refused = {status: n for status, n in sorted(seen.statuses.items()) if status >= 400}
    p99, failed = seen.quantile(0.99) * 1000, sum(refused.values())
    of_which = "".join(f", {n} of them {status}" for status, n in refused.items())
    ok = seen.rate >= RATE * 0.99 and p99 <= 250 and not failed
    goal = f">= {RATE} for {SECONDS:.0f} s, p99 <= 250 ms, no error; here p99 {p99:.0f} ms, {failed} errors{of_which}"
    report(Figure("service.mixed", seen.rate, "requests/s", goal, ok))
    report(Figure("service.mixed_p99", p99, "ms", "<= 250", p99 <= 250))


def _lifecycles(cast: Cast) -> tuple[Funded, Submitted]:
    """Play whole bounties side by side: two Submissions, an award, its claim, and the delivery; return the
    last one.
    """
    bounties = [
        cast.fund(submission_seconds=60, judging_seconds=120, title=f"Measured {number}") for number in range(LIVES)
    ]
    winners = [cast.submit(bounty, "solver-1", note="First") for bounty in bounties]
    for bounty in bounties:
        cast.submit(bounty, "solver-2", note="Second")
    cast.wait_for(bounties[-1].reveal_at)
    for bounty, winner in zip(bounties, winners, strict=True):
        pair = (bounty.bounty_id, winner.solver, winner.commitment)
        for guardian in ("guardian-1", "guardian-2"):
            cast.person(guardian).run("guardian:open", *pair, f"opened-{bounty.bounty_id}")
            cast.award(bounty, guardian, winner, "Every criterion holds.\n")
        cast.person("solver-1").run("claim", bounty.bounty_id)
        cast.person("guardian-1").run("guardian:deliver-key", *pair)
        cast.person("poster").run("poster:open-winning-submission", bounty.bounty_id, f"work-{bounty.bounty_id}")
    return bounties[-1], winners[-1]


def _mixture(bounty_id: int, commitment: str, signed: list[bytes]) -> list[bytes]:
    """Twenty requests in the shares of a deployment."""
    detail = f"/api/bounties/{bounty_id}"
    query = json.dumps({"query": "{ bounties(first: 5) { bounty_id judging_deadline } _meta { block { number } } }"})
    status = f"{detail}/delivery/status?submission_commitment={commitment}"
    plain = [get(path) for path in (detail, detail, "/api/bounties?limit=20", status, "/api/deployment")]
    return [*(plain * 2), *signed, *plain, post("/subgraph", query.encode())]


def _signed_reads(stack: Stack, bounty: Funded, submitted: Submitted) -> list[bytes]:
    """Of the content, by everybody who may read it: each signed once for the two minutes, over a block that stays in
    the window of five.
    """
    sign = signer(stack)
    content = f"/api/bounties/{bounty.bounty_id}/submissions/{submitted.commitment}/content"
    return [get(content, sign.line(reader, "GET", content)) for reader in readers(stack)]


def _port(stack: Stack) -> int:
    port = stack.services["api"].port
    if port is None:
        raise RuntimeError("the api does not listen")
    return port
