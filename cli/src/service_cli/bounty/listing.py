"""Bounties as the API lists and shows them.

Public reads only: nothing is signed and nothing of the chain is imported. An API of another deployment than the one
configured is refused before anything of it is shown. Facts of another shape are reported as unreadable.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, network_named
from bounty_protocol.domain.lifecycle import Schedule
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.bounty.events import FetchedRecord, ListedBounty, ShownBounty, UnavailableRecord
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, CommandRefused
from service_cli.ui.output import emit, is_text, on_terminal, remark, say, warn
from service_cli.ui.progress import next_step
from service_cli.ui.text import About, Token, amount, duration, printable, withheld_text

LAG_SECONDS = 60
"""How far the index may be behind before it is reported beside what it shows."""

if TYPE_CHECKING:
    from bounty_protocol.wire.bounties import BountyDetail, BountyItem, Facts
    from bounty_protocol.wire.deployment import Deployment


def one_line(bounty: "BountyItem | BountyDetail", token: Token, now: int, title: str | None = None) -> str:
    """A bounty of the list: its id, its title as the API has it, its money, its Submissions, what it waits for."""
    count = bounty.active_submission_count
    submissions = f"{count} Submission{'' if count == 1 else 's'}"
    money = amount(bounty.facts.escrow_amount, token)
    named = "" if title is None else f" “{printable(title, 60)}”"
    return f"bounty {bounty.bounty_id}:{named} {money}; {submissions}; {_stage(bounty.facts, count, now)}"


def lines(detail: "BountyDetail", token: Token, now: int) -> Iterator[str]:
    """A bounty of the detail, a line for each thing to know."""
    yield one_line(detail, token, now)
    yield f"  Poster:    {detail.facts.poster_address}"
    yield f"  Guardians: {len(detail.guardian_roster.members)}, of whom {detail.guardian_roster.quorum} must agree"
    if title := _title(detail):
        yield f"  title:     {title}"
    yield f"  page:      {_page(detail)}"


def _title(detail: "BountyDetail") -> str | None:
    """The page's own title."""
    from bounty_protocol.domain.challenge import parse_challenge

    if detail.challenge is None:
        return None
    try:
        return printable(parse_challenge(detail.challenge.encode()).title, 200)
    except (ServiceError, UnicodeEncodeError):
        return None


def _page(detail: "BountyDetail") -> str:
    if detail.withheld is not None:
        return withheld_text(detail.withheld)
    if detail.challenge is None:
        return "not available, or not the one that was committed"
    if detail.challenge_terms is not None and detail.challenge_terms.matches:
        return "states the terms of the chain, as the API says"
    return "states other terms than the chain"


def _stage(facts: "Facts", submissions: int, now: int) -> str:
    if facts.outcome is None:
        schedule = Schedule(facts.submission_deadline, facts.reveal_at, facts.judging_deadline)
        return next_step(schedule, now, has_submissions=submissions > 0, is_final=False).text
    why = "" if facts.settlement_reason is None else f" ({facts.settlement_reason.replace('_', ' ')})"
    if facts.winner is not None:
        return f"awarded to {facts.winner.solver_address}{why}"
    return f"ended without a valid Submission{why}"


def list_bounties(settings: Settings, filters: Mapping[str, str], limit: int) -> tuple[ListedBounty, ...]:
    """The command ``bounty:list``: at most ``limit`` bounties, page by page."""
    from bounty_protocol.wire.bounties import BountyItem
    from bounty_protocol.wire.reading import read

    api, shown = api_of(settings), list[ListedBounty]()
    token = deployment(settings, api).escrow_token
    now = time_shown(settings, api)
    about = About(token, now)
    for item in listed(api, filters, limit):
        shown.append(emit(ListedBounty(item), lambda: about))
        if is_text() or not on_terminal():
            continue
        try:
            found = read(BountyItem, item)
            say(one_line(found, token, now, found.title))
        except ValueError:
            say(f"bounty {printable(item.get('bounty_id'))}: its facts cannot be read")
    if not shown:
        say("no bounties match")
    elif len(shown) == limit and is_text():
        say(f"the first {limit} are shown; --limit {2 * limit} shows more")
    return tuple(shown)


