"""An index of 200,000 bounties and 10,000,000 events, made by the indexer itself: what making it costs, and what each
public read costs there, against the same read of an index of a hundred bounties.

The chain is derived from numbers (``bench.generated``); follower, writer, migrations, PostgreSQL and the api are those
of a deployment. Both indexes are read in turn by the api in this process, with nothing kept. Other work on the machine
slows both, so a read's figure is processor time, of the api and of PostgreSQL together; the clock's is beside it.

It takes a quarter of an hour and 15 GB of disk. SERVICE_BENCH_BOUNTIES makes the large index smaller (at least 2,000),
SERVICE_BENCH_ROUNDS the comparison shorter.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Final

from local_stack import gcs, postgres, valkey
from service_common import log

from bench.figures import Figure, Report, median
from bench.generated.bounties import Population
from bench.generated.chain import Spent
from bench.generated.copying import Copied, copy_chain
from bench.generated.questions import questions
from bench.generated.reading import Question, Reader
from tests.servers import DatabaseServer

BOUNTIES: Final = int(os.environ.get("SERVICE_BENCH_BOUNTIES", "200000"))
ROUNDS: Final = int(os.environ.get("SERVICE_BENCH_ROUNDS", "40"))
ASKED_AT_ONCE: Final = 3
SMALL: Final = Population(bounties=100, life=50)
LARGE: Final = Population(bounties=BOUNTIES, life=min(1_000, BOUNTIES // 2))
MOST: Final = 1.5
"""How many times as much as of a small index a read of a large one may cost."""


def run(report: Report) -> None:
    """Measure the group."""
    log.configure("bench", logging.ERROR)
    with ExitStack() as stack:
        server = DatabaseServer.on(stack.enter_context(postgres.start()))
        redis, storage = stack.enter_context(valkey.start()), stack.enter_context(gcs.start())
        copies = [copy_chain(server.new(), population) for population in (SMALL, LARGE)]
        _report_copy(copies[1], report)
        readers = [
            stack.enter_context(closing(Reader(copied.database, redis.url(), storage.credentials_file)))
            for copied in copies
        ]
        asked = [dict(questions(copied.population)) for copied in copies]
        for name in asked[0]:
            _report_read(name, *_compare(readers[0], asked[0][name], readers[1], asked[1][name]), report)


def _report_copy(copied: Copied, report: Report) -> None:
    """The cost of making the index, whether an event costs more at its end than on average, and what it takes."""
    whole, last = copied.whole, copied.parts[-1]
    rate = whole.rate
    goal = f">= 20000 over {whole.events:,} events; {whole.event_cpu:.0f} us of both processors for each"
    report(Figure("large.backfill", rate, "events/s", goal, rate >= 20_000))
    growth = last.event_cpu / whole.event_cpu
    goal = "processor time of an event in the last tenth over the whole's, <= 1.1"
    report(Figure("large.cost_growth", growth, "ratio", goal, growth <= 1.1))
    size = copied.stored / whole.events
    report(Figure("large.event_bytes", size, "bytes", "what an event takes in PostgreSQL", None))
    report(Figure("large.rss", copied.peak, "MB", "<= 200, of the process that copies", copied.peak <= 200))


def _report_read(name: str, small: Spent, large: Spent, report: Report) -> None:
    ratio = large.cpu / small.cpu
    goal = f"ratio <= {MOST}; by the clock {large.wall * 1_000:.1f} against {small.wall * 1_000:.1f} ms"
    reference = f"{SMALL.bounties} bounties"
    report(Figure(f"large.{name}", large.cpu * 1_000, "ms CPU", goal, ratio <= MOST, reference, small.cpu * 1_000))


def _compare(
    small: Reader, of_small: Sequence[Question], large: Reader, of_large: Sequence[Question]
) -> tuple[Spent, Spent]:
    """Measure both in turn, once each question was answered: a VerificationRecord is derived by its first read."""
    shown = [_shown(small, of_small), _shown(large, of_large)]
    if not 0.75 <= shown[1] / shown[0] <= 1.33:
        raise RuntimeError(f"{of_large[0].path} shows {shown[1]} bytes of a large index and {shown[0]} of a small one")
    costs: tuple[list[Spent], list[Spent]] = ([], [])
    for turn, (some_small, some_large) in enumerate(zip(_turns(of_small), _turns(of_large), strict=True)):
        both = [(small, some_small, costs[0]), (large, some_large, costs[1])]
        for reader, some, kept in both if turn % 2 else reversed(both):
            kept.append(reader.cost(some))
    return _median(costs[0]), _median(costs[1])


def _shown(reader: Reader, asked: Sequence[Question]) -> float:
    """Return bytes of an answer."""
    return median([len(reader.ask(each)) for each in asked])


def _turns(asked: Sequence[Question]) -> Iterator[list[Question]]:
    for turn in range(ROUNDS):
        yield [asked[(turn * ASKED_AT_ONCE + place) % len(asked)] for place in range(ASKED_AT_ONCE)]


def _median(costs: Sequence[Spent]) -> Spent:
    return Spent(median([cost.wall for cost in costs]), median([cost.cpu for cost in costs]))
