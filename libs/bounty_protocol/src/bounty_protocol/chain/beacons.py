"""A network's randomness beacon whole: from its record, or read from its relays and checked by its hash."""

from bounty_protocol.chain.deployment import BeaconRecord
from bounty_protocol.crypto.beacon import HttpGet, fetch_info
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.types import UnixSeconds


def beacon_info(record: BeaconRecord, http: HttpGet) -> BeaconInfo:
    """Return the beacon's information: pinned by the record, or read from the relays and checked by its hash."""
    if record.genesis_time is None or record.period_seconds is None:
        return fetch_info(record.urls, record.chain_hash, record.public_key, http)
    return BeaconInfo(record.chain_hash, record.public_key, UnixSeconds(record.genesis_time), record.period_seconds)
