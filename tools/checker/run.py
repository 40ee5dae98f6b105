"""The parts of a check, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tools.checker.asking import Exchange, Http, Node, PublicApi, Unread
from tools.checker.chain import Chain
from tools.checker.graphql import check_graphql
from tools.checker.money import check_money, check_views, replayed_until
from tools.checker.pages import check_calendar, check_feed_of_account, check_feeds, check_texts
from tools.checker.privacy import search_paths, searching_answers
from tools.checker.reading import AnswerCheck
from tools.checker.replay import World
from tools.checker.report import CheckReport
from tools.checker.rest import (
    check_account,
    check_bounty,
    check_changes,
    check_delivery,
    check_deployment,
    check_list,
    check_status,
    check_verdicts,
)

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
    max_lag_blocks: int = 30
    max_unsettled_seconds: int = 600
    searched: Sequence[Path] = ()
    canaries: Sequence[bytes] = ()
    exchange: Exchange = field(default_factory=Http)
    shown_before: set[str] = field(default_factory=set)
    """The documents that were read so far, for the next check of the same options."""


def check(asked: CheckOptions, say: Callable[[str], None] = lambda _: None) -> CheckReport:
    """Everything that was asked for; what cannot be read is a finding of its own."""
    findings = CheckReport()
    chain = Chain(Node(asked.rpc_url, asked.exchange), asked.hub.lower(), asked.from_block)
    read = False
    try:
        with findings.reading("checked", "the chain"):
            chain.refresh()
            of_the_chain(asked, chain, findings, say)
            read = True
    except Unread as error:
        findings.add("checked", "the chain", "logs, blocks and views", str(error))
    if not read:
        return findings
    if asked.api_url is not None:
        of_the_answers(asked, asked.api_url, chain, findings)
    if asked.canaries:
        say(f"{search_paths(asked.searched, asked.canaries, findings)} files searched for canaries")
    return findings


def of_the_chain(asked: CheckOptions, chain: Chain, findings: CheckReport, say: Callable[[str], None]) -> None:
    """Rules, money, views, and what should have been settled: of the chain alone."""
    world = replayed_until(chain, chain.head.number, findings)
    say(f"{len(world.logs)} events of {len(world.bounties)} bounties up to block {chain.head.number}")
    if not world.config:
        raise Unread("no event Deployed of this Hub: begin at its first block")
    world.undecided()
    check_money(chain, world, findings, every_block=asked.every_block)
    check_views(chain, findings)
    check_settled(world, chain.head.time, asked.max_unsettled_seconds, findings)


def check_settled(world: World, time: int, limit: int, findings: CheckReport) -> None:
    """Each bounty whose time is up has ended."""
    for bounty in world.bounties.values():
        due = bounty.amount("judging_deadline" if bounty.submissions else "submission_deadline")
        moved = bounty.ending is not None or time <= due + limit
        findings.holds(
            "liveness.settled", f"bounty {bounty.id}", f"an end before {due + limit}", moved, f"open at {time}"
        )


def of_the_answers(asked: CheckOptions, url: str, chain: Chain, findings: CheckReport) -> None:
    """Every public answer; read again as a whole where the chain was reorganized meanwhile."""
    seen = searching_answers(asked.canaries, findings)
    for _ in range(PASSES):
        found = CheckReport()
        api = PublicApi(url, asked.exchange, seen)
        pages = PublicApi(asked.pages_url, asked.exchange, seen) if asked.pages_url else None
        before = [log.place for log in chain.logs]
        try:
            _read(AnswerCheck(api, chain, found, asked.max_lag_blocks, shown_before=asked.shown_before), pages)
            chain.refresh()
        except Unread as error:
            found.add("checked", "the chain", "its newest blocks", str(error))
        if [log.place for log in chain.logs][: len(before)] == before:
            break
    findings.take(found)


def _read(reading: AnswerCheck, pages: PublicApi | None) -> None:
    findings = reading.findings

    def part(requirement: str, where: str, run: Callable[[], None]) -> None:
        try:
            with findings.reading(requirement, where):
                run()
        except Unread as error:
            findings.add("checked", where, "an answer", str(error))

    part("status.totals", "/api/status", partial(check_status, reading))
    part("api.deployment", "/api/deployment", partial(check_deployment, reading))
    part("changes.log", "/api/changes", partial(check_changes, reading))
    part("list.items", "/api/bounties", partial(check_list, reading))
    world = replayed_until(reading.chain, reading.chain.head.number)
    for number, bounty in world.bounties.items():
        part("bounty.facts", f"/api/bounties/{number}", partial(check_bounty, reading, number))
        part("bounty.verdict", "/api/written-verdicts", partial(check_verdicts, reading, bounty))
        part("delivery.status", f"/api/bounties/{number}/delivery/status", partial(check_delivery, reading, bounty))
    accounts = {bounty.poster for bounty in world.bounties.values()}
    solvers = {solver for bounty in world.bounties.values() for solver in bounty.submissions}
    for address in sorted(accounts | solvers):
        part("account.record", f"/api/accounts/{address}", partial(check_account, reading, address))
    part("graphql.rows", "/subgraph", partial(check_graphql, reading))
    if pages is not None:
        part("pages.feed", "the feeds", partial(check_feeds, reading, pages, sorted(world.bounties)))
        for address in sorted(solvers):
            where = f"/people/{address}/calendar.ics"
            part("pages.calendar", where, partial(check_calendar, reading, pages, address))
        for address in sorted(accounts | solvers):
            where = f"/people/{address}/feed.json"
            part("pages.feed", where, partial(check_feed_of_account, reading, pages, address))
        part("pages.challenge", "the texts", partial(check_texts, reading, pages))
