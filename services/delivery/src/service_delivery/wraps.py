"""Storing, finding and rewrapping a content key.

A wrap is stored only when a pinned Guardian sent it, the pair is the Submission the Hub currently records for that
Solver (or, once the bounty is final, the winner), and the wrap opens with a key of this deployment to exactly the key
the envelope committed to. What is stored is the wrap, never the key; one that was altered counts as missing, and
a Guardian's next one takes its place. Only the funding Poster of an awarded bounty gets
the winner's key, sealed to a fresh key. Nothing shows which Guardian sent a wrap.
"""

import base64
from collections.abc import Sequence
from typing import Final

from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.errors import Issue, ServiceError, state_refusal
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.delivery import RetrievedKey, WrapRequest
from service_common.counters import counter_by
from service_common.db.engine import single
from service_common.log import get_logger
from sqlalchemy import BindParameter, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from service_delivery import tables as t
from service_delivery.bounties import Bounties, KnownBounty
from service_delivery.hub_witness import HubWitness
from service_delivery.keys import key_id

WRAPS: Final = counter_by(
    "event",
    ("stored", "retrieved", "swept"),
    "service_delivery_wraps_total",
    "Wraps of content keys, by action: `swept` because they did not win",
)
REFUSED: Final = "invalid_winning_solution_delivery"
_c, _insert = t.wraps.c, insert(t.wraps)
_held_ids: BindParameter[list[str]] = bindparam("held", expanding=True)
_KEEP: Final = _insert.on_conflict_do_update(
    index_elements=[_c.bounty_id, _c.solver, _c.submission_commitment],
    set_={"wrapped_key": _insert.excluded.wrapped_key, "key_id": _insert.excluded.key_id},
    where=_c.key_id.not_in(_held_ids),  # a stored wrap that no held key opens is replaced
).returning(_c.bounty_id)
_HELD: Final = select(_c.solver, _c.wrapped_key).where(
    _c.bounty_id == bindparam("bounty_id"),
    _c.submission_commitment == bindparam("submission_commitment"),
    _c.key_id.in_(_held_ids),
)
_REPLACE: Final = (
    update(t.wraps)
    .where(
        _c.bounty_id == bindparam("of_bounty"),
        _c.solver == bindparam("of_solver"),
        _c.submission_commitment == bindparam("of_commitment"),
        _c.wrapped_key == bindparam("altered"),
    )
    .values(wrapped_key=bindparam("wrapped"), key_id=bindparam("by_key"))
    .returning(_c.bounty_id)
)
"""Made once: putting a statement together takes longer than sending it."""

log = get_logger(__name__)


