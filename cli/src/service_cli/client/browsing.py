"""Reading bounties as the API lists and shows them.

Promises: public reads only; nothing is signed, and nothing of the chain is imported. An API of another deployment than
the one configured is refused before anything of it is shown.
"""

import time
from collections.abc import Iterator, Mapping

from service_common.types import Address, BountyId, parse_address

from service_cli.client.api import ApiClient, api_of
from service_cli.client.read_model import bounty_detail
from service_cli.client.summaries import lines, one_line, token_names
from service_cli.outcome import Refused
from service_cli.output import event, on_terminal, say
from service_cli.settings import Settings


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
        raise Refused("deployment_mismatch", message, next_action="Use the values of one deployment.")
