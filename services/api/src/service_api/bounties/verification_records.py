"""The VerificationRecord of a final bounty: derived once from finalized Hub state, cached, byte-stable.

Nothing is derived before the finalizing block is finalized, so a cached record can never be reorged away; every later
read serves the cached bytes, as long as they are what the facts make: now and then they are derived again and compared.
A record that its facts contradict is never served; it stays, for whoever looks into it, until the next rebuild of the
index, and is derived anew then. So is one of another block, as a rebuild over another chain leaves it, at once. A
failure is a value (``RecordError``), never an error of the read; a record that cannot be kept is served and derived
again later.
"""

import json
from hashlib import sha256
from typing import Final

from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.commitments import log_digest
from bounty_protocol.domain.record import VerificationRecord, derive_record
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId, to_bytes
from bounty_protocol.wire.bounties import RecordError
from bounty_protocol.wire.values import JsonObject, RecordFailure
from service_common.db import app as t
from service_common.db.engine import writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import INDEX_UNAVAILABLE, FactSource, HubFacts
from service_common.db.hub_reads import Head, read_bounty_logs, read_latest_verdicts
from service_common.log import get_logger
from service_common.recent import Recent
from sqlalchemy import Engine, or_
from sqlalchemy.dialects.postgresql import insert

from service_api.bounties.bounty_pages import IndexedBounty, KeptRecord

COMPARED_SECONDS: Final = 30.0
"""For how long a kept record counts as what its facts make, before it is derived again."""
MAX_COMPARED: Final = 512

log = get_logger(__name__)


class _NotDerivable(Exception):
    """The facts of a final bounty do not make a record."""


class Records:
    """The records of one source. Thread-safe.

    ``may_keep`` is whether this process keeps what it derives: one that only reads the database does not.
    """

    def __init__(self, source: FactSource, *, may_keep: bool = True) -> None:
        self.source, self._may_keep = source, may_keep
        self._compared: Recent[tuple[BountyId, bytes, int], bool] = Recent(COMPARED_SECONDS, MAX_COMPARED, source.clock)
        """Whether a record is what the facts make, by the hash of its bytes and the copy that has the facts."""

    def find(self, head: Head, page: IndexedBounty) -> JsonObject | RecordError | None:
        """The record of a bounty as its JSON object; None while it is open. Both arguments are of ``source``."""
        bounty = page.bounty
        if bounty.finalized is None:
            return None
        if not head.is_finalized(bounty.finalized.origin.block_number):
            if self.source.is_behind(head):
                return RecordError(RecordFailure.INDEX_BEHIND, "The indexed Hub state has fallen behind the chain.")
            message = "The block that finalized this bounty is not final itself yet."
            return RecordError(RecordFailure.NOT_FINALIZED, message)
        try:
            return _parsed(self._kept_or_derived(head, page))
        except (_NotDerivable, ValueError):
            log.exception("record not derived", bounty_id=bounty.bounty_id)
            message = "The record could not be derived from the indexed Hub state."
            return RecordError(RecordFailure.DERIVATION_FAILED, message)

    def _kept_or_derived(self, head: Head, page: IndexedBounty) -> bytes:
        kept, bounty = page.record, page.bounty
        if kept is not None and _is_of_this_ending(kept, bounty):
            key = (bounty.bounty_id, sha256(kept.content).digest(), head.rebuilds)
            if self._compared.get(key, lambda: _derived(self.source, head, bounty) == kept.content):
                return kept.content
            if kept.rebuilds >= head.rebuilds:
                raise _NotDerivable("the record that is kept is another")
        content = _derived(self.source, head, bounty)
        if self._may_keep:
            try:
                _keep(self.source.engine, bounty, content, head.rebuilds)
            except DatabaseUnavailable:
                log.exception("record not kept", bounty_id=bounty.bounty_id)
        return content


def _derived(source: FactSource, head: Head, bounty: Bounty) -> bytes:
    """Return the record's bytes, of the same copy: a final ending is the same at any later moment."""
    with source.open() as facts:
        if facts.head.rebuilds != head.rebuilds or not facts.head.is_finalized(bounty.changed_at.block_number):
            raise ServiceError(INDEX_UNAVAILABLE, "The indexed Hub state was replaced meanwhile.", retry_after=1)
        try:
            return _derive(facts, bounty).canonical_bytes()
        except ServiceError as error:
            raise _NotDerivable from error


def _is_of_this_ending(record: KeptRecord, bounty: Bounty) -> bool:
    indexed = bounty.changed_at.block_hash
    if record.block_hash != indexed:
        log.error("a cached record of another block", bounty_id=bounty.bounty_id, kept=record.block_hash, block=indexed)
    return record.block_hash == indexed


def _derive(facts: HubFacts, bounty: Bounty) -> VerificationRecord:
    if bounty.finalized is None:
        raise ValueError("an open bounty has no record")
    verdicts = [verdict.event for verdict in read_latest_verdicts(facts.connection, bounty.bounty_id)]
    # Up to the ending only: later claims do not change a record.
    logs = read_bounty_logs(facts.connection, bounty.bounty_id, until=bounty.finalized.origin)
    digest = log_digest(([to_bytes(topic) for topic in topics], data) for topics, data in logs)
    head = facts.head
    return derive_record(head.chain_id, head.hub_address, bounty, facts.roster(bounty), verdicts, digest)


def _keep(engine: Engine, bounty: Bounty, content: bytes, rebuilds: int) -> None:
    """Cache it, in the place of one of another block or copy; a second process with the same record writes nothing."""
    kept = t.verification_records
    row = {"content": content, "block_hash": bounty.changed_at.block_hash, "rebuilds": rebuilds}
    added = insert(kept).values(bounty_id=bounty.bounty_id, **row)
    of_another = or_(kept.c.block_hash != row["block_hash"], kept.c.rebuilds < rebuilds)
    with writing(engine) as connection:
        connection.execute(added.on_conflict_do_update(index_elements=[kept.c.bounty_id], set_=row, where=of_another))


def _parsed(content: bytes) -> JsonObject:
    record = json.loads(content)
    if not isinstance(record, dict):
        raise ValueError("a cached record that is no object")
    return record
