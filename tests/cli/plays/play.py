"""A play: an act in one to three runs against forged answers, with kills and reorgs between, and then an honest run.

A play is drawn from its seed and is the same each time. What an honest run refuses with a way out, is followed to the
letter: a time that is to be waited for passes, an option is added, a command that is named is run.
"""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import Final

from tests.cli.api_twin import ROUTES
from tests.cli.plays.acts import ACTS, Act
from tests.cli.plays.facts import By
from tests.cli.plays.forgeries import FORGERIES, SUBJECTS
from tests.cli.plays.forgeries.answers import Answers, stale, together
from tests.cli.plays.forgeries.chain import KEPT_BACK, NOTICED_AT_ONCE
from tests.cli.plays.forgeries.subject import Forgery, Subject
from tests.cli.plays.judge import Judge, release
from tests.cli.plays.wire import Heard, Killed
from tests.cli.plays.world import World
from tests.cli.servers import Params, Request
from tests.cli.terminal import Ran, Terminal

Strike = Callable[[str, Heard], None]
"""Called before and after each request."""


@dataclass(frozen=True, slots=True)
class Forged:
    """A forgery, and who forges."""

    forgery: Forgery
    by: By

    def __str__(self) -> str:
        return f"{self.by.value} forges {self.forgery}"


@dataclass(frozen=True, slots=True)
class Point:
    """Where a run is killed: at its ``count``-th request whose name contains ``name``, before or after it is done."""

    name: str
    count: int
    moment: str

    def __str__(self) -> str:
        return f"killed {self.moment} request {self.count} {self.name}".rstrip()


