"""A short-lived cache of one bounty's index rows, for requests that come within a moment.

Everything here is finalized, except that the ending may be reported as pending; it is at most two seconds old. A
refusal is never kept. An envelope's public half is checked against the commitment once, and a hash does not change.
"""

from dataclasses import dataclass
from typing import Final, cast

from bounty_protocol.clock import Clock
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.hub_events import BountyFinalized
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32
from flask import current_app
from service_common.db.engine import single
from service_common.recent import Recent

from service_delivery.dependencies import Dependencies
from service_delivery.usecases.envelopes import read_envelope
from service_delivery.usecases.keys import AcceptedKeys, accepted_keys

EXTENSION: Final = "service-delivery-known"
_PENDING: Final = "The indexed Hub state for this bounty has not reached a finalized block yet."


@dataclass(frozen=True, slots=True)
class KnownBounty:
    """One bounty. ``pending`` is the wait in seconds where it has ended in a block that is not finalized."""

    bounty: Bounty
    guardians: frozenset[Address]
    accepted: AcceptedKeys
    """The delivery keys that a wrap may be made for."""
    pending: int | None
    lags: bool
    """Whether the copy is so far behind that the wait is the service's failure, not the chain's time."""
    finalized_number: BlockNumber

    def ending(self) -> BountyFinalized | None:
        """How it ended, None while it is open; 503 while that can still change."""
        if self.pending is not None:
            raise ServiceError(
                "bounty_chain_state_unavailable", _PENDING, retry_after=self.pending, is_failure=self.lags
            )
        return self.bounty.ending


class KnownBounties:
    """The cache of one process. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._bounties: Recent[BountyId, KnownBounty] = Recent(1.0, 512, clock)
        self._keys: Recent[tuple[BountyId, Address, Bytes32], Bytes32] = Recent(60.0, 512, clock)

    def bounty(self, deps: Dependencies, bounty_id: BountyId) -> KnownBounty:
        """Poster, roster, ending and the keys in use; 404 and 503 as the facts require."""
        return self._bounties.get(bounty_id, lambda: _look_up(deps, bounty_id))

    def content_public_key(
        self, deps: Dependencies, bounty_id: BountyId, solver: Address, commitment: Bytes32
    ) -> Bytes32:
        """The public half that the envelope behind a commitment names."""

        def make() -> Bytes32:
            with single(deps.engine) as connection:
                return read_envelope(connection, bounty_id, solver, commitment).content_public_key

        return self._keys.get((bounty_id, solver, commitment), make)


def _look_up(deps: Dependencies, bounty_id: BountyId) -> KnownBounty:
    with deps.facts.open() as facts:
        bounty = facts.bounty(bounty_id)
        guardians = frozenset(facts.roster(bounty).accounts)
        accepted = accepted_keys(facts, deps.config.keyring, deps.config.key_grace_seconds)
        pending: int | None = None
        try:
            facts.ending(bounty)
        except ServiceError as waiting:
            pending = waiting.retry_after or 1
        return KnownBounty(bounty, guardians, accepted, pending, facts.may_lack, facts.head.finalized_number)


def known_bounties() -> KnownBounties:
    """The cache of the process that answers this request."""
    return cast("KnownBounties", current_app.extensions[EXTENSION])
