"""A Guardian's pending work, read from the subgraph endpoint; advisory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds
from bounty_protocol.wire.reading import read

from service_cli.api import ApiClient, api_of, is_delivered, subgraph_of
from service_cli.chain.journal import VERDICT_RECORDED, VERDICT_SIGNED, journals_below, open_journal, was_opened
from service_cli.config.settings import Settings
from service_cli.errors import MALFORMED, CommandFailed
from service_cli.queries.judgeable_events import (
    REPLACED,
    IndexedVerdict,
    JudgeableBounty,
    JudgeableSubmission,
    OwedDelivery,
)
from service_cli.queries.listing import lags, present_time, require_indexed
from service_cli.queries.next_steps import judging, watching
from service_cli.ui.output import emit, say, warn

T = TypeVar("T")
K = TypeVar("K", int, str)
PAGE = 100
MOST_AWARDS = 1_000
MOST_BOUNTIES = 20_000
MOST_SUBMISSIONS = 100_000
"""Submissions of all bounties together: an endless answer is not read to its end."""
LISTS, LIST_ROWS, LARGEST_LIST = 20, 4_800, 1_000
"""Lists of Submissions in one query, their rows together, and those of one: the endpoint answers no more (MAX_ROWS)."""
ROSTERS = """
query Rosters($guardian: String!) {
  _meta { block { timestamp } deployment hasIndexingErrors }
  roster_members(where: {guardian_address: $guardian}, orderBy: version, orderDirection: desc, first: 500) { version }
}
"""
JUDGEABLE = """
query Judgeable($guardian: String!, $versions: [Integer!]!, $time: Integer!, $from: String!, $first: Int!) {
  bounties(
    where: {status: "open", reveal_at_lte: $time, roster_version_in: $versions, bounty_id_gte: $from}
    orderBy: bounty_id, first: $first
  ) {
    bounty_id reveal_at judging_deadline
    verdicts(where: {guardian_address: $guardian}) { kind solver_address submission_commitment report_commitment }
  }
}
"""
OWED = """
query Owed($skip: Int!, $first: Int!) {
  bounties(where: {outcome: "awarded"}, orderBy: bounty_id, orderDirection: desc, first: $first, skip: $skip) {
    bounty_id roster_version winner_solver_address winner_submission_commitment
  }
}
"""


def submissions_query(count: int) -> str:
    """Return the query for the next Submissions of several bounties, ``$b0`` after the Solver ``$a0`` and so on."""
    lists = "".join(
        f"  s{n}: submissions(where: {{bounty_id: $b{n}, solver_address_gt: $a{n}}}, orderBy: solver_address,"
        " first: $first) { solver_address submission_commitment }\n"
        for n in range(count)
    )
    names = "".join(f", $b{n}: String!, $a{n}: String!" for n in range(count))
    return f"query Submissions($first: Int!{names}) {{\n{lists}}}\n"


@dataclass(frozen=True, slots=True)
class OpenBounty:
    """A bounty to judge, as the index has it; ``verdicts`` are this Guardian's, one at most."""

    bounty_id: BountyId
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    verdicts: tuple[IndexedVerdict, ...]


@dataclass(frozen=True, slots=True)
class WonBounty:
    """An award, as the index has it."""

    bounty_id: BountyId
    winner_solver_address: Address
    winner_submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class Judgeable:
    """A Guardian's open work: bounties to judge, the next deadline first, and winning keys to deliver."""

    bounties: tuple[JudgeableBounty, ...]
    owed: tuple[OwedDelivery, ...]


def list_judgeable(settings: Settings, guardian: Address) -> Judgeable:
    """Run the command ``guardian:judgeable``."""
    subgraph, path = subgraph_of(settings)
    found = _ask(subgraph, path, ROSTERS, {"guardian": guardian})
    meta = _object(found, "_meta")
    hub = require_indexed(settings, subgraph, meta.get("deployment"))
    if meta.get("hasIndexingErrors"):
        warn("warning: the index reports errors; check on chain before judging")
    if not isinstance(indexed := _object(meta, "block").get("timestamp"), int):
        raise _malformed("timestamp")
    now = present_time(settings, subgraph, indexed)
    versions = [member.get("version") for member in _list(found, "roster_members")]
    if not versions:
        warn(f"{guardian} is not on any roster of this deployment; check the address and the network")
        return Judgeable((), ())
    bounties = _bounties(subgraph, path, guardian, versions, now)
    submissions = _submissions(subgraph, path, list(bounties))
    judged = tuple(
        _print_bounty(settings, hub, guardian, bounty, submissions[bounty_id], now)
        for bounty_id, bounty in bounties.items()
    )
    owed = _print_owed(api_of(settings), subgraph, path, versions)
    if not bounties and not owed:
        known = "that the index knows of; check again once it has caught up" if lags(settings, now, indexed) else "now"
        say(f"nothing waits for this Guardian {known}")
    return Judgeable(judged, owed)


def _bounties(
    subgraph: ApiClient, path: str, guardian: Address, versions: list[object], now: int
) -> dict[BountyId, OpenBounty]:
    """Read every open bounty of these rosters past its reveal point, the next judging deadline first."""
    found: dict[BountyId, OpenBounty] = {}
    page, last = PAGE, 0
    while page == PAGE and len(found) < MOST_BOUNTIES:
        asked = {"guardian": guardian, "versions": versions, "time": now, "from": str(last + 1), "first": PAGE}
        rows = _list(_ask(subgraph, path, JUDGEABLE, asked), "bounties")
        bounties = [_read(OpenBounty, row) for row in rows]
        _require_next([last, *(one.bounty_id for one in bounties)], PAGE, "bounty_id")
        found |= {one.bounty_id: replace(one, verdicts=one.verdicts[:1]) for one in bounties}
        page, last = len(bounties), max(found, default=0)
    if page == PAGE:
        warn(f"only the oldest {len(found)} open bounties were checked")
    return dict(sorted(found.items(), key=lambda item: item[1].judging_deadline))


