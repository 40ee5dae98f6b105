"""The Flask app of the pages."""

from typing import Final

from bounty_protocol.domain.readable import readable_line
from bounty_protocol.errors import ServiceError
from flask import Flask, Response, current_app, redirect, render_template, request
from jinja2 import StrictUndefined
from service_common.log import correlation_id, get_logger
from service_common.web.app import create_app, health
from service_common.web.outcomes import excuse
from service_common.web.settings import stated_hops
from service_common.web.versions import install_versions
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as PlainResponse

from service_web import formatting
from service_web.api.client import ApiAbsent, ApiOverloaded, ApiRefused, ApiUnavailable, Reader, reader
from service_web.compression import Compressed
from service_web.dependencies import EXTENSION, Dependencies
from service_web.policy import Policy
from service_web.routes import agents, assets, beacon, feeds, pages
from service_web.texts import gettext, install_texts, marked
from service_web.views.stage import LABELS, MEANINGS

RETRY_SECONDS: Final = 10
_ABSENT: Final = marked("There is no such page")
_REFUSED: Final = marked("This request cannot be answered")

log = get_logger(__name__)


def make_app(dependencies: Dependencies) -> Flask:
    """An app that answers with these dependencies."""
    blueprints = (
        *(pages.routes, feeds.routes, assets.routes, beacon.routes, agents.routes),
        health,
    )
    app = create_app("service_web", blueprints, dependencies.callers, _install_problems)
    app.extensions[EXTENSION] = dependencies
    install_texts(app, dependencies.config.texts)
    _install_templates(app, dependencies)
    hops = dependencies.config.web.forwarded_hops

    def forward() -> None:
        reader.set(Reader(", ".join(stated_hops(request.environ.get("HTTP_X_FORWARDED_FOR", ""), hops))))

    app.before_request(forward)
    install_versions(app, dependencies.clock)
    app.wsgi_app = Compressed(Policy(app.wsgi_app, dependencies.config))  # type: ignore[method-assign]
    return app


def _install_templates(app: Flask, dependencies: Dependencies) -> None:
    """Names that every template may use."""
    texts = dependencies.config.texts
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        config=dependencies.config,
        style=assets.STYLE_PATH,
        icon=assets.ICON_PATH,
        connect=assets.CONNECT_PATH,
        labels={stage: texts.plain.gettext(label) for stage, label in LABELS.items()},
        meanings={stage: texts.plain.gettext(meaning) for stage, meaning in MEANINGS.items()},
        counted=formatting.counted,
    )
    app.jinja_env.filters.update(
        moment=formatting.moment,
        day=formatting.day,
        machine_time=formatting.machine_time,
        span=formatting.span,
        amount=formatting.amount,
        percent=formatting.percent,
        short=formatting.short,
        readable=readable_line,
    )
    app.jinja_env.globals.update(relative=formatting.relative, share=formatting.share)


def _install_problems(app: Flask) -> None:
    """Make a page the answer to every error."""

    @app.errorhandler(ApiAbsent)
    def absent(_: ApiAbsent) -> Response:
        return _problem(404, _ABSENT, gettext("Check the address. A bounty has a page once it is on chain."))

    @app.errorhandler(ApiRefused)
    def refused(_: ApiRefused) -> Response:
        return _problem(404, _ABSENT, gettext("The address names something that cannot be."))

    @app.errorhandler(ApiOverloaded)
    def overloaded(error: ApiOverloaded) -> Response:
        excuse(request.environ)
        text = gettext("The API answers as many requests, of your network address or of all, as it can at the moment.")
        return _problem(503, marked("Too busy at the moment"), text, error.retry_after)

    @app.errorhandler(ApiUnavailable)
    def unavailable(_: ApiUnavailable) -> Response:
        text = gettext(
            "These pages show what the service's API answers, and it does not answer at the moment. "
            "Bounties, money and deadlines are on the chain and are not affected. Try again in a minute."
        )
        return _problem(503, marked("The API does not answer"), text)

    app.register_error_handler(ServiceError, _refusal)

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> PlainResponse:
        if error.code == 404:
            return _nowhere()
        response = _problem(error.code or 500, _REFUSED, gettext("These pages can only be read."))
        if allowed := getattr(error, "valid_methods", None):
            response.headers["Allow"] = ", ".join(sorted(allowed))
        return response

    @app.errorhandler(Exception)
    def unknown(error: Exception) -> Response:
        log.error("unexpected error", exc_info=error)
        text = gettext(
            "Something went wrong here. If it happens again, report it with this number: %(number)s",
            number=correlation_id.get(),
        )
        return _problem(500, marked("This page cannot be shown"), text)


def _refusal(error: ServiceError) -> Response:
    if not error.is_failure:
        excuse(request.environ)
    if error.code == "rate_limit_reached":
        text = gettext("Your network address has asked for more pages than one may in a minute. Wait a minute.")
        return _problem(429, marked("Too many requests"), text, error.retry_after)
    title = {
        404: _ABSENT,
        451: marked("Withheld by the operator of this service"),
        503: marked("Too busy at the moment"),
    }.get(error.status, _REFUSED)
    return _problem(error.status, title, gettext(error.message.replace("%", "%%")), error.retry_after)


def _nowhere() -> PlainResponse:
    """The answer where no page is: the one that an address with a slash at its end means, or what to do."""
    if (place := _without_slash()) is not None:
        return redirect(place, 301)
    return _problem(404, _ABSENT, gettext("Check the address, or start from the list of bounties."))


def _without_slash() -> str | None:
    """The path of this request without the slash at its end, where an address of these pages has that form."""
    path = request.path.removesuffix("/")
    if path == request.path or path.startswith("//") or not path:
        return None
    try:
        current_app.create_url_adapter(request).match(path, "GET")  # type: ignore[union-attr]  # there is a request
    except HTTPException:
        return None
    return path


def _problem(status: int, title: str, text: str, retry_after: int | None = None) -> Response:
    response = Response(
        render_template("problem.html", notices=(), title=gettext(title), text=text, status=status),
        status=status,
        mimetype="text/html",
    )
    response.headers["Cache-Control"] = "no-store"
    if status in {429, 503}:
        response.headers["Retry-After"] = str(retry_after or RETRY_SECONDS)
    return response
