"""What texts of several commands have in common: amounts, times, accounts, costs, and what comes next."""

import shlex
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from service_common.domain.money import whole_tokens

from service_cli.shell.about import About
from service_cli.shell.hub_sentences import REASONS
from service_cli.shell.render.fields import Fields, safe
from service_cli.shell.render.screen import Fact, Item, Screen
from service_cli.shell.text import Token, moment, relative

_ETHER_DIGITS: Final = 6


def tokens(value: int, token: Token | None) -> str:
    """``1,234.5 USDC``; base units of a token that is not known."""
    if token is None or not 0 < token.decimals <= 77:
        return f"{value:,} base units"
    whole, point, part = whole_tokens(value, token.decimals).partition(".")
    # A name that is read from right to left could turn the numbers beside it around.
    symbol = "".join(c for c in safe(token.symbol, 20) if unicodedata.bidirectional(c) not in {"R", "AL", "AN"})
    return f"{int(whole):,}{point}{part} {symbol}"


def ether(wei: int) -> str:
    """``0.000123 ether``, rounded up."""
    unit = 10 ** (18 - _ETHER_DIGITS)
    whole, point, part = whole_tokens(-(-wei // unit), _ETHER_DIGITS).partition(".")
    return f"{int(whole):,}{point}{part} ether"


def size(count: int) -> str:
    """``12 bytes``, ``3.4 MB``."""
    if count < 1_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    value = float(count)
    for unit in ("kB", "MB"):
        value /= 1_000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1_000:.1f} GB"


def at(seconds: int, screen: Screen) -> str:
    """A moment, absolute and relative."""
    return moment(seconds, screen.now)


def to_the_minute(seconds: int | None) -> str:
    """A moment in a column: ``2027-01-31 23:59``; nothing of one that is not there or that no calendar holds."""
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def time_left(seconds: int | None, screen: Screen) -> str:
    """How long there is still time, in a column: ``3 d 4 h``, ``2 min ago``."""
    return "" if seconds is None else relative(seconds, screen.now).removeprefix("in ")


def transaction(fields: Fields, about: About) -> Iterator[Item]:
    """What a transaction cost, where it is known, and which one it was."""
    if about.gas_cost is not None:
        yield Fact("Cost", f"{ether(about.gas_cost)} for gas")
    yield Fact("Transaction", fields.text("tx_hash"), whole=True)


def following(command: str) -> Item:
    """The command that comes next."""
    return Fact("Next", f"service-cli {command}", whole=True)


def argument(path: str | None, instead: str) -> str:
    """A path as a shell takes it; its name in the usage where it is not known, was stdin, or would not print."""
    known = path is not None and path != "-" and safe(path) == path
    return shlex.quote(path) if known and path is not None else instead


def why(reason: object) -> str:
    """A settlement reason as a clause; an unknown one as its name."""
    return REASONS.get(str(reason), safe(reason))
