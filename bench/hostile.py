"""The cost to everybody else of one attacker at full rate: five attacks on a whole stack, one after the other.

The stack has a deployment's budgets, and this program plays the proxy that names the caller: the attacker comes from
one address, a fresh one in each round, honest people each from their own. Each attack runs beside the same honest
traffic in turn with itself sent to a sink at the rate that it had, so that what the attacker's own process takes of the
machine is in both. A round's figure is the 99th percentile of the honest reads, an answer that failed included; beside
them people send what has to succeed: publications, queries, signed requests of contract wallets, upload URLs.
"""

import json
import multiprocessing
import os
import secrets
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
import urllib3
from bounty_protocol.types import Address
from demo.bounty import Cast, Funded, Submitted
from demo.examples import challenge_page
from local_stack.ports import HOST
from local_stack.stack import DATABASE, Stack, StackSettings, running_stack
from service_common.jobs import QueueName, connect, open_queue

from bench.attack import attacks
from bench.attack.asking import PUBLICATION, Signer, readers, seen_at, signer
from bench.attack.sending import Sending, Sent, send
from bench.figures import Figure, Report, median
from bench.http.load import Load, get, load, quantile
from bench.http.starting import start_python
from bench.watching.manifests import memory_requests
from bench.watching.processes import cpu_of, main_processes, weighed
from tests.protocol.auth.signing import Key, new_key
from tests.protocol.auth.wallets import ENDLESS, owner_wallet, place
from tests.waiting import wait_until

ROUNDS: Final = 5
SECONDS: Final = float(os.environ.get("SERVICE_BENCH_SECONDS", "6"))
LEAD_SECONDS: Final = 0.5
"""For how long an attack runs before and after what is measured."""
READS_A_SECOND: Final = 50
WRITES_A_SECOND: Final = 1
PATIENCE_SECONDS: Final = 40.0
"""How long a person waits for an answer: a publication may take the 25 seconds of its review."""
QUIET: Final = 0.3
"""Processors in use: below it the stack is at rest."""
REST_SECONDS: Final = 60.0
ROWS: Final = 3_000
"""Submissions of other people that the index holds, so that a query finds something."""
WALLETS: Final = 6
LIMIT: Final = 2.5
DEPLOYMENT: Final = {"SERVICE_BUDGET_FACTOR": "1", "SERVICE_FORWARDED_HOPS": "1", "SERVICE_REVIEW_QUOTA": "20"}
Write = Callable[[int], int]
"""One honest request, by its number; the status of its answer, 0 if none came."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack with a bounty in it, and those who attack it."""

    stack: Stack
    sink: int
    page: bytes
    bounty: Funded
    submitted: Submitted
    owner: Key
    """Of the honest contract wallets."""
    wallets: Sequence[Address]
    endless: Address
    attackers: ProcessPoolExecutor
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    resident: dict[str, int] = field(default_factory=dict)
    """The most bytes that each process took under the present attack."""

    @property
    def port(self) -> int:
        """Where the api listens."""
        port = self.stack.services["api"].port
        assert port is not None
        return port


@dataclass(frozen=True, slots=True)
class Round:
    """Honest people's answers while an attack ran."""

    reads: Load
    writes: Counter[int]
    attack: Sent

    @property
    def p99(self) -> float:
        """Milliseconds, of signed and kept reads together."""
        return self.reads.quantile(0.99) * 1000

    def p99_of(self, kind: int) -> float:
        """Of the signed ones (0), or of the kept ones (1): they alternate."""
        pairs = zip(self.reads.latencies, self.reads.answered, strict=True)
        return quantile([seconds for seconds, number in pairs if number % 2 == kind], 0.99) * 1000

    @property
    def failed(self) -> int:
        """Honest reads without a good answer."""
        return sum(times for status, times in self.reads.statuses.items() if status >= 400)


@dataclass(frozen=True, slots=True)
class Attack:
    """``make`` its requests from an address, ``write`` what honest people send meanwhile, and what that is called."""

    name: str
    make: Callable[[Scene, Signer, str], Sending]
    write: Callable[[Scene, Signer], Write]
    written: str


def run(report: Report) -> None:
    """Measure the group."""
    asked, worst = memory_requests(), list[tuple[float, str]]()
    with _scene() as scene:
        for attack in ATTACKS:
            scene.resident.clear()
            _measure(scene, attack, report)
            ratio, name = max((size / asked[name], name) for name, size in scene.resident.items())
            worst.append((ratio, f"{name} {ratio:.2f} under {attack.name}"))
    goal = f"<= 1; here {', '.join(where for _, where in worst)}"
    report(Figure("hostile.rss", max(worst)[0], "of its request", goal, max(worst)[0] <= 1))


