"""Feeds and calendars of the pages, compared with the replay."""

import re
from datetime import UTC, datetime
from typing import Final

from eth_utils.crypto import keccak

from service_checker.asking import PublicApi
from service_checker.expected import Moment, entry_times, feed_ids, lost_ids
from service_checker.reading import AnswerCheck
from service_checker.replay import ReplayedBounty

MOST_DATED: Final = 100
"""Open bounties whose deadlines a calendar surely has: it takes 200 events, two of each."""
CACHED_SECONDS: Final = 5
"""The pages keep answers for two seconds, and read an index that is a second behind."""


def check_feeds(reading: AnswerCheck, pages: PublicApi, bounty_ids: list[int]) -> None:
    """The feed of each bounty has an entry for each thing that happened, the newest hundred, and no other."""
    for bounty_id in bounty_ids:
        path = f"/bounties/{bounty_id}/feed.json"
        with reading.findings.reading("pages.feed", path):
            answer = pages.get(path)
            if not reading.findings.same("pages.feed", f"{path} status", 200, answer.status):
                continue
            begin = f"urn:bounty-escrow:{_chain_id(reading)}:{reading.chain.hub}:{bounty_id}:"
            shown = {str(entry["id"]).removeprefix(begin) for entry in answer.json()["items"]}
            reading.chain.refresh()
            head = reading.moment(reading.chain.head.number)
            earlier = head.block.number
            while earlier > 0 and reading.chain.block_at(earlier).time > head.block.time - CACHED_SECONDS:
                earlier -= 1
            possible = {number: reading.moment(number) for number in (head.block.number, earlier)}

            def entries(moment: Moment, shown: set[str] = shown, bounty_id: int = bounty_id) -> list[str]:
                bounty = moment.world.bounties.get(bounty_id)
                return sorted(feed_ids(bounty, shown)) if bounty else []

            reading.value("pages.feed", path, list(possible.values()), entries, sorted(shown))


def check_feed_of_account(reading: AnswerCheck, pages: PublicApi, address: str) -> None:
    """Each entry of an account's feed is of a bounty in which the account took part, and happened in it."""
    path = f"/people/{address}/feed.json"
    answer = pages.get(path)
    if not reading.findings.same("pages.feed", f"{path} status", 200, answer.status):
        return
    reading.chain.refresh()
    world = reading.moment(reading.chain.head.number).world
    begin = f"urn:bounty-escrow:{_chain_id(reading)}:{reading.chain.hub}:"
    for entry in answer.json()["items"]:
        number, _, what = str(entry["id"]).removeprefix(begin).partition(":")
        bounty = world.bounties.get(int(number)) if number.isascii() and number.isdigit() else None
        takes_part = bounty is not None and _takes_part(bounty, address)
        happened = bounty is not None and what in {*entry_times(bounty), *lost_ids(bounty)}
        reading.findings.holds("pages.feed", f"{path} {entry['id']}", "of the account", takes_part and happened, what)


def check_texts(reading: AnswerCheck, pages: PublicApi, bounty_ids: list[int]) -> None:
    """The challenge of each of these bounties as plain text; one that is not shown is counted."""
    world = reading.moment(reading.chain.head.number).world
    for bounty_id, bounty in ((each, world.bounties[each]) for each in bounty_ids if each in world.bounties):
        path = f"/bounties/{bounty_id}/challenge.md"
        answer = pages.get(path)
        if answer.status in {404, 451}:
            reading.findings.skip("pages.challenge", path)
        elif reading.findings.same("pages.challenge", f"{path} status", 200, answer.status):
            hashed = "0x" + keccak(answer.body).hex()
            reading.findings.same("pages.challenge", path, bounty.created.text("spec_commitment"), hashed)


def check_calendar(reading: AnswerCheck, pages: PublicApi, address: str) -> None:
    """The calendar of a Solver has the submission deadline of each open bounty that is ahead."""
    path = f"/people/{address}/calendar.ics"
    with reading.findings.reading("pages.calendar", path):
        answer = pages.get(path)
        if not reading.findings.same("pages.calendar", f"{path} status", 200, answer.status):
            return
        events = calendar(answer.body.decode())
        reading.chain.refresh()
        head = reading.moment(reading.chain.head.number)
        if sum(not each.ending and _takes_part(each, address) for each in head.world.bounties.values()) > MOST_DATED:
            reading.findings.skip("pages.calendar", path)
            return
        for bounty in head.world.bounties.values():
            old_enough = bounty.created.place.time < head.block.time - CACHED_SECONDS
            taken = bounty.submissions.get(address)
            if bounty.ending or taken is None or taken.place.time >= head.block.time - CACHED_SECONDS or not old_enough:
                continue
            deadline = bounty.amount("submission_deadline")
            if deadline <= head.block.time:
                continue
            uid = f"{head.world.chain_id}-{reading.chain.hub}-{bounty.id}-submission@bounty-escrow"
            wanted = datetime.fromtimestamp(deadline, UTC).strftime("%Y%m%dT%H%M%SZ")
            reading.findings.same("pages.calendar", f"{path} {uid} DTEND", wanted, events.get(uid, "nothing"))


def calendar(text: str) -> dict[str, str]:
    """When each event of an iCalendar text ends, by its UID; folded lines are joined."""
    found = dict[str, str]()
    for event in re.sub(r"\r?\n[ \t]", "", text).split("BEGIN:VEVENT")[1:]:
        lines = dict(line.split(":", 1) for line in reversed(event.splitlines()) if ":" in line)
        found[lines["UID"]] = lines["DTEND"]
    return found


def _takes_part(bounty: ReplayedBounty, address: str) -> bool:
    return address in {bounty.poster, bounty.recipient, *bounty.submissions, *bounty.roster.accounts}


def _chain_id(reading: AnswerCheck) -> int:
    return reading.moment(reading.chain.head.number).world.chain_id
