"""Storing, finding and rewrapping a content key.

Promises: a wrap is stored only when a pinned Guardian sent it, the pair is the Submission the Hub currently records
for that Solver (or, once the bounty is final, the winner), and the wrap opens with a key of this deployment to exactly
the key the envelope committed to. What is stored is the wrap, never the key. Only the funding Poster of an awarded
bounty gets the winner's key, sealed to a fresh key. Nothing tells which Guardian sent a wrap.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from service_common.crypto import sealed_box
from service_common.crypto.failures import SealedDataError
from service_common.crypto.x25519 import Identity
from service_common.db import delivery as t
from service_common.db.engine import writing
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import Finalization, IndexedBounty
from service_common.domain.lifecycle import Outcome
from service_common.errors import Issue, ServiceError, state_refusal
from service_common.types import Address, BountyId, Bytes32
from sqlalchemy import Connection, exists, select
from sqlalchemy.dialects.postgresql import insert

from service_delivery.dependencies import Dependencies
from service_delivery.usecases.envelopes import read_envelope
from service_delivery.usecases.keys import accepted_keys, key_id

_CODE = "invalid_winning_solution_delivery"


@dataclass(frozen=True, slots=True)
class WrapRequest:
    """A Guardian's wrap: the pair it is for, and 80 bytes in base64."""

    solver: Address
    submission_commitment: Bytes32
    wrapped_key: str


def store_wrap(deps: Dependencies, bounty_id: BountyId, facts: HubFacts, wrap: WrapRequest) -> bool:
    """Keep a wrap; whether it is the first of its Submission."""
    bounty = facts.bounty(bounty_id)
    _require_deliverable(facts, bounty, wrap)
    envelope = read_envelope(facts.connection, bounty_id, wrap.solver, wrap.submission_commitment)
    keys = accepted_keys(facts, deps.config.keyring, deps.config.key_grace_seconds)
    used = _key_that_opens(keys, wrap, envelope.content_public_key)
    values = {
        "bounty_id": bounty_id,
        "solver": wrap.solver,
        "submission_commitment": wrap.submission_commitment,
        "wrapped_key": base64.b64decode(wrap.wrapped_key),
        "key_id": key_id(used),
    }
    with writing(deps.engine) as connection:
        statement = insert(t.wraps).values(values).on_conflict_do_nothing()
        return connection.execute(statement.returning(t.wraps.c.bounty_id)).first() is not None


def wrap_exists(connection: Connection, bounty_id: BountyId, commitment: Bytes32) -> bool:
    """Whether a wrap of exactly this Submission is held."""
    c = t.wraps.c
    held = select(exists().where(c.bounty_id == bounty_id, c.submission_commitment == commitment))
    return bool(connection.execute(held).scalar())


def retrieve_key(deps: Dependencies, facts: HubFacts, bounty_id: BountyId, poster_key: Bytes32) -> dict[str, object]:
    """The body of ``retrieve``: the winner's content key, sealed to the Poster's fresh key."""
    winner = _winner(facts, facts.bounty(bounty_id))
    envelope = read_envelope(facts.connection, bounty_id, winner.winner, winner.submission_commitment)
    c = t.wraps.c
    row = facts.connection.execute(
        select(c.wrapped_key).where(
            c.bounty_id == bounty_id,
            c.solver == winner.winner,
            c.submission_commitment == winner.submission_commitment,
        )
    ).scalar()
    if row is None:
        raise ServiceError("winning_solution_key_not_found", "No Guardian has delivered the winning key yet.")
    stored = base64.b64encode(bytes(row)).decode()
    identity = sealed_box.unwrap(stored, deps.config.keyring, envelope.content_public_key)
    try:
        rewrapped = sealed_box.wrap(identity, poster_key)
    except SealedDataError as error:
        raise ServiceError(
            _CODE, "The fresh key is not usable.", issues=[Issue("poster_ephemeral_public_key", error.message)]
        ) from None
    return {
        "solver_address": winner.winner,
        "submission_commitment": winner.submission_commitment,
        "wrapped_key": rewrapped,
    }


def _require_deliverable(facts: HubFacts, bounty: IndexedBounty, wrap: WrapRequest) -> None:
    """The pair is the Solver's current Submission while the bounty is open, the winner once it is final."""
    ending = facts.finalization(bounty)
    if ending is not None:
        if (wrap.solver, wrap.submission_commitment) != (ending.winner, ending.submission_commitment):
            raise state_refusal(_CODE, "The bounty is final and this Submission did not win.")
        return
    active = facts.active_submission(bounty.bounty_id, wrap.solver)
    if active is None or active.submission_commitment != wrap.submission_commitment:
        raise state_refusal(_CODE, "The Hub does not record this Submission as that Solver's current one.")


def _winner(facts: HubFacts, bounty: IndexedBounty) -> Finalization:
    ending = facts.finalization(bounty)
    if ending is None or ending.outcome is not Outcome.AWARDED:
        raise state_refusal(_CODE, "The bounty has not been awarded; there is no winning work to deliver.")
    return ending


def _key_that_opens(keys: Sequence[Identity], wrap: WrapRequest, content_public_key: Bytes32) -> Bytes32:
    """The deployment key the wrap was made for."""
    problem = "does not open with this deployment's key"
    for key in keys:
        try:
            sealed_box.unwrap(wrap.wrapped_key, [key], content_public_key)
        except SealedDataError as error:
            problem = error.message
            continue
        return key.public_key
    raise ServiceError(_CODE, "The wrapped key cannot be accepted.", issues=[Issue("wrapped_key", problem)])
