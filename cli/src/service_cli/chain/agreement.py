"""What several sources say alike: the endpoints at one block that all of them have, and the API beside them.

No act that cannot be taken back rests on one party's word. docs/threat-model.md ("Whose word an act rests on") lists
who has to agree on each fact; where two differ, both are named and nothing is signed.
"""

import time
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.types import BlockNumber

from service_cli.chain.session import ChainClient, chain_errors
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.text import printable

T = TypeVar("T")
LAG_LOOKS: Final = 6
"""How often two sources are asked that differ: one may be a few blocks behind the other."""
LAG_SECONDS: Final = 1.0
_NOTHING_SIGNED: Final = "Nothing was signed. Find out which of the two is wrong, or use other endpoints."


class Fact(Enum):
    """A fact that an act rests on, in words that continue "two sources say different things about", and the code where
    they do."""

    TIME = ("the moment from which an authorization's hour is counted", "time_disagrees")
    CONDITIONS = ("the roster, fees and token that a bounty created now would pin", "publication_mismatch")
    UNFUNDED = ("the bounties that this account has funded with this page", "sources_disagree")
    AUTHORIZATION_OVER = (
        "whether an authorization signed for this page can still be used",
        "authorization_outstanding",
    )
    TERMS = ("a bounty's page, escrow and deadlines", "read_model_mismatch")
    REVEAL_POINT = ("the moment from which sealed work can be opened", "reveal_point_wrong")
    ROSTER = ("the Guardians whose keys open sealed work", "read_model_mismatch")
    SUBMISSION = ("which Submission is meant", "sources_disagree")
    WINNER = ("the outcome of a bounty and its winner", "read_model_mismatch")
    DELIVERY_KEY = ("the key to which a winning key is sealed", "sources_disagree")
    DONE = ("what an earlier run reported as done", "sources_disagree")


def agreed(chain: ChainClient, fact: Fact, read: Callable[[ChainClient], T]) -> T:
    """Return the endpoint's answer, if each further endpoint gives the same at one block; else raise
    ``sources_disagree``.
    """
    if not chain.further:
        return read(chain)
    block = _block_of_all(chain)
    mine, *answers = (read(each.at(block)) for each in chain.everywhere)
    for other, answer in zip(chain.further, answers, strict=True):
        if answer != mine:
            raise disagreement(fact, chain.named, other.named)
    return mine


def _block_of_all(chain: ChainClient) -> BlockNumber:
    """Return the newest block that any endpoint shows, once all of them have reached it.

    So no single endpoint can make the others answer for an outdated block. An endpoint that stays behind fails like a
    silent one.
    """
    block = BlockNumber(0)
    for look in range(LAG_LOOKS):
        if look:
            time.sleep(LAG_SECONDS)
        with chain_errors():
            heads = [(header_at(each.endpoint, "latest").number, each.named) for each in chain.everywhere]
        block = block or max(head for head, _ in heads)
        behind = [named for head, named in heads if head < block]
        if not behind:
            return block
    message = f"Block {block}, which another endpoint shows, is missing from {behind[0]}."
    next_action = "Nothing was signed. Run the command again, or use other endpoints."
    raise CommandFailed("chain_unavailable", message, next_action=next_action)


def disagreement(fact: Fact, one: str, other: str) -> CommandRefused:
    """Return the refusal that names two sources that disagree."""
    named = f"{printable(one, 150)} and {printable(other, 150)}"
    message = f"{named[0].upper()}{named[1:]} say different things about {fact.value[0]}."
    return CommandRefused("sources_disagree", message, next_action=_NOTHING_SIGNED)
