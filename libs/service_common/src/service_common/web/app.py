"""The app factory that every Flask service starts from.

It adds correlation ids in and out, an answer to every error, the callers' budgets, metrics of each request, the
liveness route, and CORS for any origin without credentials. It accepts no path but plain ones: any
character outside unreserved ones, and two slashes in a row, are 404. The server decodes percent-encoding before
anything here sees the path.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from bounty_protocol.errors import ServiceError
from flask import Blueprint, Flask, Response, request

from service_common.web.authentication import Authentication, public
from service_common.web.callers import Callers
from service_common.web.dependencies import provide
from service_common.web.edge import ROUTE, Edge
from service_common.web.problems import install_problems

_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9\-._~]+)*/?")


def create_api(
    name: str, routes: Sequence[Blueprint], authentication: Authentication | None, callers: Callers | None = None
) -> Flask:
    """Make an app with these routes behind its edge.

    Without ``callers`` nobody has a budget: for a service that only others of its deployment reach.
    """
    app = Flask(name, static_folder=None)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    provide(app, *(each for each in (callers, authentication) if each is not None))
    app.before_request(_begin)
    install_problems(app)
    app.wsgi_app = Edge(app.wsgi_app, callers)  # type: ignore[method-assign]
    for each in (*routes, health):
        app.register_blueprint(each)
    return app


health = Blueprint("health", __name__)


@health.route("/healthz", methods=["GET"])
@partial(public, counted=False)
def get_health() -> Response:
    """Liveness."""
    return Response("ok\n", mimetype="text/plain")


def _begin() -> Response | None:
    """Refuse other paths than plain ones, name the route, and answer a preflight."""
    if _PLAIN_PATH.fullmatch(request.environ.get("PATH_INFO", "")) is None:
        raise ServiceError("route_not_found", "There is no such route.")
    if request.url_rule is not None:
        request.environ[ROUTE] = request.url_rule.rule
    if request.method != "OPTIONS":
        return None
    response = Response(status=204)
    response.headers["Access-Control-Allow-Methods"] = "GET, POST"
    response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, If-None-Match"
    response.headers["Access-Control-Max-Age"] = "86400"
    return response
