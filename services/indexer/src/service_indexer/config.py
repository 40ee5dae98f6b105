"""The indexer's configuration: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bounty_protocol.auth.signature import parse_private_key
from bounty_protocol.types import parse_decimal
from service_common.chain.settings import ChainSettings, read_chain_settings
from service_common.config import EnvironmentReader, parse_count, parse_database_url, parse_redis_url, parse_switch
from service_common.log import parse_level
from service_common.traces.settings import TraceSettings, read_trace_settings


@dataclass(frozen=True, slots=True)
class IndexerConfig:
    """One chain, one Hub, one copy. ``settler_key`` None: the settler does nothing. ``rpc_quorum``: how many endpoints
    have to answer the same before a block counts as final and a list of logs as whole. ``proofs``: whether headers and
    logs count only where they are proven, and storage is asked for.

    ``compare_calls``: queries of a day for comparing the copy with the chain; 0 for none.
    """

    chain: ChainSettings
    rpc_quorum: int
    proofs: bool
    compare_calls: int
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    settler_key: bytes | None = field(repr=False)
    internal_port: int
    traces: TraceSettings
    log_level: int


def read_config(environment: Mapping[str, str]) -> IndexerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = IndexerConfig(
        chain=read_chain_settings(reader),
        rpc_quorum=reader.optional("SERVICE_RPC_QUORUM", parse_count, 1),
        proofs=reader.optional("SERVICE_RPC_PROOFS", parse_switch, True),
        compare_calls=reader.optional("SERVICE_INDEX_COMPARE_CALLS", parse_decimal, 4_000),
        database_url=reader.required("SERVICE_DATABASE_URL", parse_database_url),
        redis_url=reader.required("SERVICE_REDIS_URL", parse_redis_url),
        settler_key=reader.optional("SERVICE_SETTLER_PRIVATE_KEY", parse_private_key, None),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        traces=read_trace_settings(reader),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    if config.chain.rpc_urls and config.rpc_quorum > len(config.chain.rpc_urls):
        reader.refuse("SERVICE_RPC_QUORUM asks for more endpoints than SERVICE_RPC_URLS names")
    reader.check()
    return config
