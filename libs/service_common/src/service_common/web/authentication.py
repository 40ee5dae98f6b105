"""The edge of every route: who may call it, how much it reads, and proof of the signer before anything else.

Each view is marked ``@public`` or ``@signed`` (an architecture test fails on an unmarked one). A signed view receives a
``VerifiedRequest``, and nothing of the request was parsed before the signature was proven. Order of answers: route and
method; size and media type; 401; 429; then the view. Each refused signer is counted by
the check that failed, never by who it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from bounty_protocol.auth.query import parse_query
from bounty_protocol.auth.verify import (
    Authority,
    ChainView,
    Reason,
    ReceivedRequest,
    Refused,
    VerifiedRequest,
    verify_request,
)
from bounty_protocol.errors import Issue, ServiceError
from flask import Request, request

from service_common.chain.contract_wallets import ContractWallets
from service_common.counters import counter_by
from service_common.web.callers import Callers
from service_common.web.dependencies import provided, provided_or_none
from service_common.web.edge import may_have_body

REFUSALS: Final = counter_by(
    "reason",
    Reason,
    "service_signature_refusals_total",
    "Signed requests refused, by the check that failed; `forbidden` is another wallet's action",
)
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Authentication:
    """The verifier of an app's requests."""

    authority: Authority
    chain: ChainView
    wallets: ContractWallets


def public(view: Callable[P, R], *, counted: bool = True) -> Callable[P, R]:
    """Mark a route without a signature, which takes no body."""

    @wraps(view)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_body(request)
        if not counted or (known := provided_or_none(Callers)) is None:
            return view(*args, **kwargs)
        with known.read():
            return view(*args, **kwargs)

    return _marked(wrapped, "public", None, counted=counted)


def public_body(media_type: str, max_bytes: int) -> Callable[[Callable[Concatenate[bytes, P], R]], Callable[P, R]]:
    """Mark a route without a signature that reads a body; the view charges its caller."""

    def decorate(view: Callable[Concatenate[bytes, P], R]) -> Callable[P, R]:
        @wraps(view)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            return view(read_body(request, media_type, max_bytes), *args, **kwargs)

        return _marked(wrapped, "public", media_type)

    return decorate


def signed(
    media_type: str | None, max_bytes: int = 0
) -> Callable[[Callable[Concatenate[VerifiedRequest, P], R]], Callable[P, R]]:
    """Mark a route that needs one valid signature over this exact request. ``media_type`` None: no body."""

    def decorate(view: Callable[Concatenate[VerifiedRequest, P], R]) -> Callable[P, R]:
        @wraps(view)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            body = read_body(request, media_type, max_bytes)
            try:
                verified = authenticate(request, body)
                if (known := provided_or_none(Callers)) is not None:
                    known.prove(verified.signer)
                return view(verified, *args, **kwargs)
            except Refused as refused:
                REFUSALS.labels(refused.reason).inc()
                raise

        return _marked(wrapped, "signed", media_type)

    return decorate


def _marked(view: Callable[P, R], access: str, body_type: str | None, *, counted: bool = True) -> Callable[P, R]:
    """Return the view marked with who may call it, its body's media type, and whether callers are counted."""
    view.access, view.body_type, view.counted = access, body_type, counted  # type: ignore[attr-defined]
    return view


def authenticate(received: Request, body: bytes) -> VerifiedRequest:
    """Prove who signed this request; raises 401, or 503 when the chain cannot be reached."""
    setup, known, environ = provided(Authentication), provided_or_none(Callers), received.environ
    wallets = setup.wallets.of_network(None if known is None else known.network())
    authorization = environ.get("HTTP_AUTHORIZATION")  # two headers arrive joined by a comma, which is no base64
    as_sent = ReceivedRequest(
        method=environ["REQUEST_METHOD"],
        path=environ["PATH_INFO"],
        raw_query=environ.get("QUERY_STRING", ""),
        body=body,
        authorization=() if authorization is None else (authorization,),
    )
    return verify_request(as_sent, setup.authority, setup.chain, wallets)


def read_body(received: Request, media_type: str | None, max_bytes: int) -> bytes:
    """Read the whole body, once, bounded before it is read; 415 for another media type, 413 if it is too long."""
    if media_type is None:
        return refuse_body(received)
    _require_length(received)
    parameters = {name: value.lower() for name, value in received.mimetype_params.items()}
    if received.mimetype != media_type or parameters not in ({}, {"charset": "utf-8"}):
        raise ServiceError("unsupported_media_type", f"This route takes {media_type}.")
    if received.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise ServiceError("unsupported_media_type", "This service accepts no compressed body.")
    if (received.content_length or 0) > max_bytes:
        raise ServiceError("payload_too_large", f"This route takes at most {max_bytes} bytes.")
    body = received.stream.read(max_bytes + 1)
    if len(body) != (received.content_length or 0):
        raise ServiceError("invalid_request", "The body is shorter than its Content-Length.")
    return body


def refuse_body(received: Request) -> bytes:
    """Return no bytes; 400 if there is a body."""
    _require_length(received)
    if may_have_body(received.environ) and received.stream.read(1):
        raise ServiceError("invalid_request", "This route takes no body.")
    return b""


def _require_length(received: Request) -> None:
    """Refuse a body whose end the server does not report: a chunked body that was cut would count as whole."""
    coding = received.headers.get("Transfer-Encoding")
    if coding is None:
        return
    if coding.strip().lower() != "chunked":
        message = "This service accepts no Transfer-Encoding."
        raise ServiceError("unsupported_transfer_encoding", message, is_failure=False)
    raise ServiceError("length_required", "This service accepts only bodies whose length is stated in Content-Length.")


def read_query(*, allowed: frozenset[str], code: str = "invalid_request") -> dict[str, str]:
    """Return the query's names and values; refuse an unknown or repeated name."""
    try:
        pairs = parse_query(request.environ.get("QUERY_STRING", ""))
    except ValueError as error:
        raise ServiceError(code, "The query is malformed.") from error
    names = [name for name, _ in pairs]
    issues = [
        Issue("query", f"{name[:60]!r} is not a parameter of this route") for name in names if name not in allowed
    ]
    issues += [Issue("query", f"{name!r} is given more than once") for name in sorted(allowed) if names.count(name) > 1]
    if issues:
        raise ServiceError(code, "The query has parameters that this route does not take.", issues=issues)
    return dict(pairs)
