"""Bounties as the API lists and shows them.

Public reads only: nothing is signed and nothing of the chain is imported. An API of another deployment than the one
configured is refused before anything of it is shown. Facts of another shape are reported as unreadable.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, network_named
from bounty_protocol.types import Address, BlockNumber, BountyId, UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.deployment import Deployment

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, CommandRefused
from service_cli.queries.events import FetchedRecord, ListedBounty, ShownBounty, UnavailableRecord
from service_cli.queries.next_steps import for_reader
from service_cli.ui.output import emit, is_text, say, show_by, warn
from service_cli.ui.text import duration

_CAIP_10 = re.compile(r"eip155:(?P<chain>\d{1,20}):(?P<hub>0x[0-9a-f]{40})", re.ASCII)
INDEX_STATE: Final = "index: _meta { block { number timestamp } deployment has_errors: hasIndexingErrors }"
"""Of each query whose answer depends on how far the index is, or of which Hub."""
LAG_SECONDS = 60
"""How far the index may be behind before it is reported beside what it shows."""


@dataclass(frozen=True, slots=True)
class SubgraphBlock:
    """The newest block of an index."""

    number: BlockNumber
    timestamp: UnixSeconds


@dataclass(frozen=True, slots=True)
class SubgraphState:
    """How far an index is, and of which Hub."""

    block: SubgraphBlock
    deployment: str
    has_errors: bool


@dataclass(frozen=True, slots=True)
class SubgraphAnswer:
    """The answer to ``INDEX_STATE`` alone."""

    index: SubgraphState


def list_bounties(settings: Settings, filters: Mapping[str, str], limit: int) -> tuple[ListedBounty, ...]:
    """Run the command ``bounty:list``: at most ``limit`` bounties, page by page."""
    api = api_of(settings)
    _show_by(settings, api)
    shown = [emit(ListedBounty(item)) for item in listed(api, filters, limit)]
    if not shown:
        say("no bounties match")
    elif len(shown) == limit and is_text():
        say(f"the first {limit} are shown; --limit {2 * limit} shows more")
    return tuple(shown)


def _show_by(settings: Settings, api: ApiClient) -> None:
    """Refuse an API of another deployment; at a terminal show amounts in its token and moments by its time, never by
    this machine's clock.
    """
    token = deployment(settings, api).escrow_token
    if is_text():
        show_by(token=lambda: token, now=api.now())


def present_time(settings: Settings, api: ApiClient, indexed: int) -> int:
    """Return the later one of an index's newest block and the API's ``Date``; report an index that lags."""
    now = max(api.now(), indexed)
    if lags(settings, now, indexed):
        warn(f"note: the index is {duration(now - indexed)} behind: newer events are not shown yet")
    return now


def lags(settings: Settings, now: int, indexed: int) -> bool:
    """Return whether the index lacks recent events; a local chain may make a block only for a transaction."""
    return now - indexed > LAG_SECONDS and settings.chain_id != LOCAL_CHAIN_ID


def listed(api: ApiClient, filters: Mapping[str, str], limit: int) -> Iterator[dict[str, object]]:
    """Yield at most ``limit`` items of the public list."""
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
    """Run the command ``bounty:show``."""
    api = api_of(settings)
    answer = bounty_detail(api, bounty_id)
    detail = answer.read(BountyDetail)
    _require_served(settings, api, detail.chain_id, detail.hub_address)
    shown = ShownBounty(detail.bounty_id, detail.chain_id, detail.hub_address, answer.json())
    if is_text():
        _show_by(settings, api)
    is_final = detail.facts.outcome is not None
    return emit(shown, for_reader(bounty_id, is_final=is_final, accepting=detail.facts.accepting))


def show_record(settings: Settings, bounty_id: BountyId) -> FetchedRecord | UnavailableRecord:
    """Run the command ``verification-record``."""
    api = api_of(settings)
    detail = bounty_detail(api, bounty_id).read(BountyDetail)
    _require_served(settings, api, detail.chain_id, detail.hub_address)
    record, error = detail.verification_record, detail.verification_record_error
    if record is not None:
        if is_text():
            _show_by(settings, api)
        return emit(FetchedRecord(record))
    return emit(UnavailableRecord("bounty_open" if error is None else error.code))


def require_indexed(settings: Settings, subgraph: ApiClient, named: str) -> Address:
    """Return the Hub that an index names as its own (CAIP-10); refuse that of another deployment."""
    found = _CAIP_10.fullmatch(named)
    if found is None:
        raise subgraph.peer.malformed(" names no Hub that is indexed.")
    hub = Address(found["hub"])
    _require_served(settings, subgraph, int(found["chain"]), hub)
    return hub


def deployment(settings: Settings, api: ApiClient) -> Deployment:
    """Read the API's own description; refuse another deployment's."""
    answer = api.get("/api/deployment").read(Deployment)
    _require_served(settings, api, answer.chain_id, answer.hub_address)
    return answer


def _require_served(settings: Settings, api: ApiClient, chain_id: int, hub: Address) -> None:
    where, problem = api.peer.named, None
    if chain_id != settings.chain_id:
        named = f"chain {network_named(chain_id)}, and this run is for {network_named(settings.chain_id)}"
        problem = f"{where} serves {named}."
    elif settings.knows("SERVICE_HUB_ADDRESS") and hub != settings.hub_address():
        problem = f"{where} serves the Hub {hub}, and this run is for {settings.hub_address()}."
    if problem is not None:
        raise CommandRefused("deployment_mismatch", problem, next_action=COHERENT)
