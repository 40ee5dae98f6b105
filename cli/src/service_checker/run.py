"""The parts of a check, in order."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from service_checker.asking import BoundedExchange, Exchange, Http, Node, PublicApi, Unread
from service_checker.chain import Chain
from service_checker.graphql import check_graphql
from service_checker.memory import LISTS, CheckMemory, CheckSample
from service_checker.money import check_money, check_views, replayed_until
from service_checker.pages import check_texts
from service_checker.privacy import search_paths, searching_answers
from service_checker.reading import AnswerCheck
from service_checker.replay import ReplayedBounty, World
from service_checker.report import CheckReport
from service_checker.rest import (
    check_account,
    check_bounty,
    check_changes,
    check_delivery,
    check_deployment,
    check_list,
    check_status,
    check_verdicts,
)

MAX_CHECK_SECONDS: Final = 1_800
"""For one check: with the pause after it, one ends well within the hour after which nobody checks any more."""
PASSES: Final = 5
"""How often the answers are read again because a reorg happened meanwhile."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What is to be checked, and by which limits."""

    rpc_url: str
    hub: str
    api_url: str | None = None
    pages_url: str | None = None
    from_block: int = 0
    every_block: bool = False
    max_lag_seconds: int = 60
    max_unsettled_seconds: int = 600
    searched: Sequence[Path] = ()
    canaries: Sequence[bytes] = ()
    sample: int | None = None
    """The bounties that a check looks at, beside those that differed before; without it all, and every list."""
    max_seconds: float = MAX_CHECK_SECONDS
    """For one check, after which nothing more is asked."""
    exchange: Exchange = field(default_factory=Http)
    now: Callable[[], float] = time.time
    memory: CheckMemory = field(default_factory=CheckMemory)
    """For the next check of the same options."""


def check(asked: CheckOptions, say: Callable[[str], None] = lambda _: None) -> CheckReport:
    """Everything that was asked for; what cannot be read is a finding of its own."""
    findings, memory = CheckReport(), asked.memory
    asked = replace(asked, exchange=BoundedExchange(asked.exchange, asked.max_seconds))
    if memory.chain is None or asked.sample is None:
        memory.forget_chain()
        memory.chain = Chain(Node(asked.rpc_url, asked.exchange), asked.hub.lower(), asked.from_block, asked.now)
    memory.chain.node.exchange = asked.exchange
    differed, differed_lists = set(memory.differing), set(memory.differing_lists)
    try:
        _checked(asked, memory.chain, findings, say)
    except Exception as error:  # noqa: BLE001 - what a hostile answer brings about neither ends a watch nor hides a finding
        findings.add("checked", "the check", "an end", f"{type(error).__name__}: {error}")
    if findings.unread:  # what differed before may be what could not be looked at
        memory.differing |= differed
        memory.differing_lists |= differed_lists
    if findings.count:
        memory.forget_chain()
    return findings


def _checked(asked: CheckOptions, chain: Chain, findings: CheckReport, say: Callable[[str], None]) -> None:
    known = False
    with findings.reading("checked", "the chain"):
        chain.refresh()
        world = replayed_until(chain, chain.head.number, findings)
        say(f"{len(world.logs)} events of {len(world.bounties)} bounties up to block {chain.head.number}")
        if not world.config:
            raise Unread(
                "no Hub was deployed here: another chain, another address, or --from-block is after its first block"
            )
        known = True
    if known:
        sample = of_the_chain(asked, chain, world, findings)
        if chain.still is not None:  # what the API shows is of later blocks
            findings.add("checked", "the newest block", "one of the last minutes", chain.still)
        elif asked.api_url is not None:
            of_the_answers(asked, asked.api_url, chain, findings, sample)
    if asked.canaries:
        say(f"{search_paths(asked.searched, asked.canaries, findings)} files searched for canaries")


def of_the_chain(asked: CheckOptions, chain: Chain, world: World, findings: CheckReport) -> CheckSample | None:
    """Rules, money, views, and what should have been settled: of the chain alone. Returns the sample of this check."""
    world.undecided()
    memory = asked.memory
    sample = None if asked.sample is None else memory.sample(world.bounties.keys(), asked.sample)
    with findings.reading("checked", "the Hub's money"):
        check_money(chain, world, findings, every_block=asked.every_block, known=memory.balances)
    with findings.reading("checked", "the Hub's views"):
        memory.differing = check_views(chain, findings, None if sample is None else sample.bounties)
    check_settled(world, chain.head.time, asked.max_unsettled_seconds, findings)
    return sample


