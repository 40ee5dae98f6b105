"""Bounties as the API lists and shows them, and the step each of them is in.

Public reads only: nothing is signed and nothing of the chain is imported. An API of another deployment than the one
configured is refused before anything of it is shown. Facts of another shape are reported as unreadable.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from service_common.errors import ServiceError
from service_common.types import Address, BountyId, parse_address, parse_decimal

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.shell.output import event, on_terminal, say
from service_cli.shell.text import amount, moment, printable


class BountyTimes(Protocol):
    """What the step of a bounty depends on, by the chain or the API. ``outcome`` is None while it is open."""

    @property
    def submission_deadline(self) -> int: ...
    @property
    def reveal_at(self) -> int: ...
    @property
    def judging_deadline(self) -> int: ...
    @property
    def has_submissions(self) -> bool: ...
    @property
    def outcome(self) -> object: ...


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a bounty waits for. ``at`` is chain time, None where only its people decide."""

    step: str
    at: int | None
    text: str = field(compare=False)


def next_step(bounty: BountyTimes, now: int) -> NextStep:
    """The step a bounty is in, and until when."""
    if bounty.outcome is not None:
        return NextStep("finality", None, "final; waiting until the block is finalized")
    if now < bounty.submission_deadline:
        text = f"Submissions until {moment(bounty.submission_deadline, now)}"
        return NextStep("submissions", bounty.submission_deadline, text)
    if bounty.has_submissions and now < bounty.reveal_at:
        return NextStep("reveal", bounty.reveal_at, f"sealed until the reveal point at {moment(bounty.reveal_at, now)}")
    if bounty.has_submissions and now < bounty.judging_deadline:
        return NextStep(
            "judging", bounty.judging_deadline, f"Guardians judge until {moment(bounty.judging_deadline, now)}"
        )
    return NextStep("settlement", None, "time is up; anyone can settle it now")


_UNREADABLE = "its facts cannot be read"


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """What is shown of a bounty's facts."""

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
    """What the API shows of the escrow token."""

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
    name = f"bounty {printable(item.get('bounty_id'))}"
    facts = _facts(item)
    if facts is None:
        return f"{name}: {_UNREADABLE}"
    count = f"{facts.submissions} Submission{'' if facts.submissions == 1 else 's'}"
    return f"{name}: {amount(facts.escrow_amount, token)}; {count}; {_stage(facts, now)}"


def lines(detail: Mapping[str, object], token: TokenNames, now: int) -> Iterator[str]:
    """A bounty of the detail, a line for each thing to know."""
    yield one_line(detail, token, now)
    facts = detail.get("facts")
    if isinstance(facts, dict):
        yield f"  Poster:    {printable(facts.get('poster_address'), 42)}"
    roster = detail.get("guardian_roster")
    if isinstance(roster, dict) and isinstance(members := roster.get("members"), list):
        yield f"  Guardians: {len(members)}, of whom {printable(roster.get('quorum'))} must agree"
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


def _stage(facts: ShownFacts, now: int) -> str:
    if facts.outcome is None:
        return next_step(facts, now).text
    why = printable((facts.reason or "").replace("_", " "), 40)
    if facts.outcome == "awarded":
        return f"awarded to {printable(facts.winner, 42)} ({why})"
    return f"ended without a valid Submission ({why})"


def _facts(item: Mapping[str, object]) -> ShownFacts | None:
    found, count = item.get("facts"), item.get("active_submission_count")
    if not isinstance(found, dict):
        return None
    winner, outcome, reason = found.get("winner"), found.get("outcome"), found.get("settlement_reason")
    try:
        return ShownFacts(
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


def list_bounties(settings: Settings, filters: Mapping[str, str], limit: int) -> None:
    """The command ``bounty:list``: at most ``limit`` bounties, page by page."""
    api, shown = api_of(settings), 0
    token = token_names(_deployment(settings, api))
    for item in listed(api, filters, limit):
        event("bounty_list.bounty", item)
        if on_terminal():
            say(one_line(item, token, int(time.time())))
        shown += 1
    if not shown:
        say("no bounties match")


def listed(api: ApiClient, filters: Mapping[str, str], limit: int) -> Iterator[dict[str, object]]:
    """At most ``limit`` items of the public list."""
    cursor, seen = None, 0
    while seen < limit:
        query = {**filters, "limit": str(min(limit - seen, 100)), **({"cursor": cursor} if cursor else {})}
        page = api.get("/api/bounties", query).json()
        items, following = page.get("items"), page.get("next_cursor")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise api.peer.malformed("'s list has no items.")
        yield from items[: limit - seen]
        seen += len(items)
        if not isinstance(following, str) or not items:
            return
        cursor = following


def show_bounty(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``bounty:show``."""
    api = api_of(settings)
    detail = bounty_detail(api, bounty_id)
    _require_same(settings, detail)
    event("bounty_show.bounty", detail)
    if on_terminal():
        for line in lines(detail, token_names(_deployment(settings, api)), int(time.time())):
            say(line)


def show_record(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``verification-record``."""
    detail = bounty_detail(api_of(settings), bounty_id)
    _require_same(settings, detail)
    record, error = detail.get("verification_record"), detail.get("verification_record_error")
    if record is not None:
        event("verification_record.fetched", {"record": record})
        return
    code = error.get("code") if isinstance(error, dict) else "bounty_open"
    event("verification_record.unavailable", {"code": code})
    reason = "it is still open" if code == "bounty_open" else "it cannot be derived yet; try again later"
    say(f"no record of bounty {bounty_id}: {reason} (service-cli bounty:show {bounty_id} shows its state)")


def require_deployment(settings: Settings, api: ApiClient) -> Address:
    """The Hub that the API serves; an API of another chain, or of another Hub where one is configured, is refused."""
    try:
        return parse_address(str(_deployment(settings, api).get("hub_address")))
    except ValueError:
        raise api.peer.malformed(" names no Hub.") from None


def _deployment(settings: Settings, api: ApiClient) -> dict[str, object]:
    answer = api.get("/api/deployment").json()
    _require_same(settings, answer)
    return answer


def _require_same(settings: Settings, answer: Mapping[str, object]) -> None:
    same_hub = not settings.knows("SERVICE_HUB_ADDRESS") or answer.get("hub_address") == settings.hub_address()
    if answer.get("chain_id") != settings.chain_id or not same_hub:
        message = "The API answers for another chain or Hub than the one configured."
        raise CommandRefused("deployment_mismatch", message, next_action="Use the values of one deployment.")
