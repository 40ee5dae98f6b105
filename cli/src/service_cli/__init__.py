"""Signs what it derived itself, seals and opens work locally.

It never counts Verdicts, nor settles, nor sends a key anywhere.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "BountyId",
    "Client",
    "Failed",
    "ProgressReport",
    "Refused",
    "ServiceError",
    "ToBeSigned",
    "__version__",
    "parse_address",
    "parse_bounty_id",
    "sign_request",
]

if TYPE_CHECKING:
    from bounty_protocol.errors import ServiceError
    from bounty_protocol.types import BountyId, parse_address, parse_bounty_id

    from service_cli.client import Client, Failed, ProgressReport, Refused, ToBeSigned
    from service_cli.library import sign_request


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command starts without it."""
    if name in __all__:
        from service_cli import client, library

        return getattr(client if name in client.__all__ else library, name)
    raise AttributeError(name)
