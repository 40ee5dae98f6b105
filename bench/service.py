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
from urllib.parse import urlsplit

from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, typed_data
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from demo.bounty import Cast, Funded, Submitted
from eth_account import Account
from local_stack.accounts import RoleAccount as Account_
from local_stack.stack import Stack, running_stack
from service_common.db.engine import make_engine, reading, writing
from service_common.db.hub_index import open_bounties
from service_indexer.due import has_work
from sqlalchemy import literal, select

from bench.figures import Figure, Report
from bench.http.load import Load, get, load, post
from bench.watching.processes import cpu_seconds, main_processes, weighed
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
        _warm_up(cast)
        _wait_for_rest(stack)
        idle = _idle(stack, LIVES_IDLE_SECONDS)
        goal = f"<= 15, beside 5 blocks a second, which one process reads and writes with {_follow(stack) * 1000:.1f}"
        report(Figure("service.idle_cpu", idle * 1000, "ms/s", goal, idle <= 0.015))
        weight = sum(weighed(main_processes(stack)).values()) / 1_000_000
        report(Figure("service.rss", weight, "MB of all services", "<= 700, idle", weight <= 700))
        before, began = _cpu(stack), time.perf_counter()
        bounty, submitted = _lifecycles(cast)
        used, lasted = _cpu(stack) - before, time.perf_counter() - began
        idle = (idle + _idle(stack, LIVES_IDLE_SECONDS)) / 2
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


def _idle(stack: Stack, seconds: float = IDLE_SECONDS) -> float:
    """Return seconds of CPU in a second while there is no request."""
    before = _cpu(stack)
    time.sleep(seconds)
    return (_cpu(stack) - before) / seconds


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


def _warm_up(cast: Cast) -> None:
    """Run a first bounty, so that one-time loading counts for none after it."""
    cast.fund(submission_seconds=30, judging_seconds=60)


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
    """Of the content, by everybody who may read it."""
    people, content = stack.people.by_name(), _content(bounty, submitted)
    return [_signed(stack, people[name], content) for name in ("poster", "guardian-1", "guardian-2", "guardian-3")]


def _content(bounty: Funded, submitted: Submitted) -> str:
    return f"/api/bounties/{bounty.bounty_id}/submissions/{submitted.commitment}/content"


def _signed(stack: Stack, person: Account_, path: str) -> bytes:
    """Sign a request once for the two minutes: it names a block that stays in the window of five."""
    rpc = Rpc([stack.anvil.url])
    head = header_at(rpc, BlockNumber(header_at(rpc, "latest").number))
    host = urlsplit(stack.common["SERVICE_API_BASE_URL"]).netloc
    approval = RequestToSign("GET", path, "", b"", host).approval(head.number, head.hash)
    domain = SigningDomain(ChainId(stack.anvil.chain_id), Address(stack.hub.hub.address))
    key = person.wallet.private_key
    signature = bytes(Account.sign_typed_data(key, full_message=typed_data(domain, approval)).signature)
    return get(path, f"Authorization: {approval_header(Address(person.address), signature, approval)}")


def _port(stack: Stack) -> int:
    port = stack.services["api"].port
    if port is None:
        raise RuntimeError("the api does not listen")
    return port


def _cpu(stack: Stack) -> float:
    """Return seconds of CPU that all services have used, ended children included."""
    return cpu_seconds(main_processes(stack))
