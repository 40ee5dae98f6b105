"""Drawings: a bounty's timeline for light and dark, wide and narrow; its card for links; the lifecycle."""

import re
from typing import Final

from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from service_common.web.versions import DOCUMENT, REVALIDATE, Version, text_version, versioned
from werkzeug.exceptions import NotFound

from service_web.dependencies import dependencies
from service_web.routes.pages import parsed_bounty_id
from service_web.views import lifecycle, timeline
from service_web.views.bounty import milestones_of, record_of
from service_web.views.money import payments
from service_web.views.timeline import Shape, Theme

routes = Blueprint("drawings", __name__)

SVG: Final = "image/svg+xml"
_NAME: Final = re.compile(r"(wide|narrow)-(light|dark)\.svg")


@routes.get("/bounties/<bounty_id>/timeline/<name>")
@public
def get_timeline(bounty_id: str, name: str) -> Response:
    """The timeline of a bounty."""
    read_query(allowed=frozenset())
    number, (shape, theme) = parsed_bounty_id(bounty_id), _parsed(name)

    def make() -> Version:
        deps = dependencies()
        detail, history = deps.api.bounty(number).value, deps.api.history(number).value
        record, now = record_of(detail), deps.clock.now()
        made = payments(record.amounts, history.claims) if record else ()
        drawn = timeline.draw(milestones_of(detail, history, made, now), now, theme, shape)
        return text_version(drawn, SVG, REVALIDATE)

    return versioned(make)


@routes.get("/how-it-works/<name>")
@public
def get_lifecycle(name: str) -> Response:
    """The life of any bounty."""
    read_query(allowed=frozenset())
    shape, theme = _parsed(name)
    return versioned(lambda: text_version(lifecycle.draw(theme, shape), SVG, DOCUMENT))


def _parsed(name: str) -> tuple[Shape, Theme]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise NotFound
    return Shape(found.group(1)), Theme(found.group(2))
