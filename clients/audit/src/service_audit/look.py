"""One look at a deployment: the chain first, then all that is said of it, in parts of which each ends alone.

A part that differs, or cannot be read, is repeated for more than a minute. It differs where each of these attempts did:
a restart, a reorg or a busy hour of an honest service is no difference.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from service_audit.answers import AnswerCheck, Position, PublicApi
from service_audit.bounty import check_delivery, check_detail, check_pages, check_verdicts
from service_audit.chain import Chain
from service_audit.deployment import ChangesCursor, check_account, check_changes, check_deployment, check_status
from service_audit.graphql import check_bounty_rows, check_deployment_rows, ranges
from service_audit.http import Requests
from service_audit.lists import check_list, check_selections
from service_audit.money import TokenBook
from service_audit.node import Node
from service_audit.report import Report
from service_audit.rules import Bounty, World
from service_audit.views import check_bounty_views, check_deployment_views

HICCUP_SECONDS: Final = 60.0
"""A difference that is shorter is none."""
AGAIN_SECONDS: Final = 16.0
"""Between two attempts at a part."""
ROUND_SECONDS: Final = 1_800.0
"""For a look of a watch, after which it sends no more requests."""
WHOLE_SECONDS: Final = 7_200.0
"""For a look at everything."""


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What is looked at, and by which limits."""

    rpc_url: str
    hub: str
    api_url: str | None = None
    pages_url: str | None = None
    from_block: int = 0
    max_lag_seconds: int = 60
    max_unsettled_seconds: int = 600
    sample: int = 20
    """Bounties without news that each look of a watch takes."""
    hiccup_seconds: float = HICCUP_SECONDS
    """How long something has to differ to be a difference."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which bounties a look takes: all of them where ``numbers`` is None, and then every list and filter."""

    numbers: tuple[int, ...] | None = None
    of_the_deployment: bool = True
    """Whether status, lists, changes and money are looked at, beside the bounties."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a look; ``requirement`` is what an answer of another shape than documented breaks."""

    requirement: str
    where: str
    run: Callable[[AnswerCheck], None]
    bounty: int | None = None


