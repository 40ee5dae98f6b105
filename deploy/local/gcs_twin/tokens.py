"""OAuth: a JWT signed by the service account is exchanged for an access token, as Google's token endpoint does."""

import base64
import json
import secrets
import time
from threading import Lock
from typing import Final, cast
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from gcs_twin.answers import ErrorAnswer
from gcs_twin.keys import Account

GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFETIME: Final = 3600
_SKEW: Final = 60
AUDIENCE: Final = "https://oauth2.googleapis.com/token"
"""The audience that google-auth names, independent of the key file's token_uri."""


class Tokens:
    """Access tokens that this process issued; after a restart its clients request new ones."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._expiry: dict[str, float] = {}
        self._lock = Lock()

    def exchange(self, form: bytes) -> dict[str, str | int]:
        """Exchange a form with grant_type and assertion for a token."""
        fields = parse_qs(form.decode("ascii", "replace"))
        if fields.get("grant_type") != [GRANT] or len(fields.get("assertion", [])) != 1:
            raise ErrorAnswer(400, "unsupported_grant_type", "The grant is a JWT bearer assertion.")
        self._check_assertion(fields["assertion"][0])
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._expiry = {known: expiry for known, expiry in self._expiry.items() if expiry > time.time()}
            self._expiry[token] = time.time() + LIFETIME
        return {"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME}

    def check(self, authorization: str) -> None:
        """Refuse a request without a token of this process that is still valid."""
        scheme, _, token = authorization.partition(" ")
        with self._lock:
            valid = scheme == "Bearer" and self._expiry.get(token, 0.0) > time.time()
        if not valid:
            raise ErrorAnswer(401, "required", "Anonymous caller or invalid access token.")

    def _check_assertion(self, assertion: str) -> None:
        try:
            signed, _, signature = assertion.rpartition(".")
            self._account.public_key.verify(_base64(signature), signed.encode(), PKCS1v15(), SHA256())
            header, claims = (_object(part) for part in signed.split("."))
            now = time.time()
            good = (
                header.get("alg") == "RS256"
                and header.get("kid") == self._account.key_id
                and claims.get("iss") == self._account.email
                and claims.get("aud") in {self._account.token_uri, AUDIENCE}
                and isinstance(claims.get("scope"), str)
                and float(cast(float, claims.get("iat"))) <= now + _SKEW
                and now < float(cast(float, claims.get("exp"))) <= now + LIFETIME + _SKEW
            )
        except (ValueError, TypeError, AttributeError, InvalidSignature):
            good = False
        if not good:
            raise ErrorAnswer(400, "invalid_grant", "The assertion is not a valid one of this service account.")


def _base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _object(text: str) -> dict[str, object]:
    value = json.loads(_base64(text))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value
