"""A market under attack: bounties, faults and hostile acts drawn from a seed, on one local stack.

    ./noxw -s market -- --seed 7 --minutes 10

Exit code 0 if nothing differs: every bounty was settled, paid, indexed and heard of within a bound after the last
fault, the audit found nothing, no hostile act had an effect. Everything is in a log of JSON lines.

- **Actors** act by the command, by the Python library, or by HTTP and transactions of their own. They are honest, slow,
  silent, contrary, wavering or malicious: they fund pages that nobody published, record commitments without work or of
  somebody else, judge before their time.
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
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from local_stack.hub import LocalHubTerms
from local_stack.interrupts import Interrupted, Interrupts
from local_stack.process import StackError, signal_when_parent_ends
from local_stack.stack import StackSettings, running_stack

from tools.market.drawn import FINAL_SECONDS, FaultKind, RunPlan, draw
from tools.market.ending import MarketEnd, checked
from tools.market.faults import Breaking, ServiceEndpoints, demand_all_blocks
from tools.market.lives import BountyLife
from tools.market.log import RunLog
from tools.market.owner import Owner
from tools.market.people import Town, gathered
from tools.market.strangers import Stranger

TOP: Final = Path(__file__).parents[2]
LIVES: Final = 40
"""How many bounties may be alive at once, and those that wait for their begin."""
LATE_SECONDS: Final = 900.0
"""How long after the run's time those that are left may take, before they count as stuck."""


def main() -> int:
    """Play one run; 0, 1 if something differs, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="market", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="what is drawn; the same seed draws the same (1)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long acts and faults go on (10)")
    parser.add_argument("--log", type=Path, help="the log of the run; default .local/market/SEED.jsonl")
    parser.add_argument(
        "--faults", nargs="*", type=FaultKind, default=list(FaultKind), metavar="KIND",
        help=f"break only these: {', '.join(FaultKind)} (all)",
    )  # fmt: skip
    asked = parser.parse_args()
    if not 0.5 <= asked.minutes <= 600:
        parser.error("--minutes is from 0.5 to 600")
    log = RunLog(asked.log or TOP / ".local" / "market" / f"{asked.seed}.jsonl")
    interrupts = Interrupts()
    signal_when_parent_ends(signal.SIGTERM)
    compared = 0
    try:
        compared = run(draw(asked.seed, asked.minutes * 60, asked.faults), log, interrupts)
    except Interrupted:
        print("market: interrupted; everything is stopped", file=sys.stderr)
        return 130
    except StackError as error:
        log.differs("the stack failed", why=str(error))
    for name, count in sorted(log.counts.items()):
        print(f"{count:7}  {name}")
    for each, count in Counter(log.differences).items():
        print(f"DIFFERS {count} times: {each}")
    hostile = sum(count for name, count in log.counts.items() if name.startswith("hostile."))
    found = f"{len(log.differences)} differences" if log.differences else "nothing differs"
    print(
        f"seed {asked.seed}, {asked.minutes:g} minutes: {log.counts['bounty.funded']} bounties, "
        f"{log.counts['fault.begins']} faults, {hostile} hostile acts, {compared} comparisons: {found}"
    )
    return 1 if log.differences else 0


def run(plan: RunPlan, log: RunLog, interrupts: Interrupts) -> int:
    """Play on a stack of its own; return how many comparisons the audit made."""
    with ExitStack() as until:
        endpoints = ServiceEndpoints(until)
        settings = StackSettings(
            terms=LocalHubTerms(reveal_delay=3),
            solvers=6,
            guardians=5,
            finality_seconds=FINAL_SECONDS,
            rpc_urls=endpoints.before,
            variables={"SERVICE_RPC_QUORUM": "2"},
        )
        stack = until.enter_context(running_stack(settings, checkpoint=interrupts.checkpoint, say=tell))
        folder = Path(until.enter_context(tempfile.TemporaryDirectory(prefix="market-")))
        stack.runtime.family.remove_after_death(folder)
        town = gathered(stack, folder, log)
        log.began = time.monotonic()
        log.write("run", seed=plan.seed, seconds=plan.seconds, hub=stack.hub.hub.address)
        tell(f"{len(plan.bounties)} bounties in {plan.seconds:.0f} s; the log is {log.path}")
        play(plan, town, endpoints, interrupts)
        demand_all_blocks(town, 0)
        tell("the last fault is over; everything has to come to its end")
        MarketEnd(town).wait()
        tell("checking")
        return sum(checked(town).compared.values())


def play(plan: RunPlan, town: Town, endpoints: ServiceEndpoints, interrupts: Interrupts) -> None:
    """Until the run's time is over, its faults are over, and every bounty has come to its end."""
    strangers = [Stranger(town, town.actors[name], plan.seed) for name in ("stranger-1", "stranger-2")]
    beside: tuple[Stranger | Owner, ...] = (*strangers, Owner(town, plan.seed))
    breaking = Breaking(town, endpoints, plan.seed, plan.seconds, town.stack.runtime.directory("clocks"))
    pool = ThreadPoolExecutor(LIVES + 1 + len(beside))  # the chain's lane is one, too
    acting = [pool.submit(each.run) for each in beside]
    try:
        chain = pool.submit(breaking.lane, "chain", plan.of_the_chain)
        lives = [pool.submit(live, BountyLife(town, each)) for each in plan.bounties]
        breaking.lane("process", plan.of_processes)
        while not all(each.done() for each in (chain, *lives)):
            interrupts.checkpoint()
            time.sleep(0.5)
            if chain.done():
                chain.result()
            if town.log.seconds() > plan.seconds + LATE_SECONDS:
                town.log.differs("bounties did not come to their end", left=sum(not each.done() for each in lives))
                return
    finally:
        for each in beside:
            each.ended.set()
        wait(acting, timeout=60)
        pool.shutdown(wait=False, cancel_futures=True)  # a thread that is in a call now ends with the stack


def live(one: BountyLife) -> None:
    """One bounty; what its code did not foresee is a fault of this tool, and fails the run."""
    try:
        one.run()
    except Interrupted:
        return  # the main thread tells it
    except Exception as error:  # noqa: BLE001 - reported, whatever it is
        one.town.log.differs("a life broke", bounty=one.plan.number, why=f"{type(error).__name__}: {error}"[:500])


def tell(line: str) -> None:
    """Print a line for a person, with its time, on stderr."""
    print(time.strftime("[%H:%M:%S]"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