class Auditor:
    """Looks at one deployment, again and again; what was final and right is not read twice until ``forget``."""

    def __init__(
        self, options: AuditOptions, requests: Requests | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.options, self.requests = options, requests or Requests()
        node = Node(options.rpc_url, self.requests)
        self.chain = Chain(node, options.hub.lower(), options.from_block, now)
        self.seen_before = set[str]()
        """Documents that were read so far: one that is gone since is withheld."""
        self.differing = set[int]()
        """Bounties of which something differed in the last look."""
        self.differing_parts = set[str]()
        self._book, self._cursor, self._news_from = TokenBook(), ChangesCursor(), -1
        self._believed = set[tuple[str, str]]()
        """What the log was seen to break by more than one reading."""

    def forget(self) -> None:
        """Read everything from the beginning in the next look."""
        self.chain.forget()
        self._book, self._cursor = TokenBook(), ChangesCursor()

    def look_at_everything(self) -> Report:
        """Look at the whole deployment once."""
        return self._look(lambda _: Scope(), WHOLE_SECONDS)

    def look_at_news(self) -> Report:
        """Look at what is new, at what differed, and at a sample of everything else."""
        return self._look(self._news, ROUND_SECONDS)

    def look_at(self, number: int) -> Report:
        """Look at one bounty, and at all that is said of it."""
        return self._look(lambda _: Scope((number,), of_the_deployment=False), WHOLE_SECONDS)

    def _news(self, world: World) -> Scope:
        changed = {log.bounty_id for log in self.chain.logs if log.place.block_number > self._news_from}
        # Nobody who is watched can know which comes next.
        drawn = random.SystemRandom().sample(sorted(world.bounties), min(self.options.sample, len(world.bounties)))
        wanted = (changed | self.differing | {*drawn}) & world.bounties.keys()
        return Scope(tuple(sorted(number for number in wanted if number is not None)))

    def _look(self, scope_of: Callable[[World], Scope], seconds: float) -> Report:
        self.requests.begin(seconds)
        report = Report()
        world = self._read_chain(report)
        if world is None:
            return report
        scope = scope_of(world)
        parts = list(self._chain_parts(world, scope))
        if self.chain.still is not None:  # what the API shows is of later blocks
            report.add("read", "the newest block", "one of the last minutes", self.chain.still)
        elif self.options.api_url is not None:
            parts += self._answer_parts(world, scope)
        self._settle(parts, report)
        if not report.unread:
            self._news_from = self.chain.finalized.number
        return report

    # ------------------------------------------------------------------ the chain

    def _read_chain(self, report: Report) -> World | None:
        """Read and replay the log; what breaks a rule is read again from the beginning before it is believed."""
        began = self.requests.clock()
        while True:
            found = Report()
            world: World | None = None
            with found.reading("chain.events", "the chain"):
                self.chain.refresh()
                world = self.chain.world_at(self.chain.head.number)
                found.take_breaches([*world.breaches, *world.undecided()], world.compared)
            places = {(each.requirement, each.where) for each in found.found}
            late = self.requests.clock() - began > self.options.hiccup_seconds
            if late or places <= self._believed:
                report.take(found)
                self._believed = self._believed if found.unread else places
                return world
            if not found.unread:
                self.chain.forget()
            self.requests.sleep(AGAIN_SECONDS)

    def _chain_parts(self, world: World, scope: Scope) -> Iterator[Part]:
        chain = self.chain
        if scope.of_the_deployment:
            yield Part("money.transfers", "the Hub's money", lambda reading: self._book.check(chain, reading.report))
        yield Part("hub.views", "the Hub's views", check_deployment_views)
        for number in scope.numbers if scope.numbers is not None else world.bounties:
            yield Part("liveness.settled", f"end of bounty {number}", partial(self._check_settled, number), number)
            views = partial(check_bounty_views, number=number)
            yield Part("hub.views", f"views of bounty {number}", views, number)

    def _check_settled(self, number: int, reading: AnswerCheck) -> None:
        """Compare whether a bounty whose time is up has ended."""
        bounty, now = self._bounty(number), self.chain.head.time
        if bounty is not None:
            due = bounty.settles_at() + self.options.max_unsettled_seconds
            moved = bounty.ending is not None or now <= due
            reading.report.holds(
                "liveness.settled", f"bounty {number}", f"an end before {due}", moved, f"open at {now}"
            )

    def _bounty(self, number: int) -> Bounty | None:
        return self.chain.world_at(self.chain.head.number).bounties.get(number)

    # ------------------------------------------------------------------ the answers

    def _answer_parts(self, world: World, scope: Scope) -> Iterator[Part]:
        if scope.numbers is None or "/api/changes" in self.differing_parts:
            self._cursor.reset()
        if scope.of_the_deployment:
            yield Part("status.totals", "/api/status", check_status)
            yield Part("changes.log", "/api/changes", lambda reading: check_changes(reading, self._cursor))
            yield Part("list.items", "/api/bounties", check_list)
            if scope.numbers is None or "filters of /api/bounties" in self.differing_parts:
                yield Part("list.filters", "filters of /api/bounties", check_selections)
            yield Part("graphql.rows", "/subgraph", check_deployment_rows)
        yield Part("api.deployment", "/api/deployment", check_deployment)
        numbers = tuple(world.bounties) if scope.numbers is None else scope.numbers
        accounts = dict[str, int]()
        for number in numbers:
            yield from self._bounty_parts(number)
            if (bounty := world.bounties.get(number)) is not None:
                accounts |= dict.fromkeys((bounty.poster, *bounty.submissions), number)
        for address, number in accounts.items():
            where = f"/api/accounts/{address}"
            yield Part("account.record", where, partial(check_account, address=address), number)
        for first, last in ranges(world, scope.numbers):
            where = f"/subgraph of bounties {first} to {last or 'the last'}"
            rows = partial(check_bounty_rows, first=first, last=last)
            yield Part("graphql.rows", where, rows, first if first == last else None)

    def _bounty_parts(self, number: int) -> Iterator[Part]:
        path = f"/api/bounties/{number}"
        detail, delivery, pages = (
            partial(self._once_indexed, check, number) for check in (check_detail, check_delivery, check_pages)
        )
        written = partial(self._check_verdicts, number)
        yield Part("bounty.facts", path, detail, number)
        yield Part("bounty.verdict", f"written Verdicts of bounty {number}", written, number)
        yield Part("delivery.status", f"{path}/delivery/status", delivery, number)
        if self.options.pages_url is not None:
            yield Part("pages.facts", f"/bounties/{number}", pages, number)

    def _once_indexed(self, check: Callable[[AnswerCheck, int], None], number: int, reading: AnswerCheck) -> None:
        """Check a bounty once the index can know it."""
        bounty, indexed = self._bounty(number), reading.position.indexed
        if bounty is not None and (indexed is None or bounty.created.place.block_number <= indexed):
            check(reading, number)

    def _check_verdicts(self, number: int, reading: AnswerCheck) -> None:
        if (bounty := self._bounty(number)) is not None:
            check_verdicts(reading, bounty)

    # ------------------------------------------------------------------ what lasts

    def _settle(self, parts: Sequence[Part], report: Report) -> None:
        """Run each part; repeat those that differ until they do not, or have differed for more than a minute."""
        position, since = self._position(Position()), dict[int, float]()
        latest = dict[int, Report]()
        pending = list(range(len(parts)))
        while pending:
            for index in pending:
                latest[index] = self._run(parts[index], position)
                if latest[index].count:
                    since.setdefault(index, self.requests.clock())
            now = self.requests.clock()
            lasting = self.options.hiccup_seconds
            pending = [index for index in pending if latest[index].count and now - since[index] <= lasting]
            if pending:
                self.requests.sleep(AGAIN_SECONDS)
                self._refresh()
                position = self._position(position)
        for found in latest.values():
            report.take(found)
        differing = [parts[index] for index, found in latest.items() if found.count]
        self.differing = {part.bounty for part in differing if part.bounty is not None}
        self.differing_parts = {part.where for part in differing}

    def _run(self, part: Part, position: Position) -> Report:
        report, options = Report(), self.options
        api = PublicApi(options.api_url or "", self.requests)
        pages = PublicApi(options.pages_url, self.requests) if options.pages_url else None
        reading = AnswerCheck(api, pages, self.chain, report, position, options.max_lag_seconds, self.seen_before)
        with report.reading(part.requirement, part.where):
            part.run(reading)
        return report

    def _refresh(self) -> None:
        """Read what is new of the chain; if that fails, the parts say so."""
        with Report().reading("read", "the chain"):
            self.chain.refresh()

    def _position(self, before: Position) -> Position:
        """Ask how far the index is; where it does not say, nothing is known of it."""
        if self.options.api_url is None:
            return before
        found = replace(before, finalized=0, indexed=None)
        with Report().reading("read", "/api/status"):
            answer = PublicApi(self.options.api_url, self.requests).get("/api/status").json()["position"]
            finalized, indexed = answer["finalized_block_number"], answer["block_number"]
            if type(finalized) is int and type(indexed) is int:
                # A block that is final for the index alone makes nothing final.
                found = replace(found, finalized=min(finalized, self.chain.finalized.number), indexed=indexed)
        return found
