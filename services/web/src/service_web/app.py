"""The Flask app of the pages."""

from typing import Final

from flask import Flask, Response, render_template, request
from jinja2 import StrictUndefined
from service_common.errors import ServiceError
from service_common.log import correlation_id, get_logger
from service_common.web.app import PlainFlask
from service_common.web.authentication import public
from service_common.web.callers import install_callers
from service_common.web.edge import ROUTE, Edge
from service_common.web.versions import install_versions
from werkzeug.exceptions import HTTPException

from service_web import formatting
from service_web.api.client import ApiAbsent, ApiRefused, ApiUnavailable
from service_web.dependencies import EXTENSION, Dependencies
from service_web.hostile import visible
from service_web.policy import Policy
from service_web.routes import assets, beacon, calendars, drawings, feeds, pages
from service_web.views.stage import LABELS, MEANINGS

RETRY_SECONDS: Final = 10

log = get_logger(__name__)


def make_app(dependencies: Dependencies) -> Flask:
    """An app that answers with these dependencies."""
    app = PlainFlask("service_web", static_folder=None)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.extensions[EXTENSION] = dependencies
    _install_templates(app, dependencies)
    install_callers(app, dependencies.callers)
    app.before_request(_begin)
    _install_problems(app)
    for routes in (pages.routes, drawings.routes, feeds.routes, calendars.routes, assets.routes, beacon.routes):
        app.register_blueprint(routes)
    app.add_url_rule("/healthz", view_func=get_health)
    app.wsgi_app = Edge(app.wsgi_app, dependencies.callers)  # type: ignore[method-assign]
    install_versions(app, dependencies.clock)
    app.wsgi_app = Policy(app.wsgi_app, dependencies.config)  # type: ignore[method-assign]
    return app


def _health() -> Response:
    """Liveness."""
    return Response("ok\n", mimetype="text/plain")


get_health = public(_health, counted=False)


def _begin() -> None:
    if request.url_rule is not None:
        request.environ[ROUTE] = request.url_rule.rule


def _install_templates(app: Flask, dependencies: Dependencies) -> None:
    """What every template may use."""
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        config=dependencies.config,
        style=assets.STYLE_PATH,
        icon=assets.ICON_PATH,
        connect=assets.CONNECT_PATH,
        labels=LABELS,
        meanings=MEANINGS,
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
        visible=visible,
    )
    app.jinja_env.globals.update(relative=formatting.relative, share=formatting.share)


def _install_problems(app: Flask) -> None:
    """Make a page the answer to every error."""

    @app.errorhandler(ApiAbsent)
    def absent(_: ApiAbsent) -> Response:
        return _problem(404, "There is no such page", "Check the address. A bounty has a page once it is on chain.")

    @app.errorhandler(ApiRefused)
    def refused(_: ApiRefused) -> Response:
        return _problem(404, "There is no such page", "The address names something that cannot be.")

    @app.errorhandler(ApiUnavailable)
    def unavailable(_: ApiUnavailable) -> Response:
        text = (
            "These pages show what the service's API answers, and it does not answer at the moment. "
            "Bounties, money and deadlines are on the chain and are not affected. Try again in a minute."
        )
        return _problem(503, "The API does not answer", text)

    @app.errorhandler(ServiceError)
    def known(error: ServiceError) -> Response:
        title = {404: "There is no such page", 429: "Too many requests", 503: "Too busy at the moment"}
        return _problem(error.status, title.get(error.status, "This request cannot be answered"), error.message)

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        if error.code == 404:
            return _problem(404, "There is no such page", "Check the address, or start from the list of bounties.")
        response = _problem(error.code or 500, "This request cannot be answered", "These pages can only be read.")
        if allowed := getattr(error, "valid_methods", None):
            response.headers["Allow"] = ", ".join(sorted(allowed))
        return response

    @app.errorhandler(Exception)
    def unknown(error: Exception) -> Response:
        log.error("unexpected error", exc_info=error)
        text = f"Something went wrong here. If it happens again, report it with this number: {correlation_id.get()}"
        return _problem(500, "This page cannot be shown", text)


def _problem(status: int, title: str, text: str) -> Response:
    response = Response(
        render_template("problem.html", notices=(), title=title, text=text, status=status),
        status=status,
        mimetype="text/html",
    )
    response.headers["Cache-Control"] = "no-store"
    if status in {429, 503}:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
