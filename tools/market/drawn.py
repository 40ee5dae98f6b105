"""What a run does, drawn from its seed before it begins: the same seed is the same plan, however fast a machine is.

When an act takes effect, and what a fault meets, is the machine's.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

POSTERS: Final = ("poster", "poster-2", "poster-3", "poster-4", "poster-5", "poster-6")
SOLVERS: Final = ("solver-1", "solver-2", "solver-3", "solver-4", "solver-5", "solver-6")
GUARDIANS: Final = ("guardian-1", "guardian-2", "guardian-3", "guardian-4", "guardian-5")
QUORUM: Final = 3
FINAL_SECONDS: Final = 4
FINAL_BLOCKS: Final = 5 * FINAL_SECONDS
"""How many blocks of 0.2 s the newest finalized one is behind the tip; a reorg may replace all after it."""
ENDPOINTS: Final = 3
"""RPC endpoints of the service, of which two have to agree."""


class PosterTemper(StrEnum):
    """How a Poster behaves."""

    HONEST = "honest"
    UNPUBLISHED = "unpublished"
    """Funds a page that nobody ever sees."""
    SILENT = "silent"
    """Claims nothing before the end of the run, and does not open the work."""


class SolverTemper(StrEnum):
    """How a Solver behaves."""

    HONEST = "honest"
    REPLACING = "replacing"
    """Submits other work a while later."""
    HOLLOW = "hollow"
    """Records a commitment of which there is no work."""
    COPYING = "copying"
    """Records the commitment of another Solver."""
    LATE = "late"
    """Tries only after the deadline."""


class GuardianTemper(StrEnum):
    """How a Guardian behaves."""

    HONEST = "honest"
    SLOW = "slow"
    """Judges in the last third of the window."""
    SILENT = "silent"
    CONTRARY = "contrary"
    """Rejects everything."""
    WAVERING = "wavering"
    """Rejects, and awards later."""
    MALICIOUS = "malicious"
    """Judges before its time, names work that is not active, and awards what has no work."""


class FaultKind(StrEnum):
    """What is broken."""

    REORG = "reorg"
    RPC_STALLS = "rpc-stalls"
    RPC_REFUSES = "rpc-refuses"
    RPC_LIES = "rpc-lies"
    RPC_AWAY = "rpc-away"
    """Every endpoint refuses."""
    KILL = "kill"
    PAUSE = "pause"
    """A process stands still and goes on."""
    DATABASE_KILL = "database-kill"
    REDIS_KILL = "redis-kill"
    REDIS_EMPTY = "redis-empty"
    """Killed, and replaced by one that has nothing."""
    STORAGE_KILL = "storage-kill"
    STORAGE_STALLS = "storage-stalls"
    STORAGE_FULL = "storage-full"
    """Nothing longer than its first bytes can be written."""
    BEACON_KILL = "beacon-kill"
    DATABASE_READ_ONLY = "database-read-only"
    """As whoever runs it for others makes it when its disk is full."""
    CLOCK = "clock"
    """The clock of a process jumps, and comes back."""
    ROLLOUT = "rollout"
    """The Job `migrate` again, and each process replaced in turn."""


_OF_THE_CHAIN: Final = {
    FaultKind.REORG: 5, FaultKind.RPC_LIES: 3, FaultKind.RPC_STALLS: 2, FaultKind.RPC_REFUSES: 2, FaultKind.RPC_AWAY: 1,
}  # fmt: skip
_OF_PROCESSES: Final = {
    FaultKind.KILL: 6, FaultKind.PAUSE: 2, FaultKind.DATABASE_KILL: 2, FaultKind.REDIS_KILL: 2,
    FaultKind.REDIS_EMPTY: 1, FaultKind.STORAGE_KILL: 2, FaultKind.STORAGE_STALLS: 1, FaultKind.BEACON_KILL: 1,
    FaultKind.STORAGE_FULL: 1, FaultKind.DATABASE_READ_ONLY: 2, FaultKind.CLOCK: 3, FaultKind.ROLLOUT: 1,
}  # fmt: skip
LIES: Final = ("no-logs", "other-amount", "other-hash", "finalized-early", "behind")


@dataclass(frozen=True, slots=True)
class SolverPlan:
    """One Solver at one bounty. ``at`` is the share of the submission window after which it acts."""

    name: str
    temper: SolverTemper
    at: float


@dataclass(frozen=True, slots=True)
class GuardianPlan:
    """One Guardian at one bounty. ``at`` is the share of the judging window after which it acts."""

    name: str
    temper: GuardianTemper
    at: float


@dataclass(frozen=True, slots=True)
class BountyPlan:
    """One bounty, and what everybody does about it; ``starts`` is in seconds after the run's begin."""

    number: int
    starts: float
    poster: str
    temper: PosterTemper
    submission_seconds: int
    judging_seconds: int
    escrow: int
    solvers: tuple[SolverPlan, ...]
    guardians: tuple[GuardianPlan, ...]


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """One fault, ``pause`` seconds after the one before it in its lane is over, for ``seconds``."""

    pause: float
    kind: FaultKind
    seconds: float
    choice: float
    """Which process, endpoint or depth, as a share of those there are."""
    lie: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A whole run. The two lanes of faults go on at the same time, each until the run's ``seconds`` are over."""

    seed: int
    seconds: float
    bounties: tuple[BountyPlan, ...]
    of_the_chain: tuple[FaultPlan, ...]
    of_processes: tuple[FaultPlan, ...]


