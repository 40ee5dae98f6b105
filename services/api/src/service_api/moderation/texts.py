"""Whether a text is withheld, and why: every read that shows a stranger's text asks here.

A page is withheld with its bytes, so that another bounty with the same page does not show them either; or with its
Poster. A written Verdict is withheld by its commitment, or with its Guardian. Nothing here decides on a fact: what the
chain has is shown as before. A time that was set is compared with the database's clock at each read.
"""

from typing import Any, Final

from bounty_protocol.clock import iso_utc
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.withheld import Withheld, WithheldKind
from service_common.db import app
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
)

_W: Final = app.withholdings.c
COUNTS: Final = and_(_W.ended_at.is_(None), or_(_W.until.is_(None), _W.until > func.now()))
"""Whether a decision counts at this moment."""
Text = ColumnElement[str]


def is_page_shown(commitment: Text, poster: Text) -> ColumnElement[bool]:
    """Return whether a bounty's page is shown, by its commitment and Poster on chain."""
    return and_(commitment.not_in(_subjects(WithheldKind.BOUNTY)), poster.not_in(_subjects(WithheldKind.ACCOUNT)))


def page_notice(commitment: Text, poster: Text) -> ScalarSelect[Any]:
    """Select why a bounty's page is not shown, for ``withheld_of``; null if it is."""
    return _notice(WithheldKind.BOUNTY, commitment, poster)


def verdict_notice(commitment: Text, guardian: Text) -> ScalarSelect[Any]:
    """Select why a written Verdict is not shown, for ``withheld_of``; null if it is."""
    return _notice(WithheldKind.VERDICT, commitment, guardian)


def read_page_blocks(connection: Connection, commitment: str, poster: str) -> tuple[int | None, int | None]:
    """Read the newest block when a page was first withheld: by a decision on the page, and by any that concerns it."""
    by_itself, by_account = _concerned(WithheldKind.BOUNTY, literal(commitment), literal(poster))
    own = func.min(_W.since_block).filter(by_itself)
    row = connection.execute(select(own, func.min(_W.since_block)).where(COUNTS, or_(by_itself, by_account))).one()
    return row[0], row[1]


def withheld_of(notice: Any) -> Withheld | None:
    """Parse a notice that a statement selected."""
    if notice is None:
        return None
    reason, since, until = notice
    return Withheld(reason, UnixSeconds(since), None if until is None else UnixSeconds(until))


def page_withheld(found: Withheld) -> ServiceError:
    """Return the error beside a page that is withheld."""
    return ServiceError("bounty_challenge_withheld", f"The challenge page is {_sentence(found)}")


def verdict_withheld(found: Withheld) -> ServiceError:
    """Return the error for a withheld written Verdict."""
    return ServiceError("written_verdict_withheld", f"The written Verdict is {_sentence(found)}")


def _sentence(found: Withheld) -> str:
    until = "" if found.until is None else f", until {iso_utc(found.until)}"
    return f"withheld here by this service's operator since {iso_utc(found.since)}{until}: {found.reason}"


def _subjects(kind: WithheldKind) -> Select[tuple[str]]:
    return select(_W.subject).where(COUNTS, _W.kind == kind.value)


def _notice(kind: WithheldKind, commitment: Text, account: Text) -> ScalarSelect[Any]:
    """Select reason, start and end of the earliest of the decisions that concern a text."""
    notice = func.json_build_array(_W.reason, _seconds(_W.since), _seconds(_W.until), type_=JSON)
    concerned = select(notice).where(COUNTS, or_(*_concerned(kind, commitment, account))).order_by(_W.number).limit(1)
    return concerned.correlate_except(app.withholdings).scalar_subquery()


def _concerned(kind: WithheldKind, commitment: Text, account: Text) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the decisions on a text itself, and those on all texts of its author."""
    return (
        and_(_W.kind == kind.value, _W.subject == commitment),
        and_(_W.kind == WithheldKind.ACCOUNT.value, _W.subject == account),
    )


def _seconds(moment: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.floor(func.extract("epoch", moment)), BigInteger)
