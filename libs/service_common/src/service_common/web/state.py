"""A service's own state as routes of its app, for a service that only others of its deployment reach.

Probes and scrapers have the internal port, which answers the same of the same checks (``internal_port``): it answers
however many requests wait for the app.
"""

from collections.abc import Mapping
from functools import partial

from flask import Response

from service_common.internal_port import Check, ProcessState, StateAnswer
from service_common.web.authentication import public
from service_common.web.operations import Routes


def state_routes(checks: Mapping[str, Check]) -> Routes:
    """``/readyz`` and ``/metrics``; ``/healthz`` is every app's."""
    routes, state = Routes("state", __name__, description="The state of this process"), ProcessState(checks)

    @routes.route("/readyz", methods=["GET"])  # type: ignore[untyped-decorator]  # flask-smorest has no types
    @routes.response(200, content_type="application/json")
    @partial(public, counted=False)
    def get_readyz() -> Response:
        """Whether everything answers that this service depends on, and what does not: 503 then."""
        return _response(state.readyz())

    @routes.route("/metrics", methods=["GET"])  # type: ignore[untyped-decorator]
    @routes.response(200, content_type="text/plain")
    @partial(public, counted=False)
    def get_metrics() -> Response:
        """The metrics of all processes of this service that share a folder for them."""
        return _response(state.metrics())

    return routes


def _response(answer: StateAnswer) -> Response:
    return Response(answer.body, status=answer.status, content_type=answer.media_type)
