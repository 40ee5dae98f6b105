"""The operator's decisions: withhold a text, show it again, and the list of what is withheld.

Each is a row that stays, with who decided it and why. Writing one reads the index and changes nothing in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bounty_protocol.domain.readable import readable_line
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds, parse_address, parse_bounty_id, parse_bytes32
from bounty_protocol.wire.withheld import MAX_REASON, WithheldKind, WithheldList, WithheldQuery, WithheldText
from service_common.db import app
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, Row, Text, cast, func, insert, select, text, update

from service_api.moderation.texts import COUNTS

MAX_NAME: Final = 100
_LOCK: Final = 0x5EC0_717E
_W: Final = app.withholdings

log = get_logger(__name__)


class DecisionRefused(Exception):
    """A decision that cannot be taken; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class TextSubject:
    """What a decision is about: the commitment of a page or a Verdict, or an account."""

    kind: WithheldKind
    subject: str
    bounty_id: BountyId | None = None

    def __str__(self) -> str:
        """For a person."""
        match self.kind:
            case WithheldKind.BOUNTY:
                return f"the page of bounty {self.bounty_id}"
            case WithheldKind.VERDICT:
                return f"the written Verdict {self.subject}"
        return f"all pages and written Verdicts of {self.subject}"


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided, and why; ``until`` of what is withheld."""

    by: str
    reason: str
    until: datetime | None = None


def find_subject(connection: Connection, kind: WithheldKind, given: str) -> TextSubject:
    """What is named; ``DecisionRefused`` where there is no such text, or nothing of that form."""
    try:
        match kind:
            case WithheldKind.BOUNTY:
                return _page(connection, parse_bounty_id(given))
            case WithheldKind.VERDICT:
                return _verdict(connection, parse_bytes32(given))
        return _account(connection, parse_address(given))
    except ValueError as error:
        raise DecisionRefused(f"{kind} {given}: must be {error}") from None


def _withheld_subject(connection: Connection, kind: WithheldKind, given: str) -> TextSubject:
    """The same of what is withheld, also where the index does not have it any more."""
    try:
        return find_subject(connection, kind, given)
    except DecisionRefused:
        column = _W.c.bounty_id if kind is WithheldKind.BOUNTY else _W.c.subject
        is_named = cast(column, Text) == given
        found = connection.execute(select(_W).where(COUNTS, _W.c.kind == kind.value, is_named)).first()
        if found is None:
            raise
        return TextSubject(kind, found.subject, found.bounty_id)


def _page(connection: Connection, bounty_id: BountyId) -> TextSubject:
    b = t.bounties.c
    found = connection.execute(select(b.spec_commitment).where(b.bounty_id == bounty_id)).scalar()
    if found is None:
        raise DecisionRefused(f"there is no bounty {bounty_id} in this deployment's index")
    return TextSubject(WithheldKind.BOUNTY, found, bounty_id)


def _verdict(connection: Connection, commitment: Bytes32) -> TextSubject:
    recorded = select(t.verdicts.c.bounty_id).where(t.verdicts.c.report_commitment == commitment)
    kept = select(app.written_verdicts.c.bounty_id).where(app.written_verdicts.c.report_commitment == commitment)
    found = connection.execute(recorded.union_all(kept).limit(1)).scalar()
    if found is None:
        raise DecisionRefused(f"no Verdict with the commitment {commitment} is recorded or held here")
    return TextSubject(WithheldKind.VERDICT, commitment, BountyId(found))


def _account(connection: Connection, account: Address) -> TextSubject:
    known = (
        select(t.bounties.c.bounty_id).where(t.bounties.c.poster == account).exists(),
        select(t.roster_members.c.guardian).where(t.roster_members.c.guardian == account).exists(),
        select(app.written_verdicts.c.guardian).where(app.written_verdicts.c.guardian == account).exists(),
    )
    if not any(connection.execute(select(*known)).one()):
        raise DecisionRefused(f"{account} has posted no bounty and is on no roster: there is no text of it here")
    return TextSubject(WithheldKind.ACCOUNT, account)


def same_page(connection: Connection, subject: TextSubject) -> list[BountyId]:
    """The bounties that show the same page, at most twenty."""
    b = t.bounties.c
    found = select(b.bounty_id).where(b.spec_commitment == subject.subject).order_by(b.bounty_id).limit(20)
    return [BountyId(each) for each in connection.execute(found).scalars()]


def withhold(engine: Engine, kind: WithheldKind, given: str, decision: Decision) -> tuple[TextSubject, bool]:
    """Withhold a text; whether that changed anything. A decision on what is withheld already replaces the former one,
    and the text counts as withheld since that.

    Raises ``DecisionRefused``.
    """
    reason, by = _checked(decision)
    with writing(engine) as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        subject = find_subject(connection, kind, given)
        former = _counting(connection, subject)
        since_block = None if former is None else former.since_block
        if former is not None and (former.reason, former.until) == (reason, decision.until) and since_block is not None:
            return subject, False
        if decision.until is not None and decision.until <= connection.execute(select(func.now())).scalar_one():
            raise DecisionRefused("--until is in the past; show-again ends what is withheld")
        _end(connection, subject, by, "replaced by a later decision" if former is not None else "its time was over")
        row = {
            "kind": kind.value,
            "subject": subject.subject,
            "bounty_id": subject.bounty_id if former is None else former.bounty_id,
            "reason": reason,
            "until": decision.until,
            "decided_by": by,
            "since": func.now() if former is None else former.since,
            "since_block": _newest_block(connection) if since_block is None else since_block,
        }
        connection.execute(insert(_W).values(row))
    until = None if decision.until is None else decision.until.isoformat()
    log.warning("text is withheld", kind=kind.value, subject=subject.subject, reason=reason, until=until, decided_by=by)
    return subject, True


def show_again(engine: Engine, kind: WithheldKind, given: str, decision: Decision) -> TextSubject:
    """Show a text again. Raises ``DecisionRefused``, also for one that is not withheld."""
    reason, by = _checked(decision)
    with writing(engine) as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        subject = _withheld_subject(connection, kind, given)
        if _counting(connection, subject) is None:
            raise DecisionRefused(f"{subject} is not withheld by a decision of its own; see service-api withheld")
        _end(connection, subject, by, reason)
    log.warning("text is shown again", kind=kind.value, subject=subject.subject, reason=reason, decided_by=by)
    return subject


def list_withheld(connection: Connection, query: WithheldQuery, report_address: str | None) -> WithheldList:
    """The body of ``GET /api/withheld``."""
    c = _W.c
    found = select(_W).where(COUNTS, c.number > query.after).order_by(c.number).limit(query.limit + 1)
    rows = connection.execute(found).all()
    items = tuple(_item(row) for row in rows[: query.limit])
    following = items[-1].number if items else query.after
    return WithheldList(items, following, len(rows) > query.limit, report_address)


def count_withheld(engine: Engine) -> dict[str, int]:
    """How many decisions of each kind count."""
    with reading(engine) as connection:
        rows = connection.execute(select(_W.c.kind, func.count()).where(COUNTS).group_by(_W.c.kind)).all()
    return dict.fromkeys(WithheldKind, 0) | {row[0]: row[1] for row in rows}


def described(engine: Engine, *, ended: bool) -> Iterator[str]:
    """A line for each decision that counts, or for each of all."""
    with reading(engine) as connection:
        found = select(_W) if ended else select(_W).where(COUNTS)
        rows = connection.execute(found.order_by(_W.c.number)).all()
    for row in rows:
        subject = TextSubject(WithheldKind(row.kind), row.subject, row.bounty_id)
        until = "" if row.until is None else f" until {row.until:%Y-%m-%d %H:%M}"
        line = f"{subject}, since {row.since:%Y-%m-%d %H:%M}{until}, decided by {row.decided_by}: {row.reason}"
        if row.ended_at is not None:
            line += f" (ended {row.ended_at:%Y-%m-%d %H:%M} by {row.ended_by}: {row.ended_why})"
        yield line


def _checked(decision: Decision) -> tuple[str, str]:
    """The reason and the name as they are kept."""
    found = []
    for name, given, most in (("--reason", decision.reason, MAX_REASON), ("--by", decision.by, MAX_NAME)):
        line = readable_line(given)
        if not 1 <= len(line) <= most:
            raise DecisionRefused(f"{name} must have 1 to {most} characters")
        found.append(line)
    return found[0], found[1]


def _newest_block(connection: Connection) -> int:
    """That the chain is known to have, also where the index is behind."""
    h = t.head.c
    return int(connection.execute(select(func.greatest(h.block_number, h.tip_number))).scalar_one())


def _counting(connection: Connection, subject: TextSubject) -> Row[Any] | None:
    c = _W.c
    return connection.execute(
        select(_W).where(COUNTS, c.kind == subject.kind.value, c.subject == subject.subject)
    ).first()


def _end(connection: Connection, subject: TextSubject, by: str, why: str) -> None:
    c = _W.c
    open_ones = update(_W).where(c.ended_at.is_(None), c.kind == subject.kind.value, c.subject == subject.subject)
    connection.execute(open_ones.values(ended_at=func.now(), ended_by=by, ended_why=why))


def _item(row: Row[Any]) -> WithheldText:
    kind = WithheldKind(row.kind)
    is_page, is_verdict = kind is WithheldKind.BOUNTY, kind is WithheldKind.VERDICT
    return WithheldText(
        number=row.number,
        kind=kind,
        bounty_id=None if row.bounty_id is None else BountyId(row.bounty_id),
        spec_commitment=Bytes32(row.subject) if is_page else None,
        report_commitment=Bytes32(row.subject) if is_verdict else None,
        account_address=Address(row.subject) if kind is WithheldKind.ACCOUNT else None,
        reason=row.reason,
        since=_seconds(row.since),
        until=None if row.until is None else _seconds(row.until),
    )


def _seconds(moment: datetime) -> UnixSeconds:
    return UnixSeconds(int(moment.timestamp()))
