"""How soon people learn of a fact: from its block to the bounty's page and feed, and the agents' ``watch``.

Each fact is a Submission by an account of its own, on a local stack with five a second. A reader of each kind asks
again and again, as a browser or a program would that wants to be the first. Before every fourth fact the newest block,
which holds another Submission, is replaced by an empty one: a reorg that all have to go through first. Everything runs
on this machine, the readers included.
"""

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Final

import urllib3
from demo.bounty import Cast, Funded
from hexbytes import HexBytes
from local_stack.contract import Wallet, wait_for
from local_stack.stack import Stack, running_stack
from mcp import Client, StdioServerParameters

from bench.figures import Figure, Report, median
from bench.mcp import PROGRAM
from tests.waiting import wait_until

MANY: Final = 40
REORG_EVERY: Final = 4
PAUSE_SECONDS: Final = 0.05
"""Of a reader between two questions: what it adds to a figure at most."""
LATE_SECONDS: Final = 60.0
MEDIAN_SECONDS, MOST_SECONDS = 1.0, 5.0
WINDOW_SECONDS: Final = 3_600
READERS: Final = ("page", "feed", "watch")


def run(report: Report) -> None:
    """Measure the group."""
    with ExitStack() as running:
        stack = running.enter_context(running_stack())
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        bounty = Cast(stack, folder).fund(
            submission_seconds=WINDOW_SECONDS, judging_seconds=WINDOW_SECONDS, title="Noticed"
        )
        seen = _Seen()
        running.enter_context(_reading(stack, bounty, folder, seen))
        taken = _facts(stack, bounty, seen)
    for reader in READERS:
        seconds = [each[reader] for each in taken]
        goal = f"<= {MEDIAN_SECONDS:g} from the block, every {REORG_EVERY}th of {MANY} through a reorg"
        report(Figure(f"notice.{reader}", median(seconds), "s", goal, median(seconds) <= MEDIAN_SECONDS))
        goal = f"<= {MOST_SECONDS:g}, the slowest of {MANY}"
        report(Figure(f"notice.{reader}_slowest", max(seconds), "s", goal, max(seconds) <= MOST_SECONDS))


@dataclass
class _Seen:
    """When each reader saw an account first, on this process's monotonic clock. Thread-safe."""

    awaited: str = ""
    times: dict[tuple[str, str], float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def look(self, reader: str, text: str) -> None:
        """Note the account that is waited for, where this answer names it."""
        with self._lock:
            if self.awaited and self.awaited in text.lower():
                self.times.setdefault((reader, self.awaited), time.monotonic())

    def of(self, account: str) -> dict[str, float]:
        """By reader."""
        with self._lock:
            return {reader: at for (reader, seen), at in self.times.items() if seen == account}


def _facts(stack: Stack, bounty: Funded, seen: _Seen) -> list[dict[str, float]]:
    """Seconds from each fact's block until each reader saw it."""
    taken = []
    for number in range(MANY):
        lost, found = Wallet(), Wallet()
        for wallet in (lost, found):
            stack.anvil.fund(wallet.address)
        if number % REORG_EVERY == REORG_EVERY - 1:
            with stack.no_blocks():
                _submit(stack, bounty, lost)
                stack.anvil.mine()
                stack.anvil.rpc.call("anvil_reorg", 1, [])
        seen.awaited = found.address.lower()
        wait_for(stack.anvil.w3, _submit(stack, bounty, found), abi=stack.hub.hub.abi)
        block = time.monotonic()
        wait_until(lambda account=seen.awaited: len(seen.of(account)) == len(READERS), LATE_SECONDS)  # type: ignore[misc]
        taken.append({reader: max(0.0, at - block) for reader, at in seen.of(seen.awaited).items()})
    return taken


def _submit(stack: Stack, bounty: Funded, wallet: Wallet) -> HexBytes:
    roster = bytes.fromhex(stack.hub.roster_hash.removeprefix("0x"))
    return stack.hub.hub.send(wallet, "submit", int(bounty.bounty_id), secrets.token_bytes(32), roster)


@contextmanager
def _reading(stack: Stack, bounty: Funded, folder: Path, seen: _Seen) -> Iterator[None]:
    """The three readers, for the length of the block."""
    page, ended = f"{stack.pages_url}/bounties/{bounty.bounty_id}", Event()
    asking: list[Callable[[], None]] = [
        lambda: _keep_asking("page", page, seen, ended),
        lambda: _keep_asking("feed", f"{page}/feed.atom", seen, ended),
        lambda: asyncio.run(_watch(stack, folder, seen, ended)),
    ]
    with ThreadPoolExecutor(len(asking)) as pool:
        readers = [pool.submit(ask) for ask in asking]
        try:
            yield
        finally:
            ended.set()
        for each in readers:
            each.result()


def _keep_asking(name: str, url: str, seen: _Seen, ended: Event) -> None:
    """Reads of a page that name the version they have: empty where there is no other."""
    http, version = urllib3.PoolManager(), ""
    while not ended.wait(PAUSE_SECONDS):
        answer = http.request("GET", url, headers={"If-None-Match": version}, timeout=LATE_SECONDS)
        version = answer.headers.get("ETag", "")
        seen.look(name, answer.data.decode())


async def _watch(stack: Stack, folder: Path, seen: _Seen, ended: Event) -> None:
    """The tool ``watch`` of a server for agents, called with the change that the last answer ended with."""
    environment = {**stack.common, "HOME": str(folder), "PATH": os.environ["PATH"]}
    after = 0
    async with Client(StdioServerParameters(command=PROGRAM, env=environment, cwd=folder)) as client:
        while not ended.is_set():
            answer = (await client.call_tool("watch", {"after": after, "limit": 100})).structured_content
            if answer is None:
                raise RuntimeError("watch gave no answer")
            after = answer["next_after"]
            seen.look("watch", json.dumps(answer))
            await asyncio.sleep(PAUSE_SECONDS)
