"""The delivery service in this process over real servers; its answers are held against the document of the api."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope, build_envelope
from bounty_protocol.domain.envelope.reveal import RevealPolicy
from bounty_protocol.types import BountyId, Bytes32, UnixSeconds, parse_address
from flask import Flask
from flask.testing import FlaskClient
from local_stack.contract import Wallet
from service_common.db import app as tables
from service_common.db.hub_facts import FactSource
from service_common.web.dependencies import provided
from service_delivery.app import make_app
from service_delivery.config import read_config
from sqlalchemy import insert
from werkzeug.test import TestResponse

from tests.api.contract import checked_client
from tests.protocol.auth.signing import Key
from tests.servers import database, database_server
from tests.world import ChainClock, World, deployment, world

__all__ = ["database", "database_server", "deployment", "world"]

HOST = "bounties.example"


@dataclass
class Delivery:
    """The delivery service, its world and its retired key."""

    world: World
    client: FlaskClient
    retired: Identity
    variables: dict[str, str]
    apps: list[Flask]

    def call(self, wallet: Wallet, path: str, body: object) -> TestResponse:
        """One signed POST below the bounty's delivery path."""
        data = json.dumps(body).encode()
        return self.send(path, data, self.header(wallet, path, data))

    def wrap(self, guardian: int, envelope: Envelope, identity: Identity, to: Identity | None = None) -> TestResponse:
        """A Guardian's wrap of a Submission's key, to the world's delivery key unless another is named."""
        body = {
            "solver_address": envelope.solver_address,
            "submission_commitment": envelope.commitment(),
            "wrapped_key": sealed_box.wrap(identity, (to or self.world.delivery).public_key),
        }
        return self.call(self.world.guardian(guardian), f"/api/bounties/{envelope.bounty_id}/delivery/wrap", body)

    def send(self, path: str, data: bytes, header: str) -> TestResponse:
        """One POST with a header as it is."""
        return self.client.post(path, data=data, headers={"Authorization": header, "Content-Type": "application/json"})

    def header(self, wallet: Wallet, path: str, data: bytes) -> str:
        """An Authorization header for one POST, signed over a block a little behind the tip."""
        block = header_at(self.world.rpc, "latest")
        approval = RequestToSign("POST", path, "", data, HOST).approval(block.number, block.hash)
        key = Key(bytes.fromhex(wallet.private_key[2:]))
        domain = SigningDomain(self.world.chain_id, self.world.hub_address)
        return approval_header(key.address, key.sign(digest(domain, approval)), approval)

    def restarted(self, *keys: Identity) -> "Delivery":
        """The same service with another key file."""
        file = Path(self.variables["SERVICE_DELIVERY_PRIVATE_KEYS_FILE"])
        file.write_text(json.dumps([key.to_text() for key in keys]))
        app = make_app(read_config(self.variables), ChainClock(self.world.rpc))
        self.apps.append(app)
        return replace(self, client=checked_client(app))

    def publish(self, key: Identity) -> None:
        """Have the Hub's owner publish a delivery key, finalized and indexed."""
        owner = self.world.people.owner.wallet
        self.world.contract.transact(owner, "publishDeliveryKey", bytes.fromhex(key.public_key[2:]))
        self.world.await_publication()
        self.world.finalize()

    def announce(self, key: Identity) -> None:
        """Have the owner publish a delivery key that does not take effect yet, finalized and indexed."""
        owner = self.world.people.owner.wallet
        self.world.contract.transact(owner, "publishDeliveryKey", bytes.fromhex(key.public_key[2:]))
        self.world.finalize()

    def withdraw(self, key: Identity) -> None:
        """Have the owner withdraw a delivery key, finalized and indexed."""
        owner = self.world.people.owner.wallet
        self.world.contract.transact(owner, "withdrawDeliveryKey", bytes.fromhex(key.public_key[2:]))
        self.world.finalize()

    def submission(self, bounty_id: BountyId, solver: Wallet, identity: Identity, *, recorded: bool = True) -> Envelope:
        """An envelope stored as the api stores it, its commitment recorded on chain."""
        world = self.world
        envelope = build_envelope(
            binding=Binding(world.chain_id, world.hub_address, bounty_id, parse_address(solver.address)),
            spec_commitment=Bytes32("0x" + "11" * 32),
            guardian_roster_hash=Bytes32(world.hub.roster_hash),
            recipients_commitment=Bytes32("0x" + "22" * 32),
            reveal_policy=RevealPolicy(Bytes32("0x" + "33" * 32), 7, UnixSeconds(world.reveal_at(bounty_id))),
            content_public_key=identity.public_key,
            key_capsule=b"capsule",
            ciphertext_sha256=Bytes32("0x" + "44" * 32),
            ciphertext_byte_length=1,
        )
        row = {
            "bounty_id": bounty_id,
            "solver": solver.address,
            "submission_commitment": envelope.commitment(),
            "content": envelope.canonical_bytes(),
            "storage_locator": envelope.ciphertext.storage_locator,
        }
        with world.engine("service_api").begin() as connection:
            connection.execute(insert(tables.submission_envelopes).values(row))
        if recorded:
            world.submit(bounty_id, solver, envelope.commitment())
        return envelope


@pytest.fixture
def delivery(world: World, tmp_path: Path) -> Iterator[Delivery]:
    with running_delivery(world, tmp_path) as started:
        yield started


@contextmanager
def running_delivery(world: World, folder: Path) -> Iterator[Delivery]:
    """The service over a world."""
    retired = Identity.generate()
    keys = folder / "keys.json"
    keys.touch(mode=0o600)
    keys.write_text(json.dumps([world.delivery.to_text(), retired.to_text()]))
    variables = {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_RPC_URLS": world.node.url,
        "SERVICE_PUBLIC_HOST": HOST,
        "SERVICE_DATABASE_URL": world.database.url("service_delivery"),
        "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys),
    }
    app = make_app(read_config(variables), ChainClock(world.rpc))
    started = Delivery(world, checked_client(app), retired, variables, [app])
    yield started
    for each in started.apps:
        with each.app_context():
            provided(FactSource).engine.dispose()
