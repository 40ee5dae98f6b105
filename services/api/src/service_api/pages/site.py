"""The pages in the Flask app of the API: their routes, templates, language, policy and errors."""

from typing import Final

from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.errors import ServiceError
from flask import Flask, Response, current_app, redirect, render_template, request
from jinja2 import StrictUndefined
from service_common.log import correlation_id
from service_common.web.dependencies import provide
from service_common.web.problems import PAGE
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as PlainResponse

from service_api.pages import agents, assets, feeds, formatting, rounds, routes
from service_api.pages.answers import HTML
from service_api.pages.policy import POLICY, SEALER_POLICY, headers_of
from service_api.pages.sources import PageSources
from service_api.pages.stage import LABELS, MEANINGS

BLUEPRINTS: Final = (routes.routes, feeds.routes, assets.routes, rounds.routes, agents.routes)
PROGRAMS: Final = frozenset({"api", "subgraph", "healthz"})
"""First parts of paths that programs call: their errors are JSON."""
_ABSENT: Final = "There is no such page"
_NO_BOUNTY: Final = "There is no such bounty"
_REFUSED: Final = "This request cannot be answered"
_TITLES: Final = {
    404: _ABSENT,
    429: "Too many requests",
    451: "Withheld by the operator of this service",
    500: "This page cannot be shown",
}
_AWAY: Final = "Not available at the moment"
_BUSY: Final = "Too busy at the moment"


def install_pages(app: Flask, deps: PageSources) -> None:
    """Give ``app`` the pages."""
    _install_templates(app, deps)
    urls = deps.config.beacon.urls
    provide(app, rounds.Rounds(urls, lambda: deps.constants.beacon, deps.relays, deps.clock))
    app.extensions[PAGE] = _problem
    app.before_request(_without_slash)
    for each in BLUEPRINTS:
        app.register_blueprint(each)
    app.after_request(_with_policy)


def _install_templates(app: Flask, deps: PageSources) -> None:
    """Add the names that every template may use."""
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        config=deps.config,
        style=assets.STYLE_PATH,
        icon=assets.ICON_PATH,
        connect=assets.CONNECT_PATH,
        labels=LABELS,
        meanings=MEANINGS,
        counted=formatting.counted,
        relative=formatting.relative,
    )
    app.jinja_env.filters.update(
        moment=formatting.moment,
        day=formatting.day,
        machine_time=formatting.machine_time,
        span=formatting.span,
        amount=formatting.amount,
        amount_rounded=formatting.amount_rounded,
        percent=formatting.percent,
        short=formatting.short,
        readable=readable_line,
    )


def _is_page() -> bool:
    return request.path.lstrip("/").split("/")[0] not in PROGRAMS


def _with_policy(response: Response) -> Response:
    """Give an answer of the pages their policy, unless it has one."""
    if _is_page() and "Content-Security-Policy" not in response.headers:
        response.headers.extend(headers_of(SEALER_POLICY if request.path == assets.SEALER_PATH else POLICY))
    return response


def _without_slash() -> PlainResponse | None:
    """Redirect from a page's address with a trailing slash to the address without it."""
    path = request.path.removesuffix("/")
    if request.url_rule is not None or path == request.path or path.startswith("//") or not path or not _is_page():
        return None
    try:
        current_app.create_url_adapter(request).match(path, "GET")  # type: ignore[union-attr]  # there is a request
    except HTTPException:
        return None
    return redirect(path, 301)


def _problem(error: ServiceError) -> Response | None:
    """Return the page of an error; None if a program reads it."""
    if not _is_page():
        return None
    title, text = _words(error)
    html = render_template("problem.html", notices=(), title=title, text=text, status=error.status)
    return Response(html, mimetype=HTML)


def _words(error: ServiceError) -> tuple[str, str]:
    if error.code == "rate_limit_reached":
        text = "Your network address has asked for more pages than the limit for one minute. Wait a minute."
    elif error.code == "bounty_not_found":
        return _NO_BOUNTY, "Check the address. A bounty has a page once it is on chain."
    elif error.code == "route_not_found":
        text = "Check the address, or start from the list of bounties."
    elif error.code == "method_not_allowed":
        text = "These pages can only be read."
    elif error.code == "internal_error":
        text = f"Something went wrong here. If it happens again, report it with this number: {correlation_id.get()}"
    elif error.status == 503 and error.code != "service_overloaded":
        text = (
            "These pages show what the service has read from the chain, and that is unavailable at the moment. "
            "Bounties, "
            "money and deadlines are on the chain and are not affected. Try again in a minute."
        )
        return _AWAY, text
    else:
        text = error.message
    return _BUSY if error.status == 503 else _TITLES.get(error.status, _REFUSED), text
