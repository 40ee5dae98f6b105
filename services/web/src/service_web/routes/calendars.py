"""Calendars: the deadlines of an account, with reminders."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from bounty_protocol.domain.lifecycle import BountyStatus
from bounty_protocol.types import Address, BountyId
from flask import Blueprint, Response
from icalendar import Alarm, Calendar, Event
from service_common.web.authentication import public, read_query
from service_common.web.versions import REVALIDATE, Version, text_version

from service_web import formatting
from service_web.api.rows import BountyRow
from service_web.challenge import NO_TITLE
from service_web.dependencies import Dependencies, dependencies
from service_web.routes.feeds import rows_of_person, titles_of
from service_web.routes.pages import parsed_account
from service_web.texts import current_texts, gettext, marked
from service_web.versions import versioned_page
from service_web.views.entries import withheld_line
from service_web.views.judging import to_judge

routes = Blueprint("calendars", __name__)

CALENDAR: Final = "text/calendar"
_REMINDERS: Final = (timedelta(days=1), timedelta(hours=1))
_MAX_EVENTS: Final = 200
"""The soonest ones, then those that have passed."""
_LENGTH: Final = timedelta(minutes=15)
"""Of an event, which ends at the deadline."""
_NAMES: Final = {
    "submission": marked("Submissions close"),
    "judging": marked("Last moment to judge"),
    "decided": marked("Judging ends"),
}


@routes.get("/people/<account>/calendar.ics")
@public
def get_calendar(account: str) -> Response:
    """The deadlines of an account's open bounties, with reminders a day and an hour before."""
    read_query(allowed=frozenset())
    address = parsed_account(account)

    def make() -> Version:
        deps = dependencies()
        _, known = rows_of_person(deps, address)
        judging = {each.bounty_id for each in to_judge(deps, address).items}
        bounties = dict(known) | dict(deps.api.bounty_rows(frozenset(judging - set(known))))
        calendar = _calendar(deps, address, bounties, judging)
        return text_version(calendar, CALENDAR, REVALIDATE)

    return versioned_page(make, for_programs=True)


def _calendar(
    deps: Dependencies, account: Address, bounties: Mapping[BountyId, BountyRow], judging: set[BountyId]
) -> str:
    calendar = Calendar()
    calendar.add("prodid", f"-//Bounty Escrow Service//pages//{current_texts().language.upper()}")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", gettext("Bounties of %(account)s", account=formatting.short(account)))
    titles, found = titles_of(deps, bounties), deps.api.deployment().value
    now = deps.clock.now()
    due = [(at < now, at, row.bounty_id, kind) for row in bounties.values() for kind, at in _deadlines(row, judging)]
    for _, at, bounty_id, kind in sorted(due)[:_MAX_EVENTS]:
        title = titles.get(bounty_id, NO_TITLE).title or gettext("Bounty %(number)s", number=bounty_id)
        event = _event(f"{gettext(_NAMES[kind])}: {title}", datetime.fromtimestamp(at, UTC))
        event.add("uid", f"{found.chain_id}-{found.hub_address}-{bounty_id}-{kind}@bounty-escrow")
        event.add("dtstamp", datetime.fromtimestamp(bounties[bounty_id].time, UTC))
        if (withheld := titles.get(bounty_id, NO_TITLE).withheld) is not None:
            event.add("description", withheld_line(withheld))
        event.add("url", f"{deps.config.pages_url}/bounties/{bounty_id}")
        calendar.add_component(event)
    return str(calendar.to_ical(), "utf-8")


def _event(summary: str, ends: datetime) -> Event:
    event = Event()
    event.add("summary", summary)
    event.add("dtstart", ends - _LENGTH)
    event.add("dtend", ends)
    for before in _REMINDERS:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", summary)
        alarm.add("trigger", _LENGTH - before)  # from the event's start
        event.add_component(alarm)
    return event


def _deadlines(row: BountyRow, judging: set[BountyId]) -> Iterator[tuple[str, int]]:
    """The moments of an open bounty that matter, each with the kind that identifies it; none that has no date."""
    if row.status is BountyStatus.OPEN and row.judging_deadline <= formatting.MOST_SECONDS:
        yield "submission", row.submission_deadline
        yield ("judging" if row.bounty_id in judging else "decided"), row.judging_deadline
