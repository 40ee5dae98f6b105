"""The operator's decisions: withhold a text, or show it again; ``service-api withhold`` and ``show-again``.

Each decision is a row that stays, with its reason. Writing one reads the index and changes nothing in it. The commands
need the database alone; what cannot be done ends with exit code 1 and one sentence.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds, parse_address, parse_bounty_id, parse_bytes32
from bounty_protocol.wire.withheld import MAX_REASON, WithheldKind, WithheldList, WithheldQuery, WithheldText
from service_common import log
from service_common.common_settings import database_url_of
from service_common.db import app
from service_common.db import hub_index as t
from service_common.db.engine import engine_of_job, writing
from service_common.entry_point import Environment, Process
from sqlalchemy import Connection, Row, Text, cast, func, insert, select, text, update

from service_api.moderation.texts import COUNTS

_LOCK: Final = 0x5EC0_717E
_W: Final = app.withholdings
_C: Final = _W.c
_KINDS: Final = ", ".join(WithheldKind)


def _withhold(environment: Environment, kind: str, subject: str, reason: str | None, until: str | None) -> None:
    """Withhold a text. A decision on a text that is already withheld replaces the earlier decision and keeps its
    start.
    """
    try:
        found, ends = WithheldKind(kind), None if until is None else datetime.fromisoformat(until)
    except ValueError:
        sys.exit(f"KIND must be one of {_KINDS}, --until a date such as 2027-01-31 or 2027-01-31T12:00Z; UTC")
    why = readable_line(reason or "")
    if not 1 <= len(why) <= MAX_REASON:
        sys.exit(f"--reason must have 1 to {MAX_REASON} characters")
    if ends is not None and ends.tzinfo is None:
        ends = ends.replace(tzinfo=UTC)
    with _deciding(environment) as connection:
        if ends is not None and ends <= connection.execute(select(func.now())).scalar_one():
            sys.exit("--until is in the past; to show a text again use show-again")
        commitment, bounty_id = _subject(connection, found, subject)
        of_it = (_C.kind == found.value) & (_C.subject == commitment)
        former = connection.execute(select(_W).where(COUNTS, of_it)).first()
        connection.execute(update(_W).where(_C.ended_at.is_(None), of_it).values(ended_at=func.now()))
        head = t.head.c
        newest = select(func.greatest(head.block_number, head.tip_number)).scalar_subquery()
        row = {
            "kind": found.value,
            "subject": commitment,
            "bounty_id": bounty_id,
            "reason": why,
            "until": ends,
            "since": func.now() if former is None else former.since,
            "since_block": newest if former is None else former.since_block,
        }
        connection.execute(insert(_W).values(row))
    log.get_logger(__name__).warning("text is withheld", kind=kind, subject=commitment, reason=why, until=until)
    print(f"{kind} {subject}: withheld")  # noqa: T201


def _show_again(environment: Environment, kind: str, subject: str) -> None:
    named = cast(_C.bounty_id if kind == WithheldKind.BOUNTY else _C.subject, Text) == subject.lower()
    with _deciding(environment) as connection:
        ended = update(_W).where(COUNTS, _C.kind == kind, named).values(ended_at=func.now())
        if not connection.execute(ended).rowcount:
            sys.exit(f"{kind} {subject} is not withheld by its own decision; see /api/withheld")
    log.get_logger(__name__).warning("text is shown again", kind=kind, subject=subject)
    print(f"{kind} {subject}: shown again")  # noqa: T201


@contextmanager
def _deciding(environment: Environment) -> Iterator[Connection]:
    """Make one decision at a time."""
    log.configure("withholding")
    url = database_url_of(environment)
    with engine_of_job(url, application="withholding") as engine, writing(engine) as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        yield connection


def _subject(connection: Connection, kind: WithheldKind, given: str) -> tuple[str, int | None]:
    """Return the named commitment or account, and its bounty; end the command if there is no such text."""
    b, written = t.bounties.c, app.written_verdicts.c
    try:
        match kind:
            case WithheldKind.BOUNTY:
                bounty_id = parse_bounty_id(given)
                found = connection.execute(select(b.spec_commitment).where(b.bounty_id == bounty_id)).scalar()
                if found is not None:
                    return found, bounty_id
                sys.exit(f"there is no bounty {bounty_id} in this deployment's index")
            case WithheldKind.VERDICT:
                commitment = parse_bytes32(given)
                recorded = select(t.verdicts.c.bounty_id).where(t.verdicts.c.report_commitment == commitment)
                kept = select(written.bounty_id).where(written.report_commitment == commitment)
                of_bounty = connection.execute(recorded.union_all(kept).limit(1)).scalar()
                if of_bounty is not None:
                    return commitment, of_bounty
                sys.exit(f"no Verdict with the commitment {commitment} is recorded or stored here")
            case WithheldKind.ACCOUNT:
                account, m = parse_address(given), t.roster_members.c
                posted = select(b.bounty_id).where(b.poster == account).exists()
                if connection.execute(
                    select(posted | select(m.guardian).where(m.guardian == account).exists())
                ).scalar():
                    return account, None
                sys.exit(f"{account} has posted no bounty and is on no roster: this service has no text of it")
    except ValueError as error:
        sys.exit(f"{kind} {given}: must be {error}")


_SUBJECT: Final = {
    "kind": "bounty (its page), verdict (a written Verdict), or account (all its pages and written Verdicts)",
    "subject": "the number of the bounty, the report_commitment of the Verdict, or the address of the account",
}
WITHHOLD: Final = Process(
    "withhold a text by others here, visibly and optionally until a time; facts on chain are not affected",
    _withhold,
    _SUBJECT
    | {
        "--reason": "the reason, shown to everyone in place of the text",
        "--until": "a date or an ISO 8601 time (UTC) from which it is shown again; by default until show-again",
    },
)
SHOW_AGAIN: Final = Process("show a text again that was withheld", _show_again, _SUBJECT)


def list_withheld(connection: Connection, query: WithheldQuery, report_address: str | None) -> WithheldList:
    """Return the body of ``GET /api/withheld``."""
    found = select(_W).where(COUNTS, _C.number > query.after).order_by(_C.number).limit(query.limit + 1)
    rows = connection.execute(found).all()
    items = tuple(_item(row) for row in rows[: query.limit])
    following = items[-1].number if items else query.after
    return WithheldList(items, following, len(rows) > query.limit, report_address)


def _item(row: Row[Any]) -> WithheldText:
    kind = WithheldKind(row.kind)
    return WithheldText(
        number=row.number,
        kind=kind,
        bounty_id=None if row.bounty_id is None else BountyId(row.bounty_id),
        spec_commitment=Bytes32(row.subject) if kind is WithheldKind.BOUNTY else None,
        report_commitment=Bytes32(row.subject) if kind is WithheldKind.VERDICT else None,
        account_address=Address(row.subject) if kind is WithheldKind.ACCOUNT else None,
        reason=row.reason,
        since=UnixSeconds(int(row.since.timestamp())),
        until=None if row.until is None else UnixSeconds(int(row.until.timestamp())),
    )
