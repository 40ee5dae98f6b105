"""``service-cli``: the flows of each role over the API and the chain, as JSON lines.

Thin: it never tallies Verdicts, never settles, and signs only what it has encoded itself from verified values.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "sign_request"]

if TYPE_CHECKING:
    from service_cli.signing import sign_request


def __getattr__(name: str) -> object:
    """``sign_request`` is loaded when it is asked for: the command starts without it."""
    if name == "sign_request":
        from service_cli.signing import sign_request

        return sign_request
    raise AttributeError(name)
