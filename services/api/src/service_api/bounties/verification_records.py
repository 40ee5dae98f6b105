"""The VerificationRecord of a final bounty: derived once from finalized Hub state, cached, byte-stable.

Nothing is derived before the finalizing block is finalized, so a cached record can never be reorged away; every later
read serves the cached bytes. A record of another block, as a rebuild over another chain leaves it, is never served and
is derived anew. A failure is a value (``RecordError``), never an error of the read; a record that cannot be kept is
served and derived again later.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.commitments import log_digest
from bounty_protocol.domain.lifecycle.hub_events import Origin
from bounty_protocol.domain.lifecycle.record import derive_record
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import MAX_INT64, BountyId, Bytes32, to_bytes
from bounty_protocol.wire.bounties import RecordError
from bounty_protocol.wire.values import JsonObject, RecordFailure
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import Head, read_latest_verdicts
from service_common.log import get_logger
from sqlalchemy import Connection, exists, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from service_api.bounties.bounty_pages import IndexedBounty

MOST_ENDED: Final = 500
"""Endings whose records one job derives; the next run does the others."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one source."""

    source: FactSource
    may_keep: bool = True
    """Whether what is derived is kept, which needs a role that may write."""

    def find(self, head: Head, page: IndexedBounty) -> JsonObject | RecordError | None:
        """Return the record of a bounty as its JSON object; None while it is open. Both arguments come from
        ``source``.
        """
        bounty, kept = page.bounty, page.record
        if bounty.finalized is None:
            return None
        if not head.is_finalized(bounty.finalized.origin.block_number):
            if self.source.is_behind(head):
                return RecordError(RecordFailure.INDEX_BEHIND, "The indexed Hub state has fallen behind the chain.")
            message = "The block in which this bounty was settled is not final yet."
            return RecordError(RecordFailure.NOT_FINALIZED, message)
        try:
            is_of_this_ending = kept is not None and kept.block_hash == bounty.changed_at.block_hash
            content = kept.content if kept is not None and is_of_this_ending else self.derive(bounty.bounty_id)
            record = json.loads(content)
            if not isinstance(record, dict):
                raise ValueError("a cached record that is not an object")
        except ValueError:
            log.exception("record not derived", bounty_id=bounty.bounty_id)
            message = "The record could not be derived from the indexed Hub state."
            return RecordError(RecordFailure.DERIVATION_FAILED, message)
        return record

    def derive(self, bounty_id: BountyId) -> bytes:
        """Derive the record's bytes and store them, replacing those of another block; ``ValueError`` if no record can
        be derived.
        """
        with self.source.open() as facts:
            bounty, head = facts.bounty(bounty_id), facts.head
            facts.ending(bounty)
            if bounty.finalized is None:
                raise ValueError("an open bounty has no record")
            # Up to the ending only: later claims do not change a record.
            logs = read_bounty_logs(facts.connection, bounty_id, until=bounty.finalized.origin)
            digest = log_digest(([to_bytes(topic) for topic in topics], data) for topics, data in logs)
            verdicts = [verdict.event for verdict in read_latest_verdicts(facts.connection, bounty_id)]
            roster = facts.roster(bounty)
            try:
                content = derive_record(
                    head.chain_id, head.hub_address, bounty, roster, verdicts, digest
                ).canonical_bytes()
            except ServiceError as error:
                raise ValueError("no record can be derived from the facts") from error
        if not self.may_keep:
            return content
        kept, row = t.verification_records, {"content": content, "block_hash": bounty.changed_at.block_hash}
        added = insert(kept).values(bounty_id=bounty_id, **row)
        of_another = kept.c.block_hash != row["block_hash"]
        try:
            with writing(self.source.engine) as connection:
                connection.execute(
                    added.on_conflict_do_update(index_elements=[kept.c.bounty_id], set_=row, where=of_another)
                )
        except DatabaseUnavailable:
            log.exception("record not kept", bounty_id=bounty_id)
        return content


def read_ended(facts: HubFacts, first: int = 0, last: int = MAX_INT64) -> list[BountyId]:
    """Read the bounties whose ending is in these blocks, is final and has no record yet, at most ``MOST_ENDED``."""
    c = h.finalizations.c
    rows = select(c.bounty_id).where(c.block_number.between(first, min(last, facts.head.finalized_number)))
    without = rows.where(~exists().where(t.verification_records.c.bounty_id == c.bounty_id))
    ended = facts.connection.execute(without.order_by(c.block_number.desc()).limit(MOST_ENDED)).scalars()
    return [BountyId(each) for each in ended]


def keep_records(source: FactSource, ended: Iterable[BountyId]) -> int:
    """Derive and keep the records of final bounties; return how many. One that cannot be derived is logged."""
    records, count = Records(source), 0
    for bounty_id in ended:
        try:
            records.derive(bounty_id)
            count += 1
        except ValueError:
            log.exception("record not derived", bounty_id=bounty_id)
    return count


def read_bounty_logs(
    connection: Connection, bounty_id: BountyId, until: Origin
) -> Iterator[tuple[tuple[Bytes32, ...], bytes]]:
    """Yield topics and data of the logs of one bounty in chain order, up to and including the one at ``until``. They
    are read a thousand at a time, since there may be a million.
    """
    c = h.logs.c
    rows = connection.execute(
        select(c.topics, c.data)
        .where(c.bounty_id == bounty_id, tuple_(c.block_number, c.log_index) <= (until.block_number, until.log_index))
        .order_by(c.block_number, c.log_index)
        .execution_options(yield_per=1_000)
    )
    for row in rows:
        yield tuple(Bytes32(topic) for topic in row.topics), bytes(row.data)
