"""A market under attack: bounties, faults and hostile acts drawn from a seed, on one local stack.

    ./noxw -s market -- --seed 7 --minutes 10

Exit code 0 if nothing differs: every bounty was settled, paid, indexed and heard of within a bound after the last
fault, the audit found nothing, no hostile act had an effect. Everything is in a log of JSON lines.

- **Actors** act by the command, by the Python library, or by HTTP and transactions of their own; the report counts
  their acts by way in. They are honest, slow, silent, contrary, wavering or malicious: they
  fund pages that nobody published, record commitments without work or of somebody else, judge before their time.
  Strangers replay and malform signed requests, upload junk, and call what is not theirs. What fails is tried again
  until it is too late; what a reorg takes back is done again. The owner changes fees and quorum of bounties to come.
- **Faults** come in two lanes at the same time. The chain: reorgs of up to four seconds, which is all that are
  not final, with some of their transactions lost; of three RPC endpoints, of which the index wants two to
  agree, one stalls, refuses or lies, or all are away. Processes: kill -9 or a pause of any process of the
  service, kill -9 of PostgreSQL, Redis (also with the loss of all its keys), the storage and the beacon; the
  storage stalls or is full; the database is read-only, as a full disk makes it; the clock of a process jumps by
  seconds to a day, forward or back, and returns; everything is rolled out again, the migration first.
- **The end.** Every bounty is settled, the Hub holds nothing but what strangers gave it, the index follows,
  no job has failed for good, and every process is ready. Then the
  audit compares the chain, all answers and pages, and looks for the notes in sealed work and everybody's keys
  in all that the stack wrote. A Poster who opens the winning work gets the winner's files.

The seed draws who does what, when, and what breaks; a shorter run begins as a longer one does. What an act
meets depends on the machine.
"""

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local_stack.hub import LocalHubTerms
from local_stack.interrupts import Interrupted, Interrupts
from local_stack.process import StackError, signal_when_parent_ends
from local_stack.stack import StackSettings, running_stack

from tools.market.drawn import FINAL_SECONDS, FaultKind, RunPlan, draw
from tools.market.ending import MarketEnd, checked
from tools.market.endpoints import ServiceEndpoints
from tools.market.faults import Breaking, demand_all_blocks
from tools.market.lives import BountyLife
from tools.market.log import RunLog
from tools.market.owner import Owner
from tools.market.people import Town, gathered
from tools.market.strangers import Stranger

TOP: Final = Path(__file__).parents[2]
LIVES: Final = 40
"""How many bounties may be alive at once, and those that wait for their begin."""
DAWDLING_SECONDS: Final = 300.0
"""How long after the run's time none of those that are left may end, before they count as stuck."""


