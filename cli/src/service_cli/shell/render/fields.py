"""An event's fields as text: read safely, and the amounts, times, accounts and costs that several commands show.

Every text is made safe for a terminal where it is read.
"""

import shlex
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from service_common.domain.money import whole_tokens

from service_cli.shell.progress import REASONS
from service_cli.shell.render.screen import Fact, Item, Screen
from service_cli.shell.text import About, Token, ether, moment, printable, relative

_MOST: Final = 300


def safe(value: object, length: int = _MOST) -> str:
    """What somebody else chose: on one line, without what drives a terminal, reorders text or draws over others."""
    return printable(value, length)


def short(value: str) -> str:
    """An address or a hash cut for a table: ``0x1234…abcd``."""
    return value if len(value) < 15 else f"{value[:6]}…{value[-4:]}"


def counted(count: int, noun: str) -> str:
    """``1 file``, ``2 files``, ``1,000 Submissions``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one event; a field of another type than its schema has raises ``TypeError`` or ``ValueError``."""

    values: Mapping[str, object]

    def text(self, name: str, length: int = _MOST) -> str:
        """A text."""
        return safe(self.values[name], length)

    def maybe(self, name: str) -> str | None:
        """A text that may be null or missing."""
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """A count, seconds, or an amount as a decimal string."""
        return _whole(self.values[name])

    def maybe_whole(self, name: str) -> int | None:
        """The same where it may be null or missing."""
        return None if self.values.get(name) is None else self.whole(name)

    def texts(self, name: str) -> Sequence[str]:
        """A list of texts; empty where it is null or missing."""
        return [safe(each) for each in _list(self.values.get(name) or [])]

    def rows(self, name: str) -> Iterator["Fields"]:
        """A list of objects."""
        for each in _list(self.values[name]):
            if not isinstance(each, Mapping):
                raise TypeError(f"{name} holds no objects")
            yield Fields(each)

    def inner(self, name: str) -> "Fields | None":
        """An object that may be null."""
        found = self.values.get(name)
        if found is not None and not isinstance(found, Mapping):
            raise TypeError(f"{name} is no object")
        return None if found is None else Fields(found)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError("not a whole number")
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and len(value) < 100):
        raise ValueError("not a whole number")
    return int(value)


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise TypeError("not a list")
    return value


def tokens(value: int, token: Token | None) -> str:
    """``1,234.5 USDC``; base units of a token that is not known."""
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
