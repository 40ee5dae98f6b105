"""Whether a bounty takes Submissions, or their bytes, at this moment of the index."""

from functools import partial

from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.errors import ServiceError, state_refusal
from bounty_protocol.types import Address
from service_common.db import app as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_submission
from sqlalchemy import select


def require_accepting(facts: HubFacts, bounty: Bounty) -> None:
    """Refuse unless the bounty is open and before its submission deadline."""
    if not _accepting(facts, bounty):
        raise _closed()


def require_uploadable(facts: HubFacts, bounty: Bounty, solver: Address, locator: str, byte_length: int) -> bool:
    """Refuse an upload after the deadline unless it is for the Solver's recorded bytes; return whether it is.

    The storage may have lost them, and that must not prevent anyone from judging or opening the work.
    """
    accepts = _accepting(facts, bounty)
    # A recorded one that is not final yet keeps nobody from replacing it.
    find = partial(read_submission, facts.connection) if accepts else facts.active_submission
    submission, e = find(bounty.bounty_id, solver), t.submission_envelopes.c
    if (
        submission is not None
        and (
            content := facts.connection.execute(
                select(e.content).where(
                    e.bounty_id == bounty.bounty_id,
                    e.solver == solver,
                    e.submission_commitment == submission.event.submission_commitment,
                )
            ).scalar()
        )
        is not None
    ):
        ciphertext = parse_envelope(bytes(content)).ciphertext
        if (ciphertext.storage_locator, ciphertext.byte_length) == (locator, byte_length):
            return True
    if not accepts:
        raise _closed()
    return False


def _accepting(facts: HubFacts, bounty: Bounty) -> bool:
    return bounty.terms.schedule.accepting(bounty.status, facts.head.block_time)


def _closed() -> ServiceError:
    return state_refusal("invalid_solver_submission", "The bounty no longer accepts Submissions.")
