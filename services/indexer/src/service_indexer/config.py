"""The indexer's configuration: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bounty_protocol.auth.signature import parse_private_key
from bounty_protocol.chain.deployment import NETWORKS
from service_common.chain.settings import ChainSettings, read_chain_settings
from service_common.common_settings import read_database_url, read_internal_port, read_log_level, read_redis_url
from service_common.config import EnvironmentReader, parse_count


@dataclass(frozen=True, slots=True)
class IndexerConfig:
    """One chain, one Hub, one copy.

    ``rpc_quorum``: how many endpoints have to answer the same before a block counts as final and a list of logs as
    whole. ``settler_key`` None: the settler does nothing.
    """

    chain: ChainSettings
    rpc_quorum: int
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    settler_key: bytes | None = field(repr=False)
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> IndexerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = IndexerConfig(
        chain=read_chain_settings(reader),
        rpc_quorum=reader.optional(
            "SERVICE_RPC_QUORUM",
            parse_count,
            1,
            "how many endpoints must agree on the final block, headers and logs; 2 on mainnet, which needs two "
            "endpoints",
        ),
        database_url=read_database_url(reader),
        redis_url=read_redis_url(reader),
        settler_key=reader.optional(
            "SERVICE_SETTLER_PRIVATE_KEY",
            parse_private_key,
            None,
            "the settler's gas key; without it nothing is sent",
            shown="none",
        ),
        internal_port=read_internal_port(reader),
        log_level=read_log_level(reader),
    )
    if config.chain.rpc_urls and config.rpc_quorum > len(config.chain.rpc_urls):
        reader.refuse("SERVICE_RPC_QUORUM asks for more endpoints than SERVICE_RPC_URLS names")
    if config.chain.chain_id == NETWORKS["mainnet"] and config.rpc_quorum == 1:
        reader.refuse("SERVICE_RPC_QUORUM of 1 would let one RPC endpoint decide on mainnet: set 2 or more")
    reader.check()
    return config
