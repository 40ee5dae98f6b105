"""From a log to rows: pure, one case per event.

The same logs give the same rows on every replay. A log that is not one of the Hub's raises ``ValueError``: the indexer
halts on it rather than guess.
"""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.domain.lifecycle.hub_events import (
    EVENT_FIELDS,
    AwardClaimed,
    GuardianFeeClaimed,
    HubEvent,
    ProtocolFeeClaimed,
    RefundClaimed,
    RosterPublished,
    bounty_of,
)
from bounty_protocol.domain.lifecycle.states import HubEnum
from bounty_protocol.types import UnixSeconds
from service_common.db import hub_index as t
from sqlalchemy import Table

Row = tuple[Table, dict[str, object]]

_CLAIMS: Final[dict[type[HubEvent], str]] = {
    AwardClaimed: "winner_award",
    RefundClaimed: "poster_refund",
    GuardianFeeClaimed: "guardian_fee",
    ProtocolFeeClaimed: "protocol_fee",
}


def project(log: Log, time: UnixSeconds) -> Iterator[Row]:
    """Yield the raw log, and the facts it states, each with its origin."""
    event = decode_log(log)
    origin: dict[str, object] = {
        "block_number": log.block_number,
        "block_hash": log.block_hash,
        "log_index": log.log_index,
        "tx_hash": log.tx_hash,
        "time": time,
    }
    raw = {"bounty_id": bounty_of(event), "topics": list(log.topics), "data": log.data}
    yield t.logs, raw | origin
    for table, fields in _facts(event):
        yield table, fields | origin


def _facts(event: HubEvent) -> Iterator[Row]:
    kind = type(event)
    if kind in t.EVENT_TABLES:
        yield t.EVENT_TABLES[kind], _fields(event)
    elif kind in _CLAIMS:
        bounty_id, recipient, amount = _fields(event).values()
        yield t.claims, {"bounty_id": bounty_id, "kind": _CLAIMS[kind], "recipient": recipient, "amount": amount}
    elif isinstance(event, RosterPublished):
        yield from _roster(event)
    # The deployment and ownership changes are in ``logs`` only: nothing reads them.


def _fields(event: HubEvent) -> dict[str, object]:
    """Return the event's fields by name; ``dataclasses.asdict`` copies them deeply, which costs more than the rest."""
    return {
        name: value.number if isinstance(value := getattr(event, name), HubEnum) else value
        for name in EVENT_FIELDS[type(event)]
    }


def _roster(event: RosterPublished) -> Iterator[Row]:
    yield (
        t.rosters,
        {
            "version": event.version,
            "guardian_roster_hash": event.guardian_roster_hash,
            "quorum": event.quorum,
            "effective_from": event.effective_from,
        },
    )
    for position, (account, key) in enumerate(zip(event.accounts, event.encryption_keys, strict=True)):
        yield (
            t.roster_members,
            {"version": event.version, "position": position, "guardian": account, "encryption_public_key": key},
        )
