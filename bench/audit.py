"""``service-audit`` over a Hub a year old: 100,000 events in 157 million blocks, read from the beginning."""

import json
import resource
import time
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from service_audit.chain import Chain
from service_audit.http import HttpReply, Requests
from service_audit.node import Node

from bench.figures import Figure, Report
from tests.audit.logs import CHAIN, HUB, Written
from tests.audit.node import encoded

EVENTS: Final = 100_000
APART: Final = 1_577
"""Blocks from one event to the next: 157 million in a year, of 0.2 s each."""
LONGEST: Final = 10_000
"""Blocks of a query of logs that the node answers, as many providers do."""


def run(report: Report) -> None:
    """Measure the group."""
    node = OldHub(EVENTS)
    before = _rss()
    started = time.process_time()
    chain = Chain(Node("http://node", Requests(node)), HUB, now=lambda: 0.0)
    chain.refresh()
    seconds = time.process_time() - started
    world = chain.world_at(chain.head.number)
    if (world.count, world.breaches) != (EVENTS, []):
        raise RuntimeError("the replay is not what was made")
    report(Figure("audit.year", seconds, "s of CPU", f"<= 90, {node.requests:,} requests", seconds <= 90))
    megabytes = (_rss() - before) / 1_024
    report(Figure("audit.year_rss", megabytes, "MB more than before", "<= 500", megabytes <= 500))


def _rss() -> int:
    """Return the most memory that this process had so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class OldHub:
    """A node that has the events of many bounties, each in a block of its own."""

    def __init__(self, events: int) -> None:
        written = lives(events)
        self._numbers = [(number + 1) * APART for number in range(len(written.logs))]
        self._times = [log.place.time for log in written.logs]
        self._logs = list[str]()
        for number, log in zip(self._numbers, written.logs, strict=True):
            shown = {**encoded(log), "blockNumber": hex(number), "blockHash": f"0x{number:064x}"}
            self._logs.append(json.dumps(shown))
        self.requests = 0

    def __call__(self, _method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        self.requests += 1
        asked = json.loads(body or b"")
        if isinstance(asked, list):
            return HttpReply(200, {}, ("[" + ",".join(map(self._answer, asked)) + "]").encode())
        return HttpReply(200, {}, self._answer(asked).encode())

    def _answer(self, asked: Mapping[str, object]) -> str:
        params = asked["params"]
        assert isinstance(params, list)
        if asked["method"] == "eth_getLogs":
            begin, end = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
            if end - begin >= LONGEST:
                return json.dumps({"id": asked["id"], "error": {"message": "range too long"}})
            part = self._logs[bisect_left(self._numbers, begin) : bisect_left(self._numbers, end + 1)]
            return f'{{"id": {asked["id"]}, "result": [{",".join(part)}]}}'
        return json.dumps({"id": asked["id"], "result": self._block(params)})

    def _block(self, params: list[object]) -> object:
        if not params:
            return hex(CHAIN)
        at = str(params[0])
        number = int(at, 16) if at.startswith("0x") else self._numbers[-1]
        place = min(bisect_left(self._numbers, number), len(self._times) - 1)
        return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": hex(self._times[place])}


def lives(events: int) -> Written:
    """Return the log of bounties that were funded, worked on, judged and ended, one after the other."""
    written = Written().deployed()
    number = 0
    while len(written.logs) < events:
        number += 1
        tx_hash = f"0x{number:064x}"
        one = Written().created().submitted().judged(0).judged(1, tx_hash=tx_hash).ended(tx_hash=tx_hash)
        for log in one.logs[: events - len(written.logs)]:
            written.add(log.name, log.place.time, {**log.fields, "bounty_id": number}, log.place.tx_hash)
    return written
