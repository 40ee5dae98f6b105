"""Drawings: a bounty's timeline for light and dark, wide and narrow; its card for links; the lifecycle."""

import re
from functools import lru_cache
from typing import Final

from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.deployment import TokenDescription
from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from service_common.web.versions import DOCUMENT, FINALIZED, REVALIDATE, Version, bytes_version, text_version
from werkzeug.exceptions import NotFound

from service_web import formatting
from service_web.dependencies import dependencies
from service_web.routes.pages import parsed_bounty_id
from service_web.texts import gettext, in_english
from service_web.versions import versioned_page
from service_web.views import lifecycle, timeline
from service_web.views.bounty import milestones_of, record_of
from service_web.views.card import draw_card, is_drawable
from service_web.views.money import award_of, payments
from service_web.views.stage import LABELS, next_deadline, stage_of
from service_web.views.timeline import Shape, Theme

routes = Blueprint("drawings", __name__)

SVG: Final = "image/svg+xml"
_MAX_CARDS: Final = 256
_NAME: Final = re.compile(r"(wide|narrow)-(light|dark)\.svg")


@routes.get("/bounties/<bounty_id>/timeline/<name>")
@public
def get_timeline(bounty_id: str, name: str) -> Response:
    """The timeline of a bounty, wide or narrow, light or dark."""
    read_query(allowed=frozenset())
    number, (shape, theme) = parsed_bounty_id(bounty_id), _parsed(name)

    def make() -> Version:
        deps = dependencies()
        detail, history = deps.api.bounty(number).value, deps.api.history(number).value
        record, now = record_of(detail), deps.clock.now()
        made = payments(record.amounts, history.claims) if record else ()
        drawn = timeline.draw(milestones_of(detail, history, made, now), now, theme, shape)
        return text_version(drawn, SVG, REVALIDATE)

    return versioned_page(make)


@routes.get("/bounties/<bounty_id>/card.png")
@public
def get_card(bounty_id: str) -> Response:
    """The picture that a link shows elsewhere (Open Graph)."""
    read_query(allowed=frozenset())
    number = parsed_bounty_id(bounty_id)

    def make() -> Version:
        deps = dependencies()
        detail, token = deps.api.bounty(number).value, deps.api.deployment().value.escrow_token
        challenge = deps.challenges.of(detail)
        now, title = deps.clock.now(), (challenge.title.title if challenge else None) or ""
        if detail.withheld is not None:
            title = _withheld_title()
        tags = challenge.title.tags if challenge else ()
        shown = _beside_the_title(detail, token, now)
        if not all(map(is_drawable, shown)):
            with in_english():
                shown = _beside_the_title(detail, token, now)
        return bytes_version(card(title, *shown, tags), "image/png", FINALIZED)

    return versioned_page(make)


def _withheld_title() -> str:
    title = gettext("The operator withholds this page")
    if is_drawable(title):
        return title
    with in_english():
        return gettext("The operator withholds this page")


def _beside_the_title(detail: BountyDetail, token: TokenDescription, now: UnixSeconds) -> tuple[str, str, str]:
    """The bounty's number, the award, and what happens next."""
    stage = stage_of(detail.facts, now, has_submissions=detail.active_submission_count > 0)
    deadline = next_deadline(detail.facts, stage)
    note = gettext(LABELS[stage]) + (f"  ·  {deadline.name}: {formatting.moment(deadline.at)}" if deadline else "")
    award = gettext("%(amount)s to the winner", amount=formatting.amount(award_of(detail.facts), token))
    return gettext("Bounty %(number)s", number=detail.bounty_id), award, note


@lru_cache(maxsize=_MAX_CARDS)
def card(title: str, number: str, award: str, note: str, tags: tuple[str, ...] = ()) -> bytes:
    """A card, drawn once as long as nothing on it changes: it takes as long as many pages."""
    return draw_card(title, number, award, note, tags)


@routes.get("/how-it-works/<name>")
@public
def get_lifecycle(name: str) -> Response:
    """The life of any bounty, drawn."""
    read_query(allowed=frozenset())
    shape, theme = _parsed(name)
    return versioned_page(lambda: text_version(lifecycle.draw(theme, shape), SVG, DOCUMENT))


def _parsed(name: str) -> tuple[Shape, Theme]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise NotFound
    return Shape(found.group(1)), Theme(found.group(2))
