"""The api's edge: every answer is an envelope, in the right order, whoever asks whatever."""

from io import BytesIO

import pytest

from tests.api.conftest import Service, error_of

ZERO = "0x" + "00" * 32
SOLVER = "0x" + "ab" * 20
SIGNED = [
    ("POST", "/api/bounty-challenge-specs/prepare-publication", "text/markdown"),
    ("POST", f"/api/bounties/1/submissions/{SOLVER}/artifact-upload-url", "application/json"),
    ("POST", f"/api/bounties/1/submissions/{SOLVER}/prepare", "application/json"),
    ("GET", f"/api/bounties/1/submissions/{ZERO}/content", None),
    ("POST", "/api/bounties/1/submissions/contents", "application/json"),
    ("POST", f"/api/written-verdicts/{ZERO}", "text/markdown"),
    ("POST", "/api/bounties/1/delivery/wrap", "application/json"),
    ("POST", "/api/bounties/1/delivery/retrieve", "application/json"),
]


@pytest.mark.spec(17, 110, 132, 163, 317)
@pytest.mark.parametrize(("method", "path", "media_type"), SIGNED)
def test_missing_or_forged_signature_is_401(service: Service, method: str, path: str, media_type: str | None) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    body = b"{}" if media_type else None
    for extra in ({}, {"Authorization": "Service-Approval Zm9yZ2Vk"}, {"Authorization": "Bearer x"}):
        response = service.client.open(path, method=method, data=body, headers=headers | extra)
        assert response.status_code == 401
        assert error_of(response)["code"] == "unauthorized"


@pytest.mark.spec(91, 119, 139, 143, 166)
@pytest.mark.parametrize(("method", "path", "media_type"), [row for row in SIGNED if row[2]])
def test_media_type_and_size_come_before_the_signature(
    service: Service, method: str, path: str, media_type: str
) -> None:
    for wrong in ("text/plain", media_type + "; charset=latin-1", ""):
        response = service.client.open(path, method=method, data=b"x", headers={"Content-Type": wrong})
        assert response.status_code == 415
        assert error_of(response)["code"] == "unsupported_media_type"
        assert "Connection" not in response.headers
    large = service.client.open(path, method=method, data=b"x" * 300_000, headers={"Content-Type": media_type})
    assert large.status_code == 413
    assert error_of(large)["code"] == "payload_too_large"
    assert large.headers["Connection"] == "close"  # its body is not read, and the server ends what it was to come on
    compressed = service.client.open(
        path, method=method, data=b"x", headers={"Content-Type": media_type, "Content-Encoding": "gzip"}
    )
    assert (compressed.status_code, error_of(compressed)["code"]) == (415, "unsupported_media_type")
    for coding, status in (("chunked", 411), ("gzip, chunked", 501)):
        endless = service.client.open(
            path,
            method=method,
            input_stream=BytesIO(b"x" * 300_000),
            headers={"Content-Type": media_type, "Transfer-Encoding": coding},
            environ_overrides={"wsgi.input_terminated": True},
        )
        assert (endless.status_code, endless.headers.get("Connection")) == (status, "close")


@pytest.mark.spec(116, 355)
@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/bounties/0", 400, "invalid_bounty_detail_request"),
        ("/api/bounties/01", 400, "invalid_bounty_detail_request"),
        ("/api/bounties/-1", 400, "invalid_bounty_detail_request"),
        ("/api/bounties/99999999999999999999", 400, "invalid_bounty_detail_request"),
        ("/api/bounties/4711", 404, "bounty_not_found"),
        ("/api/bounties/1?x=1", 400, "invalid_bounty_detail_request"),
        ("/api/bounties?limit=0", 400, "invalid_request"),
        ("/api/bounties?limit=101", 400, "invalid_request"),
        ("/api/bounties?limit=1&limit=2", 400, "invalid_request"),
        ("/api/bounties?status=closed", 400, "invalid_request"),
        ("/api/bounties?cursor=AAAA", 400, "invalid_request"),
        ("/api/bounties?poster_address=0x12", 400, "invalid_request"),
        ("/api/bounties/%31", 200, None),
        ("/api/bounties/1%20", 404, "route_not_found"),
        ("/api/bounties/", 404, "route_not_found"),
        ("/api/nothing", 404, "route_not_found"),
        (f"/api/written-verdicts/{ZERO}", 404, "written_verdict_not_found"),
        ("/api/written-verdicts/0x12", 400, "invalid_request"),
    ],
)
def test_bad_input_has_its_code(service: Service, path: str, status: int, code: str | None) -> None:
    if code is None:
        service.world.fund()
        service.world.finalize()
    response = service.get(path)
    assert response.status_code == status
    if code is not None:
        assert error_of(response)["code"] == code


