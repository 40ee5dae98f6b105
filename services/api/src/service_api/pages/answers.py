"""Answers of the pages: each with their policy, kept for everybody for a moment as the public reads of the API are."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from flask import Response, render_template
from service_common.db.hub_reads import Head
from service_common.web.dependencies import provided

from service_api.pages.freshness import notices
from service_api.pages.policy import POLICY, acting_policy, headers_of
from service_api.pages.sources import PageSources
from service_api.versions import DOCUMENT, REVALIDATE, Version, text_version, versioned

HTML: Final = "text/html"


def page(
    template: str,
    make: Callable[[], tuple[Head | None, Mapping[str, object]]],
    *,
    acting: bool = False,
    has_amounts: bool = True,
) -> Response:
    """Answer with a page and a note on its age, by the head at which it was read.

    ``acting``: a wallet can act on it. ``has_amounts``: it names the escrow token.
    """
    deps = provided(PageSources)
    policy = acting_policy(deps.config) if acting else POLICY

    def render() -> Version:
        head, values = make()
        text = render_template(template, notices=notices(head, deps.clock.now()), **values)
        return text_version(text, HTML, REVALIDATE)

    return kept(render, policy, has_amounts=has_amounts)


def static_page(template: str) -> Response:
    """Answer with a page that needs no data from the index."""
    return kept(lambda: text_version(render_template(template, notices=()), HTML, DOCUMENT))


def kept(make: Callable[[], Version], policy: str = POLICY, *, has_amounts: bool = False) -> Response:
    """Answer with a version, with a content policy."""
    if has_amounts:
        provided(PageSources).constants.token()  # read it before others wait for the same page
    return versioned(lambda: replace(make(), headers=headers_of(policy)))


def only_now(template: str, status: int = 200, **values: object) -> Response:
    """Answer with a page that no cache keeps."""
    response = Response(render_template(template, notices=(), **values), status, mimetype=HTML)
    response.headers["Cache-Control"] = "no-store"
    return response
