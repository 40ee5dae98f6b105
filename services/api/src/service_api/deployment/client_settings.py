"""What a client sets to reach this deployment and no other, as one ``.env``."""

from typing import Final

from bounty_protocol.chain.deployment import deployment_of, network_named

from service_api.config import ApiConfig
from service_api.deployment.constants import Constants

_TEXT: Final = """\
# The bounty escrow of Hub {hub} on chain {chain}, as {url} states it.
# Save it as client.env, load it with: set -a; . ./client.env; set +a, then run: service-cli doctor.
# Exported variables override a .env: unset the variables below. The RPC endpoint is yours to choose.
{lines}"""


def client_settings(config: ApiConfig, constants: Constants) -> str:
    """Return the file. Every value is of this deployment: from its configuration, or from its Hub."""
    chain, beacon, url = config.chain, constants.beacon, config.public_url
    values = {
        "SERVICE_CHAIN_ID": str(chain.chain_id),
        "SERVICE_HUB_ADDRESS": chain.hub_address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": constants.hub.token.address,
        "SERVICE_API_BASE_URL": url,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{url}/subgraph",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": str(constants.hub.reveal_delay),
        "SERVICE_BEACON_CHAIN_HASH": beacon.chain_hash,
        "SERVICE_BEACON_PUBLIC_KEY": beacon.public_key,
    }
    if deployment_of(chain.chain_id) is None:
        # For a known network the client has its own relays and its own rule of finality, by which it checks the rest.
        values["SERVICE_BEACON_URLS"] = ",".join(config.beacon.urls)
        if chain.finality_depth is not None:
            values["SERVICE_FINALITY_DEPTH"] = str(chain.finality_depth)
    lines = "".join(f"{name}='{value}'\n" for name, value in values.items())
    return _TEXT.format(hub=chain.hub_address, chain=network_named(chain.chain_id), url=url, lines=lines)
