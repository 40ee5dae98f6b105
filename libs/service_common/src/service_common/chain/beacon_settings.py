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
    known = record.beacon if record is not None else None
    relays = known.urls if known is not None else None
    urls = reader.recorded("SERVICE_BEACON_URLS", parse_urls, relays, "relays of the beacon")
    if known is not None:
        return replace(known, urls=urls)
    chain, key = "the beacon's chain; only `local` sets it", "the beacon's key; only `local` sets it"
    return BeaconRecord(
        urls=urls,
        chain_hash=reader.recorded("SERVICE_BEACON_CHAIN_HASH", parse_chain_hash, None, chain),
        public_key=reader.recorded("SERVICE_BEACON_PUBLIC_KEY", parse_beacon_key, None, key),
        genesis_time=None,
        period_seconds=None,
    )
