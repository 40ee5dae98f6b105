"""The public bounty detail, and waiting until its facts can be relied upon.

Promises: a wallet is asked to sign only after the fact a request depends on is finalized in the index, so that a
signature is not wasted on a 503.
"""

import time
from collections.abc import Callable
from typing import Final

from service_common.types import BountyId

from service_cli.client.api import ApiClient
from service_cli.outcome import Failed, Refused
from service_cli.output import say
from service_cli.progress import Waiting

PATIENCE_SECONDS: Final = 1_800.0
_POLL_SECONDS: Final = 1.0


def bounty_detail(api: ApiClient, bounty_id: BountyId) -> dict[str, object]:
    """The public read, once."""
    return api.get(f"/api/bounties/{bounty_id}").json()


def wait_until(
    api: ApiClient, bounty_id: BountyId, ready: Callable[[dict[str, object]], bool], what: str
) -> dict[str, object]:
    """The detail as soon as ``ready`` holds; an unknown bounty may only not be indexed yet."""
    ends, told = time.monotonic() + PATIENCE_SECONDS, False
    with Waiting("waiting") as waiting:
        while time.monotonic() < ends:
            try:
                detail = bounty_detail(api, bounty_id)
            except Refused as refusal:
                if refusal.code != "bounty_not_found":
                    raise
                detail = {}
            if detail and ready(detail):
                return detail
            if not told:
                say(f"waiting until {what}")
                told = True
            waiting.tick()
            time.sleep(_POLL_SECONDS)
    raise Failed("not_finalized", f"Still waiting until {what}.", next_action="Run the command again later.")


def wait_finalized(
    api: ApiClient, bounty_id: BountyId, what: str = "the chain has finalized the bounty's last change"
) -> dict[str, object]:
    """The detail once the bounty's last change is finalized."""
    return wait_until(api, bounty_id, lambda detail: detail.get("finality") == "finalized", what)


def text_of(fields: object, name: str) -> str | None:
    """A text field of a JSON object, else None."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else None
