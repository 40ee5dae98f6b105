"""What the indexer is told: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service_common.config import EnvironmentReader
from service_common.log import parse_level
from service_common.types import Address, BlockNumber, ChainId, parse_address, parse_decimal


@dataclass(frozen=True, slots=True)
class IndexerConfig:
    """One chain, one Hub, one copy."""

    chain_id: ChainId
    hub_address: Address
    deploy_block: BlockNumber
    rpc_urls: tuple[str, ...] = field(repr=False)
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> IndexerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = IndexerConfig(
        chain_id=ChainId(reader.required("SERVICE_CHAIN_ID", parse_decimal)),
        hub_address=reader.required("SERVICE_HUB_ADDRESS", parse_address),
        deploy_block=BlockNumber(reader.optional("SERVICE_DEPLOY_BLOCK", parse_decimal, 0)),
        rpc_urls=reader.required("SERVICE_RPC_URLS", parse_urls),
        database_url=reader.required("SERVICE_DATABASE_URL", str),
        redis_url=reader.required("SERVICE_REDIS_URL", str),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config


def parse_urls(text: str) -> tuple[str, ...]:
    """Endpoints separated by commas."""
    urls = tuple(url.strip() for url in text.split(",") if url.strip())
    if not urls or not all(url.startswith(("http://", "https://")) for url in urls):
        raise ValueError("http or https addresses, separated by commas")
    return urls
