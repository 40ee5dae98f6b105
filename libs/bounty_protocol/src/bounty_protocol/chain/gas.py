"""Limits on gas of this project's programs: how much a call may take, and what is offered for a unit of it.

An endpoint that estimates gas or suggests a price may be wrong on purpose, and a contract that is not the Hub may take
any amount. So each call has a bound that follows from what the Hub was measured to take, and a tip has one that follows
from recent blocks, and a cap of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

GWEI: Final = 10**9
MAX_FEE_WEI: Final = 500 * GWEI
"""The most that is offered for a unit of gas, tip included, unless somebody decides otherwise."""
MAX_TIP_WEI: Final = 10 * GWEI
"""The most that is offered as a tip, even if an endpoint shows higher ones in recent blocks."""
USUAL_COST_WEI: Final = 3 * 10**15
"""0.003 ether: above what any of these calls costs on the networks of this release, so that more is a person's
decision."""
PLAIN_TIP_WEI: Final = GWEI // 10
"""A tip that is offered without comparing it: many times what a rollup's blocks take, and next to nothing."""
_TIP_MULTIPLE: Final = 2


@dataclass(frozen=True, slots=True)
class GasNeed:
    """The gas of a call, rounded up from ``contracts/snapshots/hub.gas.json``; ``further`` for each further claim."""

    used: int
    reaches_token: bool
    further: int = 0

    def usual(self, parts: int = 1) -> int:
        """Return the gas of a call with this many claims."""
        return self.used + self.further * (parts - 1)

    def most(self, parts: int = 1) -> int:
        """Return the highest gas limit to sign: twice the measured need, or three times if the call runs the token's
        code.

        This covers a recipient that never held the token, a token replaced behind its proxy, and the margin of
        estimates.
        """
        return (3 if self.reaches_token else 2) * self.usual(parts)


GAS_NEEDS: Final[Mapping[str, GasNeed]] = {
    "approve": GasNeed(56_000, reaches_token=True),
    "createBounty": GasNeed(145_000, reaches_token=True),
    "createBountyWithAuthorization": GasNeed(178_000, reaches_token=True),
    "submit": GasNeed(57_000, reaches_token=False),
    "recordVerdict": GasNeed(67_000, reaches_token=False),
    "settle": GasNeed(35_000, reaches_token=False),
    "claim": GasNeed(60_000, reaches_token=True),
    "claimRefund": GasNeed(60_000, reaches_token=True),
    "claimGuardianFee": GasNeed(61_000, reaches_token=True),
    "claimProtocolFee": GasNeed(60_000, reaches_token=True),
    "claimMany": GasNeed(61_000, reaches_token=True, further=12_000),
    "heartbeat": GasNeed(28_000, reaches_token=False),
}
"""By the function that is called; ``approve`` is the token's. What only the Hub's owner calls is not among them."""


def reasonable_tip(suggested: int, recent: Sequence[int]) -> int:
    """Return the tip to offer: as suggested, but at most twice the median of ``recent`` blocks and never above
    ``MAX_TIP_WEI``. Without recent blocks, or if these took next to nothing, it is at most ``PLAIN_TIP_WEI``.
    """
    median = sorted(recent)[len(recent) // 2] if recent else 0
    return min(suggested, max(_TIP_MULTIPLE * median, PLAIN_TIP_WEI), MAX_TIP_WEI)
