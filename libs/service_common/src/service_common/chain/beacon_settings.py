"""Which randomness beacon a deployment seals for: ``SERVICE_BEACON_URLS``, ``_CHAIN_HASH``, ``_PUBLIC_KEY``.

A known network's beacon is pinned in its deployment record and only its addresses may be overridden; the local network
names all three. Genesis and period come from the beacon itself, checked by the chain hash.
"""

from dataclasses import replace

from service_common.chain.deployment import BeaconRecord, deployment_of
from service_common.chain.settings import parse_urls
from service_common.config import EnvironmentReader
from service_common.crypto.beacon import HttpGet, fetch_info
from service_common.crypto.beacon_info import BeaconInfo, parse_beacon_key, parse_chain_hash
from service_common.types import ChainId, UnixSeconds


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


def beacon_info(record: BeaconRecord, http: HttpGet) -> BeaconInfo:
    """The beacon whole: from the record where it is pinned, else read from the relays and checked by its hash."""
    if record.genesis_time is None or record.period_seconds is None:
        return fetch_info(record.urls, record.chain_hash, record.public_key, http)
    return BeaconInfo(record.chain_hash, record.public_key, UnixSeconds(record.genesis_time), record.period_seconds)
