"""A Guardian's pending work, read from the subgraph endpoint; advisory."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds

from service_cli.api import ApiClient, api_of, is_delivered, subgraph_of
from service_cli.chain.journal import VERDICT_RECORDED, VERDICT_SIGNED, HubRecords
from service_cli.config.settings import Settings
from service_cli.queries.judgeable_events import (
    REPLACED,
    IndexedVerdict,
    JudgeableBounty,
    JudgeableSubmission,
    OwedDelivery,
)
from service_cli.queries.listing import INDEX_STATE, SubgraphState, lags, present_time, require_indexed
from service_cli.queries.next_steps import judging, watching
from service_cli.ui.output import emit, say, warn

K = TypeVar("K", int, str)
PAGE = 100
MOST_AWARDS = 1_000
MOST_BOUNTIES = 20_000
MOST_SUBMISSIONS = 100_000
"""Submissions of all bounties together: an endless answer is not read to its end."""
BESIDE = 40
"""Submissions that come with each bounty: of a page of bounties fewer rows than the endpoint answers (MAX_ROWS)."""
LISTS, LIST_ROWS, LARGEST_LIST = 20, 4_800, 1_000
"""Lists of further Submissions in one query, their rows together, and those of one: the endpoint answers no more."""
OPEN = """
  bounties(where: $open, orderBy: bounty_id, first: $first) {
    bounty_id roster_version reveal_at judging_deadline
    verdicts(where: {guardian_address: $guardian}) { kind solver_address submission_commitment report_commitment }
    submissions(orderBy: solver_address, first: $beside) { solver_address submission_commitment }
  }
"""
AWARDED = """
  awarded: bounties(where: {outcome: "awarded"}, orderBy: bounty_id, orderDirection: desc, first: $first, skip: $skip) {
    bounty_id roster_version winner_solver_address winner_submission_commitment
  }
"""
ROSTERS = f"""
  {INDEX_STATE}
  seats: roster_members(
    where: {{guardian_address: $guardian}}, orderBy: version, orderDirection: desc, first: 500
  ) {{ version }}
"""
_OF_OPEN = "$guardian: String!, $open: Bounty_filter!, $first: Int!, $beside: Int!"
JUDGEABLE = f"query Judgeable({_OF_OPEN}, $skip: Int!) {{{ROSTERS}{OPEN}{AWARDED}}}"
MORE_OPEN = f"query Open({_OF_OPEN}) {{{OPEN}}}"
MORE_AWARDED = f"query Awarded($first: Int!, $skip: Int!) {{{AWARDED}}}"


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
    """An open bounty of the index with its first Submissions; ``verdicts`` are this Guardian's, one at most."""

    bounty_id: BountyId
    roster_version: int
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    verdicts: tuple[IndexedVerdict, ...]
    submissions: tuple[JudgeableSubmission, ...]


@dataclass(frozen=True, slots=True)
class WonBounty:
    """An award, as the index has it."""

    bounty_id: BountyId
    roster_version: int
    winner_solver_address: Address
    winner_submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class Seat:
    """A Guardian's place on a version of the roster."""

    version: int


@dataclass(frozen=True, slots=True)
class OpenBounties:
    """A page of open bounties."""

    bounties: tuple[OpenBounty, ...]


@dataclass(frozen=True, slots=True)
class Awards:
    """A page of awards."""

    awarded: tuple[WonBounty, ...]


@dataclass(frozen=True, slots=True)
class JudgeableAnswer:
    """All that is asked first."""

    index: SubgraphState
    seats: tuple[Seat, ...]
    bounties: tuple[OpenBounty, ...]
    awarded: tuple[WonBounty, ...]


@dataclass(frozen=True, slots=True)
class Judgeable:
    """A Guardian's open work: bounties to judge, the next deadline first, and winning keys to deliver."""

    bounties: tuple[JudgeableBounty, ...]
    owed: tuple[OwedDelivery, ...]


def list_judgeable(settings: Settings, guardian: Address) -> Judgeable:
    """Run the command ``guardian:judgeable``."""
    subgraph = subgraph_of(settings)
    asked = {"guardian": guardian, "open": {"status": "open"}, "first": PAGE, "beside": BESIDE, "skip": 0}
    found = subgraph.query(JudgeableAnswer, JUDGEABLE, asked)
    hub, indexed = require_indexed(settings, subgraph, found.index.deployment), found.index.block.timestamp
    if found.index.has_errors:
        warn("warning: the index reports errors; check on chain before judging")
    now = present_time(settings, subgraph, indexed)
    versions = [seat.version for seat in found.seats]
    if not versions:
        warn(f"{guardian} is not on any roster of this deployment; check the address and the network")
        return Judgeable((), ())
    bounties = _bounties(subgraph, guardian, found.bounties, versions, now)
    submissions = _submissions(subgraph, bounties)
    records = HubRecords(settings.chain_id, hub)
    judged = tuple(_print_bounty(records, guardian, each, submissions[each.bounty_id], now) for each in bounties)
    owed = _print_owed(api_of(settings), subgraph, found.awarded, versions)
    if not bounties and not owed:
        known = "that the index knows of; check again once it has caught up" if lags(settings, now, indexed) else "now"
        say(f"nothing waits for this Guardian {known}")
    return Judgeable(judged, owed)


