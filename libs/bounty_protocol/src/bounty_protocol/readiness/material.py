"""The material of a readiness review."""

from dataclasses import dataclass

from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.types import UnixSeconds


@dataclass(frozen=True, slots=True)
class Material:
    """The material of one review: the parsed page, its exact bytes, when, and on which terms of the deployment.

    ``reveal_delay`` is None if it is not known; the token is the escrow token, as it describes itself.
    """

    page: ChallengePage
    content: bytes
    now: UnixSeconds
    reveal_delay: int | None = None
    token_symbol: str = "USDC"  # noqa: S105  # money, not a password
    token_decimals: int = 6
