"""Reading bounties as the API lists and shows them.

Promises: public reads only; nothing is signed, and nothing of the chain is imported.
"""

from collections.abc import Mapping

from service_common.types import BountyId

from service_cli.client.api import ApiClient
from service_cli.client.read_model import bounty_detail
from service_cli.outcome import Failed, Refused
from service_cli.output import event
from service_cli.settings import Settings


def list_bounties(settings: Settings, filters: Mapping[str, str], limit: int) -> None:
    """The command ``bounty:list``: at most ``limit`` bounties, page by page."""
    api, shown = ApiClient(settings.api_base_url(), None), 0
    cursor: str | None = None
    while shown < limit:
        query = {**filters, "limit": str(min(limit - shown, 100)), **({"cursor": cursor} if cursor else {})}
        page = api.get("/api/bounties", query).json()
        items, following = page.get("items"), page.get("next_cursor")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise Failed("answer_malformed", "The API's list has no items.", next_action="Check SERVICE_API_BASE_URL.")
        for item in items[: limit - shown]:
            event("bounty_list.bounty", item)
        shown += len(items)
        if not isinstance(following, str) or not items:
            return
        cursor = following


def show_bounty(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``bounty:show``."""
    detail = bounty_detail(ApiClient(settings.api_base_url(), None), bounty_id)
    if detail.get("chain_id") != settings.chain_id or detail.get("hub_address") != settings.hub_address():
        message = "The API answers for another chain or Hub than the one configured."
        raise Refused("deployment_mismatch", message, next_action="Use the values of one deployment.")
    event("bounty_show.bounty", detail)