def check_settled(world: World, time: int, limit: int, findings: CheckReport) -> None:
    """Each bounty whose time is up has ended."""
    for bounty in world.bounties.values():
        due = bounty.amount("judging_deadline" if bounty.submissions else "submission_deadline")
        moved = bounty.ending is not None or time <= due + limit
        findings.holds(
            "liveness.settled", f"bounty {bounty.id}", f"an end before {due + limit}", moved, f"open at {time}"
        )


def of_the_answers(
    asked: CheckOptions, url: str, chain: Chain, findings: CheckReport, sample: CheckSample | None = None
) -> None:
    """Every public answer, or those of a sample; read again as a whole where the chain was reorganized meanwhile."""
    seen = searching_answers(asked.canaries, findings)
    for _ in range(PASSES):
        found = CheckReport()
        api = PublicApi(url, asked.exchange, seen)
        pages = PublicApi(asked.pages_url, asked.exchange, seen) if asked.pages_url else None
        before = [log.place for log in chain.logs]
        reading = AnswerCheck(api, chain, found, asked.max_lag_seconds, shown_before=asked.memory.shown_before)
        differing = set[int | str]()
        with found.reading("checked", "the answers"):
            _AnswerParts(reading, pages, sample, differing).run()
        with found.reading("checked", "the chain"):
            chain.refresh()
        if [log.place for log in chain.logs][: len(before)] == before:
            break
    asked.memory.differing |= {each for each in differing if isinstance(each, int)}
    asked.memory.differing_lists = {each for each in differing if isinstance(each, str)}
    findings.take(found)


@dataclass(frozen=True, slots=True)
class _AnswerParts:
    """The parts of one pass over the answers; ``differing`` gets the bounties and lists of those that differ."""

    reading: AnswerCheck
    pages: PublicApi | None
    sample: CheckSample | None
    differing: set[int | str]

    def _part(self, requirement: str, where: str, of: Iterable[int | str], run: Callable[[], None]) -> None:
        findings = self.reading.findings
        before = findings.count
        with findings.reading(requirement, where):
            run()
        if findings.count != before:
            self.differing.update(of)

    def run(self) -> None:
        reading = self.reading
        self._part("status.totals", "/api/status", (), partial(check_status, reading))
        self._part("api.deployment", "/api/deployment", (), partial(check_deployment, reading))
        self._lists("changes.log", LISTS[0], check_changes)
        self._lists("list.items", LISTS[1], check_list)
        every = dict[int, ReplayedBounty]()
        with reading.findings.reading("checked", "the chain"):
            every = replayed_until(reading.chain, reading.chain.head.number).bounties
        looked_at = {
            number: bounty
            for number, bounty in every.items()
            if (self.sample is None or number in self.sample.bounties)
            and (reading.indexed is None or bounty.created.place.block_number <= reading.indexed)
        }
        accounts = dict[str, set[int]]()
        for number, bounty in looked_at.items():
            path, of = f"/api/bounties/{number}", (number,)
            self._part("bounty.facts", path, of, partial(check_bounty, reading, number))
            self._part(
                "bounty.verdict",
                f"/api/written-verdicts of bounty {number}",
                of,
                partial(check_verdicts, reading, bounty),
            )
            self._part("delivery.status", f"{path}/delivery/status", of, partial(check_delivery, reading, bounty))
            for address in (bounty.poster, *bounty.submissions):
                accounts.setdefault(address, set()).add(number)
        for address, of_account in sorted(accounts.items()):
            where = f"/api/accounts/{address}"
            self._part("account.record", where, of_account, partial(check_account, reading, address))
        self._lists("graphql.rows", LISTS[2], check_graphql)
        if self.pages is not None:
            self._of_pages(self.pages, sorted(looked_at))

    def _lists(self, requirement: str, path: str, run: Callable[[AnswerCheck], None]) -> None:
        if self.sample is None or path in self.sample.lists:
            self._part(requirement, path, (path,), partial(run, self.reading))

    def _of_pages(self, pages: PublicApi, numbers: list[int]) -> None:
        reading = self.reading
        for number in numbers:
            where = f"/bounties/{number}/challenge.md"
            self._part("pages.challenge", where, (number,), partial(check_texts, reading, pages, [number]))
