"""What a deployment publishes for the time beside another: its Hub with every answer, one file."""

from dataclasses import replace
from io import StringIO

from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.types import Address, BlockNumber
from dotenv import dotenv_values
from service_api.app import make_app
from service_common.db.app import written_verdicts
from service_common.db.engine import writing
from sqlalchemy import insert
from werkzeug.test import TestResponse

from tests.api.conftest import HOST, Service
from tests.api.contract import checked_client
from tests.api.test_written_verdicts import document
from tests.protocol.auth.signing import Key

OTHER = Address("0x" + "cd" * 20)
CONTENT = f"/api/bounties/1/submissions/0x{'11' * 32}/content"


def error_code(answer: TestResponse) -> str:
    return str(answer.get_json()["error"]["code"])


def test_client_env_is_coherent_and_has_no_endpoint(service: Service) -> None:
    answer = service.get("/api/deployment/client.env")
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    values = dotenv_values(stream=StringIO(answer.text), interpolate=False)
    world = service.world
    assert values == {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": world.hub.token.address,
        "SERVICE_API_BASE_URL": f"http://{HOST}",
        "SERVICE_SUBGRAPH_ENDPOINT": f"http://{HOST}/subgraph",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "60",
        "SERVICE_BEACON_CHAIN_HASH": service.beacon.chain_hash,
        "SERVICE_BEACON_PUBLIC_KEY": service.beacon.public_key,
        "SERVICE_BEACON_URLS": service.beacon.url,
    }
    assert service.resources.config.chain.rpc_urls[0] not in answer.text
    assert service.client.get("/api/deployment/client.env?x=1").status_code == 400


def test_signature_for_another_hub_is_unauthorized(service: Service) -> None:
    poster = service.world.people.poster
    service.world.fund()  # so that there is a bounty 1, whatever ran before
    service.world.finalize()
    key = Key(bytes.fromhex(poster.wallet.private_key[2:]))
    block = header_at(service.world.rpc, BlockNumber(header_at(service.world.rpc, "latest").number - 1))

    def ask(hub: Address, host: str) -> TestResponse:
        approval = RequestToSign("GET", CONTENT, "", b"", host).approval(block.number, block.hash)
        signature = key.sign(digest(SigningDomain(service.world.chain_id, hub), approval))
        return service.get(CONTENT, Authorization=approval_header(key.address, signature, approval))

    for hub, host in ((OTHER, HOST), (service.world.hub_address, "next.example")):
        answer = ask(hub, host)
        assert (answer.status_code, error_code(answer)) == (401, "unauthorized")
    assert error_code(ask(service.world.hub_address, HOST)) == "submission_not_found"


def test_database_of_another_hub_is_not_served(service: Service) -> None:
    """Two deployments on one server have the same roles: one name in an address is all that tells them apart."""
    assert service.get("/api/bounties").status_code == 200
    config = service.resources.config
    chain = replace(config.chain, hub_address=OTHER)
    mistaken = replace(service.resources, config=replace(config, chain=chain))
    client = checked_client(make_app(mistaken))
    body = document(service, service.world.fund(), service.world.guardian(1))
    kept = report_commitment(body)
    with writing(service.resources.engine) as connection:
        row = {"report_commitment": kept, "content": body, "bounty_id": 1, "guardian": OTHER}
        connection.execute(insert(written_verdicts).values(row))
    verdict = f"/api/written-verdicts/{kept}"
    assert service.get(verdict).data == body
    paths = ("/api/bounties", "/api/bounties/1", "/api/changes", f"/api/accounts/{OTHER}", "/api/withheld", verdict)
    for path in paths:
        answer = client.get(path)
        assert (answer.status_code, error_code(answer)) == (503, "bounty_projection_unavailable"), path
    status = client.get("/api/status").get_json()
    assert (status["state"], status["totals"], status["hub_address"]) == ("unavailable", None, OTHER)
    query = {"query": "{ bounties { id } }", "variables": {}}
    shown = client.post("/subgraph", json=query)
    assert shown.status_code != 200 or "errors" in shown.get_json()
