"""The GraphQL endpoint."""

import json

import pytest
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of


def ask(service: Service, query: str, **variables: object) -> TestResponse:
    return service.client.post(
        "/subgraph",
        data=json.dumps({"query": query, "variables": variables}),
        headers={"Content-Type": "application/json"},
    )


def data(response: TestResponse) -> dict[str, list[dict[str, object]]]:
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.json is not None
    found: dict[str, list[dict[str, object]]] = response.json["data"]
    return found


def test_query__for_bounties_with_children__shows_current_ones(service: Service) -> None:
    world = service.world
    bounty_id = world.create()
    world.submit(bounty_id, world.solver(1))
    latest = world.submit(bounty_id, world.solver(1))
    world.finalize()
    query = """query ($id: String!) { bounties(where: {bounty_id: $id}) {
        bounty_id status escrow_amount submission_deadline submissions { solver_address submission_commitment }
        verdicts { kind } } }"""
    (bounty,) = data(ask(service, query, id=str(bounty_id)))["bounties"]
    assert bounty["escrow_amount"] == "25000000"
    assert isinstance(bounty["submission_deadline"], int)
    assert bounty["status"] == "open"
    assert bounty["submissions"] == [{"solver_address": world.solver(1).address, "submission_commitment": latest}]
    assert bounty["verdicts"] == []


def test_query__with_filters_order_and_paging__is_the_graphs_dialect(service: Service) -> None:
    for _ in range(3):
        service.world.create()
    service.world.finalize()
    query = (
        '{ bounties(where: {escrow_amount_gte: "1"}, orderBy: time, orderDirection: desc, first: 2, skip: 1) { id } }'
    )
    assert len(data(ask(service, query))["bounties"]) == 2
    assert data(ask(service, '{ bounties(where: {escrow_amount_gt: "99999999999999999999"}) { id } }')) == {
        "bounties": []
    }
    meta = ask(service, "{ _meta { block { number hash timestamp } finalized_block_number hasIndexingErrors } }").json
    assert meta is not None
    assert meta["data"]["_meta"]["hasIndexingErrors"] is False
    assert meta["data"]["_meta"]["block"]["number"] - meta["data"]["_meta"]["finalized_block_number"] == 2


@pytest.mark.parametrize(
    "query",
    [
        "",
        "{",
        "{ nothing }",
        "{ bounties(first: 1001) { id } }",
        "{ bounties(skip: 5001) { id } }",
        "{ bounties(where: {escrow_amount: 5}) { id } }",
        "{ bounties { ...F } } fragment F on Bounty { id }",
        "mutation { x }",
        "{" + " bounties { id }" * 600 + "}",
    ],
)
def test_query__that_is_malformed_or_too_much__is_refused_in_plain_words(service: Service, query: str) -> None:
    response = ask(service, query)
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")
    assert "Traceback" not in response.get_data(as_text=True)
