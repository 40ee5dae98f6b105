"""The app factory that every Flask service starts from.

It adds correlation ids in and out, an answer to every error, the callers' budgets, metrics of each request, the
liveness route, a document, and CORS for any origin without credentials. It accepts no path but plain ones: any
character outside unreserved ones, and two slashes in a row, are 404. The server decodes percent-encoding before
anything here sees the path.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from bounty_protocol.errors import ServiceError
from flask import Flask, Response, request

from service_common.web.authentication import Authentication, public
from service_common.web.callers import Callers
from service_common.web.edge import ROUTE, Edge
from service_common.web.operations import DocumentedApi, Routes
from service_common.web.problems import install_problems
from service_common.web.provided import provide

_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9\-._~]+)*/?")


def create_api(
    name: str,
    title: str,
    routes: Sequence[Routes],
    authentication: Authentication | None,
    callers: Callers | None = None,
    document: Mapping[str, object] | None = None,
) -> tuple[Flask, DocumentedApi]:
    """Make an app with these routes behind its edge, and the registry that documents them.

    Without ``callers`` nobody has a budget: for a service that only its own deployment can reach. ``document`` is
    what the OpenAPI document holds beside its routes.
    """
    app = Flask(name, static_folder=None)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.config.update(API_TITLE=title, API_VERSION="1", OPENAPI_VERSION="3.1.0")
    provide(app, *(each for each in (callers, authentication) if each is not None))
    app.before_request(_name_route)
    app.before_request(_begin)
    install_problems(app)
    app.wsgi_app = Edge(app.wsgi_app, callers)  # type: ignore[method-assign]
    api = DocumentedApi(app, **(document or {}))
    for each in (*routes, health):
        api.register_blueprint(each)
    return app, api


health = Routes("health", __name__, description="Liveness")


@health.route("/healthz", methods=["GET"])  # type: ignore[untyped-decorator]  # flask-smorest has no types
@health.response(200, content_type="text/plain")
@partial(public, counted=False)
def get_health() -> Response:
    """Liveness."""
    return Response("ok\n", mimetype="text/plain")


def _name_route() -> None:
    if request.url_rule is not None:
        request.environ[ROUTE] = request.url_rule.rule


def _begin() -> Response | None:
    if _PLAIN_PATH.fullmatch(request.environ.get("PATH_INFO", "")) is None:
        request.environ.pop(ROUTE, None)
        raise ServiceError("route_not_found", "There is no such route.")
    if request.method == "OPTIONS":
        return _preflight()
    return None


def _preflight() -> Response:
    response = Response(status=204)
    response.headers["Access-Control-Allow-Methods"] = "GET, POST"
    response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, If-None-Match"
    response.headers["Access-Control-Max-Age"] = "86400"
    return response
