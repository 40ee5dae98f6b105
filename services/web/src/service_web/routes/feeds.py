"""Atom feeds for reader programs."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bounty_protocol.domain.readable import readable_line
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, UnixSeconds
from feedgenerator import Atom1Feed
from flask import Blueprint, Response
from markupsafe import escape
from service_common.web.authentication import public, read_query
from service_common.web.versions import REVALIDATE, Version, text_version
from werkzeug.exceptions import NotFound

from service_web import formatting
from service_web.api.answers import PersonRows
from service_web.api.rows import BountyRow, VerdictRow
from service_web.challenge import NO_TITLE, Title
from service_web.dependencies import Dependencies, dependencies
from service_web.routes.pages import parsed_account, parsed_bounty_id
from service_web.texts import current_texts, gettext
from service_web.versions import versioned_page
from service_web.views import filters
from service_web.views.entries import Chronicle, Entry, endings, newest

routes = Blueprint("feeds", __name__)

ATOM: Final = "application/atom+xml"
MAX_TITLES: Final = 200
_NOTHING_YET: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed. ``path`` is the page that shows the same; ``query`` is that of a search."""

    title: str
    path: str
    entries: tuple[Entry, ...]
    query: str = ""

    @property
    def address(self) -> str:
        """Its own path and query."""
        return f"{self.path.partition('?')[0].rstrip('/')}/feed.atom{self.query}"


@routes.get("/feed.atom")
@public
def get_feed() -> Response:
    """What happened last: of all bounties, or those of a search, tag, award, deadlines, Poster or Guardian."""
    values = read_query(allowed=filters.FOLLOWED)

    def make() -> Feed:
        deps = dependencies()
        deployment = deps.api.deployment().value
        search = filters.read_search({**values, "show": filters.Filter.ALL}, deployment.escrow_token)
        if search.problems:
            raise ServiceError("invalid_request", " ".join(search.problems.values()))
        found = deps.api.followed(search.query) if search.texts else deps.api.recent().value
        named = {each.bounty_id for each in found.verdicts} | {each.bounty_id for each in found.claims}
        known = bounties_named(deps, found.created + found.decided, named)
        chronicle = Chronicle(deployment, titles_of(deps, known))
        entries = [chronicle.created(each) for each in found.created]
        entries += judged(deps, chronicle, found.verdicts)
        entries += [chronicle.claimed(each) for each in found.claims]
        entries += endings(chronicle, known.values())
        title = ", ".join([gettext("Bounties"), *(f"{each.name}: {readable_line(each.text)}" for each in search.set)])
        _, question_mark, query = (search.feed() or "").partition("?")
        return Feed(title, search.address(), newest(entries), question_mark + query)

    return versioned_page(lambda: _rendered(make()), for_programs=True)


@routes.get("/bounties/<bounty_id>/feed.atom")
@public
def get_bounty_feed(bounty_id: str) -> Response:
    """The same of one bounty."""
    read_query(allowed=frozenset())
    number = parsed_bounty_id(bounty_id)

    def make() -> Feed:
        deps = dependencies()
        known = deps.api.bounty_rows(frozenset({number}))
        if number not in known:
            raise NotFound
        history, deployment = deps.api.history(number).value, deps.api.deployment().value
        chronicle = Chronicle(deployment, titles_of(deps, known))
        entries = [chronicle.created(known[number])]
        entries += [chronicle.submitted(each) for each in history.submissions]
        entries += [chronicle.lost(each) for each in deps.api.lost_of(number)]
        entries += judged(deps, chronicle, history.verdicts)
        entries += [chronicle.claimed(each) for each in history.claims]
        entries += endings(chronicle, known.values())
        title = chronicle.titles.get(number, NO_TITLE).title or gettext("Bounty %(number)s", number=number)
        return Feed(title, f"/bounties/{number}", newest(entries))

    return versioned_page(lambda: _rendered(make()), for_programs=True)


@routes.get("/people/<account>/feed.atom")
@public
def get_person_feed(account: str) -> Response:
    """The same of one account."""
    read_query(allowed=frozenset())
    address = parsed_account(account)

    def make() -> Feed:
        deps = dependencies()
        found, known = rows_of_person(deps, address)
        chronicle = Chronicle(deps.api.deployment().value, titles_of(deps, known))
        entries = [chronicle.created(each) for each in found.posted]
        entries += [chronicle.submitted(each) for each in found.submitted]
        entries += [chronicle.lost(each) for each in deps.api.lost_by(address)]
        entries += judged(deps, chronicle, found.judged)
        entries += [chronicle.claimed(each) for each in found.claimed]
        entries += endings(chronicle, known.values())
        return Feed(gettext("Account %(account)s", account=address), f"/people/{address}", newest(entries))

    return versioned_page(lambda: _rendered(make()), for_programs=True)


def judged(deps: Dependencies, chronicle: Chronicle, verdicts: tuple[VerdictRow, ...]) -> list[Entry]:
    """The latest Verdicts, and each that was replaced in the same bounties, by any Guardian: the others see it, too."""
    replaced = deps.api.replacements(frozenset(each.bounty_id for each in verdicts))
    return [*map(chronicle.judged, verdicts), *map(chronicle.replaced, replaced)]


def rows_of_person(deps: Dependencies, account: Address) -> tuple[PersonRows, Mapping[BountyId, BountyRow]]:
    """The account's rows and every bounty that they name."""
    found = deps.api.person(account).value
    return found, bounties_named(deps, found.posted, found.named)


def bounties_named(
    deps: Dependencies, known: tuple[BountyRow, ...], named: Set[BountyId]
) -> Mapping[BountyId, BountyRow]:
    """Those that are known, and the others by their ids."""
    found = {row.bounty_id: row for row in known}
    return found | dict(deps.api.bounty_rows(frozenset(named - set(found))))


def titles_of(deps: Dependencies, bounties: Mapping[BountyId, BountyRow]) -> Mapping[BountyId, Title]:
    """The titles of the newest of them."""
    recent = sorted(bounties.values(), key=lambda each: -each.bounty_id)[:MAX_TITLES]
    return deps.challenges.titles(recent)


def _rendered(feed: Feed) -> Version:
    return text_version(_atom(feed, dependencies().config.pages_url), ATOM, REVALIDATE)


class _AtomFeed(Atom1Feed):  # type: ignore[misc]  # the library has no types
    def latest_post_date(self) -> datetime:
        """Of no entries the library names this moment, and who polls would get the same empty feed again and again."""
        latest: datetime = super().latest_post_date()
        return latest if self.items else _NOTHING_YET


def _atom(feed: Feed, origin: str) -> str:
    made = _AtomFeed(
        title=f"{feed.title} – Bounty Escrow",
        link=origin + feed.path,
        description="",
        feed_url=origin + feed.address,
        feed_guid=origin + feed.path,
        language=current_texts().language,
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
