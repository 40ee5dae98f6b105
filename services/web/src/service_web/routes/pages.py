"""The pages."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final
from urllib.parse import urlencode

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, parse_address, parse_bounty_id
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.values import MAX_SEARCH
from flask import Blueprint, Response, redirect, render_template
from service_common.web.authentication import public, public_body, read_query
from service_common.web.callers import callers
from service_common.web.versions import DOCUMENT, REVALIDATE, Version, text_version
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as PlainResponse

from service_web.api.client import ApiAbsent, ApiRefused, ApiUnavailable
from service_web.api.rows import IndexHead
from service_web.dependencies import dependencies
from service_web.markdown import render
from service_web.versions import versioned_page
from service_web.views import bounty, filters, guardians, listing, person, status, wallets
from service_web.views.entries import withheld_line
from service_web.views.freshness import notices

routes = Blueprint("pages", __name__)

HTML: Final = "text/html"
SHOWN_WITHHELD: Final = 100
MAX_PREVIEW: Final = 256 * 1024
"""Of a challenge page."""


def page(template: str, make: Callable[[], dict[str, object]]) -> Response:
    """A page made of what the API answers, with what a reader has to know about how old that is."""

    def render() -> Version:
        deps = dependencies()
        values = make()
        head = _head()
        try:
            deployment = deps.api.deployment().value
        except ApiUnavailable:
            deployment = None
        chain = None if deployment is None else status.status_of(deps, deployment).chain_head
        warned = notices(head, chain, deployment, deps.clock.now())
        text = render_template(template, notices=warned, head=head, deployment=deployment, **values)
        return text_version(text, HTML, REVALIDATE)

    return versioned_page(render)


def static_page(template: str) -> Response:
    """A page that needs nothing from the API."""
    return versioned_page(lambda: text_version(render_template(template, notices=()), HTML, DOCUMENT))


@routes.get("/")
@public
def get_list() -> PlainResponse:
    """Bounties; search, filters, order; what all bounties come to.

    A form sends its empty fields, too: each state has one address, without them.
    """
    values = read_query(allowed=filters.PARAMETERS)
    search = filters.read_search(values, dependencies().api.deployment().value.escrow_token)
    if not all(values.values()):
        return redirect(search.address(place=search.place), 303)

    def make() -> dict[str, object]:
        deps = dependencies()
        terms, found = deps.api.deployment().value, listing.list_page(deps, search)
        figures = status.status_of(deps, terms).figures
        return {"list": found, "search": search, "form": filters, "terms": terms, "figures": figures}

    return page("list.html", make)


@routes.get("/bounties")
@public
def get_bounties() -> PlainResponse:
    """The list: the address of a bounty, shortened by hand."""
    read_query(allowed=frozenset())
    return redirect("/", 301)


@routes.get("/people")
@public
def get_people() -> PlainResponse:
    """Where an account is looked for: the same for accounts."""
    read_query(allowed=frozenset())
    return redirect("/find", 301)


@routes.get("/find")
@public
def find() -> PlainResponse:
    """Leads to a bounty by its number, to an account by its address; other text of `q` is searched for."""
    text = read_query(allowed=frozenset({"q"})).get("q", "").strip()
    number = re.fullmatch(r"#?([1-9][0-9]{0,18})", text)
    if number is not None:
        return redirect(f"/bounties/{parsed_bounty_id(number.group(1))}", 303)
    try:
        return redirect(f"/people/{parse_address(text)}", 303)
    except ValueError:
        if text and not text.lower().startswith("0x"):
            return redirect(f"/?{urlencode({'show': filters.Filter.ALL.value, 'search': text[:MAX_SEARCH]})}", 303)
        response = Response(render_template("find.html", notices=(), query=text[:100]), 404, mimetype=HTML)
        response.headers["Cache-Control"] = "no-store"
        return response


@routes.get("/bounties/<bounty_id>")
@public
def get_bounty(bounty_id: str) -> Response:
    """State, award, deadline, reasons, challenge, timeline, money, Guardians, Submissions, record, how to check it."""
    read_query(allowed=frozenset())
    number = parsed_bounty_id(bounty_id)

    def make() -> dict[str, object]:
        deps = dependencies()
        detail = deps.api.bounty(number).value
        found = bounty.bounty_page(deps, detail)
        return {
            "page": found,
            "reasons": bounty.REASONS,
            "record_failures": bounty.RECORD_FAILURES,
            "wallet": _wallet(wallets.Actions.BOUNTY, detail),
        }

    return page("bounty.html", make)


@routes.get("/bounties/<bounty_id>/challenge.md")
@public
def get_challenge(bounty_id: str) -> Response:
    """The exact bytes of a challenge page, to be saved and hashed; only verified ones."""
    read_query(allowed=frozenset())
    number = parsed_bounty_id(bounty_id)

    def make() -> Version:
        deps = dependencies()
        detail = deps.api.bounty(number).value
        found = deps.challenges.of(detail)
        if detail.withheld is not None:
            raise ServiceError("bounty_challenge_withheld", withheld_line(detail.withheld))
        if found is None:
            raise ApiAbsent
        return text_version(found.content.decode(), "text/plain", REVALIDATE)

    return versioned_page(make)


@routes.get("/people/<account>")
@public
def get_person(account: str) -> Response | PlainResponse:
    """What waits for an account; what it posted, submitted, judged and was paid."""
    read_query(allowed=frozenset())
    address = parsed_account(account)
    if account != address:
        return redirect(f"/people/{address}", 301)
    return page("person.html", lambda: {"page": person.person_page(dependencies(), address)})


@routes.get("/guardians")
@public
def get_guardians() -> Response:
    """The roster and earlier ones; signs of life; how many bounties each judged, and how fast."""
    read_query(allowed=frozenset())

    def make() -> dict[str, object]:
        found = guardians.guardians_page(dependencies())
        return {"page": found, "wallet": _wallet(wallets.Actions.GUARDIANS)}

    return page("guardians.html", make)


@routes.get("/publish")
@public
def get_publish() -> Response:
    """Where a Poster writes a page, publishes it and funds it with a wallet."""
    read_query(allowed=frozenset())
    return page("publish.html", lambda: {"wallet": _wallet(wallets.Actions.PUBLISH)})


@routes.post("/publish/preview")
@public_body("text/markdown", MAX_PREVIEW)
def preview(text: bytes) -> Response:
    """A challenge (`text/markdown`, at most 256 KiB) as its page would show it. Nothing of it is kept or logged."""
    read_query(allowed=frozenset())
    known = callers()
    with nullcontext() if known is None else known.read():
        shown = render(text.decode("utf-8", "replace"))
        response = Response(render_template("preview.html", notices=(), shown=shown), mimetype=HTML)
    response.headers["Cache-Control"] = "no-store"
    return response


@routes.get("/deployment")
@public
def get_deployment() -> Response:
    """State, totals, versions, Hub, token, fees, limits and keys."""
    read_query(allowed=frozenset())

    def make() -> dict[str, object]:
        deps = dependencies()
        try:
            key = deps.api.delivery_key().value
        except (ApiAbsent, ApiRefused, ApiUnavailable):
            key = None
        now, found, head = deps.clock.now(), deps.api.deployment().value, _head()
        stated = status.status_of(deps, found)
        health = status.health_of(stated, head, now)
        return {
            "key": key, "found": found, "now": now, "status": stated, "health": health, "figures": stated.figures,
            "pages_version": status.PAGES_VERSION,
        }  # fmt: skip

    return page("deployment.html", make)


@routes.get("/withheld")
@public
def get_withheld() -> Response:
    """What the operator does not show here, why, and where that is reported or disputed."""
    given = read_query(allowed=frozenset({"after"})).get("after", "0")
    if re.fullmatch(r"0|[1-9][0-9]{0,17}", given) is None:
        raise NotFound

    def make() -> dict[str, object]:
        return {"found": dependencies().api.withheld(int(given), SHOWN_WITHHELD).value, "after": int(given)}

    return page("withheld.html", make)


@routes.get("/how-it-works")
@public
def get_how_it_works() -> Response:
    """What happens with a bounty."""
    read_query(allowed=frozenset())
    return static_page("how_it_works.html")


@routes.get("/glossary")
@public
def get_glossary() -> Response:
    """The terms of the pages."""
    read_query(allowed=frozenset())
    return static_page("glossary.html")


def _wallet(actions: wallets.Actions, detail: BountyDetail | None = None) -> dict[str, object]:
    deps = dependencies()
    return wallets.wallet_data(deps.config, deps.rounds.info(), actions, detail)


def parsed_bounty_id(text: str) -> BountyId:
    """A bounty's number in a path; no page for anything else."""
    try:
        return parse_bounty_id(text)
    except ValueError:
        raise NotFound from None


def parsed_account(text: str) -> Address:
    """An account in a path; no page for anything else."""
    try:
        return parse_address(text)
    except ValueError:
        raise NotFound from None


def _head() -> IndexHead | None:
    try:
        return dependencies().api.head().value
    except ApiUnavailable:
        return None
