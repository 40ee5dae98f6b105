"""One place that turns every error of a view into the error envelope.

For any error the body is ``{"error": {code, message, issues, next_action}}`` with the status of its code, unless its
view has other shapes (``negotiated``). Every 503 and 429 carries Retry-After, every 401 the scheme it requires
(RFC 9110, 11.6.1). An unknown error is an opaque 500 outside and whole in the log, under the correlation id that the
answer's ``X-Correlation-Id`` names.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from bounty_protocol.auth.header import SCHEME
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.errors import DEFAULT_RETRY_AFTER_SECONDS, PROBLEMS, ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.errors import Error, ErrorBody, error_body
from flask import Flask, Response, current_app, json, request
from prometheus_client import Counter
from werkzeug.exceptions import HTTPException

from service_common.db.errors import DatabaseUnavailable
from service_common.log import get_logger
from service_common.web.error_budget import note_refusal

ERRORS: Final = Counter("service_errors_total", "Errors answered, by their code", ["code"])

log = get_logger(__name__)

_BY_STATUS = {
    400: ("invalid_request", "The request is malformed."),
    404: ("route_not_found", "There is no such route."),
    405: ("method_not_allowed", "This route does not take that method."),
    413: ("payload_too_large", "The body is larger than this route accepts."),
    415: ("unsupported_media_type", "This route takes another media type."),
}


class ErrorShape(Protocol):
    """A shape of the body of an error."""

    @staticmethod
    def of(error: ErrorBody) -> Any:
        """Return the shape that states this error."""


Refusals = Mapping[str, type[ErrorShape]]
"""The shapes of a view's errors by their media types; the first is that of a request which names none."""
_LONGEST_WAIT_SECONDS: Final = 60
"""Of what a node that limits requests wishes, as the API passes it on."""
PLAIN: Final[Refusals] = {"application/json": Error}
PAGE: Final = "service-problem-page"
"""The extension of an app that has pages: a function that makes the page of an error, or None if a program reads it.
"""


def negotiated(offered: Iterable[str]) -> str:
    """Return the media type of an answer: the first that is offered, unless the request prefers or equally accepts
    another.
    """
    first, *others = offered
    accepted = request.accept_mimetypes
    named = [value for value, quality in accepted if quality > 0]
    return next((each for each in others if each in named and accepted[each] >= accepted[first]), first)


def envelope(error: ServiceError) -> dict[str, object]:
    """Return the body of one error, for views without their own shape."""
    return to_json(Error(error_body(error)))


def _refusal(error: ServiceError) -> Response:
    if (page_of := current_app.extensions.get(PAGE)) is not None and (page := page_of(error)) is not None:
        shown: Response = page
        return shown
    view = current_app.view_functions.get(request.endpoint or "")
    refusals: Refusals = getattr(view, "refusals", PLAIN)
    media_type = negotiated(refusals)
    return Response(json.dumps(to_json(refusals[media_type].of(error_body(error)))), mimetype=media_type)


def item_error(error: ServiceError) -> ErrorBody:
    """Return the error of one item inside an answer to many; count it by its code."""
    ERRORS.labels(error.code).inc()
    return error_body(error)


def retry_after_of(error: ServiceError) -> int | None:
    """Return the seconds after which to retry; None if that would not help."""
    if error.status in {429, 503} or error.retry_after is not None:
        return error.retry_after or DEFAULT_RETRY_AFTER_SECONDS
    return None


def render_problem(error: ServiceError) -> Response:
    """Return the envelope of one error, with its status and headers; count it by its code."""
    ERRORS.labels(error.code).inc()
    note_refusal(request.environ, error)
    response = _refusal(error)
    response.status_code = error.status
    if (seconds := retry_after_of(error)) is not None:
        response.headers["Retry-After"] = str(seconds)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = SCHEME
    response.headers["Cache-Control"] = "no-store"
    return response


def _chain_unavailable(error: ChainUnavailable) -> ServiceError:
    if not error.limited:
        return ServiceError("bounty_chain_state_unavailable", "The chain cannot be reached at the moment.")
    wait = None if error.retry_after is None else min(error.retry_after, _LONGEST_WAIT_SECONDS)
    return ServiceError(
        "bounty_chain_state_unavailable",
        "The service's RPC endpoint has reached its rate limit.",
        retry_after=wait,
    )


def install_problems(app: Flask) -> None:
    """Make the envelope the answer to every error of ``app``."""

    @app.errorhandler(ServiceError)
    def known(error: ServiceError) -> Response:
        if error.code not in PROBLEMS:  # a client-side code that no route means to show
            return unknown(error)
        return render_problem(error)

    @app.errorhandler(ChainUnavailable)
    def chain(error: ChainUnavailable) -> Response:
        log.warning("chain unavailable", reason=str(error))
        return render_problem(_chain_unavailable(error))

    @app.errorhandler(RpcRefused)
    def refused(error: RpcRefused) -> Response:
        if error.is_revert:  # the contract's answer to a call that was not right
            return unknown(error)
        return chain(ChainUnavailable(f"an RPC endpoint refused with code {error.code}"))

    @app.errorhandler(DatabaseUnavailable)
    def database(_: DatabaseUnavailable) -> Response:
        return render_problem(
            ServiceError("bounty_projection_unavailable", "The indexed Hub state cannot be read at the moment.")
        )

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        code, message = _BY_STATUS.get(error.code or 500, ("internal_error", "Something went wrong here."))
        response = render_problem(ServiceError(code, message))
        if allowed := getattr(error, "valid_methods", None):
            response.headers["Allow"] = ", ".join(sorted(allowed))
        return response

    @app.errorhandler(Exception)
    def unknown(error: Exception) -> Response:
        log.error("unexpected error", exc_info=error)
        return render_problem(ServiceError("internal_error", "Something went wrong here."))
