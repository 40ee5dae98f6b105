"""Argument types: parsed once, refused with exit code 2 and a usage line, never echoing what looks like a key."""

from collections.abc import Callable
from typing import Any, Final

import click
from service_common.types import BountyId, parse_address, parse_bounty_id, parse_bytes32


class Value(click.ParamType[object]):
    """A value read by one of the shared parsers."""

    def __init__(self, name: str, parser: Callable[[str], object], metavar: str | None = None) -> None:
        self.name = name
        self._parser = parser
        self._metavar = metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002
        return self._metavar if isinstance(param, click.Option) else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._parser(value)
        except ValueError as error:
            self.fail(f"not {self.name}: {error}.", param, ctx)


def _network(text: str) -> str:
    from service_common.chain.deployment import parse_network

    parse_network(text)
    return text


def _origin(text: str) -> str:
    from service_cli.settings import parse_origin

    return parse_origin(text)


def _bounty_id(text: str) -> BountyId:
    try:
        return parse_bounty_id(text)
    except ValueError:
        raise ValueError("a whole number from 1 to 9223372036854775807") from None  # whatever is wrong with it


BOUNTY_ID: Final = Value("a bounty id", _bounty_id)
ADDRESS: Final = Value("an account address", parse_address, "ADDRESS")
COMMITMENT: Final = Value("a commitment", parse_bytes32)
NETWORK_NAME: Final = Value("a network", _network, "NAME|CHAIN_ID")
ORIGIN: Final = Value("an API's address", _origin, "URL")
