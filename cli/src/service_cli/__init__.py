"""``service-cli``: the flows of each role over the API and the chain, as JSON lines.

Thin: it never tallies Verdicts, never settles, and signs only what it has encoded itself from verified values.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "collecting", "settings_of", "sign_request"]

if TYPE_CHECKING:
    from service_cli.program import collecting, settings_of
    from service_cli.signing import sign_request

_WHERE = {"sign_request": "signing", "collecting": "program", "settings_of": "program"}


def __getattr__(name: str) -> object:
    """What a program uses is loaded when it is asked for: the command starts without it."""
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(f"service_cli.{_WHERE[name]}"), name)
    raise AttributeError(name)
