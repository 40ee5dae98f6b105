"""The Hub's immutables per network, as they are deployed.

Windows in seconds, escrow in smallest units. ``local`` is for trying the command out; the local stack deploys its own.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, NETWORKS
from bounty_protocol.types import Address, ChainId

DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class HubTerms:
    """The terms that can never be changed after deployment. ``token`` None: named on the command line."""

    name: str
    chain_id: ChainId
    token: Address | None
    reveal_delay: int
    min_submission_window: int
    max_submission_window: int
    min_judging_window: int
    max_judging_window: int
    min_escrow: int
    publication_delay: int


TERMS: Final = {
    terms.name: terms
    for terms in (
        HubTerms(
            name="mainnet",
            chain_id=NETWORKS["mainnet"],
            token=Address("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"),
            reveal_delay=3_600,
            min_submission_window=3_600,
            max_submission_window=180 * DAY,
            min_judging_window=3 * DAY,
            max_judging_window=60 * DAY,
            min_escrow=1_000_000,
            publication_delay=2 * DAY,
        ),
        HubTerms(
            name="staging",
            chain_id=NETWORKS["staging"],
            token=Address("0x036cbd53842c5426634e7929541ec2318f3dcf7e"),
            reveal_delay=2_700,
            min_submission_window=600,
            max_submission_window=180 * DAY,
            min_judging_window=7_200,
            max_judging_window=60 * DAY,
            min_escrow=1_000_000,
            publication_delay=3_600,
        ),
        HubTerms(
            name="local",
            chain_id=LOCAL_CHAIN_ID,
            token=None,
            reveal_delay=5,
            min_submission_window=1,
            max_submission_window=30 * DAY,
            min_judging_window=5,
            max_judging_window=30 * DAY,
            min_escrow=1_000_000,
            publication_delay=1,
        ),
    )
}
