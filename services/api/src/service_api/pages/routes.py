"""The pages."""

import re
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlencode

from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import parse_address, parse_bounty_id
from bounty_protocol.wire.deployment import DeploymentTotals
from bounty_protocol.wire.values import MAX_SEARCH
from bounty_protocol.wire.withheld import WithheldQuery
from flask import Blueprint, Response, redirect
from service_common.db.hub_reads import Head, read_delivery_keys, read_fee_policy
from service_common.web.authentication import public, read_query
from service_common.web.dependencies import provided
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as PlainResponse

from service_api.bounties.rendering import fees_of
from service_api.bounties.show_bounty import show_bounty
from service_api.deployment.show_deployment import show_deployment
from service_api.deployment.show_status import read_deployment_totals, status_of
from service_api.moderation.decisions import list_withheld
from service_api.pages import bounty, filters, guardians, listing, person, status, wallets
from service_api.pages.answers import kept, only_now, page, static_page
from service_api.pages.entries import withheld_line
from service_api.pages.sources import PageSources
from service_api.pages.titles import read_challenge
from service_api.versions import REVALIDATE, Version, text_version

routes = Blueprint("pages", __name__, template_folder="templates")

T = TypeVar("T")
SHOWN_WITHHELD: Final = 100
Made = tuple[Head | None, dict[str, object]]
"""How far the index was, and what a template shows."""


@routes.get("/")
@public
def get_list() -> PlainResponse:
    """Answer with the list of bounties: search, filters, order, totals.

    A form also sends its empty fields: the canonical address of a state omits them.
    """
    values, deps = read_query(allowed=filters.PARAMETERS), provided(PageSources)
    token = deps.constants.token()
    search = filters.read_search(values, token)
    if not all(values.values()):
        return redirect(search.address(cursor=search.cursor), 303)

    def make() -> Made:
        with deps.facts.open() as facts:
            found = listing.list_page(deps, facts, search)
            totals = read_deployment_totals(facts.connection, facts.head.block_time)
        values = {"list": found, "search": search, "form": filters, "token": token, "totals": totals}
        return facts.head, values | _figures(totals)

    return page("list.html", make)


@routes.get("/bounties")
@public
def get_bounties() -> PlainResponse:
    """Redirect to the list: this is the address of a bounty, shortened by hand."""
    read_query(allowed=frozenset())
    return redirect("/", 301)


@routes.get("/people")
@public
def get_people() -> PlainResponse:
    """Redirect to the search for an account: this is an account's address, shortened."""
    read_query(allowed=frozenset())
    return redirect("/find", 301)


@routes.get("/find")
@public
def find() -> PlainResponse:
    """Redirect to a bounty by its number or an account by its address; search for any other text in `q`."""
    text = read_query(allowed=frozenset({"q"})).get("q", "").strip()
    number = re.fullmatch(r"#?([1-9][0-9]{0,18})", text)
    if number is not None:
        return redirect(f"/bounties/{parsed(number.group(1), parse_bounty_id)}", 303)
    try:
        return redirect(f"/people/{parse_address(text)}", 303)
    except ValueError:
        if text and not text.lower().startswith("0x"):
            return redirect(f"/?{urlencode({'show': filters.Filter.ALL.value, 'search': text[:MAX_SEARCH]})}", 303)
        return only_now("find.html", 404, query=text[:100])


@routes.get("/bounties/<bounty_id>")
@public
def get_bounty(bounty_id: str) -> Response:
    """Answer with state, award, deadline, reasons, challenge, timeline, money, Guardians, Submissions, record, and how
    to check them.
    """
    read_query(allowed=frozenset())
    number, deps = parsed(bounty_id, parse_bounty_id), provided(PageSources)

    def make() -> Made:
        found = bounty.bounty_page(deps, number)
        return found.head, {
            "page": found,
            "reasons": bounty.REASONS,
            "record_failures": bounty.RECORD_FAILURES,
            "wallet": wallets.wallet_data(deps.config, wallets.Actions.BOUNTY, detail=found.detail),
        }

    return page("bounty.html", make, acting=True)


@routes.get("/bounties/<bounty_id>/challenge.md")
@public
def get_challenge(bounty_id: str) -> Response:
    """Answer with the exact bytes of a challenge page, to be saved and hashed; only verified ones."""
    read_query(allowed=frozenset())
    number = parsed(bounty_id, parse_bounty_id)

    def make() -> Version:
        _, detail = show_bounty(provided(PageSources).records, number)
        if detail.withheld is not None:
            raise ServiceError("bounty_challenge_withheld", withheld_line(detail.withheld))
        found = read_challenge(detail.challenge, detail.facts.spec_commitment)
        if found is None:
            raise NotFound
        return text_version(found.content.decode(), "text/plain", REVALIDATE)

    return kept(make)


