"""Facts that authorize: indexed, finalized, and not contradicted by anything later.

A fact is returned only when the block that set it is at or behind the finalized block of the copy; otherwise the caller
gets a 503, with a Retry-After from the finality lag as measured. An unknown bounty is 404 only while the copy is a few
blocks behind the chain; one that lags or is halted answers 503 instead. Section "States and transitions" of the
interface.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized, Logged, Origin, SubmissionRecorded
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, ChainId
from sqlalchemy import Connection, Engine

from service_common.chain.settings import ChainSettings
from service_common.db.engine import reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import (
    Head,
    read_bounty,
    read_head,
    read_roster,
    read_submission,
)

MAX_LAG_SECONDS: Final = 60
"""A copy whose newest block is older than this is behind the chain, as the status says it."""
UNKNOWN_AFTER_SECONDS: Final = 5
"""A copy whose newest block is older than this and one block's time cannot show that something does not exist: two
steps of the index, the second that a header's time leaves out, and two that an endpoint takes."""
FAILS_AFTER_SECONDS: Final = 16
"""What a copy refuses whose newest block is older than this counts as the service's failure."""
_ASK_AGAIN_SECONDS: Final = 5
INDEX_UNAVAILABLE: Final = "bounty_projection_unavailable"
_CHAIN_STATE: Final = "bounty_chain_state_unavailable"


@dataclass(frozen=True, slots=True)
class FactSource:
    """Where the facts of one deployment are read."""

    engine: Engine
    chain_id: ChainId
    hub_address: Address
    clock: Clock

    @classmethod
    def of(cls, engine: Engine, chain: ChainSettings, clock: Clock) -> "FactSource":
        """Make the source from a deployment's settings."""
        return cls(engine, chain.chain_id, chain.hub_address, clock)

    @contextmanager
    def open(self) -> Iterator["HubFacts"]:
        """Open one snapshot of the copy."""
        try:
            with reading(self.engine) as connection:
                head = self.require_readable(read_head(connection, self.chain_id))
                yield HubFacts(connection, head, self)
        except DatabaseUnavailable as error:
            raise unreadable() from error

    def require_readable(self, head: Head | None) -> Head:
        """Raise 503 unless there is a copy of this Hub that has not halted."""
        if head is None or head.halted is not None:
            raise ServiceError(INDEX_UNAVAILABLE, "The indexed Hub state is not available yet.", retry_after=5)
        self.require_hub(head)
        return head

    def require_hub(self, head: Head) -> None:
        """Raise 503 if the copy belongs to another Hub.

        Two deployments may have their databases on one server with the same roles: the wrong database name would show
        other bounties with the same numbers.
        """
        if head.hub_address != self.hub_address:
            raise ServiceError(INDEX_UNAVAILABLE, "The index in this database belongs to another Hub.")

    def is_behind(self, head: Head) -> bool:
        """Return whether the copy lags so far that it is out of date."""
        return self.clock.now() - head.block_time > MAX_LAG_SECONDS

    def fails(self, head: Head) -> bool:
        """Return whether the copy lags so far that what it refuses is the service's failure."""
        return self.clock.now() - head.block_time > FAILS_AFTER_SECONDS

    def no_such_bounty(self, head: Head) -> ServiceError:
        """Return 404 for a bounty that the copy does not have, 503 while the copy is too far behind to know."""
        if self.clock.now() - head.block_time > UNKNOWN_AFTER_SECONDS + head.seconds_per_block:
            message = "The indexed Hub state is behind the chain; the bounty may exist."
            return ServiceError(INDEX_UNAVAILABLE, message, retry_after=_ASK_AGAIN_SECONDS, is_failure=self.fails(head))
        return ServiceError("bounty_not_found", "This deployment's Hub has no such bounty.")


def unreadable() -> ServiceError:
    """Return the error for a database that does not answer."""
    return ServiceError(INDEX_UNAVAILABLE, "The indexed Hub state cannot be read at the moment.")


def require_pinned(bounty: Bounty, roster: Roster | None) -> Roster:
    """Return the roster that a bounty pinned; 503 if the copy has none, or another one under its version."""
    if roster is None or roster.guardian_roster_hash != bounty.terms.guardian_roster_hash:
        raise ServiceError(INDEX_UNAVAILABLE, "The indexed Hub state is incomplete.")
    return roster


@dataclass(frozen=True, slots=True)
class HubFacts:
    """Reads that refuse what is not final yet."""

    connection: Connection
    head: Head
    source: FactSource

    def bounty(self, bounty_id: BountyId) -> Bounty:
        """Return a bounty whose creation is finalized. Its ending may not be: ``ending`` checks that."""
        bounty = read_bounty(self.connection, bounty_id)
        if bounty is None:
            raise self.source.no_such_bounty(self.head)
        self.require_finalized(bounty.created.origin)
        return bounty

    def roster(self, bounty: Bounty) -> Roster:
        """Return the roster that the bounty pinned. It was published before the bounty, so it is at least as final."""
        return require_pinned(bounty, read_roster(self.connection, bounty.terms.roster_version))

    def ending(self, bounty: Bounty) -> BountyFinalized | None:
        """Return how the bounty ended; None while it is open; 503 while the ending is not finalized."""
        if bounty.finalized is not None:
            self.require_finalized(bounty.finalized.origin)
        return bounty.ending

    def active_submission(self, bounty_id: BountyId, solver: Address) -> Logged[SubmissionRecorded] | None:
        """Return the Solver's current Submission; 503 while its newest one is not finalized."""
        submission = read_submission(self.connection, bounty_id, solver)
        if submission is not None:
            self.require_finalized(submission.origin)
        return submission

    def require_finalized(self, origin: Origin) -> None:
        """Raise 503 unless the fact's block is final; that is no failure of the service if only the chain needs
        time.
        """
        if not self.head.is_finalized(origin.block_number):
            raise ServiceError(
                _CHAIN_STATE,
                "The indexed Hub state for this bounty has not reached a finalized block yet.",
                retry_after=min(600, max(1, origin.time - self.head.finalized_time)),
                is_failure=self.source.fails(self.head),
            )