def main() -> int:
    """Play one run; 0, 1 if something differs, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="market", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="what is drawn; the same seed draws the same (1)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long acts and faults go on (10)")
    parser.add_argument("--log", type=Path, help="the log of the run; default .local/market/SEED.jsonl")
    parser.add_argument(
        "--faults", nargs="+", type=_fault_or_none, default=list(FaultKind), metavar="KIND",
        help=f"break only these, or none: {', '.join(FaultKind)} (all)",
    )  # fmt: skip
    asked = parser.parse_args()
    if not 0.5 <= asked.minutes <= 600:
        parser.error("--minutes is from 0.5 to 600")
    log = RunLog(asked.log or TOP / ".local" / "market" / f"{asked.seed}.jsonl")
    interrupts = Interrupts()
    signal_when_parent_ends(signal.SIGTERM)
    try:
        plan = draw(asked.seed, asked.minutes * 60, kinds=[each for each in asked.faults if each is not None])
        compared = run(plan, log, interrupts)
    except Interrupted:
        print("market: interrupted; everything is stopped", file=sys.stderr)
        return 130
    except StackError as error:
        log.differs("the stack failed", why=str(error))
        compared = 0
    print(table(log))
    what = f"seed {asked.seed}, {asked.minutes:g} minutes: "
    what += f"{log.counts['bounty.funded']} bounties, {log.counts['fault.begins']} faults, "
    what += f"{hostile(log)} hostile acts, {compared} comparisons: "
    print(what + (f"{len(log.differences)} differences" if log.differences else "nothing differs"))
    return 1 if log.differences else 0


def _fault_or_none(text: str) -> FaultKind | None:
    return None if text == "none" else FaultKind(text)


def run(plan: RunPlan, log: RunLog, interrupts: Interrupts) -> int:
    """Play on a stack of its own; return how many comparisons the audit made."""
    with ExitStack() as until:
        endpoints = ServiceEndpoints(until)
        say = Narration()
        settings = StackSettings(
            terms=LocalHubTerms(reveal_delay=3),
            solvers=6,
            guardians=5,
            finality_seconds=FINAL_SECONDS,
            rpc_urls=endpoints.before,
            variables={"SERVICE_RPC_QUORUM": "2"},
        )
        stack = until.enter_context(running_stack(settings, checkpoint=interrupts.checkpoint, say=say.tell))
        folder = Path(until.enter_context(tempfile.TemporaryDirectory(prefix="market-")))
        stack.runtime.family.remove_after_death(folder)
        town = gathered(stack, folder, log)
        log.began = time.monotonic()
        log.write("run", seed=plan.seed, seconds=plan.seconds, hub=stack.hub.hub.address)
        say.tell(f"{len(plan.bounties)} bounties in {plan.seconds:.0f} s; the log is {log.path}")
        play(plan, town, endpoints, interrupts)
        demand_all_blocks(town, 0)
        say.tell("the last fault is over; everything has to come to its end")
        MarketEnd(town).wait()
        say.tell("checking")
        found = checked(town)
        return sum(found.compared.values())


@dataclass
class Patience:
    """With lives that are not at their end when the run is over, at ``since`` seconds: none may end for a while."""

    since: float
    ended: int = 0

    def is_over(self, now: float, ended: int) -> bool:
        """Return whether none has ended for ``DAWDLING_SECONDS``, where so many have by now."""
        if ended > self.ended:
            self.ended, self.since = ended, max(now, self.since)
        return now > self.since + DAWDLING_SECONDS


def play(plan: RunPlan, town: Town, endpoints: ServiceEndpoints, interrupts: Interrupts) -> None:
    """Until the run's time is over, its faults are over, and every bounty has come to its end."""
    strangers = [Stranger(town, town.actors[name], plan.seed) for name in ("stranger-1", "stranger-2")]
    beside: tuple[Stranger | Owner, ...] = (*strangers, Owner(town, plan.seed))
    clocks = town.stack.runtime.directory("clocks")
    breaking = Breaking(town, endpoints, plan.seed, plan.seconds, clocks)
    with in_threads() as pool, running_beside(*beside):
        chain = pool.submit(breaking.lane, "chain", plan.of_the_chain)
        lives = [pool.submit(life, town, BountyLife(town, each)) for each in plan.bounties]
        breaking.lane("process", plan.of_processes)
        patience = Patience(plan.seconds)
        while not all(each.done() for each in (chain, *lives)):
            interrupts.checkpoint()
            time.sleep(0.5)
            if chain.done():
                chain.result()
            is_late = patience.is_over(town.log.seconds(), sum(each.done() for each in lives))
            if is_late and chain.done():
                town.log.differs("bounties did not come to their end", left=sum(not each.done() for each in lives))
                return


def life(town: Town, one: BountyLife) -> None:
    """One bounty; what its code did not foresee is a fault of this tool, and fails the run."""
    try:
        one.run()
    except Interrupted:
        return  # the main thread tells it
    except Exception as error:  # noqa: BLE001 - reported, whatever it is
        town.log.differs("a life broke", bounty=one.plan.number, why=f"{type(error).__name__}: {error}"[:500])


@contextmanager
def in_threads() -> Iterator[ThreadPoolExecutor]:
    """A pool that nobody waits for: a thread that is in a call when the run is over ends with the stack."""
    pool = ThreadPoolExecutor(LIVES + 1)  # the chain's lane
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def running_beside(*others: Stranger | Owner) -> Iterator[None]:
    """Those who take part in no bounty, at work for the length of a with statement."""
    threads = [threading.Thread(target=each.run, daemon=True) for each in others]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for each in others:
            each.ended.set()
        for thread in threads:
            thread.join(60)


class Narration:
    """What a person sees meanwhile, on stderr."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def tell(self, line: str) -> None:
        """A line with its time."""
        print(f"[{time.monotonic() - self._began:5.0f} s] {line}", file=sys.stderr, flush=True)


def hostile(log: RunLog) -> int:
    """Return how many hostile acts were answered."""
    return sum(count for name, count in log.counts.items() if name.startswith("hostile."))


def table(log: RunLog) -> str:
    """Return what happened, counted; and what differs."""
    lines = [f"{count:7}  {name}" for name, count in sorted(log.counts.items()) if not name.startswith("difference")]
    ways = [f"{count:7}  by {way}: {act}" for (way, act), count in sorted(log.ways.items())]
    differing = Counter(log.differences).items()
    return "\n".join([*lines, *ways, *(f"DIFFERS {count} times: {each}" for each, count in differing)])


if __name__ == "__main__":
    sys.exit(main())
