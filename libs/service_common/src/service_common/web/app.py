"""The app factory that every Flask service starts from.

Promises: correlation ids in and out, the error envelope for every error, the liveness route, metrics of each request,
CORS for any origin without credentials, and no path but plain ones: any character outside unreserved ones, and two
slashes in a row, are 404. The server decodes percent-encoding before anything here sees the path.
"""

import re
import time
import uuid
from typing import Final

from flask import Flask, Response, g, request
from flask_smorest import Api
from prometheus_client import Counter, Histogram

from service_common.errors import ServiceError
from service_common.log import correlation_id, get_logger
from service_common.web.authentication import EXTENSION, Authentication, public
from service_common.web.overload import Shedding
from service_common.web.problems import install_problems

REQUESTS: Final = Counter("service_http_requests_total", "Requests answered", ["route", "method", "status"])
SECONDS: Final = Histogram("service_http_request_seconds", "Time to answer", ["route", "method"])
SHED: Final = Counter("service_http_requests_shed_total", "Requests refused because too many were being answered")
_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9\-._~]+)*/?")
_CORRELATION: Final = re.compile(r"[A-Za-z0-9\-]{8,64}")

log = get_logger(__name__)


def create_app(name: str, title: str, authentication: Authentication | None) -> tuple[Flask, Api]:
    """An app without routes of its own, and the registry its blueprints go into."""
    app = Flask(name, static_folder=None)
    app.config.update(
        API_TITLE=title,
        API_VERSION="v1",
        OPENAPI_VERSION="3.1.0",
    )
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    if authentication is not None:
        app.extensions[EXTENSION] = authentication
    api = Api(app)
    app.before_request(_begin)
    app.after_request(_end)
    install_problems(app)
    app.wsgi_app = Shedding(app.wsgi_app, SHED.inc)  # type: ignore[method-assign]
    app.add_url_rule("/healthz", "healthz", public(_alive))
    return app, api


def _alive() -> Response:
    return Response("ok\n", mimetype="text/plain")


def _begin() -> Response | None:
    g.started = time.perf_counter()
    given = request.headers.get("X-Correlation-Id", "")
    correlation_id.set(given if _CORRELATION.fullmatch(given) else uuid.uuid4().hex)
    if _PLAIN_PATH.fullmatch(request.environ.get("PATH_INFO", "")) is None:
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


def _end(response: Response) -> Response:
    route = request.url_rule.rule if request.url_rule else "none"
    seconds = time.perf_counter() - g.get("started", time.perf_counter())
    REQUESTS.labels(route, request.method, response.status_code).inc()
    SECONDS.labels(route, request.method).observe(seconds)
    response.headers["X-Correlation-Id"] = correlation_id.get()
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Expose-Headers"] = "ETag, Retry-After, X-Correlation-Id"
    response.headers["X-Content-Type-Options"] = "nosniff"
    log.info("answered", route=route, method=request.method, status=response.status_code, ms=round(seconds * 1000, 1))
    return response
