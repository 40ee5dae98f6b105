"""The secrets of a delivered bounty, found again to be searched for where they must not be."""

from pathlib import Path

from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.chain.deployment import BeaconRecord
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.capsule import open_capsule
from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.types import parse_bytes32
from demo.bounty import Cast, Funded, Submitted
from service_common.db import app as t
from service_common.db.engine import engine_of_job
from sqlalchemy import select


def delivery_key(cast: Cast) -> Identity:
    """The deployment's delivery private key, from the one file that holds it."""
    file = cast.stack.services["delivery"].environment["SERVICE_DELIVERY_PRIVATE_KEYS_FILE"]
    assert Path(file).stat().st_mode & 0o077 == 0
    return parse_keyring(Path(file).read_text())[0]


def content_key(cast: Cast, bounty: Funded, work: Submitted) -> Identity:
    """A Submission's content key, opened as a Guardian opens it."""
    environment = cast.stack.environment("guardian-1")
    database = cast.stack.services["api"].environment["SERVICE_DATABASE_URL_FILE"]
    with engine_of_job(Path(database).read_text(), application="test") as engine, engine.connect() as connection:
        c = t.submission_envelopes.c
        stored = connection.execute(select(c.content).where(c.submission_commitment == work.commitment)).scalar_one()
    envelope = parse_envelope(bytes(stored))
    record = BeaconRecord(
        (environment["SERVICE_BEACON_URLS"],),
        parse_bytes32(environment["SERVICE_BEACON_CHAIN_HASH"]),
        environment["SERVICE_BEACON_PUBLIC_KEY"],
        None,
        None,
    )
    info = beacon_info(record, Urllib3Get())
    beacon = BeaconClient(record.urls, info, Urllib3Get(), SystemClock()).round(envelope.reveal_policy.round)
    assert isinstance(beacon, Beacon)
    return open_capsule(
        envelope.key_capsule,
        beacon=beacon,
        info=info,
        keyring=parse_keyring(environment["SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"]),
        roster_size=3,
        content_public_key=envelope.content_public_key,
        expected=envelope.binding,
    )


def logs_of(cast: Cast, *names: str) -> bytes:
    """What processes of these names wrote."""
    files = [file for file in cast.stack.runtime.logs.rglob("*") if file.is_file() and file.name.startswith(names)]
    return b"".join(file.read_bytes() for file in files)
