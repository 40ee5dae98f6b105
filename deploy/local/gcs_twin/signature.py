"""V4 signatures of URLs, checked as Google Cloud Storage documents its canonical requests.

A URL passes only with the account's signature over exactly this method, path, query and the signed headers, between its
date and its expiry. ``host`` and every ``x-goog-`` header sent must be among the signed ones, so that no condition can
be dropped, added or changed by anyone who has the URL.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from gcs_twin.answers import ErrorAnswer
from gcs_twin.keys import Account

ALGORITHM: Final = "GOOG4-RSA-SHA256"
MAX_EXPIRES: Final = 604_800
MAX_SKEW: Final = 900
_NEEDED: Final = ("X-Goog-Algorithm", "X-Goog-Credential", "X-Goog-Date", "X-Goog-Expires", "X-Goog-SignedHeaders")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The parts of a request that a signature covers; ``path`` and ``query`` as sent, header names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


def query_pairs(query: str) -> list[tuple[str, str]]:
    """Return the decoded name and value of each parameter, in order."""
    pairs = (piece.partition("=") for piece in query.split("&") if piece)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def verify(request: SignedRequest, account: Account, now: Callable[[], float]) -> dict[str, str]:
    """Check a signed URL and return its query; ``ErrorAnswer`` names what is wrong."""
    pairs = query_pairs(request.query)
    query = dict(pairs)
    if len(query) != len(pairs) or not all(query.get(name) for name in (*_NEEDED, "X-Goog-Signature")):
        raise ErrorAnswer(400, "AuthenticationRequired", "A signed URL has each X-Goog- parameter exactly once.")
    _check_scope(query, account)
    signed_names = query["X-Goog-SignedHeaders"].split(";")
    _check_headers(request.headers, signed_names)
    canonical = _canonical(request, pairs, signed_names)
    _check_signature(canonical, query, account)
    _check_time(query, now())
    return query


def _check_scope(query: Mapping[str, str], account: Account) -> None:
    scope = f"{account.email}/{query['X-Goog-Date'][:8]}/auto/storage/goog4_request"
    if query["X-Goog-Algorithm"] != ALGORITHM or query["X-Goog-Credential"] != scope:
        raise ErrorAnswer(403, "InvalidSecurity", "The algorithm or the credential is not one of this storage.")


def _check_headers(headers: Mapping[str, str], signed: list[str]) -> None:
    if "host" not in signed or signed != sorted(set(signed)):
        raise ErrorAnswer(403, "MalformedSecurityHeader", "The signed headers are a sorted list that names host.")
    if missing := [name for name in signed if name not in headers]:
        raise ErrorAnswer(400, "MalformedSecurityHeader", f"A signed header was not sent: {', '.join(missing)}.")
    if unsigned := [name for name in headers if name.startswith("x-goog-") and name not in signed]:
        raise ErrorAnswer(403, "MalformedSecurityHeader", f"A header was not signed: {', '.join(unsigned)}.")


def _canonical(request: SignedRequest, pairs: list[tuple[str, str]], signed: list[str]) -> str:
    covered = sorted((_encoded(name), _encoded(value)) for name, value in pairs if name != "X-Goog-Signature")
    lines = [f"{name}:{_SPACES.sub(' ', request.headers[name]).strip()}\n" for name in signed]
    payload = request.headers.get("x-goog-content-sha256", "UNSIGNED-PAYLOAD")
    query = "&".join(f"{name}={value}" for name, value in covered)
    return "\n".join([request.method, request.path, query, "".join(lines), ";".join(signed), payload])


def _check_signature(canonical: str, query: Mapping[str, str], account: Account) -> None:
    _, _, scope = query["X-Goog-Credential"].partition("/")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join([ALGORITHM, query["X-Goog-Date"], scope, digest])
    try:
        signature = bytes.fromhex(query["X-Goog-Signature"])
        account.public_key.verify(signature, text.encode(), PKCS1v15(), SHA256())
    except (ValueError, InvalidSignature):
        raise ErrorAnswer(403, "SignatureDoesNotMatch", "The signature does not match this request.") from None


def _check_time(query: Mapping[str, str], now: float) -> None:
    try:
        signed = datetime.strptime(query["X-Goog-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        lifetime = int(query["X-Goog-Expires"])
    except ValueError:
        raise ErrorAnswer(400, "InvalidArgument", "The date or the expiry is malformed.") from None
    if not 0 < lifetime <= MAX_EXPIRES or signed > now + MAX_SKEW:
        raise ErrorAnswer(400, "InvalidArgument", "The expiry is out of range or the date is in the future.")
    if now >= signed + lifetime:
        raise ErrorAnswer(400, "ExpiredToken", "The provided token has expired.")


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _encoded(text: str) -> str:
    return quote(text, safe="~")
