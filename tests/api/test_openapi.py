"""The published document against the running service."""

import json
import re

import pytest
from service_api.openapi.document import openapi_document
from service_api.openapi.examples import EXAMPLES
from service_api.openapi.operations import OPERATIONS, Operation
from service_common.errors import PROBLEMS

from tests.api.conftest import Service, error_of
from tests.api.contract import NOWHERE, find_operation, paths, violations


def test_document__as_served__is_the_one_that_tests_check(service: Service) -> None:
    served = service.get("/api/openapi.json")
    assert served.json == json.loads(json.dumps(openapi_document()))
    assert served.headers["ETag"]


def test_document__of_the_routes__has_each_of_them_with_its_access(service: Service) -> None:
    app = service.client.application
    routed = {}
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            access = getattr(app.view_functions[rule.endpoint], "access", None)
            routed[method, re.sub(r"<(\w+)>", r"{\1}", rule.rule)] = access
    described = {(each.method, each.path): "signed" if each.signer else "public" for each in OPERATIONS}
    assert described == routed


def test_document__every_reference_and_code__exists() -> None:
    text = json.dumps(openapi_document())
    components = json.loads(text)["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) == set(components)
    inside_a_200 = {"bounty_challenge_content_mismatch"}
    assert {code for operation in OPERATIONS for code in operation.codes} | NOWHERE | inside_a_200 == set(PROBLEMS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_example__of_an_operation__has_the_shape_it_shows(operation: Operation) -> None:
    described = find_operation(operation.method, operation.path)
    assert described is not None
    assert described == paths()[operation.path][operation.method.lower()]
    for part, content in (("request", described.get("requestBody")), ("answer", described["responses"]["200"])):
        example = EXAMPLES.get(f"{operation.method} {operation.path} {part}")
        if example is not None and content is not None:
            (shown,) = content["content"].values()
            assert shown["example"] == example
            assert violations(example, shown["schema"]) == []


def test_example__of_an_upload__is_answered(service: Service) -> None:
    world, solver = service.world, service.world.solver(1)
    bounty_id = world.create(seconds=100_000)
    world.finalize()
    route = "/api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url"
    body = json.dumps(EXAMPLES[f"POST {route} request"]).encode()
    path = route.format(bounty_id=bounty_id, solver_address=solver.address)
    response = service.signed(solver.private_key, "POST", path, body=body, media_type="application/json")
    assert response.status_code == 200


def test_example__of_graphql__is_answered(service: Service) -> None:
    body = json.dumps(EXAMPLES["POST /subgraph request"])
    response = service.client.post("/subgraph", data=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200


def test_example__of_a_page__is_refused_for_its_dates_at_most(service: Service) -> None:
    page = EXAMPLES["POST /api/bounty-challenge-specs/prepare-publication request"]
    response = service.publish(str(page).encode())
    if response.status_code != 200:
        issues = error_of(response)["issues"]
        assert {issue["path"] for issue in issues} <= {"submission_deadline", "judging_window_seconds"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["wrap", "retrieve"])
def test_example__of_delivery__is_let_in_and_forwarded(service: Service, name: str) -> None:
    body = json.dumps(EXAMPLES[f"POST /api/bounties/{{bounty_id}}/delivery/{name} request"]).encode()
    key = service.world.people.poster.wallet.private_key
    path = f"/api/bounties/1/delivery/{name}"
    response = service.signed(key, "POST", path, body=body, media_type="application/json")
    assert error_of(response)["code"] == "delivery_unavailable"  # no delivery service runs beside this one


def test_page__of_the_interface__shows_everything_and_loads_nothing(service: Service) -> None:
    response = service.get("/api/docs")
    text = response.get_data(as_text=True)
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for operation in OPERATIONS:
        assert f"{operation.method} {operation.path}" in text
    assert not re.search(r"<script|<link|@import|src=|url\(|https?://(?!json-schema\.org)", text)
    for anchor in re.findall(r"href='#([^']+)'", text):
        assert f"id='{anchor}'" in text, anchor
