"""Argument types: parsed once, refused with exit code 2 and a usage line, never echoing what looks like a key."""

from collections.abc import Callable
from typing import Any, Final

import click
from service_common.types import parse_address, parse_bounty_id, parse_bytes32


class Value(click.ParamType[object]):
    """A value read by one of the shared parsers."""

    def __init__(self, name: str, parser: Callable[[str], object]) -> None:
        self.name = name
        self._parser = parser

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._parser(value)
        except ValueError as error:
            self.fail(f"not {self.name}: {error}.", param, ctx)


BOUNTY_ID: Final = Value("a bounty id", parse_bounty_id)
ADDRESS: Final = Value("an account address", parse_address)
COMMITMENT: Final = Value("a commitment", parse_bytes32)
