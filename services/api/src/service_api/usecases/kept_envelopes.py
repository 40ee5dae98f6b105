"""An envelope as it is kept: what its Submission's commitment proves, and nothing that its row says beside that."""

from typing import Any

from bounty_protocol.domain.envelope import Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from sqlalchemy import Row


def kept_envelope(row: Row[*tuple[Any, ...]]) -> Envelope | None:
    """The envelope in a row with ``solver``, ``submission_commitment`` and ``content``; None where the content is none
    of that Submission, or not there."""
    try:
        envelope = parse_envelope(bytes(row.content or b""))
    except ServiceError:
        return None
    is_its_own = envelope.commitment() == row.submission_commitment and envelope.solver_address == row.solver
    return envelope if is_its_own else None
