"""The api behind a provider with quirks."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import BlockNumber
from service_api.app import make_app
from service_common.db import app as t
from sqlalchemy import select
from werkzeug.test import TestResponse

from tests.api.conftest import HOST, Service
from tests.protocol.auth.signing import Key
from tests.providers import QUIRKS, ProviderTwin, provider_before

MOST_TRIES = 10
"""Of one request: what a provider refuses for a moment is a 503 with Retry-After."""


def answered(ask: Callable[[], TestResponse]) -> TestResponse:
    """The answer once it is no 503."""
    for _ in range(MOST_TRIES):
        response = ask()
        if response.status_code != 503:
            break
        assert "Retry-After" in response.headers
    return response


def authorization(service: Service, path: str) -> str:
    """A Guardian's signature over a block that other endpoints have, too."""
    world, key = service.world, Key(bytes.fromhex(service.world.guardian(1).private_key.removeprefix("0x")))
    block = header_at(world.rpc, BlockNumber(world.tip() - 12))
    approval = RequestToSign("GET", path, "", b"", HOST).approval(block.number, block.hash)
    domain = SigningDomain(world.chain_id, world.hub_address)
    return approval_header(key.address, key.sign(digest(domain, approval)), approval)


@pytest.mark.parametrize("quirk", QUIRKS.values(), ids=QUIRKS)
def test_api_behind_a_quirk_answers(service: Service, quirk: Callable[[ProviderTwin], None]) -> None:
    world = service.world
    bounty_id = world.create(seconds=100)
    world.node.mine(12)
    world.advance_to(world.time() + 101)
    world.contract.transact(world.solver(1), "settle", bounty_id)
    world.node.mine(12)
    world.index()
    content = f"/api/bounties/{bounty_id}/submissions/0x{'11' * 32}/content"
    with provider_before(world.node.url) as twin:
        quirk(twin)
        client = make_app(replace(service.resources, rpc=Rpc([twin.url]))).test_client()
        assert answered(lambda: client.get("/api/deployment")).status_code == 200
        headers = {"Authorization": authorization(service, content)}
        assert answered(lambda: client.get(content, headers=headers)).status_code == 404
        for _ in range(MOST_TRIES):
            detail = client.get(f"/api/bounties/{bounty_id}").json
            assert detail is not None
            assert detail["verification_record"]["outcome"]
            with service.resources.engine.connect() as connection:
                kept = connection.execute(select(t.verification_records.c.bounty_id)).scalars().all()
            if bounty_id in kept:
                break
    assert bounty_id in kept, "its logs were confirmed"
