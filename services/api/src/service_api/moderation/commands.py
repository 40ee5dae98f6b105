"""``service-api withhold``, ``show-again`` and ``withheld``: for the operator, beside a running deployment.

They need the database alone. What cannot be done ends with exit code 1 and one sentence.
"""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from bounty_protocol.wire.withheld import WithheldKind
from service_common import log
from service_common.common_settings import database_url_of
from service_common.db.engine import engine_of_job, reading
from service_common.entry_point import Environment, Process
from sqlalchemy import Engine

from service_api.moderation.decisions import Decision, DecisionRefused, described, same_page, show_again, withhold

_SUBJECT: Final = {
    "kind": "bounty (its page), verdict (a written Verdict), or account (all its pages and written Verdicts)",
    "subject": "the number of the bounty, the report_commitment of the Verdict, or the address of the account",
}
_BY: Final = "who decides it, for the log and the list of decisions; this machine's user where it is left out"


def _withhold(
    environment: Environment, kind: str, subject: str, reason: str | None, until: str | None, by: str | None
) -> None:
    with _database(environment) as engine:
        decision = Decision(_name(by), _reason(reason), None if until is None else _moment(until))
        found, is_new = withhold(engine, _kind(kind), subject, decision)
        print(f"{found}: {'withheld' if is_new else 'was withheld for this reason already; nothing changed'}")  # noqa: T201
        if found.kind is WithheldKind.BOUNTY:
            with reading(engine) as connection:
                others = [str(each) for each in same_page(connection, found) if each != found.bounty_id]
            if others:
                print(f"the same page is withheld of the bounties {', '.join(others)}")  # noqa: T201


def _show_again(environment: Environment, kind: str, subject: str, reason: str | None, by: str | None) -> None:
    with _database(environment) as engine:
        found = show_again(engine, _kind(kind), subject, Decision(_name(by), _reason(reason)))
        print(f"{found}: shown again")  # noqa: T201


def _withheld(environment: Environment, ended: bool) -> None:
    with _database(environment) as engine:
        for line in described(engine, ended=ended):
            print(line)  # noqa: T201


@contextmanager
def _database(environment: Environment) -> Iterator[Engine]:
    log.configure("withholding")
    url = database_url_of(environment)
    try:
        with engine_of_job(url, application="withholding") as engine:
            yield engine
    except DecisionRefused as error:
        sys.exit(str(error))


def _kind(text: str) -> WithheldKind:
    try:
        return WithheldKind(text)
    except ValueError:
        raise DecisionRefused(f"{text} is none of {', '.join(WithheldKind)}") from None


def _reason(text: str | None) -> str:
    if text is None:
        raise DecisionRefused("--reason is needed: it is shown to anyone in place of the text")
    return text


def _name(by: str | None) -> str:
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise DecisionRefused("--by is needed: this machine has no name for its user") from None


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise DecisionRefused("--until must be a date such as 2027-01-31 or 2027-01-31T12:00Z; UTC") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


WITHHOLD: Final = Process(
    "do not show a text of others here, visibly and until a time; facts of the chain stay as they are",
    _withhold,
    _SUBJECT
    | {
        "--reason": "why, for anyone who would have seen the text",
        "--until": "a date, or a time in ISO 8601, UTC, from which on it is shown again; without it until show-again",
        "--by": _BY,
    },
)
SHOW_AGAIN: Final = Process(
    "show a text again that was withheld", _show_again, _SUBJECT | {"--reason": "why, for the log", "--by": _BY}
)
WITHHELD: Final = Process(
    "print what is withheld, since when, by whom and why",
    _withheld,
    switches={"--ended": "with the decisions that do not count any more"},
)