class Wraps:
    """The wraps of one deployment. Thread-safe."""

    def __init__(self, bounties: Bounties, witness: HubWitness) -> None:
        self._bounties, self._witness = bounties, witness
        self._engine, self._keyring = bounties.source.engine, bounties.keyring
        self._held = [key_id(key.public_key) for key in self._keyring]

    def store(self, bounty_id: BountyId, wrap: WrapRequest) -> bool:
        """Store a wrap; return whether it is the first of its Submission."""
        known, commitment = self._bounties.known(bounty_id), wrap.submission_commitment
        accepted = known.keys.accepted(self._bounties.grace_seconds)
        self._require_deliverable(known, wrap)
        public_key = self._bounties.content_public_key(bounty_id, wrap.solver_address, commitment)
        used = _key_that_opens(accepted, wrap, public_key)
        row = {
            "bounty_id": bounty_id,
            "solver": wrap.solver_address,
            "submission_commitment": commitment,
            "wrapped_key": base64.b64decode(wrap.wrapped_key),
            "key_id": key_id(used),
            "held": self._held,
        }
        with single(self._engine) as connection:
            created = connection.execute(_KEEP, row).first() is not None
            held = {} if created else dict(connection.execute(_HELD, row).all())
            stored = held.get(wrap.solver_address)
            if stored is not None and self._opened(stored, public_key, bounty_id, commitment) is None:
                named = {"of_bounty": bounty_id, "of_solver": wrap.solver_address}
                named |= {"of_commitment": commitment, "altered": stored}
                renewed = {"wrapped": row["wrapped_key"], "by_key": row["key_id"]}
                created = connection.execute(_REPLACE, named | renewed).first() is not None
        if created:
            WRAPS.labels("stored").inc()
        return created

    def exists(self, bounty_id: BountyId, commitment: Bytes32) -> bool:
        """Return whether a wrap of exactly this Submission is stored that opens with one of the keys."""
        for solver, wrapped in self._wrapped(bounty_id, commitment).items():
            try:
                public_key = self._bounties.content_public_key(bounty_id, solver, commitment)
            except ServiceError:  # no envelope, or an altered one
                continue
            if self._opened(wrapped, public_key, bounty_id, commitment) is not None:
                return True
        return False

    def retrieve(self, bounty_id: BountyId, poster_key: Bytes32) -> RetrievedKey:
        """Return the answer of ``retrieve``: the winner's content key, sealed to the Poster's fresh key."""
        known = self._bounties.known(bounty_id)
        ending = known.ending
        if ending is None or ending.outcome is not Outcome.AWARDED:
            raise state_refusal(REFUSED, "The bounty has not been awarded; there is no winning work to deliver.")
        self._witness.require_ending(known.bounty, known.facts.head.finalized_number)
        solver, commitment = ending.winner, ending.submission_commitment
        identity, stored = None, self._wrapped(bounty_id, commitment).get(solver)
        if stored is not None:
            public_key = self._bounties.content_public_key(bounty_id, solver, commitment)
            identity = self._opened(stored, public_key, bounty_id, commitment)
        if identity is None:
            raise ServiceError("winning_solution_key_not_found", "No Guardian has delivered the winning key yet.")
        try:
            rewrapped = sealed_box.wrap(identity, poster_key)
        except SealedDataError as error:
            issue = Issue("poster_ephemeral_public_key", error.message)
            raise ServiceError(REFUSED, "The fresh key is not usable.", issues=[issue]) from None
        WRAPS.labels("retrieved").inc()
        return RetrievedKey(solver, commitment, rewrapped)

    def _wrapped(self, bounty_id: BountyId, commitment: Bytes32) -> dict[Address, bytes]:
        """Read the wraps of a commitment that are for a key that is held, by the Solver."""
        named = {"bounty_id": bounty_id, "submission_commitment": commitment, "held": self._held}
        with single(self._engine) as connection:
            return dict(connection.execute(_HELD, named).all())

    def _opened(self, wrapped: bytes, public_key: Bytes32, bounty_id: BountyId, commitment: Bytes32) -> Identity | None:
        """Return the content key of a Submission's stored wrap; None if it was altered."""
        try:
            return sealed_box.unwrap(base64.b64encode(bytes(wrapped)).decode(), self._keyring, public_key)
        except SealedDataError:
            named = {"bounty_id": bounty_id, "submission_commitment": commitment}
            log.error("a stored wrap does not open", **named)  # noqa: TRY400 - nothing of what is sealed is logged
            return None

    def _require_deliverable(self, known: KnownBounty, wrap: WrapRequest) -> None:
        """Refuse unless the pair is the Solver's current Submission while the bounty is open, or the winner once it is
        final.
        """
        ending = known.ending
        if ending is not None:
            if (wrap.solver_address, wrap.submission_commitment) != (ending.winner, ending.submission_commitment):
                raise state_refusal(REFUSED, "The bounty is final and this Submission did not win.")
            return
        with self._bounties.source.open() as facts:
            active = facts.active_submission(known.bounty.bounty_id, wrap.solver_address)
        if active is None or active.event.submission_commitment != wrap.submission_commitment:
            raise state_refusal(REFUSED, "The Hub does not record this Submission as that Solver's current one.")


def _key_that_opens(accepted: Sequence[Identity], wrap: WrapRequest, content_public_key: Bytes32) -> Bytes32:
    """Return the deployment key the wrap was made for."""
    problem = "does not open with this deployment's key"
    for key in accepted:
        try:
            sealed_box.unwrap(wrap.wrapped_key, [key], content_public_key)
        except SealedDataError as error:
            problem = error.message
            continue
        return key.public_key
    raise ServiceError(REFUSED, "The wrapped key cannot be accepted.", issues=[Issue("wrapped_key", problem)])
