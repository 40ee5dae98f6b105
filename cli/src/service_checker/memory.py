"""What a watch keeps from one check to the next, and the sample that each check takes."""

import random
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from service_checker.chain import Chain

LISTS: Final = ("/api/changes", "/api/bounties", "/subgraph")
"""What is read from its first page to its last; with a sample one of them in each check."""


@dataclass(frozen=True, slots=True)
class CheckSample:
    """The bounties and lists that one check looks at."""

    bounties: frozenset[int]
    lists: frozenset[str]


@dataclass(slots=True)
class CheckMemory:
    """Of the checks so far. What differed is looked at again in each check, so that its end is seen."""

    chain: Chain | None = None
    """With all that was read of it. After a check with a difference it is read again: no answer counts for good."""
    balances: dict[int, bool] = field(default_factory=dict)
    """The blocks after which the Hub's balance was right (True), or was not given (False)."""
    shown_before: set[str] = field(default_factory=set)
    """The documents that were read so far: one that is gone since is withheld."""
    differing: set[int] = field(default_factory=set)
    """Bounties with a difference in the last check."""
    differing_lists: set[str] = field(default_factory=set)
    turn: random.Random = field(default_factory=random.SystemRandom)
    """What draws; nobody who is watched can know what comes next."""
    _waiting: list[int] = field(default_factory=list)
    _lists: list[str] = field(default_factory=list)

    def sample(self, bounties: Collection[int], size: int) -> CheckSample:
        """So many bounties and one list, each once before any of them again, and what differed in the last check."""
        drawn = set[int]()
        while bounties and len(drawn) < min(size, len(bounties)):
            if not self._waiting:
                self._waiting = self.turn.sample(sorted(bounties), len(bounties))
            number = self._waiting.pop()
            if number in bounties:  # a reorg may have taken it
                drawn.add(number)
        if not self._lists:
            self._lists = self.turn.sample(LISTS, len(LISTS))
        return CheckSample(
            frozenset(drawn | (self.differing & set(bounties))), frozenset({self._lists.pop(), *self.differing_lists})
        )

    def forget_chain(self) -> None:
        """Read the chain, and the balances, from the first block on in the next check."""
        self.chain = None
        self.balances.clear()