class Between(Enum):
    """What happens on the true chain after a run."""

    NOTHING = "nothing"
    REORG = "the newest block is replaced, without its transactions"
    DEEP_REORG = "the newest two blocks are replaced, without their transactions"
    FEES = "the fees of the Hub rise by a basis point"
    HOUR = "an hour passes"
    RELEASE = "what was held back is forwarded"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command."""

    forgeries: tuple[Forged, ...] = ()
    kill: Point | None = None
    between: Between = Between.NOTHING

    def __str__(self) -> str:
        answers = "; ".join(map(str, self.forgeries)) or "honest"
        after = "" if self.between is Between.NOTHING else f"; then {self.between.value}"
        return f"{answers}{f'; {self.kill}' if self.kill else ''}{after}"


@dataclass(frozen=True, slots=True)
class Play:
    """An act in several runs. ``ends_honestly`` adds a last run, and what it names as a way out."""

    act: Act
    runs: tuple[Run, ...]
    seed: str = ""
    ends_honestly: bool = True

    def __str__(self) -> str:
        head = f'play "{self.seed}": {self.act}' if self.seed else str(self.act)
        return "\n".join([head, *(f"  run {number}: {run}" for number, run in enumerate(self.runs, 1))])


def forged_by(name: str, by: By = By.NODE) -> Forged:
    """One forgery of the table by its name."""
    found = FORGERIES[name]
    assert by in found.by, f"{by.value} cannot forge {name}"
    return Forged(found, by)


# -------------------------------------------------------------------- drawing


def singles() -> list[tuple[Act, Forged]]:
    """Every act against every forgery of every subject that it may rest on, each by all who can."""
    return [
        (act, Forged(forgery, by))
        for act in ACTS.values()
        for forgery in FORGERIES.values()
        if forgery.concerns(act)
        for by in forgery.by
    ]


def single(act: Act, forged: Forged) -> Play:
    """The play of one forgery; with kills, and in two runs, where its seed has it so."""
    seed = f"{act}/{forged}"
    dice = random.Random(seed)
    runs = [Run((forged,), draw_kill(dice, 0.4), _between(dice)) for _ in range(dice.choice([1, 1, 2]))]
    return Play(act, tuple(_begun(dice, runs)), seed)


def pairs() -> list[tuple[Act, Subject, Subject]]:
    """Every act with every two subjects that it may rest on."""
    return [
        (act, *two)
        for act in ACTS.values()
        for two in combinations([each for each in SUBJECTS.values() if each.forgeries[0].concerns(act)], 2)
    ]


def paired(act: Act, one: Subject, other: Subject) -> Play:
    """A forgery of each of two subjects, over one to three runs."""
    seed = f"{act}/{one.name} + {other.name}"
    dice = random.Random(seed)
    party, forgeries = dice.choice(list(By)), [dice.choice(each.forgeries) for each in (one, other)]
    forged = [Forged(each, party if party in each.by else dice.choice(each.by)) for each in forgeries]
    return Play(act, _draw_runs(dice, forged), seed)


def drawn(seed: str) -> Play:
    """One to three forgeries over one to three runs; a few plays end without an honest run."""
    dice = random.Random(f"plays/{seed}")
    act = dice.choice(list(ACTS.values()))
    forged = _draw_forgeries(dice, act, dice.choice([1, 2, 2, 2, 3, 3]))
    return Play(act, _draw_runs(dice, forged), seed, ends_honestly=dice.random() < 0.95)


def of_seed(seed: str) -> Play:
    """The play that a failure names."""
    if "/" not in seed:
        return drawn(seed)
    plays = (*(single(*each) for each in singles()), *(paired(*each) for each in pairs()))
    return next(play for play in plays if play.seed == seed)


def _draw_runs(dice: random.Random, forged: list[Forged]) -> tuple[Run, ...]:
    """One to three runs in which all of them are forged, or some."""
    runs = []
    for _ in range(dice.choice([1, 2, 2, 3])):
        here = forged if dice.random() < 0.6 else [each for each in forged if dice.random() < 0.6]
        runs.append(Run(tuple(here), draw_kill(dice, 0.4), _between(dice)))
    return tuple(_begun(dice, runs))


def _begun(dice: random.Random, runs: list[Run]) -> list[Run]:
    """Now and then another run goes before: an honest one that was interrupted, or one whose transaction a node took
    and kept back, and that was killed about then."""
    before = dice.random()
    if len(runs) == 3 or before > 0.55:
        return runs
    if before > 0.3:
        return [Run(kill=draw_kill(dice, 1.0)), *runs]
    kill = Point("eth_sendRawTransaction", 1, dice.choice(["before", "after"]))
    return [Run((forged_by(KEPT_BACK),), kill, _between(dice)), *runs]


def _draw_forgeries(dice: random.Random, act: Act, count: int) -> list[Forged]:
    """Of different subjects, by one and the same party where that can forge them."""
    party = dice.choice(list(By))
    found: list[Forged] = []
    for forgery in dice.sample(list(FORGERIES.values()), len(FORGERIES)):
        if forgery.subject == NOTICED_AT_ONCE and dice.random() < 0.9:
            continue
        if forgery.concerns(act) and forgery.subject not in {each.forgery.subject for each in found}:
            by = party if party in forgery.by else dice.choice(forgery.by)
            if party is By.BOTH or by is party or dice.random() < 0.3:
                found.append(Forged(forgery, by))
        if len(found) == count:
            break
    return found


_POINTS: Final = (
    ("eth_sendRawTransaction", "before"),
    ("eth_sendRawTransaction", "after"),
    ("eth_getTransactionReceipt", "before"),
    ("eth_getTransactionReceipt", "after"),
    ("POST /api", "after"),
    ("PUT /objects", "after"),
)


def draw_kill(dice: random.Random, probability: float) -> Point | None:
    """Somewhere in a run, or nowhere."""
    if dice.random() >= probability:
        return None
    if dice.random() < 0.7:
        name, moment = dice.choice(_POINTS)
        return Point(name, dice.choice([1, 1, 1, 2]), moment)
    return Point("", dice.randint(1, 75), dice.choice(["before", "after"]))


def _between(dice: random.Random) -> Between:
    return Between.NOTHING if dice.random() < 0.6 else dice.choice(list(Between))


# -------------------------------------------------------------------- performing


def perform(world: World, play: Play, watch: Strike = lambda _moment, _heard: None) -> Judge:
    """Play it on a chain as it was at first; the judge, who has concluded. ``watch`` hears of each request."""
    with world.living():
        world.reset()
        home = world.home(play.act.person)
        play.act.prepare(world, home)
        world.wire.heard.clear()
        judge = Judge(world, play.act, home)
        for number, run in enumerate(play.runs):
            first = play.act.first if number == 0 else None
            words = (first or play.act.words)(world)
            forgers = {each.by for each in run.forgeries}
            judge.see(words, _run(world, play.act, home, words, run, watch), forgers)
            _pass(world, run.between)
            judge.consider(forgers)
        if play.ends_honestly:
            world.finalize()
            for words, ran in _honestly(world, play.act, home):
                judge.see(words, ran, set())
                judge.consider(set())
            world.finalize()
            judge.conclude(lambda: _is_permitted(world, play.act))
        return judge


def _run(world: World, act: Act, home: Terminal, words: tuple[str, ...], run: Run, watch: Strike) -> Ran:
    with ExitStack() as stack:
        branches = [each for each in run.forgeries if each.forgery.branch is not None]
        pinned = Answers()
        if branches:
            height = stack.enter_context(world.branch())
            for each in branches:
                assert each.forgery.branch is not None
                each.forgery.branch(world, act)
            if not any(each.by.has_api for each in branches):  # the API reads the true chain meanwhile
                pinned = stale(world.rpc, lambda: height)
        made = [(each.by, forger(world, act)) for each in run.forgeries if (forger := each.forgery.answers) is not None]
        node = together(*(answers for by, answers in made if by.has_node))
        api = together(*(answers for by, answers in made if by.has_api))
        _answer_with(world, node, api, pinned)
        world.wire.strike = watch if run.kill is None else _Strike(run.kill)
        stack.callback(world.be_honest)
        return world.run(home, *words)


def _answer_with(world: World, node: Answers, api: Answers, pinned: Answers) -> None:
    def after(method: str, params: Params, result: object) -> object:
        return node.altered(method, params, world.forwarded(method, params, result))

    indexed = together(api, pinned)
    world.node.before, world.node.after = node.instead, after
    world.index.before, world.index.after = indexed.instead, indexed.altered
    server = world.wire.servers["api"]
    server.alter = lambda request, reply: api.replied(_route(request), request, reply)


def _route(request: Request) -> str:
    for name, (method, pattern) in ROUTES.items():
        if request.method in method.split("|") and re.fullmatch(pattern, request.path):
            return name
    return ""


@dataclass
class _Strike:
    """Kills at one point."""

    point: Point
    seen: int = 0

    def __call__(self, moment: str, heard: Heard) -> None:
        if heard.server == "index" or moment != self.point.moment or self.point.name not in _name(heard):
            return
        self.seen += 1
        if self.seen == self.point.count:
            raise Killed


def _name(heard: Heard) -> str:
    request = heard.request
    return request.body.decode("latin-1") if heard.server == "node" else f"{request.method} {request.path}"


def _pass(world: World, between: Between) -> None:
    match between:
        case Between.NOTHING:
            pass
        case Between.REORG:
            world.reorganize(1)
        case Between.DEEP_REORG:
            world.reorganize(2)
        case Between.FEES:
            world.raise_fees()
        case Between.HOUR:
            world.advance(3_660)
        case Between.RELEASE:
            release(world, world.wire.heard)


_OPTION: Final = re.compile(r"--(?!again|api-base-url|from)[a-z][a-z-]+")
_COMMAND: Final = re.compile(r"service-cli ([a-z]+(?::[a-z-]+)?(?: [^\s;,.]+)*)")
_SHOWING: Final = ("bounty:", "guardian:judgeable", "help", "config", "status", "doctor")
_TO_ITSELF: Final = re.compile(r"Send (one|\d{1,2}) transactions? from the account to itself")
_MOST_STEPS: Final = 6


def _honestly(world: World, act: Act, home: Terminal) -> Iterator[tuple[tuple[str, ...], Ran]]:
    """The act again, then what its refusals name as the way out, until it is achieved; each command with its run."""
    words, waited = act.words(world), 0
    for _ in range(_MOST_STEPS):
        ran = world.run(home, *words)
        yield words, ran
        world.finalize()
        if ran.code == 0 or act.achieved(world, home):
            return
        way_out = str(ran.last.get("next_action", ""))
        command = _COMMAND.search(way_out)
        new = [option for option in _OPTION.findall(way_out) if option not in words]
        if command is not None and not command[1].startswith(_SHOWING):
            named = tuple(command[1].split())
            yield named, world.run(home, *named)
        elif new:
            value = ("1",) if new[0] == "--max-cost" else ()
            words = (words[0], new[0], *value, *words[1:])
        elif "its whole commitment" in way_out and "--submission" in words:
            words = _in_full(world, words)
        elif (sent := _TO_ITSELF.search(way_out)) is not None:
            for _ in range(1 if sent[1] == "one" else int(sent[1])):
                world.as_account(world.account(act.person), world.account(act.person), "0x")
            world.finalize()
        elif waited < 3 and re.search(r"again|later|[Ww]ait|after", way_out):
            waited += 1
            world.advance(1_900)
        else:
            return


def _in_full(world: World, words: tuple[str, ...]) -> tuple[str, ...]:
    """The same with Solver and commitment in the place of the commitment's first digits."""
    place = words.index("--submission")
    work = next(each for each in world.bounties.judged_works if each.commitment.startswith(words[place + 1]))
    return (*words[:place], work.solver, work.commitment, *words[place + 2 :])


def _is_permitted(world: World, act: Act) -> bool:
    """Whether somebody who begins now, without a past, achieves the act on the true chain."""
    with world.branch():
        home = world.home(act.person)
        kept = world.root / "wedged"
        home.home.rename(kept)
        try:
            shutil.copytree(world.root / "first" / act.person, home.home)
            if act.first is not None:
                world.run(home, *act.first(world))
            for _ in _honestly(world, act, home):
                pass
            return act.achieved(world, home)
        finally:
            shutil.rmtree(home.home, ignore_errors=True)
            kept.rename(home.home)