def draw(seed: int, seconds: float, kinds: Collection[FaultKind]) -> RunPlan:
    """Return the plan of a run: a bounty about each 4.5 seconds until 30 before its end, and faults of these kinds."""
    bounties: list[BountyPlan] = []
    chosen = source(seed, "begins")
    at = 0.0
    while at < seconds - 30.0 or not bounties:
        bounties.append(_bounty(seed, len(bounties) + 1, at))
        at += 4.5 * chosen.uniform(0.5, 1.5)
    chain, processes = (
        _faults(seed, lane, seconds, {kind: weight for kind, weight in drawn.items() if kind in kinds})
        for lane, drawn in (("chain", _OF_THE_CHAIN), ("processes", _OF_PROCESSES))
    )
    return RunPlan(seed, seconds, tuple(bounties), chain, processes)


def source(seed: int, label: str) -> random.Random:
    """Choices of one part of a run, which no other part changes."""
    return random.Random(f"market/{seed}/{label}")  # noqa: S311 - to be drawn again


def _bounty(seed: int, number: int, starts: float) -> BountyPlan:
    chosen = source(seed, f"bounty/{number}")
    poster = PosterTemper(chosen.choices(list(PosterTemper), (7, 2, 2))[0])
    solvers = chosen.sample(SOLVERS, chosen.choices((0, 1, 2, 3), (1, 4, 4, 2))[0])
    # Half of the rosters agree, else every quorum would be an accident.
    weights = (8, 2, 1, 0, 1, 0) if chosen.random() < 0.5 else (3, 2, 4, 3, 2, 3)
    return BountyPlan(
        number,
        starts,
        chosen.choice(POSTERS),
        poster,
        chosen.randint(24, 44),
        chosen.randint(18, 36),
        chosen.randint(1_000_000, 60_000_000),
        tuple(
            SolverPlan(name, chosen.choices(list(SolverTemper), (6, 2, 2, 1, 1))[0], chosen.uniform(0.0, 0.5))
            for name in solvers
        ),
        tuple(
            GuardianPlan(name, temper, chosen.uniform(0.65, 0.9) if temper == "slow" else chosen.random() * 0.6)
            for name in GUARDIANS
            for temper in chosen.choices(list(GuardianTemper), weights)
        ),
    )


def _faults(seed: int, lane: str, seconds: float, kinds: Mapping[FaultKind, int]) -> tuple[FaultPlan, ...]:
    chosen = source(seed, f"faults/{lane}")
    if not kinds:
        return ()
    return tuple(
        FaultPlan(
            chosen.uniform(2.0, 8.0),
            chosen.choices(list(kinds), list(kinds.values()))[0],
            chosen.uniform(0.5, 6.0),
            chosen.random(),
            chosen.choice(LIES),
        )
        for _ in range(int(seconds / 2) + 1)
    )
