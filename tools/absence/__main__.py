"""Take away each single process of the stack in turn, for a time, while bounties run through their lives.

``./noxw -s absence`` kills a process, leaves it away, and starts it again, as a cluster does with a pod whose node is
gone. Meanwhile one bounty is judged, paid and opened, another one is forgotten by its Guardians and has to be settled,
and new ones are published, submitted to and refused, one after the other; everything that people see is looked at once
a second. What fails is typed again until it works, so that a bounty that does not end is one that was lost.

With ``--write`` the table in ``docs/operations.md`` gets the rows of this run. The exit code is 1 when a bounty did not
end, the index was further behind than the process that was away explains, or something did not come back by itself.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo.bounty import Cast
from local_stack.hub import LocalHubTerms
from local_stack.services import SERVICES
from local_stack.stack import StackSettings, running_stack

from tests.api.webhooks.receiving import Receiving, receiving
from tests.api.webhooks.registered import register
from tests.waiting import wait_until
from tools.absence.lives import Life, begin, begun_before, typed_again
from tools.absence.looks import Looking, News, parked_jobs
from tools.generate.derived import TOP, table, with_part

PAGE: Final = TOP / "docs/operations.md"
SECONDS: Final = 600
RETURN_SECONDS: Final = 240.0
"""How long after its return everything has to be well, and every bounty has to have ended."""
FOLLOWING_BLOCKS: Final = 30
"""How far the index may be behind while anything but its only worker is away: a busy machine, and the time in which a
worker misses the follower."""
COSTS: Final = {
    "indexer-worker": "The index stands still, and with it every page and list, publication of news and the check of a "
    "bounty before work is uploaded. A second one goes on within seconds",
    "indexer-scheduler": "Nothing: each worker starts what is due by itself",
    "settler": "Bounties over which nobody judged wait; anyone may settle them",
    "api": "No signed act, list or upload, and pages with what they keep; money moves on. A second one takes over",
    "api-worker": "Uploads are not hashed, records not derived, sweeps and inspections wait",
    "reviewer": "Pages are not checked while they are written; publications go on",
    "reviewer-worker": "Nothing is published; a publication that waited too long is typed again",
    "delivery": "Winning keys are neither taken nor handed out; they are typed again",
    "delivery-worker": "Keys of losers are swept later",
    "webhooks": "Receivers hear later, and everything in order",
    "web": "No pages; the client and the API go on. A second one takes over",
}
"""What the absence of each process costs while no other one of its kind runs."""


@dataclass(frozen=True, slots=True)
class Absence:
    """What was measured of one process."""

    process: str
    seconds: float
    noticed: str
    ended_meanwhile: int
    ended: int
    lives: int
    furthest: int
    returned: float | None
    """Seconds from its start until everything was well and every bounty had ended; None where that did not come."""

    def faults(self) -> list[str]:
        """What must not be."""
        found = []
        if self.ended < self.lives:
            found.append(f"{self.lives - self.ended} of {self.lives} bounties did not end")
        if self.returned is None:
            found.append(f"not everything was well {RETURN_SECONDS:.0f} s after its return")
        if self.process != "indexer-worker" and self.furthest > FOLLOWING_BLOCKS:
            found.append(f"the index was {self.furthest} blocks behind")
        return found

    def row(self) -> str:
        """Its line of the table."""
        bounties = f"{self.ended} of {self.lives}, {self.ended_meanwhile} of them meanwhile"
        back = "**no**" if self.returned is None else f"{self.returned:.0f} s"
        cells = (f"`{self.process}`", COSTS[self.process], self.noticed, bounties, f"{self.furthest} blocks", back)
        return "| " + " | ".join(cells) + f" | {self.seconds:.0f} s |"


def main() -> int:
    """Take away what is named, else everything; print the table."""
    known = [service.name for service in SERVICES]
    parser = argparse.ArgumentParser(prog="absence", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"how long each is away; default {SECONDS}")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/operations.md")
    parser.add_argument("names", nargs="*", metavar="PROCESS", help=f"one or more of {', '.join(known)}; default all")
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"no such process: {', '.join(sorted(unknown))}")
    if options.seconds < 30:
        parser.error("--seconds is at least 30: a bounty needs that long")
    measured: list[Absence] = []
    with (
        running_stack(StackSettings(terms=LocalHubTerms(reveal_delay=3))) as stack,
        tempfile.TemporaryDirectory(prefix="absence-") as folder,
        receiving() as receiver,
    ):
        drill = Drill(Cast(stack, Path(folder)), receiver, options.seconds)
        with drill.looking():
            for name in options.names or known:
                measured.append(drill.take_away(name))
                print(measured[-1].row(), flush=True)
                for fault in measured[-1].faults():
                    print(f"absence: {name}: {fault}", file=sys.stderr, flush=True)
    if options.write:
        PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    failed = [each.process for each in measured if each.faults()]
    ended = sum(each.ended for each in measured)
    print(
        f"{len(measured)} processes were away for {options.seconds} s each, {ended} bounties ended: "
        + (f"failed: {', '.join(failed)}" if failed else "passed")
    )
    return 1 if failed else 0


class Drill:
    """A running stack with one bounty that is looked at, and a receiver of webhooks."""

    def __init__(self, cast: Cast, receiver: Receiving, seconds: int) -> None:
        self._cast, self._seconds, self._news = cast, seconds, News()
        receiver.answer = self._news.take
        self._register(receiver)
        bounty = cast.fund(submission_seconds=86_400, judging_seconds=3_600, title="To be looked at")
        work = cast.submit(bounty, "solver-1")
        page = (cast.person("poster").home / "bounty_challenge.md").read_bytes()
        self._looking = Looking(cast.stack, bounty.bounty_id, work.commitment, page)
        self.looking = self._looking.going

    def take_away(self, name: str) -> Absence:
        """One process, for the drill's time, and what was seen until everything was well again."""
        process, looking = self._cast.stack.services[name], self._looking
        lives = begun_before(self._cast, self._seconds)
        wait_until(lambda: not looking.unwell(), 60.0)
        looking.reset()
        print(f"absence: {name} is taken away", file=sys.stderr, flush=True)
        away, since = time.monotonic(), time.time()
        process.kill()
        while time.monotonic() < away + self._seconds:
            if all(life.ended is not None for life in lives[2:]):
                lives.append(begin(self._cast, len(lives), self._seconds))
            _go_on(lives)
        meanwhile = sum(life.ended is not None for life in lives)
        seen = {what: each.words() for what, each in looking.seen().items()}
        began = time.monotonic()
        process.start()
        process.wait_ready()
        returned = self._returned(lives, began)
        return Absence(
            name,
            began - away,
            _noticed(seen, lives, self._latest_news(since)),
            meanwhile,
            sum(life.ended is not None for life in lives),
            len(lives),
            looking.furthest(),
            returned,
        )

    def _returned(self, lives: Sequence[Life], began: float) -> float | None:
        unwell: list[str] = []
        while time.monotonic() < began + RETURN_SECONDS:
            _go_on(lives)
            if not (unwell := self._unwell()) and all(life.ended is not None for life in lives):
                return time.monotonic() - began
        for what in unwell:
            print(f"absence: {what}", file=sys.stderr)
        for life in lives:
            if life.ended is None:
                print(f"absence: {life.title}: waits at {life.steps[0][0]}: {dict(life.again)}", file=sys.stderr)
        return None

    def _unwell(self) -> list[str]:
        """What does not answer, how far the index is behind, parked jobs, and facts that were not heard of."""
        stack = self._cast.stack
        found = self._looking.unwell()
        found += [f"{name} has parked {', '.join(jobs)}" for name, jobs in parked_jobs(stack).items()]
        return found + [f"no webhook told of {fact}" for fact in self._news.unheard(stack, self._since)]

    def _latest_news(self, since: float) -> float:
        """The most seconds from a fact's block to its webhook, of those heard since a time."""
        heard = [(number, at) for number, at in self._news.heard.values() if at >= since]
        blocks = self._cast.stack.anvil.w3.eth
        return max((at - int(blocks.get_block(number)["timestamp"]) for number, at in heard), default=0.0)

    def _register(self, receiver: Receiving) -> None:
        stack = self._cast.stack
        register(stack, receiver)
        self._since = stack.anvil.w3.eth.block_number + 1


def _go_on(lives: Iterable[Life]) -> None:
    for life in lives:
        life.go_on()
    time.sleep(0.2)


def _noticed(seen: dict[str, str], lives: Sequence[Life], late: float) -> str:
    """What people noticed, in words; a receiver of webhooks notices what is later than an ordinary fact."""
    words = [f"{what} failed {how}" for what, how in seen.items() if how]
    words += [f"{what}, typed again {times} times" for what, times in sorted(typed_again(lives).items())]
    if late > 10:
        words.append(f"webhooks up to {late:.0f} s late")
    return "; ".join(words) or "nothing"


def with_rows(page: str, measured: Sequence[Absence]) -> str:
    """The page with these rows in its table, and the former ones of processes that were not taken away."""
    rows = {row.split("`")[1]: row for row in page.splitlines() if re.match(r"\| `[\w-]+` \| .* s \|$", row)}
    rows |= {each.process: each.row() for each in measured}
    head = "| away | costs | what people noticed | bounties that ended | index behind by | all well after | was away |"
    shown = table(head, (rows[service.name] for service in SERVICES if service.name in rows))
    return with_part(page, "absence", [shown])


if __name__ == "__main__":
    sys.exit(main())
