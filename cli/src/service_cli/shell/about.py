"""What text tells of an event beside the event's own fields.

Events are for programs and hold what they need; a sentence for people also has the token's name, how long there is
still time, and what a transaction cost. A command passes a function that finds it out, which is called in text mode
only. What is not known is None, and the text leaves it out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service_cli.shell.text import Token

if TYPE_CHECKING:
    from service_common.domain.hub_events import BountyTerms


@dataclass(frozen=True, slots=True)
class About:
    """Everything that the text of an event may need."""

    token: Token | None = None
    """The escrow token, for amounts."""
    now: int | None = None
    """The chain's time; else this machine's."""
    terms: "BountyTerms | None" = None
    """Of the bounty that the event is about."""
    gas_cost: int | None = None
    """Wei that the event's transaction cost its sender."""
    happened_at: int | None = None
    """The time of the block that the event is about."""
    path: str | None = None
    """The page or directory that the command was given."""
    paid: bool = False
    """Whether the award, or without a winner the refund, was claimed."""
    summary: str | None = None
    """What the command found, in sentences that it has worked out itself."""


FindAbout = Callable[[], About]
NOTHING = About()
