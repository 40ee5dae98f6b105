"""A bounty as the API shows it, in words for a person who watches; advisory, nothing here decides anything.

Promises: an answer whose facts have another shape is said to be so; nothing of it drives the terminal.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from service_common.errors import ServiceError
from service_common.types import parse_decimal

from service_cli.client.stages import what_next
from service_cli.words import amount, printable

_STRANGE = "its facts cannot be read"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the words need of a bounty's facts."""

    escrow_amount: int
    submission_deadline: int
    reveal_at: int
    judging_deadline: int
    submissions: int
    outcome: str | None
    reason: str | None
    winner: str | None

    @property
    def has_submissions(self) -> bool:
        return self.submissions > 0


@dataclass(frozen=True, slots=True)
class TokenNames:
    """What the API says of the escrow token."""

    symbol: str
    decimals: int


def token_names(deployment: Mapping[str, object]) -> TokenNames:
    """The token as ``GET /api/deployment`` names it; bare base units where it does not."""
    token = deployment.get("escrow_token")
    symbol, decimals = (token.get("symbol"), token.get("decimals")) if isinstance(token, dict) else (None, None)
    if isinstance(symbol, str) and isinstance(decimals, int):
        return TokenNames(symbol, decimals)
    return TokenNames("of the token", 0)


def one_line(item: Mapping[str, object], token: TokenNames, now: int) -> str:
    """A bounty of the list: its id, its money, its Submissions, what it waits for."""
    name = f"bounty {printable(str(item.get('bounty_id')))}"
    facts = _facts(item)
    if facts is None:
        return f"{name}: {_STRANGE}"
    count = f"{facts.submissions} Submission{'' if facts.submissions == 1 else 's'}"
    return f"{name}: {amount(facts.escrow_amount, token)}; {count}; {_stage(facts, now)}"


def lines(detail: Mapping[str, object], token: TokenNames, now: int) -> Iterator[str]:
    """A bounty of the detail, a line for each thing to know."""
    yield one_line(detail, token, now)
    facts = detail.get("facts")
    if isinstance(facts, dict):
        yield f"  Poster:    {printable(str(facts.get('poster_address')), 42)}"
    roster = detail.get("guardian_roster")
    if isinstance(roster, dict) and isinstance(members := roster.get("members"), list):
        yield f"  Guardians: {len(members)}, of whom {printable(str(roster.get('quorum')))} must agree"
    if title := _title(detail):
        yield f"  title:     {title}"
    yield f"  page:      {_page(detail)}"


def _title(detail: Mapping[str, object]) -> str | None:
    """What the page calls itself."""
    from service_common.domain.challenge import parse_challenge

    if not isinstance(page := detail.get("challenge"), str):
        return None
    try:
        return printable(parse_challenge(page.encode()).title, 200)
    except (ServiceError, UnicodeEncodeError):
        return None


def _page(detail: Mapping[str, object]) -> str:
    terms = detail.get("challenge_terms")
    if detail.get("challenge") is None:
        return "not available, or not the one that was committed"
    if isinstance(terms, dict) and terms.get("matches") is True:
        return "states the terms of the chain, as the API says"
    return "states other terms than the chain"


def _stage(facts: Facts, now: int) -> str:
    if facts.outcome is None:
        return what_next(facts, now).words
    why = printable((facts.reason or "").replace("_", " "), 40)
    if facts.outcome == "awarded":
        return f"awarded to {printable(str(facts.winner), 42)} ({why})"
    return f"ended without a valid Submission ({why})"


def _facts(item: Mapping[str, object]) -> Facts | None:
    found, count = item.get("facts"), item.get("active_submission_count")
    if not isinstance(found, dict):
        return None
    winner, outcome, reason = found.get("winner"), found.get("outcome"), found.get("settlement_reason")
    try:
        return Facts(
            escrow_amount=parse_decimal(str(found.get("escrow_amount"))),
            submission_deadline=_whole(found.get("submission_deadline")),
            reveal_at=_whole(found.get("reveal_at")),
            judging_deadline=_whole(found.get("judging_deadline")),
            submissions=_whole(count),
            outcome=outcome if isinstance(outcome, str) else None,
            reason=reason if isinstance(reason, str) else None,
            winner=str(winner.get("solver_address")) if isinstance(winner, dict) else None,
        )
    except ValueError:
        return None


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError("not a whole number")  # the caller knows one error
    return value
