"""Values with who vouched for them, and the question that each further source is asked, too."""

import operator
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from service_cli.chain.session import ChainClient
from service_cli.errors import CommandRefused
from service_cli.shell.text import printable
from service_cli.witnesses.table import RULES, Fact, Witness

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")
LAG_LOOKS: Final = 6
"""How often two sources are asked that differ: one may be a few blocks behind the other."""
LAG_SECONDS: Final = 1.0
ENDPOINTS: Final = frozenset({Witness.NODE, Witness.FURTHER})
"""Who vouches for what ``agreed`` returns."""
_NOTHING_SIGNED: Final = "Nothing was signed. Find out which of the two is wrong, or use other endpoints."


@dataclass(frozen=True, slots=True)
class Vouched(Generic[T_co]):
    """A fact with its witnesses. Made by ``vouch`` alone, which holds it against the table."""

    value: T_co
    fact: Fact
    by: frozenset[Witness]


def vouch(fact: Fact, value: T, by: Iterable[Witness]) -> Vouched[T]:
    """The value with its witnesses; a fault of this program where the table needs one more than vouched."""
    said = frozenset(by)
    if missing := RULES[fact].lacks(said):
        raise AssertionError(f"{fact} lacks {', '.join(sorted(each.name for each in missing))}")
    return Vouched(value, fact, said)


@dataclass(frozen=True, slots=True)
class AskedParty(Generic[T]):
    """Who is asked, as messages name it, and the question."""

    named: str
    ask: Callable[[], T]


def agreed(chain: ChainClient, fact: Fact, read: Callable[[ChainClient], T]) -> T:
    """The endpoint's answer, if each further one answers the same; ``sources_disagree`` otherwise.

    An endpoint that is a little behind is asked again; one that is silent fails as any endpoint does.
    """
    first, *others = (AskedParty(each.named, partial(read, each)) for each in chain.everywhere)
    mine = first.ask()
    for other in others:
        mine = reconciled(fact, first, other, operator.eq, mine)
    return mine


def reconciled(
    fact: Fact, one: AskedParty[T], other: AskedParty[S], fits: Callable[[T, S], bool], first: T | None = None
) -> T:
    """The answer of ``one`` once the other's fits it; both are asked again for a few blocks, then refused.

    ``first`` is what it has answered already.
    """
    mine = one.ask() if first is None else first
    for look in range(LAG_LOOKS):
        if fits(mine, other.ask()):
            return mine
        if look + 1 < LAG_LOOKS:
            time.sleep(LAG_SECONDS)
            mine = one.ask()
    raise disagreement(fact, one.named, other.named)


def disagreement(fact: Fact, one: str, other: str) -> CommandRefused:
    """The refusal that names two sources which say different things."""
    named = f"{printable(one, 150)} and {printable(other, 150)}"
    message = f"{named[0].upper()}{named[1:]} say different things about {RULES[fact].what}."
    return CommandRefused("sources_disagree", message, next_action=_NOTHING_SIGNED)
