"""Values with who vouched for them, and the question that each further source is asked, too."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.types import BlockNumber

from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.witness_table import RULES, Fact, Witness
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.text import printable

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
    """The endpoint's answer, if each further one answers the same at one block; ``sources_disagree`` otherwise."""
    if not chain.further:
        return read(chain)
    block = _block_of_all(chain)
    mine, *answers = (read(each.at(block)) for each in chain.everywhere)
    for other, answer in zip(chain.further, answers, strict=True):
        if answer != mine:
            raise disagreement(fact, chain.named, other.named)
    return mine


def _block_of_all(chain: ChainClient) -> BlockNumber:
    """The newest block that an endpoint shows, once all of them have come to it.

    So none of them alone has the others answer of a time that is over. One that stays behind fails as a silent one.
    """
    block = BlockNumber(0)
    for look in range(LAG_LOOKS):
        if look:
            time.sleep(LAG_SECONDS)
        with chain_errors():
            heads = [(header_at(each.rpc, "latest").number, each.named) for each in chain.everywhere]
        block = block or max(head for head, _ in heads)
        behind = [named for head, named in heads if head < block]
        if not behind:
            return block
    message = f"Block {block}, which another endpoint shows, is missing at {behind[0]}."
    next_action = "Nothing was signed. Run the command again, or use other endpoints."
    raise CommandFailed("chain_unavailable", message, next_action=next_action)


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