def _submissions(
    subgraph: ApiClient, path: str, bounty_ids: list[BountyId]
) -> dict[BountyId, list[JudgeableSubmission]]:
    """Read each bounty's Submissions in pages, so that however many strangers make, no request is refused for its
    size.
    """
    found: dict[BountyId, list[JudgeableSubmission]] = {bounty_id: [] for bounty_id in bounty_ids}
    waiting, count = [(bounty_id, "") for bounty_id in bounty_ids], 0
    while waiting and count < MOST_SUBMISSIONS:
        some, waiting = waiting[:LISTS], waiting[LISTS:]
        first = min(LIST_ROWS // len(some), LARGEST_LIST)
        asked: dict[str, object] = {"first": first}
        for n, (bounty_id, after) in enumerate(some):
            asked |= {f"b{n}": str(bounty_id), f"a{n}": after}
        data = _ask(subgraph, path, submissions_query(len(some)), asked)
        for n, (bounty_id, after) in enumerate(some):
            page = [_read(JudgeableSubmission, each) for each in _list(data, f"s{n}")]
            _require_next([after, *(each.solver_address for each in page)], first, "solver_address")
            found[bounty_id] += page
            count += len(page)
            if len(page) == first:
                waiting.append((bounty_id, page[-1].solver_address))
    if waiting:
        some_of = ", ".join(str(bounty_id) for bounty_id, _ in waiting[:LISTS])
        warn(f"not all Submissions were checked, of bounty {some_of}")
    return found


def _require_next(keys: Sequence[K], most: int, name: str) -> None:
    """Refuse a page whose keys do not continue after the previous page's: it could repeat forever."""
    if len(keys) > most + 1 or any(one >= other for one, other in pairwise(keys)):
        raise _malformed(f"next {name}")


def _print_bounty(
    settings: Settings,
    hub: Address,
    guardian: Address,
    bounty: OpenBounty,
    work: list[JudgeableSubmission],
    now: int,
) -> JudgeableBounty:
    bounty_id, deadline = bounty.bounty_id, bounty.judging_deadline
    unopened = tuple(
        each.submission_commitment
        for each in work
        if not was_opened(settings.chain_id, hub, bounty_id, each.solver_address, each.submission_commitment)
    )
    own = bounty.verdicts[0] if bounty.verdicts else None
    replaced = (own is not None and _is_of_others(settings, hub, guardian, bounty_id, own)) or None
    event = JudgeableBounty(bounty_id, bounty.reveal_at, deadline, tuple(work), unopened, own, replaced)
    if replaced:
        warn(f"bounty {bounty_id}: your Verdict was replaced: {REPLACED}")
    is_open = own is None and bool(work) and deadline > now
    return emit(event, judging(bounty_id, has_unopened=bool(unopened)) if is_open else watching(bounty_id))


def _is_of_others(
    settings: Settings, hub: Address, guardian: Address, bounty_id: BountyId, own: IndexedVerdict
) -> bool:
    """Return whether this machine signed or recorded a Verdict and this is a different one."""
    names, here = ("verdict", str(bounty_id), guardian), set[str]()
    for *_, report in journals_below(settings.chain_id, hub, *names):
        with open_journal(settings.chain_id, hub, *names, report) as journal:
            if journal.has(VERDICT_SIGNED, VERDICT_RECORDED):
                here.add(report)
    return bool(here) and own.report_commitment not in here


def _print_owed(api: ApiClient, subgraph: ApiClient, path: str, versions: list[object]) -> tuple[OwedDelivery, ...]:
    """Print and return awarded bounties of this Guardian's rosters whose winning key nobody has delivered."""
    shown: list[OwedDelivery] = []
    for skip in range(0, MOST_AWARDS, PAGE):
        bounties = _list(_ask(subgraph, path, OWED, {"skip": skip, "first": PAGE}), "bounties")
        ours = (bounty for bounty in bounties if bounty.get("roster_version") in versions)
        shown += [owed for bounty in ours if (owed := _owed(api, bounty)) is not None]
        if len(bounties) < PAGE:
            return tuple(shown)
    warn(f"only the newest {MOST_AWARDS} awards were checked")
    return tuple(shown)


def _owed(api: ApiClient, bounty: dict[str, object]) -> OwedDelivery | None:
    """Print and return the delivery of this winner's key, if nobody has made it."""
    won = _read(WonBounty, bounty)
    if is_delivered(api, str(won.bounty_id), won.winner_submission_commitment):
        return None
    owed = OwedDelivery(won.bounty_id, won.winner_solver_address, won.winner_submission_commitment)
    return emit(owed, f"service-cli guardian:deliver-key {won.bounty_id}")


def _ask(subgraph: ApiClient, path: str, query: str, variables: dict[str, object]) -> dict[str, object]:
    return _object(subgraph.post_json(path, {"query": query, "variables": variables}).json(), "data")


def _object(value: dict[str, object], name: str) -> dict[str, object]:
    found = value.get(name)
    if not isinstance(found, dict):
        raise _malformed(name)
    return found


def _list(value: dict[str, object], name: str) -> list[dict[str, object]]:
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise _malformed(name)
    return found


def _read(shape: type[T], value: dict[str, object]) -> T:
    try:
        return read(shape, value)
    except ValueError as error:
        raise _malformed(str(error).partition(" ")[0]) from None


def _malformed(name: str) -> CommandFailed:
    message = f"The subgraph's answer lacks {name}."
    return CommandFailed(MALFORMED, message, next_action="Check SERVICE_SUBGRAPH_ENDPOINT.")
