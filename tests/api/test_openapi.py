"""The published document against the running service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.errors import PROBLEMS, ServiceError
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api.conftest import Service
from tests.api.contract import NOWHERE, Operation, openapi_document, operations, violations

REFERENCE = re.compile(r"#/components/(\w+)/([\w-]+)")


def test_served_document_is_the_checked_one(service: Service) -> None:
    served = service.get("/api/openapi.json")
    assert served.json == openapi_document()
    assert served.headers["ETag"]


def test_document__of_this_interface__is_valid_openapi() -> None:
    document = openapi_document()
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(dict(document)).iter_errors()] == []


@pytest.mark.spec(110, 111)
def test_document_has_each_route_with_its_access(service: Service) -> None:
    app = service.client.application
    routed = {}
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            access = getattr(app.view_functions[rule.endpoint], "access", None)
            routed[method, re.sub(r"<(\w+)>", r"{\1}", rule.rule)] = access
    described = {(each.method, each.path): "signed" if each.signer else "public" for each in operations()}
    assert described == {
        (method, path): access
        for (method, path), access in routed.items()
        if path.split("/")[1] in {"api", "subgraph", "healthz"}
    }


def test_document__every_reference_and_code__exists() -> None:
    document = openapi_document()
    referred = set(REFERENCE.findall(json.dumps(document)))
    components = {(kind, name) for kind, named in document["components"].items() for name in named}
    assert components - referred == {("securitySchemes", "ServiceApproval")}
    assert referred <= components
    inside_a_200 = {"bounty_challenge_content_mismatch", "bounty_challenge_withheld"}
    assert {code for each in operations() for code in each.codes} | NOWHERE | inside_a_200 == set(PROBLEMS)


@pytest.mark.parametrize("each", operations(), ids=str)
def test_example_has_the_shape_it_shows(each: Operation) -> None:
    contents = [each.described["responses"]["200"].get("content", {}), each.described.get("requestBody", {})]
    for content in (contents[0], contents[1].get("content", {})):
        for shown in content.values():
            assert violations(shown["example"], shown["schema"]) == [] if "example" in shown else True
    if each.body_type and each.described["requestBody"]["content"][each.body_type]["schema"].get("type") != "string":
        assert "example" in each.body or each.path.endswith("/prepare"), "the envelope is shown in docs/formats.md"


def test_docs_page_shows_everything_and_loads_nothing(service: Service) -> None:
    response = service.get("/api/docs")
    text = response.get_data(as_text=True)
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for each in operations():
        assert str(each) in text
        assert all(code in text for code in each.codes)
    assert not re.search(r"<script|<link|@import|src=|url\(|https?://(?!json-schema\.org)", text)
    for anchor in re.findall(r"href='#([^']+)'", text):
        assert f"id='{anchor}'" in text, anchor


VECTORS = json.loads((Path(__file__).parents[1] / "vectors/envelope.json").read_text())
ENVELOPE = VECTORS["accepted"][0]["envelope"]
OTHERS: list[object] = [None, True, 7, -1, 1.5, "", "x", [], {}, "0x" + "AB" * 20, "0x" + "cd" * 31]


def test_refused_envelope_is_refused_by_the_parser() -> None:
    """The parser is the protocol's, and not made of the schema."""
    document = openapi_document()
    schema = {"$ref": "#/components/schemas/Envelope", "components": document["components"]}
    published, good = Draft202012Validator(schema), json.loads(ENVELOPE)
    assert published.is_valid(good)
    refused = 0
    for altered in _alterations(good):
        if not published.is_valid(altered):
            refused += 1
            with pytest.raises(ServiceError):
                parse_envelope(json.dumps(altered, sort_keys=True, separators=(",", ":")).encode())
    assert refused > 100


def _alterations(value: dict[str, object]) -> Iterator[dict[str, object]]:
    """The object without each key, with one more, and with another value of each, in every object in it."""
    yield value | {"more": 1}
    for name, inner in value.items():
        yield {key: kept for key, kept in value.items() if key != name}
        yield from (value | {name: other} for other in OTHERS)
        if isinstance(inner, dict):
            yield from (value | {name: altered} for altered in _alterations(inner))


ANSWERED_HERE = [
    each for each in operations() if each.signer is None and "deliver" not in each.path and each.path != "/healthz"
]
"""Public routes that the api answers itself; a probe's query is nobody's business."""


@pytest.mark.parametrize("each", ANSWERED_HERE, ids=str)
def test_unknown_query_is_refused(service: Service, each: Operation) -> None:
    """A name that is unknown, and one of its own with a value that no parameter of the document takes."""
    path = re.sub(r"{(\w+)}", lambda found: "1" if found[1] == "bounty_id" else "0x" + "00" * 32, each.path)
    own = [parameter["name"] for parameter in each.parameters if parameter["in"] == "query"]
    for query in ("unheard_of=1", *(f"{name}=" for name in own), *(f"{name}=a&{name}=a" for name in own)):
        url = f"{path}?{query}"
        body = b"{}" if each.method == "POST" else None
        response = service.client.open(url, method=each.method, data=body, content_type=each.body_type)
        assert response.status_code == 400, url
