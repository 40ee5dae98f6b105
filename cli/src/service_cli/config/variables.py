"""What each variable sets that holds no key: for ``service-cli help variables`` and docs/client.md."""

from collections.abc import Mapping
from typing import Final

ABOUT: Final[Mapping[tuple[str, ...], str]] = {
    ("SERVICE_CHAIN_ID",): "the network: a name or a chain id",
    ("SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS"): "the contract, and the token that it holds",
    ("SERVICE_RPC_URL",): "an endpoint of the chain",
    ("SERVICE_RPC_URLS",): "further ones, separated by commas, that must agree with it before anything is signed",
    ("SERVICE_API_BASE_URL", "SERVICE_SUBGRAPH_ENDPOINT"): (
        "the service, and its GraphQL (/subgraph on the API's host)"
    ),
    ("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS",): "the Hub's reveal delay",
    ("SERVICE_FINALITY_DEPTH",): "after how many blocks one is final, where the chain has no tag for it",
    ("SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH", "SERVICE_BEACON_PUBLIC_KEY"): (
        "the beacon's relays, and its key. Never taken from the API: a wrong beacon opens work early or never"
    ),
    ("SERVICE_MAX_GAS_PRICE_GWEI",): "the most that is offered for a unit of gas; exported only",
    ("SERVICE_ACCEPTED_ENV_FILE",): "the SHA-256 of a .env that a script accepts; exported only",
    ("SERVICE_OUTPUT",): "text or json; exported only",
    ("SERVICE_LOCAL_TIME",): "moved, where somebody moves the local network's time; exported only",
    ("SERVICE_DEBUG",): "any value: an unexpected failure shows where it happened",
}
"""By the variables that one text is about."""