@pytest.mark.spec(113)
def test_other_methods_and_bodies_are_refused(service: Service) -> None:
    deleted = service.client.delete("/api/bounties")
    assert (deleted.status_code, error_of(deleted)["code"]) == (405, "method_not_allowed")
    assert "GET" in deleted.headers["Allow"]
    with_body = service.client.open("/api/bounties", method="GET", data=b"x")
    assert (with_body.status_code, error_of(with_body)["code"]) == (400, "invalid_request")


@pytest.mark.spec(17)
def test_no_answer_sets_or_takes_a_cookie(service: Service) -> None:
    asked = [("GET", "/api/bounties"), ("GET", "/api/bounties/4711"), *((method, path) for method, path, _ in SIGNED)]
    for method, path in asked:
        response = service.client.open(path, method=method, headers={"Cookie": "session=1"})
        assert "Set-Cookie" not in response.headers
        assert response.status_code != 500


@pytest.mark.spec(348, 349, 350, 353)
def test_every_error_has_its_four_parts(service: Service) -> None:
    for path in ("/api/bounties/0", "/api/bounties/4711", "/api/nothing", SIGNED[3][1]):
        error = error_of(service.get(path))
        assert set(error) == {"code", "message", "issues", "next_action"}
        assert all(isinstance(error[name], str) and error[name] for name in ("code", "message", "next_action"))
    issues = error_of(service.get("/api/bounties?limit=0&status=closed"))["issues"]
    assert isinstance(issues, list)
    assert issues
    assert all(set(issue) == {"path", "message"} for issue in issues)


@pytest.mark.spec(17)
def test_any_origin_is_allowed_without_credentials(service: Service) -> None:
    response = service.client.open("/api/bounties", method="OPTIONS", headers={"Origin": "https://elsewhere.example"})
    assert response.status_code == 204
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response.headers
    allowed = response.headers["Access-Control-Allow-Headers"].split(", ")
    assert allowed == ["Authorization", "Content-Type", "If-None-Match"], "docs/interface.md names them"
    methods = {method for rule in service.client.application.url_map.iter_rules() for method in rule.methods or ()}
    assert {*response.headers["Access-Control-Allow-Methods"].split(", "), "HEAD", "OPTIONS"} == methods


def test_another_host_header__gains_nothing(service: Service) -> None:
    poster = service.world.people.poster
    response = service.client.post(
        "/api/bounties/1/delivery/retrieve",
        data=b"{}",
        headers={"Content-Type": "application/json", "Host": "evil.example", "X-Forwarded-Host": "evil.example"},
    )
    assert response.status_code == 401
    assert poster.address not in response.get_data(as_text=True)


@pytest.mark.spec(117, 374, 380)
def test_broken_dependency_shows_none_of_its_words(service: Service, caplog: object) -> None:
    from dataclasses import replace

    from service_api.app import make_app
    from service_common.db.engine import make_engine

    broken = replace(
        service.resources, engine=make_engine("postgresql://nobody:pw@127.0.0.1:9/none", application="broken")
    )
    response = make_app(broken).test_client().get("/api/bounties/1")
    assert response.status_code == 503
    assert error_of(response)["code"] == "bounty_projection_unavailable"
    text = response.get_data(as_text=True)
    assert not any(word in text for word in ("psycopg", "127.0.0.1", "sqlalchemy", "connection"))
