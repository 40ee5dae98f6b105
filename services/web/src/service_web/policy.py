"""The headers that every answer carries, also one that was kept or refused before the framework.

The policy allows this origin's stylesheet and drawings and nothing else: no script, no frame, no font, no request, no
plug-in, no base, no form that leads elsewhere.
"""

from collections.abc import Iterable
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


class Policy:
    """A WSGI application around another."""

    def __init__(self, inner: WSGIApplication) -> None:
        self._inner = inner

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            headers.extend(_HEADERS)
            return start_response(status, headers, exc_info)  # type: ignore[arg-type]

        return self._inner(environ, start)  # type: ignore[arg-type]  # its return value is never used