@routes.get("/people/<account>")
@public
def get_person(account: str) -> Response | PlainResponse:
    """Answer with what an account can do now; what it posted, submitted, judged and was paid."""
    read_query(allowed=frozenset())
    address = parsed(account, parse_address)
    if account != address:
        return redirect(f"/people/{address}", 301)

    def make() -> Made:
        found = person.person_page(provided(PageSources), address)
        return found.head, {"page": found}

    return page("person.html", make)


@routes.get("/guardians")
@public
def get_guardians() -> Response:
    """Answer with the roster and earlier ones; the Guardians' activity; how many bounties each judged, and how fast."""
    read_query(allowed=frozenset())

    def make() -> Made:
        deps = provided(PageSources)
        found = guardians.guardians_page(deps)
        return found.head, {"page": found, "wallet": wallets.wallet_data(deps.config, wallets.Actions.GUARDIANS)}

    return page("guardians.html", make, acting=True, has_amounts=False)


@routes.get("/publish")
@public
def get_publish() -> Response:
    """Answer with the form where a Poster writes a page, publishes it and funds it with a wallet."""
    read_query(allowed=frozenset())

    def make() -> Made:
        deps = provided(PageSources)
        head, terms = _stated(deps)
        return head, {"wallet": wallets.wallet_data(deps.config, wallets.Actions.PUBLISH, terms=terms)}

    return page("publish.html", make, acting=True, has_amounts=False)


@routes.get("/deployment")
@public
def get_deployment() -> Response:
    """Answer with state, totals, versions, Hub, token, fees, limits and keys."""
    read_query(allowed=frozenset())

    def make() -> Made:
        deps = provided(PageSources)
        deps.constants.require("hub", "beacon")
        with deps.facts.open() as facts:
            totals = read_deployment_totals(facts.connection, facts.head.block_time)
            stated = status_of(deps.facts, facts.connection, facts.head, totals)
            found = show_deployment(facts, deps.constants, deps.config.web.public_host)
            key = read_delivery_keys(facts.connection, facts.head.block_time).current
        values = {"key": key, "found": found, "now": deps.clock.now(), "status": stated, "totals": totals}
        return facts.head, values | {"health": status.health_of(stated)} | _figures(totals)

    return page("deployment.html", make)


@routes.get("/withheld")
@public
def get_withheld() -> Response:
    """Answer with what the operator does not show here, why, and where to report or dispute it."""
    given = read_query(allowed=frozenset({"after"})).get("after", "0")
    if re.fullmatch(r"0|[1-9][0-9]{0,17}", given) is None:
        raise NotFound

    def make() -> Made:
        deps, after = provided(PageSources), int(given)
        with deps.facts.open() as facts:
            query = WithheldQuery(after, SHOWN_WITHHELD)
            found = list_withheld(facts.connection, query, deps.config.report_address)
        return facts.head, {"found": found, "after": after}

    return page("withheld.html", make, has_amounts=False)


@routes.get("/how-it-works")
@public
def get_how_it_works() -> Response:
    """Answer with an explanation of a bounty's life."""
    read_query(allowed=frozenset())
    return static_page("how_it_works.html")


@routes.get("/glossary")
@public
def get_glossary() -> Response:
    """Answer with the glossary of the pages."""
    read_query(allowed=frozenset())
    return static_page("glossary.html")


def _figures(totals: DeploymentTotals) -> dict[str, object]:
    return {"tallies": status.tallies_of(totals), "paid": status.paid_of(totals)}


def _stated(deps: PageSources) -> tuple[Head | None, wallets.StatedTerms | None]:
    """Return the terms for the page's form, each None while it cannot be read: a wallet reads them as well."""
    head = None
    try:
        with deps.facts.open() as facts:
            head, fees = facts.head, read_fee_policy(facts.connection)
        token = deps.constants.token()
    except (ServiceError, ChainUnavailable, RpcRefused):
        return head, None
    delay = int(deps.constants.hub.reveal_delay)
    return head, None if fees is None else wallets.StatedTerms(token, fees_of(fees), delay)


def parsed(text: str, parse: Callable[[str], T]) -> T:
    """Parse a part of a path; 404 for anything else."""
    try:
        return parse(text)
    except ValueError:
        raise NotFound from None