def time_shown(settings: Settings, api: ApiClient) -> int:
    """The time from which what is left is counted, when people read it: the later one of the index's newest block and
    the API's ``Date``, never this machine's clock. An index that lags is reported."""
    if not (is_text() or on_terminal()):
        return api.now()
    from bounty_protocol.wire.deployment import DeploymentStatus

    try:
        index = api.get("/api/status", patient=False).read(DeploymentStatus).position
    except ServiceError:  # an API that cannot say how far it is shows its bounties all the same
        return api.now()
    return api.now() if index is None else present_time(settings, api, index.block_time)


def present_time(settings: Settings, api: ApiClient, indexed: int) -> int:
    """The later one of an index's newest block and the API's ``Date``; an index that lags is reported."""
    now = max(api.now(), indexed)
    if lags(settings, now, indexed):
        warn(f"note: the index is {duration(now - indexed)} behind: what happened since is not shown yet")
    return now


def lags(settings: Settings, now: int, indexed: int) -> bool:
    """Whether the index lacks what happened of late; a local chain may make a block only for a transaction."""
    return now - indexed > LAG_SECONDS and settings.chain_id != LOCAL_CHAIN_ID


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


def show_bounty(settings: Settings, bounty_id: BountyId) -> ShownBounty:
    """The command ``bounty:show``."""
    from bounty_protocol.wire.bounties import BountyDetail

    api = api_of(settings)
    answer = bounty_detail(api, bounty_id)
    detail = answer.read(BountyDetail)
    _require_same(settings, api, detail)
    shown = ShownBounty(detail.bounty_id, detail.chain_id, detail.hub_address, answer.json())
    emit(shown, lambda: About(deployment(settings, api).escrow_token, time_shown(settings, api)))
    if on_terminal() and not is_text():
        for line in lines(detail, deployment(settings, api).escrow_token, time_shown(settings, api)):
            say(line)
    return shown


def show_record(settings: Settings, bounty_id: BountyId) -> FetchedRecord | UnavailableRecord:
    """The command ``verification-record``."""
    from bounty_protocol.wire.bounties import BountyDetail

    api = api_of(settings)
    detail = bounty_detail(api, bounty_id).read(BountyDetail)
    _require_same(settings, api, detail)
    record, error = detail.verification_record, detail.verification_record_error
    if record is not None:
        return emit(FetchedRecord(record), lambda: About(deployment(settings, api).escrow_token))
    done = emit(UnavailableRecord("bounty_open" if error is None else error.code))
    reason = "it is still open" if error is None else "it cannot be derived yet; try again later"
    remark(f"no record of bounty {bounty_id}: {reason} (service-cli bounty:show {bounty_id} shows its state)")
    return done


def require_deployment(settings: Settings, api: ApiClient) -> Address:
    """The Hub that the API serves; an API of another chain, or of another Hub where one is configured, is refused."""
    return deployment(settings, api).hub_address


def deployment(settings: Settings, api: ApiClient) -> "Deployment":
    """The API's own description; refused where it is of another deployment."""
    from bounty_protocol.wire.deployment import Deployment

    answer = api.get("/api/deployment").read(Deployment)
    _require_same(settings, api, answer)
    return answer


def _require_same(settings: Settings, api: ApiClient, answer: "Deployment | BountyDetail") -> None:
    where, problem = api.peer.named, None
    if answer.chain_id != settings.chain_id:
        named = f"chain {network_named(answer.chain_id)}, and this run is for {network_named(settings.chain_id)}"
        problem = f"{where} serves {named}."
    elif settings.knows("SERVICE_HUB_ADDRESS") and answer.hub_address != settings.hub_address():
        problem = f"{where} serves the Hub {answer.hub_address}, and this run is for {settings.hub_address()}."
    if problem is not None:
        raise CommandRefused("deployment_mismatch", problem, next_action=COHERENT)
