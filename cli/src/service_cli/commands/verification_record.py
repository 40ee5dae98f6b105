"""``verification-record``: the advisory record of a final bounty."""

import click
from service_common.types import BountyId

from service_cli.command import command
from service_cli.output import event, say
from service_cli.values import BOUNTY_ID


@command("verification-record", "verification_record", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
def run(bounty_id: BountyId, network: str | None, api_base_url: str | None) -> None:
    """Show the VerificationRecord of a final bounty: a plain unauthenticated read.

    The record is evidence only: it grants nothing and never overrides the chain.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL
    Prints:   verification_record.fetched (record), or verification_record.unavailable (code)
    Refuses:  an unknown bounty; an answer of another deployment
    Examples: service-cli verification-record 7
    """
    from service_cli.client.api import api_of
    from service_cli.outcome import Refused
    from service_cli.settings import load_settings

    settings = load_settings(network, api_base_url, ("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL"))
    detail = api_of(settings).get(f"/api/bounties/{bounty_id}").json()
    if detail.get("chain_id") != settings.chain_id or detail.get("hub_address") != settings.hub_address():
        message = "The API answers for another chain or Hub than the one configured."
        raise Refused("deployment_mismatch", message, next_action="Use the values of one deployment.")
    record, error = detail.get("verification_record"), detail.get("verification_record_error")
    if record is not None:
        event("verification_record.fetched", {"record": record})
    else:
        code = error.get("code") if isinstance(error, dict) else "bounty_open"
        event("verification_record.unavailable", {"code": code})
        reason = "it is still open" if code == "bounty_open" else "it cannot be derived yet; try again later"
        say(f"no record of bounty {bounty_id}: {reason} (service-cli bounty:show {bounty_id} tells its state)")
