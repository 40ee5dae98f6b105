"""The envelope a Submission committed to, read from the api's table and trusted only after hashing it."""

from typing import Final

from bounty_protocol.domain.envelope import Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from service_common.db import app as t
from sqlalchemy import Connection, select

NO_ENVELOPE: Final = frozenset({"submission_not_found", "solver_submission_content_invalid"})
"""The codes of ``read_envelope`` where there is none, or one that was altered."""


def read_envelope(connection: Connection, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> Envelope:
    """The envelope behind an indexed commitment; it names the pair's Solver and this bounty."""
    c = t.submission_envelopes.c
    stored = connection.execute(
        select(c.content).where(c.bounty_id == bounty_id, c.solver == solver, c.submission_commitment == commitment)
    ).scalar()
    if stored is None:
        raise ServiceError("submission_not_found", "The envelope of this Submission is not held here.")
    try:
        envelope = parse_envelope(bytes(stored))
    except ServiceError as error:
        raise _altered() from error
    if envelope.commitment() != commitment or (envelope.bounty_id, envelope.solver_address) != (bounty_id, solver):
        raise _altered()
    return envelope


def _altered() -> ServiceError:
    return ServiceError(
        "solver_submission_content_invalid", "The stored envelope does not hash to the Submission's commitment."
    )