def _bounties(
    subgraph: ApiClient, guardian: Address, bounties: tuple[OpenBounty, ...], versions: list[int], now: int
) -> list[OpenBounty]:
    """List every open bounty of these rosters past its reveal point, the next judging deadline first.

    ``bounties`` are the first open ones, of any roster and time: which ones count is known only with them.
    """
    found: list[OpenBounty] = []
    condition = {"status": "open", "reveal_at_lte": now, "roster_version_in": versions}
    asked: dict[str, object] = {"guardian": guardian, "first": PAGE, "beside": BESIDE}
    seen, beside, last = 0, 0, 0
    while True:
        _require_next(subgraph, [last, *(one.bounty_id for one in bounties)], PAGE, "bounty_id")
        found += [one for one in bounties if one.roster_version in versions and one.reveal_at <= now]
        seen += len(bounties)
        beside += sum(len(one.submissions) for one in bounties)
        if len(bounties) < PAGE:
            break
        if seen >= MOST_BOUNTIES or beside >= MOST_SUBMISSIONS:
            warn(f"only the oldest {len(found)} open bounties were checked")
            break
        last = bounties[-1].bounty_id
        following = {"open": condition | {"bounty_id_gte": str(last + 1)}}
        bounties = subgraph.query(OpenBounties, MORE_OPEN, asked | following).bounties
    return sorted(found, key=lambda one: one.judging_deadline)


def _submissions(subgraph: ApiClient, bounties: list[OpenBounty]) -> dict[BountyId, list[JudgeableSubmission]]:
    """Return each bounty's Submissions; read those after the first ones in pages, so that however many strangers make,
    no request is refused for its size.
    """
    found: dict[BountyId, list[JudgeableSubmission]] = {bounty.bounty_id: [] for bounty in bounties}
    waiting: list[tuple[BountyId, str]] = []

    def take(bounty_id: BountyId, after: str, page: Sequence[JudgeableSubmission], most: int) -> None:
        _require_next(subgraph, [after, *(each.solver_address for each in page)], most, "solver_address")
        found[bounty_id] += page
        if len(page) == most:
            waiting.append((bounty_id, page[-1].solver_address))

    for bounty in bounties:
        take(bounty.bounty_id, "", bounty.submissions, BESIDE)
    while waiting and sum(map(len, found.values())) < MOST_SUBMISSIONS:
        some, waiting[:LISTS] = waiting[:LISTS], []
        first = min(LIST_ROWS // len(some), LARGEST_LIST)
        asked: dict[str, object] = {"first": first}
        for n, (bounty_id, after) in enumerate(some):
            asked |= {f"b{n}": str(bounty_id), f"a{n}": after}
        data = subgraph.query(dict[str, object], submissions_query(len(some)), asked)
        for n, (bounty_id, after) in enumerate(some):
            take(bounty_id, after, subgraph.peer.read(tuple[JudgeableSubmission, ...], data.get(f"s{n}")), first)
    if waiting:
        some_of = ", ".join(str(bounty_id) for bounty_id, _ in waiting[:LISTS])
        warn(f"not all Submissions were checked, of bounty {some_of}")
    return found


def _require_next(subgraph: ApiClient, keys: Sequence[K], most: int, name: str) -> None:
    """Refuse a page whose keys do not continue after the previous page's: it could repeat forever."""
    if len(keys) > most + 1 or any(one >= other for one, other in pairwise(keys)):
        raise subgraph.peer.malformed(f" gave a page that does not go on with the next {name}.")


def _print_bounty(
    records: HubRecords,
    guardian: Address,
    bounty: OpenBounty,
    work: list[JudgeableSubmission],
    now: int,
) -> JudgeableBounty:
    bounty_id, deadline = bounty.bounty_id, bounty.judging_deadline
    unopened = tuple(
        each.submission_commitment
        for each in work
        if not records.was_opened(bounty_id, each.solver_address, each.submission_commitment)
    )
    own = bounty.verdicts[0] if bounty.verdicts else None
    replaced = (own is not None and _is_of_others(records, guardian, bounty_id, own)) or None
    event = JudgeableBounty(bounty_id, bounty.reveal_at, deadline, tuple(work), unopened, own, replaced)
    if replaced:
        warn(f"bounty {bounty_id}: your Verdict was replaced: {REPLACED}")
    is_open = own is None and bool(work) and deadline > now
    return emit(event, judging(bounty_id, has_unopened=bool(unopened)) if is_open else watching(bounty_id))


def _is_of_others(records: HubRecords, guardian: Address, bounty_id: BountyId, own: IndexedVerdict) -> bool:
    """Return whether this machine signed or recorded a Verdict and this is a different one."""
    names, here = ("verdict", str(bounty_id), guardian), set[str]()
    for *_, report in records.below(*names):
        with records.open(*names, report) as journal:
            if journal.has(VERDICT_SIGNED, VERDICT_RECORDED):
                here.add(report)
    return bool(here) and own.report_commitment not in here


def _print_owed(
    api: ApiClient, subgraph: ApiClient, awards: tuple[WonBounty, ...], versions: list[int]
) -> tuple[OwedDelivery, ...]:
    """Print and return awarded bounties of this Guardian's rosters whose winning key nobody has delivered; ``awards``
    are the newest.
    """
    shown: list[OwedDelivery] = []
    for skip in range(0, MOST_AWARDS, PAGE):
        if skip:
            awards = subgraph.query(Awards, MORE_AWARDED, {"first": PAGE, "skip": skip}).awarded
        for won in awards:
            if won.roster_version in versions and not is_delivered(
                api, str(won.bounty_id), won.winner_submission_commitment
            ):
                owed = OwedDelivery(won.bounty_id, won.winner_solver_address, won.winner_submission_commitment)
                shown.append(emit(owed, f"service-cli guardian:deliver-key {won.bounty_id}"))
        if len(awards) < PAGE:
            return tuple(shown)
    warn(f"only the newest {MOST_AWARDS} awards were checked")
    return tuple(shown)
