"""The feed of changes: what the index took in and took back, in the order in which it did.

The numbers come from the one writer, so nothing appears later with a lower number than what was read. A log that a
reorg took out is not listed any more: who has not read it has nothing to take back.
"""

from collections.abc import Mapping

from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.domain.lifecycle.hub_events import VerdictRecorded, bounty_of, event_of
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, Bytes32, UnixSeconds
from bounty_protocol.wire.changes import Change, ChangeEvent, ChangeList, ChangeQuery, ReplacedVerdict
from bounty_protocol.wire.values import AnyObject, ChangeKind, ChangeNumber, Finality
from service_common.db import hub_index as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import Head, former_verdicts
from sqlalchemy import Connection, RowMapping, func, select, true, tuple_

Replaced = Mapping[tuple[int, int], ReplacedVerdict]


def list_changes(facts: HubFacts, query: ChangeQuery) -> ChangeList:
    """Return the body of ``GET /api/changes``."""
    connection, head, c, logs = facts.connection, facts.head, t.changes.c, t.logs
    placed = (logs.c.block_number == c.block_number) & (logs.c.log_index == c.log_index)
    columns = (c.number, c.block_number.label("at_block"), c.log_index.label("at_log"), *logs.c)
    found = select(*columns).select_from(t.changes.outerjoin(logs, placed)).where(c.number > query.after)
    rows = connection.execute(found.order_by(c.number).limit(query.limit + 1)).mappings().all()
    if not rows and query.after > (connection.execute(select(func.max(c.number))).scalar() or 0):
        issue = Issue("after", "is beyond the newest change of this index; start again at 0")  # restored from a backup
        raise ServiceError("invalid_request", "The index has not come that far.", issues=[issue])
    shown = rows[: query.limit]
    replaced = _read_replaced(connection, [(row["at_block"], row["at_log"]) for row in shown])
    changes = tuple(
        Change(ChangeNumber(row["number"]), ChangeKind.RETRACTION, None, BlockNumber(row["at_block"]))
        if row["at_log"] is None
        else Change(ChangeNumber(row["number"]), ChangeKind.EVENT, _event(head, row, replaced), None)
        for row in shown
    )
    return ChangeList(changes, changes[-1].number if changes else query.after, len(rows) > query.limit)


def _read_replaced(connection: Connection, places: list[tuple[int, int]]) -> Replaced:
    """Read the Verdicts that those among some logs replaced, by the block number and log index of these."""
    v, former = t.verdicts.c, former_verdicts()
    at = (v.block_number.label("by_block"), v.log_index.label("by_log"))
    found = select(*at, former).select_from(t.verdicts.join(former, true()))
    rows = connection.execute(found.where(tuple_(v.block_number, v.log_index).in_(places))).mappings()
    return {(row["by_block"], row["by_log"]): _replaced(row) for row in rows}


def _replaced(row: RowMapping) -> ReplacedVerdict:
    verdict = event_of(VerdictRecorded, dict(row))
    awarded = verdict.kind is VerdictKind.AWARDED
    return ReplacedVerdict(
        kind=verdict.kind,
        solver_address=verdict.solver if awarded else None,
        submission_commitment=verdict.submission_commitment if awarded else None,
        report_commitment=verdict.report_commitment,
        tx_hash=Bytes32(row["tx_hash"]),
        time=UnixSeconds(row["time"]),
    )


def _event(head: Head, row: RowMapping, replaced: Replaced) -> ChangeEvent:
    log = Log(
        address=head.hub_address,
        block_number=BlockNumber(row["block_number"]),
        block_hash=Bytes32(row["block_hash"]),
        log_index=row["log_index"],
        tx_hash=Bytes32(row["tx_hash"]),
        topics=tuple(Bytes32(topic) for topic in row["topics"]),
        data=bytes(row["data"]),
    )
    event = decode_log(log)
    is_final = head.is_finalized(log.block_number)
    return ChangeEvent(
        name=type(event).__name__,
        bounty_id=bounty_of(event),
        fields=AnyObject(to_json(event)),
        block_number=log.block_number,
        block_hash=log.block_hash,
        log_index=log.log_index,
        tx_hash=log.tx_hash,
        time=UnixSeconds(row["time"]),
        finality=Finality.FINALIZED if is_final else Finality.UNSAFE,
        replaces=replaced.get((log.block_number, log.log_index)),
    )
