"""The Hub's own word on a bounty's Poster and end, asked before a key leaves, or a wrap that lost is deleted.

The index is a copy in a database, and anyone who can write there could put an account of theirs in a Poster's place.
"""

from dataclasses import dataclass

from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.rpc import OneEndpoint, Rpc, RpcRefused
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber
from service_common.db.hub_facts import INDEX_UNAVAILABLE
from service_common.log import get_logger

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HubWitness:
    """Reads of one Hub."""

    rpc: Rpc
    hub: Address

    def require_ending(self, bounty: Bounty, final: BlockNumber) -> None:
        """Raise 503 unless the Hub has this Poster, roster and outcome in the finalized block ``final``."""
        terms, ending = bounty.terms, bounty.ending
        named = (terms.poster, terms.guardian_roster_hash, terms.roster_version)
        ended = None if ending is None else (ending.outcome, ending.winner, ending.submission_commitment)

        def ask(one: OneEndpoint) -> BountyView | None:
            hub = Hub(one, self.hub)
            try:
                return hub.bounty(bounty.bounty_id, final)
            except RpcRefused:  # a node that keeps only recent state still has the final block's
                return hub.bounty(bounty.bounty_id)

        seen = self.rpc.agreed(ask, 1)
        if (
            seen is None
            or (seen.poster, seen.guardian_roster_hash, seen.roster_version) != named
            or (seen.outcome, seen.winner, seen.winning_submission) != ended
        ):
            log.error("the index contradicts the Hub", bounty_id=bounty.bounty_id)
            text = "The indexed Hub state of this bounty differs from the Hub; this is being investigated."
            raise ServiceError(INDEX_UNAVAILABLE, text)
