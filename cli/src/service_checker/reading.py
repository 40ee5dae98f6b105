"""Answers held against the chain at the block that they are of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from service_checker.asking import HttpReply, PublicApi, Unread
from service_checker.chain import Chain, ChainBlock
from service_checker.expected import Json, Moment
from service_checker.money import replayed_until
from service_checker.report import CheckReport, alike

STALE_SECONDS: Final = 2
"""An answer may be a second older than the copy that it names, and a block's time is a whole second."""
MAX_MOMENTS: Final = 16
"""Blocks of 0.2 s in as long."""
KEPT_MOMENTS: Final = 64


class BlockAhead(Unread):
    """An answer is of a block that the node does not have."""


@dataclass(slots=True)
class AnswerCheck:
    """One pass over the answers of a deployment."""

    api: PublicApi
    chain: Chain
    findings: CheckReport
    max_lag_seconds: int
    final_for_sure: int = 0
    """The finalized block of the index when the pass began: what is up to there has to be shown as final."""
    indexed: int | None = None
    """The block of the index when the pass began: a bounty of a later one may not be there yet."""
    shown_before: set[str] = field(default_factory=set)
    """Paths of documents that a check of this process has read: one that is gone since is withheld."""
    titles: dict[int, object] = field(default_factory=dict)
    """What the list states of each bounty."""
    _moments: dict[int, Moment] = field(default_factory=dict)

    def moment(self, number: int) -> Moment:
        """The world after a block; reads more of the chain where the answer is ahead of what was read."""
        if number > self.chain.head.number:
            self.chain.refresh()
            self._moments.clear()
            if number > self.chain.head.number:
                if self.chain.still is not None:
                    raise Unread(f"the newest block is {self.chain.still}")
                raise BlockAhead(f"the node does not have block {number}, which an answer is of")
        if number not in self._moments:
            if len(self._moments) >= KEPT_MOMENTS:
                self._moments.clear()
            self._moments[number] = Moment(replayed_until(self.chain, number), self.chain.block_at(number))
        return self._moments[number]

    def moments(self, number: int) -> list[Moment]:
        """The blocks that an answer may be of, the newest first."""
        found = [self.moment(number)]
        while (
            number > 0
            and len(found) < MAX_MOMENTS
            and self.chain.block_at(number - 1).time >= found[0].block.time - STALE_SECONDS
        ):
            number -= 1
            found.append(self.moment(number))
        return found

    def of(self, answer: HttpReply, where: str) -> list[Moment]:
        """The blocks that an answer of REST may be of; none, and a difference, where it does not say."""
        number, time = answer.headers.get("x-index-block", ""), answer.headers.get("x-index-time", "")
        named = number.isascii() and number.isdigit() and len(number) < 19
        if not self.findings.holds("api.index", where, "a block in X-Index-Block", named, number):
            return []
        self.is_recent(int(number), where)
        try:
            found = self.moments(int(number))
        except BlockAhead as error:
            self.findings.add("api.index", where, "a block of the chain", str(error))
            return []
        self.findings.same("api.index", f"{where} X-Index-Time", str(found[0].block.time), time)
        hub = f"eip155:{found[0].world.chain_id}:{found[0].world.hub}"
        self.findings.same("api.hub", f"{where} X-Hub", hub, answer.headers.get("x-hub", "nothing").lower())
        return found

    def is_recent(self, number: int, where: str) -> None:
        """The index is no further behind than the limit."""
        behind = self.seconds_behind(number, self.chain.head)
        wanted = f"a block of the last {self.max_lag_seconds} s"
        self.findings.holds("liveness.index", where, wanted, behind <= self.max_lag_seconds, number)

    def seconds_behind(self, number: int, newest: ChainBlock) -> int:
        """How much later a block is than the one at a number, by their times; 0 where that is none earlier."""
        return 0 if number >= newest.number else newest.time - self.chain.block_at(number).time

    def get(self, path: str) -> tuple[Any, list[Moment]]:
        """An answer of REST with the moments it may be of; one of another status than 200 is a ``ValueError``."""
        answer = self.api.get(path)
        if answer.status != 200:
            raise ValueError(f"status {answer.status}: {answer.body[:200]!r}")
        return answer.json(), self.of(answer, path.partition("?")[0])

    def missing(self, requirement: str, path: str) -> None:
        """Note a document that is not there; a difference where an earlier check of this process has read it."""
        if path in self.shown_before:
            self.findings.add(requirement, path, "the document that an earlier check has read", "nothing")
        else:
            self.findings.skip(requirement, path)

    def fields(
        self, requirement: str, where: str, moments: list[Moment], expected: Callable[[Moment], Json], seen: object
    ) -> bool:
        """Each expected field is there with its value, at one of the moments; further fields are allowed."""
        values: Mapping[str, object] = seen if isinstance(seen, dict) else {}
        closest: tuple[int, Json] | None = None
        for moment in moments:
            wanted = expected(moment)
            wrong = {name: value for name, value in wanted.items() if not alike(value, values.get(name, AbsentField))}
            if not wrong:
                self.findings.holds(requirement, where, "", True, None)
                return True
            if closest is None or len(wrong) < closest[0]:
                closest = len(wrong), wrong
        for name, value in (closest[1] if closest else {}).items():
            self.findings.add(requirement, f"{where} {name}", value, values.get(name, "nothing"))
        return False

    def value(
        self, requirement: str, where: str, moments: list[Moment], expected: Callable[[Moment], object], seen: object
    ) -> bool:
        """The value is the one of one of the moments."""
        if any(alike(expected(moment), seen) for moment in moments):
            self.findings.holds(requirement, where, "", True, None)
            return True
        if moments:
            self.findings.add(requirement, where, expected(moments[0]), seen)
        return False

    def finality(self, where: str, number: int, seen: object) -> None:
        """What is finalized is shown so, and nothing else is."""
        if number <= self.final_for_sure:
            self.findings.same("bounty.block", f"{where} finality", "finalized", seen)
        elif seen == "finalized":
            finalized = self.chain.block("finalized").number
            self.findings.holds("bounty.block", f"{where} finality", "unsafe", number <= finalized, seen)
        else:
            self.findings.same("bounty.block", f"{where} finality", "unsafe", seen)


class AbsentField:
    """In the place of a field that is not there."""
