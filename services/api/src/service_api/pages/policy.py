"""The headers that every answer of the pages carries.

The policy allows this origin's stylesheet and icon and nothing else: no script, no frame, no font, no request, no
plug-in, no base, no form that leads elsewhere. Pages on which a wallet can act also allow this origin's scripts, and
requests to the API and to the bucket of the ciphertexts; what such a script writes into the page is text, never HTML
(trusted types: the one policy makes the address of the script that seals). That script runs in a worker under a policy
of its own: it may run WebAssembly and request nothing.
"""

from typing import Final

from service_api.config import ApiConfig

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SEALER_POLICY: Final = "default-src 'none'; script-src 'wasm-unsafe-eval'"
"""Of the worker that seals, which holds the files and the content key."""
_ACTING: Final = "script-src 'self'; require-trusted-types-for 'script'; trusted-types sealer; connect-src 'self'"
_HEADERS: Final = (
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


def acting_policy(config: ApiConfig) -> str:
    """Return the policy of pages on which a wallet can act."""
    return f"{POLICY}; {_ACTING} {config.public_url} {config.bucket_url}"


def headers_of(policy: str = POLICY) -> tuple[tuple[str, str], ...]:
    """Return the headers of an answer with this policy."""
    return (("Content-Security-Policy", policy), *_HEADERS)
