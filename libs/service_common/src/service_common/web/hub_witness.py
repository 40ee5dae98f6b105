"""Who may read sealed work, as the Hub itself says: what rows of the index say of it is held against ``getBounty``.

The index is a copy in a database, and whoever can write there could put an account of theirs in a Poster's place. So a
process asks the Hub about each bounty, and compares the rows with its answer each time. An answer of a final block
never changes: it is kept once the rows have agreed with it, since until then it is one endpoint's word. Rows that
differ open nothing, and the Hub is asked again each time.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock
from typing import Final

from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.lifecycle import Outcome
from bounty_protocol.domain.roster import Roster
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, ChainId
from prometheus_client import Counter

from service_common.db.hub_facts import INDEX_UNAVAILABLE
from service_common.log import get_logger

MOST_KEPT: Final = 10_000
CONTRADICTED: Final = Counter(
    "service_index_contradicted_total", "Requests refused since the index has something else than the Hub"
)

log = get_logger(__name__)


class HubWitness:
    """One process's memory of bounties that were final. Thread-safe."""

    def __init__(self, rpc: Rpc, chain_id: ChainId, hub: Address) -> None:
        self._chain_id, self._address, self._hub = chain_id, hub, Hub(rpc, hub)
        self._lock, self._seen = Lock(), OrderedDict[BountyId, BountyView]()

    def require_readers(self, bounty: Bounty, roster: Roster, final: BlockNumber) -> None:
        """Raise 503 unless the Hub has this Poster and this roster; ``final`` is the newest finalized block."""
        self.require_poster(bounty, final)
        try:
            roster.verify(self._chain_id, self._address, bounty.terms.guardian_roster_hash)
        except ServiceError:
            raise _contradicted(bounty.bounty_id, "roster") from None

    def require_poster(self, bounty: Bounty, final: BlockNumber) -> None:
        """Raise 503 unless the Hub has this Poster, and this roster's hash."""
        terms = bounty.terms
        pinned = (terms.poster, terms.guardian_roster_hash, terms.roster_version)

        def agrees(seen: BountyView) -> bool:
            return pinned == (seen.poster, seen.guardian_roster_hash, seen.roster_version)

        self._require(bounty.bounty_id, final, "terms", agrees)

    def require_award(self, bounty: Bounty, final: BlockNumber) -> None:
        """Raise 503 unless the Hub has awarded the bounty to the winner of its final ending."""
        self._require_ending(bounty, final, {Outcome.AWARDED})

    def require_ending(self, bounty: Bounty, final: BlockNumber) -> None:
        """Raise 503 unless the Hub has this final ending, with this winner or none."""
        self._require_ending(bounty, final, set(Outcome))

    def _require_ending(self, bounty: Bounty, final: BlockNumber, outcomes: Collection[Outcome]) -> None:
        ending = bounty.ending
        named = None if ending is None else (ending.outcome, ending.winner, ending.submission_commitment)

        def agrees(seen: BountyView) -> bool:
            return named == (seen.outcome, seen.winner, seen.winning_submission) and seen.outcome in outcomes

        self._require(bounty.bounty_id, final, "ending", agrees)

    def _require(
        self, bounty_id: BountyId, final: BlockNumber, what: str, agrees: Callable[[BountyView], bool]
    ) -> None:
        with self._lock:
            kept = self._seen.get(bounty_id)
        if kept is not None and agrees(kept):
            return
        try:
            view, is_final = self._hub.bounty(bounty_id, final), True
        except RpcRefused:  # of a node that keeps the state of its newest blocks alone: what is final is in them, too
            view, is_final = self._newest(bounty_id), False
        if view is None:
            raise _contradicted(bounty_id, "existence")
        if not agrees(view):
            raise _contradicted(bounty_id, what)
        if is_final:
            self._keep(bounty_id, view)

    def _newest(self, bounty_id: BountyId) -> BountyView | None:
        try:
            return self._hub.bounty(bounty_id)
        except RpcRefused as refusal:
            raise ChainUnavailable("an RPC endpoint refused to show a bounty") from refusal

    def _keep(self, bounty_id: BountyId, view: BountyView) -> None:
        with self._lock:
            self._seen[bounty_id] = view
            if len(self._seen) > MOST_KEPT:
                self._seen.popitem(last=False)


def _contradicted(bounty_id: BountyId, what: str) -> ServiceError:
    log.error("the index contradicts the Hub", bounty_id=bounty_id, what=what)
    CONTRADICTED.inc()
    text = "The indexed Hub state of this bounty is not what the Hub says; it is being looked into."
    return ServiceError(INDEX_UNAVAILABLE, text)
