"""The values of events as text: what others wrote made safe, and the amounts, times, accounts and costs that several
commands show.
"""

import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar, cast

from bounty_protocol.domain.money import whole_tokens
from bounty_protocol.types import Bytes32

from service_cli.ui.items import Field, Item
from service_cli.ui.progress import REASONS
from service_cli.ui.text import ether, moment, printable, relative

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen

T = TypeVar("T")
_MOST: Final = 600


def safe(value: object, length: int = _MOST) -> str:
    """Untrusted text: on one line, without what drives a terminal, reorders text or draws over others."""
    return printable(value, length)


def short(value: str) -> str:
    """An address or a hash cut for a table: ``0x1234…abcd``."""
    return value if len(value) < 15 else f"{value[:6]}…{value[-4:]}"


def counted(count: int, noun: str) -> str:
    """``1 file``, ``2 files``, ``1,000 Submissions``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def made_safe(value: T) -> T:
    """An event, or a part of one, whose texts drive no terminal; what the API answered is left as it is."""
    if type(value) is str:
        return cast("T", safe(value))
    if isinstance(value, tuple):
        return cast("T", tuple(map(made_safe, value)))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: made_safe(getattr(value, field.name)) for field in fields(value)})
    return value


def tokens(value: int, screen: "Screen") -> str:
    """``1,234.5 USDC``; base units of a token that is not known."""
    token = screen.about.token
    if token is None or not 0 < token.decimals <= 77:
        return f"{value:,} base units"
    whole, point, part = whole_tokens(value, token.decimals).partition(".")
    # A name that is read from right to left could turn the numbers beside it around.
    symbol = "".join(c for c in safe(token.symbol, 20) if unicodedata.bidirectional(c) not in {"R", "AL", "AN"})
    return f"{int(whole):,}{point}{part} {symbol}"


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


def at(seconds: int, screen: "Screen") -> str:
    """A moment, absolute and relative."""
    return moment(seconds, screen.now)


def to_the_minute(seconds: int | None) -> str:
    """A moment in a column: ``2027-01-31 23:59``; nothing of one that is not there or that no calendar holds."""
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def time_left(seconds: int | None, screen: "Screen") -> str:
    """How long there is still time, in a column: ``3 d 4 h``, ``2 min ago``."""
    return "" if seconds is None else relative(seconds, screen.now).removeprefix("in ")


def transaction(tx_hash: Bytes32, screen: "Screen") -> Iterator[Item]:
    """A transaction's cost, where it is known, and its hash."""
    if screen.about.gas_cost is not None:
        yield Field("Cost", f"{ether(screen.about.gas_cost)} for gas")
    yield Field("Transaction", tx_hash, whole=True)


def following(command: str) -> Item:
    """The command that comes next."""
    return Field("Next", f"service-cli {command}", whole=True)


def argument(path: str | None, instead: str) -> str:
    """A path as a shell takes it; its name in the usage where it is not known, was stdin, or would not print."""
    if path is None or path == "-" or safe(path) != path:
        return instead
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def why(reason: object) -> str:
    """A settlement reason as a clause; an unknown one as its name."""
    return REASONS.get(str(reason), safe(reason))
