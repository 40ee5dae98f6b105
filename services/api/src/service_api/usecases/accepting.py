"""Whether a bounty takes Submissions, or their bytes, at this moment of the index."""

from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.errors import ServiceError, state_refusal
from bounty_protocol.types import Address
from service_common.db import app as t
from service_common.db.hub_facts import HubFacts
from sqlalchemy import select


def require_accepting(facts: HubFacts, bounty: Bounty) -> None:
    """Open and before the submission deadline; else a final refusal."""
    if not _accepting(facts, bounty):
        raise _closed()


def require_uploadable(facts: HubFacts, bounty: Bounty, solver: Address, locator: str, byte_length: int) -> bool:
    """As long as the bounty accepts Submissions; after that, only the bytes of the Solver's recorded one. Whether they
    are that one's.

    The storage may have lost them, and nobody who is to judge or open the work must be locked out by that.
    """
    is_recorded = _is_recorded(facts, bounty, solver, locator, byte_length)
    if not (is_recorded or _accepting(facts, bounty)):
        raise _closed()
    return is_recorded


def _accepting(facts: HubFacts, bounty: Bounty) -> bool:
    return bounty.terms.schedule.accepting(bounty.status, facts.head.block_time)


def _is_recorded(facts: HubFacts, bounty: Bounty, solver: Address, locator: str, byte_length: int) -> bool:
    """Whether the Solver's final, active Submission refers to exactly these bytes."""
    submission = facts.active_submission(bounty.bounty_id, solver)
    if submission is None:
        return False
    e = t.submission_envelopes.c
    stored = facts.connection.execute(
        select(e.content).where(
            e.bounty_id == bounty.bounty_id,
            e.solver == solver,
            e.submission_commitment == submission.event.submission_commitment,
        )
    ).scalar()
    if stored is None:
        return False
    try:
        envelope = parse_envelope(bytes(stored))
    except ServiceError:
        return False
    same = (envelope.ciphertext.storage_locator, envelope.ciphertext.byte_length) == (locator, byte_length)
    return same and envelope.commitment() == submission.event.submission_commitment


def _closed() -> ServiceError:
    return state_refusal("invalid_solver_submission", "The bounty does not accept Submissions any more.")
