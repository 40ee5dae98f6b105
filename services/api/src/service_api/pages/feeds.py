"""Atom feeds for reader programs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bounty_protocol.types import UnixSeconds, parse_address, parse_bounty_id
from feedgenerator import Atom1Feed
from flask import Blueprint, Response
from markupsafe import escape
from service_common.web.authentication import public, read_query
from service_common.web.dependencies import provided
from sqlalchemy import Connection
from werkzeug.exceptions import NotFound

from service_api.pages import formatting
from service_api.pages.answers import kept
from service_api.pages.entries import Chronicle, Entry, newest
from service_api.pages.person import read_person
from service_api.pages.routes import parsed
from service_api.pages.rows import (
    BOUNTY,
    CLAIM,
    IS_DECIDED,
    MOST_ROWS,
    SUBMISSION,
    VERDICT,
    BountyRow,
    ClaimRow,
    SubmissionRow,
    VerdictRow,
    read_bounties,
    read_bounties_by_id,
    read_lost,
    read_replacements,
    read_rows,
)
from service_api.pages.sources import PageSources
from service_api.versions import REVALIDATE, Version, text_version

routes = Blueprint("feeds", __name__)

ATOM: Final = "application/atom+xml"
FEED_LENGTH: Final = 50
_NOTHING_YET: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed. ``path`` is the page that shows the same."""

    title: str
    path: str
    entries: tuple[Entry, ...]


@routes.get("/feed.atom")
@public
def get_feed() -> Response:
    """Answer with the latest events of all bounties."""
    read_query(allowed=frozenset())

    def make(deps: PageSources) -> Feed:
        with deps.facts.open() as facts:
            return Feed("Bounties", "/", _entries(deps, facts.connection, _recent(facts.connection)))

    return _answer(make)


@routes.get("/bounties/<bounty_id>/feed.atom")
@public
def get_bounty_feed(bounty_id: str) -> Response:
    """Answer with the latest events of one bounty."""
    read_query(allowed=frozenset())
    number = parsed(bounty_id, parse_bounty_id)

    def make(deps: PageSources) -> Feed:
        with deps.facts.open() as facts:
            connection = facts.connection
            row = read_bounties_by_id(connection, {number}).get(number)
            if row is None:
                raise NotFound
            found = Happened(
                created=(row,),
                submitted=read_rows(connection, SubmissionRow, SUBMISSION.bounty_id == number, most=MOST_ROWS),
                lost=read_lost(connection, SUBMISSION.bounty_id == number),
                judged=read_rows(connection, VerdictRow, VERDICT.bounty_id == number, most=MOST_ROWS),
                claimed=read_rows(connection, ClaimRow, CLAIM.bounty_id == number, most=MOST_ROWS),
            )
            entries = _entries(deps, connection, found)
        title = row.title.title or f"Bounty {number}"
        return Feed(title, f"/bounties/{number}", entries)

    return _answer(make)


@routes.get("/people/<account>/feed.atom")
@public
def get_person_feed(account: str) -> Response:
    """Answer with the latest events of one account."""
    read_query(allowed=frozenset())
    address = parsed(account, parse_address)

    def make(deps: PageSources) -> Feed:
        with deps.facts.open() as facts:
            rows = read_person(facts.connection, address)
            lost = read_lost(facts.connection, SUBMISSION.solver_address == address)
            found = Happened(rows.posted, (), rows.submitted, lost, rows.judged, rows.claimed)
            entries = _entries(deps, facts.connection, found)
        return Feed(f"Account {address}", f"/people/{address}", entries)

    return _answer(make)


@dataclass(frozen=True, slots=True)
class Happened:
    """What a feed tells of. ``ended`` are the bounties that ended last, whenever they were created: nobody may have
    judged or claimed them."""

    created: tuple[BountyRow, ...] = ()
    ended: tuple[BountyRow, ...] = ()
    submitted: tuple[SubmissionRow, ...] = ()
    lost: tuple[SubmissionRow, ...] = ()
    judged: tuple[VerdictRow, ...] = ()
    claimed: tuple[ClaimRow, ...] = ()


def _recent(connection: Connection) -> Happened:
    ended_last = BOUNTY.settled_block.desc()
    return Happened(
        created=read_bounties(connection, most=FEED_LENGTH),
        ended=read_bounties(connection, IS_DECIDED, most=FEED_LENGTH, order=ended_last),
        judged=read_rows(connection, VerdictRow, most=FEED_LENGTH),
        claimed=read_rows(connection, ClaimRow, most=FEED_LENGTH),
    )


def _entries(deps: PageSources, connection: Connection, found: Happened) -> tuple[Entry, ...]:
    """Make entries for all of these, and for each Verdict replaced in the same bounties by any Guardian, so that the
    other Guardians see it.
    """
    known = {row.bounty_id: row for row in (*found.created, *found.ended)}
    named = {row.bounty_id for row in found.submitted} | {row.bounty_id for row in found.judged}
    named |= {row.bounty_id for row in found.claimed}
    known |= dict(read_bounties_by_id(connection, named - set(known)))
    replaced = read_replacements(connection, {each.bounty_id for each in found.judged})
    titles = {each: row.title for each, row in known.items()}
    made = Chronicle(deps.config.chain, deps.constants.token(), titles)
    return newest(
        (
            *map(made.created, found.created),
            *map(made.submitted, found.submitted),
            *map(made.lost, found.lost),
            *map(made.judged, found.judged),
            *map(made.replaced, replaced),
            *map(made.claimed, found.claimed),
            *(made.decided(row) for row in known.values() if row.settled_at is not None),
        )
    )


def _answer(make: Callable[[PageSources], Feed]) -> Response:
    def render() -> Version:
        deps = provided(PageSources)
        return text_version(_atom(make(deps), deps.config.public_url), ATOM, REVALIDATE)

    return kept(render, has_amounts=True)


class _AtomFeed(Atom1Feed):  # type: ignore[misc]  # the library has no types
    def latest_post_date(self) -> datetime:
        """Return a fixed date for a feed without entries: with the present moment, the library's choice, a poller would
        get the same empty feed again and again.
        """
        latest: datetime = super().latest_post_date()
        return latest if self.items else _NOTHING_YET


def _atom(feed: Feed, origin: str) -> str:
    made = _AtomFeed(
        title=f"{feed.title} – Bounty Escrow",
        link=origin + feed.path,
        description="",
        feed_url=f"{origin}{feed.path.rstrip('/')}/feed.atom",
        feed_guid=origin + feed.path,
        language="en",
    )
    for each in feed.entries:
        made.add_item(
            title=each.title,
            link=origin + each.path,
            description=str(escape(each.text)),  # the library declares it as HTML
            unique_id=each.id,
            categories=each.tags,
            pubdate=_time(each.at),
            updateddate=_time(each.changed_at),
        )
    return str(made.writeString("utf-8"))


def _time(at: UnixSeconds) -> datetime:
    return datetime.fromtimestamp(min(at, formatting.MOST_SECONDS), UTC)
