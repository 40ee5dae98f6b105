"""``guardian:heartbeat``: a sign of life."""

from service_cli.command import command


@command("guardian:heartbeat", "guardian_heartbeat")
def run(network: str | None) -> None:
    """Record on chain that this Guardian is active, so that Posters see a living roster before they fund.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL
    Prints:   guardian_heartbeat.recorded (guardian, tx_hash, block_number)
    Refuses:  an account that was never on a roster
    Examples: service-cli guardian:heartbeat
    """
    from service_cli.client.guardian_calls import heartbeat
    from service_cli.settings import CHAIN, load_settings

    heartbeat(load_settings(network, None, CHAIN))
