"""What people see of a stack, looked at once a second: whether it answers, how far the index is, when news arrive."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg
import urllib3
from eth_utils.address import to_checksum_address
from local_stack.stack import DATABASE, Stack
from rq import Queue
from service_common.jobs.once import forget_lost_failures
from service_common.jobs.queues import QueueName, connect, open_queue

from tests.api.webhooks.receiving import Answer, Got, echo

LATE_SECONDS: Final = 20.0
"""How long one look waits for its answer."""


@dataclass(slots=True)
class Seen:
    """What one thing that people look at answered while it was watched."""

    looks: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0
    well: bool = True
    """Whether the last look was answered."""

    def words(self) -> str:
        """How many looks failed, and why; empty where none did."""
        failed = sum(self.failures.values())
        return f"{failed} of {self.looks} ({', '.join(sorted(self.failures))})" if failed else ""


class Looking:
    """Looks at a stack from several sides, each in a thread of its own, until it is closed."""

    def __init__(self, stack: Stack, bounty_id: str, commitment: str, page: bytes) -> None:
        api, pages = stack.api_base_url, stack.pages_url or ""
        one = f"{api}/api/bounties/{bounty_id}"
        self._asked: dict[str, Callable[[], str]] = {
            "pages": lambda: _asked(f"{pages}/bounties/{bounty_id}"),
            "reads": lambda: _asked(one),
            "delivery's status": lambda: _asked(f"{one}/delivery/status?submission_commitment={commitment}"),
            "checks of a page": lambda: _asked(
                f"{api}/api/bounty-challenge-specs/check", page, {"Content-Type": "text/markdown"}
            ),
        }
        self._stack, self._ended = stack, threading.Event()
        self._lock = threading.Lock()
        self._seen: dict[str, Seen] = {}
        self._lag: int | None = None
        self._furthest = 0
        self.reset()

    @contextmanager
    def going(self) -> Iterator[None]:
        """Look once a second for the length of a with statement."""
        threads = [threading.Thread(target=self._keep, args=item, daemon=True) for item in self._asked.items()]
        threads.append(threading.Thread(target=self._follow, daemon=True))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join(LATE_SECONDS + 5)

    def reset(self) -> None:
        """Forget what was seen."""
        with self._lock:
            self._seen = {name: Seen() for name in self._asked}
            self._furthest = 0

    def seen(self) -> dict[str, Seen]:
        """What was seen since the last reset."""
        with self._lock:
            return dict(self._seen)

    def furthest(self) -> int:
        """The most blocks that the index was behind the chain since the last reset."""
        with self._lock:
            return self._furthest

    def unwell(self) -> list[str]:
        """What failed when it was looked at last, or was not looked at yet; and an index over three blocks behind."""
        with self._lock:
            found = [f"{name} not answered" for name, seen in self._seen.items() if not (seen.looks and seen.well)]
            if self._lag is None or self._lag > 3:
                found.append(
                    f"the index is {'nobody knows how many' if self._lag is None else self._lag} blocks behind"
                )
            return found

    def _keep(self, name: str, ask: Callable[[], str]) -> None:
        while not self._ended.wait(1.0):
            began = time.monotonic()
            try:
                failure = ask()
            except Exception as error:  # noqa: BLE001  # a look that ended would go on saying what it saw last
                failure = type(error).__name__
            with self._lock:
                seen = self._seen[name]
                seen.looks += 1
                seen.well = not failure
                seen.slowest = max(seen.slowest, time.monotonic() - began)
                if failure:
                    seen.failures[failure] = seen.failures.get(failure, 0) + 1

    def _follow(self) -> None:
        while not self._ended.wait(1.0):
            try:
                lag = self._blocks_behind()
            except Exception as error:  # noqa: BLE001  # the same
                print(f"absence: the index was not looked at: {error!r}", file=sys.stderr, flush=True)
                lag = None
            with self._lock:
                self._lag = lag
                self._furthest = max(self._furthest, lag or 0)

    def _blocks_behind(self) -> int:
        with psycopg.connect(self._stack.postgres.url(DATABASE), autocommit=True) as connection:
            row = connection.execute("SELECT max(block_number) FROM hub_index.head").fetchone()
        return self._stack.anvil.w3.eth.block_number - int(row[0] if row and row[0] else 0)


def _asked(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> str:
    """Empty where it was answered with 200, else what came in its place."""
    try:
        answer = urllib3.request(
            "POST" if body else "GET", url, body=body, headers=headers, retries=False, timeout=LATE_SECONDS
        )
    except urllib3.exceptions.HTTPError:
        return "no answer"
    if answer.status == 200:
        return ""
    try:
        return str(answer.json()["error"]["code"])
    except (ValueError, KeyError):
        return str(answer.status)


@dataclass
class News:
    """What a receiver of webhooks hears."""

    heard: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By fact: the number of its block, and when it was heard first, in seconds since 1970."""

    def take(self, got: Got) -> Answer:
        """Note when it came, and answer as a good receiver does."""
        if got.message["type"] == "hub.facts":
            for change in got.message["data"]["changes"]:
                if (event := change["event"]) is not None:
                    fact = f"{event['block_hash']}/{event['log_index']}"
                    self.heard.setdefault(fact, (int(event["block_number"]), time.time()))
        return echo(got)

    def unheard(self, stack: Stack, since: int) -> list[str]:
        """The Hub's facts from a block on that no webhook told of."""
        address = to_checksum_address(stack.hub.hub.address)
        logs = stack.anvil.w3.eth.get_logs({"address": address, "fromBlock": since})
        return sorted({f"{log['blockHash'].to_0x_hex()}/{log['logIndex']}" for log in logs} - self.heard.keys())


def parked_jobs(stack: Stack) -> dict[str, list[str]]:
    """Jobs that failed for good, by queue.

    What a paused worker wrote of a job that another one has taken over is none: the workers' own maintenance takes it
    out every ten minutes, and this does before it looks. Nor is one that is forgotten by itself, as a review is that
    nobody waits for any more: what asks for it again has it done again.
    """
    queues = [open_queue(name, connect(stack.valkey.url())) for name in QueueName]
    for queue in queues:
        forget_lost_failures(queue.failed_job_registry)
    return {queue.name: jobs for queue in queues if (jobs := list(_kept_failures(queue)))}


def _kept_failures(queue: Queue) -> Iterator[str]:
    for job_id in queue.failed_job_registry.get_job_ids():
        job = queue.fetch_job(job_id)
        if job is None or job.failure_ttl is None:
            yield job_id
