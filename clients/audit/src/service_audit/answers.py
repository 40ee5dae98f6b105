"""Public answers, held against the chain at the block that they are of."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from service_audit.chain import BlockAhead, Chain, ChainBlock, Moment
from service_audit.expected import Json
from service_audit.http import HttpReply, Requests, Unread
from service_audit.report import Report, alike

MAX_LIST_BYTES: Final = 128 << 20
"""Of all answers that make one list: what is held in memory at a time."""
ASK_LATER: Final = {429, 502, 503, 504}


@dataclass(slots=True)
class PublicApi:
    """The public reads of a deployment, or of its pages."""

    url: str
    requests: Requests
    received: int = 0
    """Bytes of all answers so far."""

    def get(self, path: str) -> HttpReply:
        """Return one answer of any status."""
        return self._send("GET", path, None, {})

    def graphql(self, query: str) -> Any:
        """Return the ``data`` of one query."""
        body = json.dumps({"query": query}).encode()
        found = self._send("POST", "/subgraph", body, {"content-type": "application/json"})
        value = found.json()
        if found.status != 200 or not isinstance(value, dict) or not isinstance(value.get("data"), dict):
            raise Unread(f"/subgraph answers {found.status}: {found.body[:300]!r}")
        return value["data"]

    def bound_list(self, begin: int) -> None:
        """Raise ``Unread`` where a list whose first page came after ``begin`` bytes is too long to be held."""
        if self.received - begin > MAX_LIST_BYTES:
            raise Unread(f"a list of more than {MAX_LIST_BYTES} bytes")

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        found = self.requests.send(method, self.url.rstrip("/") + path, body, headers)
        self.received += len(found.body)
        return found


@dataclass(slots=True)
class Position:
    """How far the index was when a look began, and what the list stated; parts of the look use it."""

    finalized: int = 0
    """The final block of the index: what is up to there has to be shown as final."""
    indexed: int | None = None
    """The newest block of the index: a later bounty may not be there yet."""
    titles: dict[int, object] = field(default_factory=dict)
    """What the list states of each bounty."""


@dataclass(slots=True)
class AnswerCheck:
    """One part of a look at the answers."""

    api: PublicApi
    pages: PublicApi | None
    chain: Chain
    report: Report
    position: Position
    max_lag_seconds: int
    seen_before: set[str] = field(default_factory=set)
    """Paths of documents that an earlier look has read: one that is gone since is withheld."""

    def moments_of(self, answer: HttpReply, where: str) -> list[Moment]:
        """Return the blocks that an answer of REST may be of; none, and a difference, where it does not say."""
        number, time = answer.headers.get("x-index-block", ""), answer.headers.get("x-index-time", "")
        named = number.isascii() and number.isdigit() and len(number) < 19
        if not self.report.holds("api.index", where, "a block in X-Index-Block", named, number):
            return []
        try:
            found = self.chain.moments(int(number))
        except BlockAhead as error:
            self.report.add("api.index", where, "a block of the chain", str(error))
            return []
        self.is_recent(found[0].block, where)
        self.report.same("api.index", f"{where} X-Index-Time", str(found[0].block.time), time)
        hub = f"eip155:{found[0].world.chain_id}:{found[0].world.hub}"
        self.report.same("api.hub", f"{where} X-Hub", hub, answer.headers.get("x-hub", "nothing").lower())
        return found

    def is_recent(self, block: ChainBlock, where: str) -> None:
        """Compare how far the index is behind with the limit, by the times of blocks."""
        behind = self.chain.head.time - block.time
        wanted = f"a block of the last {self.max_lag_seconds} s"
        self.report.holds("liveness.index", where, wanted, behind <= self.max_lag_seconds, f"{behind} s behind")

    def answer(self, path: str) -> HttpReply:
        """Return an answer of any status; raise ``Unread`` for one that only says to ask later."""
        found = self.api.get(path)
        if found.status in ASK_LATER:
            raise Unread(f"{path.partition('?')[0]} answers {found.status}")
        return found

    def get(self, path: str) -> tuple[Any, list[Moment]]:
        """Return an answer of REST and the moments it may be of; ``ValueError`` for another status than 200."""
        answer = self.answer(path)
        if answer.status != 200:
            raise ValueError(f"status {answer.status}: {answer.body[:200]!r}")
        return answer.json(), self.moments_of(answer, path.partition("?")[0])

    def missing(self, requirement: str, path: str) -> None:
        """Note a document that is not there; a difference where an earlier look has read it."""
        if path in self.seen_before:
            self.report.add(requirement, path, "the document that an earlier look has read", "nothing")
        else:
            self.report.pass_over(requirement, path)

    def fields(
        self, requirement: str, where: str, moments: list[Moment], expected: Callable[[Moment], Json], seen: object
    ) -> None:
        """Compare each expected field at one of the moments; further fields are allowed."""
        values: Mapping[str, object] = seen if isinstance(seen, dict) else {}
        closest: Json | None = None
        for moment in moments:
            wanted = expected(moment)
            wrong = {name: value for name, value in wanted.items() if not alike(value, values.get(name, _Absent))}
            if not wrong:
                self.report.compared[requirement] += 1
                return
            closest = wrong if closest is None or len(wrong) < len(closest) else closest
        for name, value in (closest or {}).items():
            self.report.add(requirement, f"{where} {name}", value, values.get(name, "nothing"))

    def value(
        self, requirement: str, where: str, moments: list[Moment], expected: Callable[[Moment], object], seen: object
    ) -> None:
        """Compare a value with that of one of the moments."""
        if any(alike(expected(moment), seen) for moment in moments):
            self.report.compared[requirement] += 1
        elif moments:
            self.report.add(requirement, where, expected(moments[0]), seen)

    def finality(self, where: str, number: int, seen: object) -> None:
        """Compare whether a block is shown as final with whether it is."""
        if number <= self.position.finalized:
            self.report.same("bounty.block", f"{where} finality", "finalized", seen)
        elif seen == "finalized":
            is_final = number <= self.chain.block("finalized").number
            self.report.holds("bounty.block", f"{where} finality", "unsafe", is_final, seen)
        else:
            self.report.same("bounty.block", f"{where} finality", "unsafe", seen)


class _Absent:
    """Stands where a field is not there."""
