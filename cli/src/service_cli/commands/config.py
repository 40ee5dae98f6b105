"""``config``: each setting and where it came from."""

from service_cli.command import command


@command("config", "config", api=True)
def run(network: str | None, api_base_url: str | None) -> None:
    """Show each setting of a run, and where it came from. Secrets are never shown.

    \b
    Reads:    every variable of this client; keys only as far as that they are set
    Defaults: SERVICE_CHAIN_ID and whatever the network's record knows
    Prints:   config.value (name, value, source), one for each setting
    Refuses:  a network that does not exist; a malformed .env
    Examples: service-cli config --network staging
    """
    from service_cli.client.configuration import show_configuration
    from service_cli.settings import load_settings

    show_configuration(load_settings(network, api_base_url, None))