def _measure(scene: Scene, attack: Attack, report: Report) -> None:
    """An attack and the sink in turn."""
    attacked, spared = [], []
    for _ in range(ROUNDS):
        sign, address = signer(scene.stack), f"203.0.113.{next(scene.numbers)}"
        sending, write = attack.make(scene, sign, address), attack.write(scene, sign)
        attacked.append(_round(scene, sending, scene.port, write, None))
        _rest(scene)
        spared.append(_round(scene, sending, scene.sink, write, attacked[-1].attack.rate))
        _rest(scene)
    value, reference = (median([each.p99 for each in rounds]) for rounds in (attacked, spared))
    writes = sum((each.writes for each in attacked), Counter[int]())
    good, failed = writes[200] + writes[201], sum(each.failed for each in attacked)
    answers = sum((Counter(each.attack.statuses) for each in attacked), Counter[int]())
    of_kind = [[median([each.p99_of(kind) for each in rounds]) for kind in (0, 1)] for rounds in (attacked, spared)]
    here = (
        f"here {good} of {writes.total()} {attack.written}, {failed} reads failed; "
        f"signed {of_kind[0][0]:.0f} against {of_kind[1][0]:.0f} ms, kept {of_kind[0][1]:.0f} against "
        f"{of_kind[1][1]:.0f}; {median([each.attack.rate for each in attacked]):.0f} attacks/s, answered "
        + ", ".join(f"{status}: {times}" for status, times in sorted(answers.items()))
    )
    ok = value / reference <= LIMIT and good == writes.total() and not failed
    goal = f"ratio <= {LIMIT:g}, all {attack.written} and reads succeed; {here}"
    report(Figure(f"hostile.{attack.name}", value, "ms p99", goal, ok, "attack sent to a sink", reference))


def _round(scene: Scene, sending: Sending, port: int, write: Write, rate: float | None) -> Round:
    """Run some seconds of an attack on ``port``, of honest reads and writes, and of looking at the processes'
    memory.
    """
    at = time.monotonic() + 2.0
    attack = scene.attackers.submit(send, sending, port, at, SECONDS + 2 * LEAD_SECONDS, rate)
    time.sleep(at + LEAD_SECONDS - time.monotonic())
    with ThreadPoolExecutor(64) as people, _watched(scene.stack, scene.resident):
        writes = people.submit(_write, people, write)
        reads = load(scene.port, _reads(scene), connections=32, seconds=SECONDS, rate=READS_A_SECOND)
        answers = Counter(each.result() for each in writes.result())
    return Round(reads, answers, attack.result())


def _write(people: ThreadPoolExecutor, write: Write) -> list[Future[int]]:
    """Send a request at a time, whether or not those before it are answered."""
    began, sent = time.monotonic(), []
    for number in range(int(SECONDS * WRITES_A_SECOND)):
        time.sleep(max(0.0, began + number / WRITES_A_SECOND - time.monotonic()))
        sent.append(people.submit(write, number))
    return sent


def _reads(scene: Scene) -> list[bytes]:
    """Signed reads of content and kept public reads in turn, each from another address."""
    sign, keys = signer(scene.stack), readers(scene.stack)
    bounty = f"/api/bounties/{scene.bounty.bounty_id}"
    content = f"{bounty}/submissions/{scene.submitted.commitment}/content"
    public = [bounty, "/api/bounties?limit=20", "/api/deployment"]
    made = []
    for number in range(100):
        reader = keys[number % len(keys)]
        made.append(get(content, seen_at(_honest(number)), sign.line(reader, "GET", content)))
        made.append(get(public[number % len(public)], seen_at(_honest(100 + number))))
    return made


def _publications(scene: Scene, sign: Signer) -> Write:
    """Return the example page, each time with another title and by another Poster."""

    def write(number: int) -> int:
        poster = new_key()
        page = scene.page.replace(b"title: ", f"title: {secrets.token_hex(4)} ".encode(), 1)
        query = f"poster_address={poster.address}"
        signed = sign.line(poster, "POST", PUBLICATION, query=query, body=page)
        return _ask(scene, number, f"{PUBLICATION}?{query}", signed, page, "text/markdown")

    return write


def _queries(scene: Scene, sign: Signer) -> Write:  # noqa: ARG001  # nobody signs a query
    """Return the query of a page of bounties."""
    body = b'{"query": "{ bounties(first: 5) { bounty_id judging_deadline } _meta { block { number } } }"}'
    return lambda number: _ask(scene, number, "/subgraph", "", body, "application/json")


def _upload_urls(scene: Scene, sign: Signer) -> Write:
    """Of Solvers with plain keys."""

    def write(number: int) -> int:
        return _upload_url(scene, sign, number, new_key(), None)

    return write


def _wallet_upload_urls(scene: Scene, sign: Signer) -> Write:
    """Of Solvers whose accounts are contracts, and were let in before, each from where it is now."""

    def write(number: int) -> int:
        which = number % len(scene.wallets)
        return _upload_url(scene, sign, which, scene.owner, scene.wallets[which])

    return write


def _upload_url(scene: Scene, sign: Signer, number: int, key: Key, account: Address | None) -> int:
    path = f"/api/bounties/{scene.bounty.bounty_id}/submissions/{account or key.address}/artifact-upload-url"
    body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
    signed = sign.line(key, "POST", path, body=body, account=account)
    return _ask(scene, number, path, signed, body, "application/json")


