"""The headers that every answer carries, also one that was kept or refused before the framework.

The policy allows this origin's stylesheet and icon and nothing else: no script, no frame, no font, no request, no
plug-in, no base, no form that leads elsewhere. Pages on which a wallet can act also allow this origin's scripts, and
requests to the API and to the bucket of the ciphertexts; what such a script writes into the page is text, never HTML
(trusted types: the one policy makes the address of the script that seals). That script runs in a worker under a policy
of its own: it may run WebAssembly and request nothing.
"""

import re
from collections.abc import Iterable
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from service_web.config import PagesConfig
from service_web.routes.assets import SEALER_PATH

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SEALER_POLICY: Final = "default-src 'none'; script-src 'wasm-unsafe-eval'"
"""Of the worker that seals, which holds the files and the content key."""
_ACTING: Final = "script-src 'self'; require-trusted-types-for 'script'; trusted-types sealer; connect-src 'self'"
_ACTING_PATHS: Final = re.compile(r"/(?:bounties/[0-9]{1,19}|guardians|publish)")
_HEADERS: Final = (
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


def acting_policy(config: PagesConfig) -> str:
    """The policy of pages on which a wallet can act."""
    return f"{POLICY}; {_ACTING} {config.public_api_url} {config.bucket_url}"


class Policy:
    """A WSGI application around another."""

    def __init__(self, inner: WSGIApplication, config: PagesConfig) -> None:
        self._inner = inner
        self._usual = (("Content-Security-Policy", POLICY), *_HEADERS)
        self._acting = (("Content-Security-Policy", acting_policy(config)), *_HEADERS)
        self._sealer = (("Content-Security-Policy", SEALER_POLICY), *_HEADERS)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        added = self._for(environ["PATH_INFO"])

        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            headers.extend(added)
            return start_response(status, headers, exc_info)  # type: ignore[arg-type]

        return self._inner(environ, start)  # type: ignore[arg-type]  # its return value is never used

    def _for(self, path: str) -> tuple[tuple[str, str], ...]:
        if _ACTING_PATHS.fullmatch(path):
            return self._acting
        return self._sealer if path == SEALER_PATH else self._usual
