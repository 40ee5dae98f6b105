"""Which randomness beacon a deployment seals for: ``SERVICE_BEACON_URLS``, ``_CHAIN_HASH``, ``_PUBLIC_KEY``.

A known network's beacon is pinned in its deployment record and only its addresses may be overridden; the local network
names all three. Genesis and period come from the beacon itself, checked by the chain hash.
"""

from dataclasses import replace

from bounty_protocol.chain.deployment import BeaconRecord, deployment_of
from bounty_protocol.crypto.beacon_info import parse_beacon_key, parse_chain_hash
from bounty_protocol.types import ChainId

from service_common.chain.settings import parse_urls
from service_common.config import EnvironmentReader


def read_beacon_record(reader: EnvironmentReader, chain_id: ChainId) -> BeaconRecord:
    """The beacon of this process's deployment; mistakes are collected by ``reader``."""
    record = deployment_of(chain_id)
    if record is not None and record.beacon is not None:
        return replace(record.beacon, urls=reader.optional("SERVICE_BEACON_URLS", parse_urls, record.beacon.urls))
    return BeaconRecord(
        urls=reader.required("SERVICE_BEACON_URLS", parse_urls),
        chain_hash=reader.required("SERVICE_BEACON_CHAIN_HASH", parse_chain_hash),
        public_key=reader.required("SERVICE_BEACON_PUBLIC_KEY", parse_beacon_key),
        genesis_time=None,
        period_seconds=None,
    )