def _ask(scene: Scene, number: int, target: str, signed: str, body: bytes, media_type: str) -> int:
    """Return the status of one honest POST; 0 if no answer came."""
    name, _, value = signed.partition(": ")
    headers = {"Callers": _honest(number), "Content-Type": media_type, **({name: value} if name else {})}
    url = f"http://{HOST}:{scene.port}{target}"
    try:
        return urllib3.request("POST", url, body=body, headers=headers, retries=False, timeout=PATIENCE_SECONDS).status
    except urllib3.exceptions.HTTPError:
        return 0


def _honest(number: int) -> str:
    return f"198.51.100.{number % 250 + 1}"


ATTACKS: Final = (
    Attack("publish", lambda scene, sign, at: attacks.pages(sign, at, scene.page), _publications, "publications"),
    Attack("graphql", lambda _, _sign, at: attacks.queries(at), _queries, "queries"),
    Attack("yaml", lambda _, sign, at: attacks.frontmatters(sign, at), _publications, "publications"),
    Attack(
        "wallets",
        lambda scene, sign, at: attacks.wallets(sign, at, [*scene.wallets, scene.endless]),
        _wallet_upload_urls,
        "requests of wallets",
    ),
    Attack("slow_bodies", lambda _, sign, at: attacks.slow_bodies(sign, at), _upload_urls, "writes"),
)


@contextmanager
def _scene() -> Iterator[Scene]:
    """The stack, a bounty with a Submission and one with very many, contract wallets that were let in, and the sink."""
    processes = multiprocessing.get_context("spawn")
    with (
        running_stack(StackSettings(variables=DEPLOYMENT)) as stack,
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, processes) as attackers,
    ):
        cast = Cast(stack, Path(folder))
        bounty, other = (cast.fund(submission_seconds=20_000, judging_seconds=3_000, title=each) for each in "AB")
        submitted = cast.submit(bounty, "solver-1")
        _fill(stack, bounty, other)
        deadline = cast.chain_time() + 20_000
        page = challenge_page(Path(folder), submission_deadline=deadline, judging_window_seconds=3_000).read_bytes()
        owner, node = new_key(), stack.anvil
        wallets = [place(node, owner_wallet(owner.address), f"wallet {number}") for number in range(WALLETS)]
        endless = place(node, ENDLESS, "endless")
        cast.wait_for(cast.chain_time() + 3)  # the api calls at a block that it knows, which has the wallets then
        _, sink = start_python(stack.runtime, "sink", lambda port: ["-m", "bench.attack.sink", str(port)], 503)
        scene = Scene(stack, sink, page, bounty, submitted, owner, wallets, endless, attackers)
        sign = signer(stack)
        warm = [_wallet_upload_urls(scene, sign), _publications(scene, sign), _queries(scene, sign)]
        first = [[write(number) for number in range(WALLETS)] for write in warm]
        assert {status for each in first for status in each} == {200}, first
        seen = load(scene.port, _reads(scene), seconds=2.0, rate=READS_A_SECOND)
        assert set(seen.statuses) == {200}, seen.statuses
        assert attackers.submit(os.getpid).result() != os.getpid()
        _rest(scene)
        yield scene


def _fill(stack: Stack, bounty: Funded, other: Funded) -> None:
    """Rows of the index as many Submissions to the ``other`` bounty would leave them, after the one of ``bounty``."""
    statement = (
        "INSERT INTO hub_index.submissions (bounty_id, solver, submission_commitment, block_number, block_hash, "
        "log_index, tx_hash, time) SELECT %s, '0x' || lpad(to_hex(n), 40, '0'), '0x' || lpad(to_hex(n), 64, '0'), "
        "block_number, block_hash, 1000000 + n, tx_hash, time FROM hub_index.submissions, generate_series(1, %s) AS n "
        "WHERE bounty_id = %s"
    )
    with psycopg.connect(stack.postgres.url(DATABASE), autocommit=True) as connection:
        values = (other.bounty_id, ROWS, bounty.bounty_id)
        wait_until(lambda: connection.execute(statement, values).rowcount == ROWS, 30)  # none until it is indexed
        connection.execute("ANALYZE hub_index.submissions")


@contextmanager
def _watched(stack: Stack, most: dict[str, int]) -> Iterator[None]:
    """Meanwhile note the most memory of each process."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(2.0):
            for name, size in weighed(main_processes(stack)).items():
                most[name] = max(most.get(name, 0), size)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _rest(scene: Scene) -> None:
    """Wait until the stack is at rest. Reviews that an attacker left behind are taken from their queue before: what is
    measured next starts as this did."""
    redis = connect(scene.stack.launcher.secrets["SERVICE_REDIS_URL"])
    open_queue(QueueName.REVIEWS, redis).empty()  # type: ignore[no-untyped-call]
    redis.close()
    ends = time.monotonic() + REST_SECONDS
    while time.monotonic() < ends:
        scene.stack.check()
        before = cpu_of(scene.stack)
        time.sleep(1.0)
        if cpu_of(scene.stack) - before < QUIET:
            return
    print("bench: the stack does not come to rest", file=sys.stderr, flush=True)
