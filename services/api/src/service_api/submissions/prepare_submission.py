"""Preparing a Submission: every check of the envelope, then the exact ``submit`` call.

Nothing is stored before all checks pass. A repeat of the same envelope gives the same answer, and restores what was
altered of the stored one (docs/adr/0008). Checks in order: the envelope alone, the bounty open, the envelope against
bounty and roster, the capsule's lock, the uploaded bytes. The API cannot see whether the capsule's inner stanzas are
right; nobody can before the reveal point. A Solver's envelopes that the Hub does not record are few, and those of all
strangers together are bounded (``pending``); one that it records always has a place.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.crypto.capsule import check_capsule
from bounty_protocol.domain.envelope.checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.domain.envelope.document import Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, TokenAmount, to_bytes
from bounty_protocol.wire.submissions import PreparedSubmission, SubmitTransaction
from bounty_protocol.wire.values import AbiArguments
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import writing
from service_common.db.hub_facts import FactSource
from sqlalchemy import Connection, Engine, Table, exists, func, select, text
from sqlalchemy.dialects.postgresql import insert

from service_api.deployment.constants import Constants
from service_api.storage.room import ROW_BYTES, Pending, PendingRoom, is_recorded
from service_api.submissions.ciphertexts import Ciphertexts
from service_api.submissions.upload_targets import require_accepting

MAX_UNRECORDED: Final = 8
"""Envelopes of a Solver in a bounty that the Hub does not record."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What preparing a Submission needs."""

    source: FactSource
    constants: Constants
    ciphertexts: Ciphertexts
    room: PendingRoom

    def prepare(self, bounty_id: BountyId, solver: Address, body: bytes) -> tuple[PreparedSubmission, bool]:
        """Return the answer of ``prepare``, and whether the envelope was stored for the first time."""
        envelope = parse_envelope(body)
        with self.source.open() as facts:
            bounty = facts.bounty(bounty_id)
            require_accepting(facts, bounty)
            expected = ExpectedEnvelope(
                chain_id=facts.head.chain_id,
                hub_address=facts.head.hub_address,
                bounty_id=bounty_id,
                solver_address=solver,
                spec_commitment=bounty.terms.spec_commitment,
                roster=facts.roster(bounty),
                reveal_policy=self.constants.beacon.reveal_policy(bounty.terms.reveal_at),
            )
            recorded = is_named(facts.connection, envelope, h.submissions)
            stored = is_named(facts.connection, envelope, t.submission_envelopes)
        issues = envelope_differences(envelope, expected) or check_capsule(envelope.key_capsule, envelope.reveal_policy)
        if issues:
            raise ServiceError("invalid_solver_submission", "The envelope does not fit this bounty.", issues=issues)
        self.ciphertexts.require_uploaded(envelope.ciphertext)
        if not (recorded or stored):
            self.room.require(Pending.ENVELOPES, solver)
        pending_bytes = None if recorded else ROW_BYTES + len(body)
        created = store_envelope(self.source.engine, envelope, body, pending_bytes)
        return _prepared(self.source, envelope), created


def _prepared(source: FactSource, envelope: Envelope) -> PreparedSubmission:
    """Return the envelope's commitment, and the transaction that the Solver's wallet sends."""
    bounty_id, commitment, roster_hash = envelope.bounty_id, envelope.commitment(), envelope.guardian_roster_hash
    data = hub_abi().functions["submit"].encode(bounty_id, to_bytes(commitment), to_bytes(roster_hash))
    transaction = SubmitTransaction(
        chain_id=source.chain_id,
        to=source.hub_address,
        value=TokenAmount(0),
        data="0x" + data.hex(),
        function_name="submit",
        args=AbiArguments([str(bounty_id), commitment, roster_hash]),
    )
    return PreparedSubmission(commitment, roster_hash, transaction)


def is_named(connection: Connection, envelope: Envelope, table: Table) -> bool:
    """Return whether a table of Submissions has this envelope's."""
    c = table.c
    same = (c.bounty_id == envelope.bounty_id) & (c.solver == envelope.solver_address)
    named = exists().where(same, c.submission_commitment == envelope.commitment())
    return bool(connection.execute(select(named)).scalar_one())


def store_envelope(engine: Engine, envelope: Envelope, body: bytes, pending_bytes: int | None) -> bool:
    """Store the envelope; return whether the row is new. An existing row is written again: the key commits to the
    bytes, so this can only heal.
    """
    e = t.submission_envelopes
    key = {
        e.c.bounty_id: envelope.bounty_id,
        e.c.solver: envelope.solver_address,
        e.c.submission_commitment: envelope.commitment(),
    }
    derived = {e.c.content: body, e.c.storage_locator: envelope.ciphertext.storage_locator}
    statement = insert(e).values(key | derived | {e.c.pending_bytes: pending_bytes})
    with writing(engine) as connection:
        lock = {"place": f"{envelope.bounty_id}/{envelope.solver_address}"}
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:place, 8))"), lock)
        kept = connection.execute(statement.on_conflict_do_nothing(index_elements=key).returning(e.c.solver))
        if kept.first() is None:
            connection.execute(statement.on_conflict_do_update(index_elements=key, set_=derived))
            return False
        mine = (e.c.bounty_id == envelope.bounty_id) & (e.c.solver == envelope.solver_address)
        unrecorded = select(func.count()).select_from(e).where(mine, ~is_recorded())
        if connection.execute(unrecorded).scalar_one() <= MAX_UNRECORDED:
            return True
        raise ServiceError(  # which undoes what is written here
            "unrecorded_submissions_limit_reached",
            f"This account has {MAX_UNRECORDED} prepared Submissions to this bounty that the Hub does not record.",
        )
