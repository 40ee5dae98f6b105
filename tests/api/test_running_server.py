"""Bad input through the real WSGI server: what reaches the app is not always what was sent."""

import secrets
import signal
from dataclasses import replace

import psutil
import pytest
import urllib3
from bounty_protocol.auth.header import format_header, parse_header
from bounty_protocol.types import BlockNumber, Bytes32
from local_stack.ports import HOST as LOOPBACK
from service_common.db import app as t
from service_common.db.engine import reading
from sqlalchemy import func, select

from tests.api.conftest import Service
from tests.api.running import Answer, RunningApi, spawn_api
from tests.scraping import rises_of
from tests.waiting import wait_until

ZERO = "0x" + "00" * 32
CONTENT = f"/api/bounties/4711/submissions/{ZERO}/content"
STORED = (t.challenge_pages, t.submission_envelopes, t.written_verdicts)


def rows(service: Service) -> list[int]:
    with reading(service.resources.engine) as connection:
        return [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in STORED]


def ask(service: Service, api: RunningApi, target: str = CONTENT, **changes: str) -> Answer:
    """A signed read of an unknown bounty: 404 shows that the signature was accepted."""
    secret = service.world.people.poster.wallet.private_key
    authorization = changes.get("authorization") or service.authorization(secret, "GET", CONTENT)
    return api.request("GET", target, ("Authorization", authorization))


def test_refusals_are_counted_by_their_reason(service: Service, running_api: RunningApi) -> None:
    """Told by the internal port, which is another process than the one that counted; nobody is named."""
    people, publication = service.world.people, "/api/bounty-challenge-specs/prepare-publication"
    good = service.authorization(people.poster.wallet.private_key, "GET", CONTENT)
    rises = rises_of(running_api.metrics, "service_signature_refusals_total", "reason")
    assert ask(service, running_api).status == 404
    assert ask(service, running_api, authorization="Bearer x").status == 401
    assert running_api.request("GET", f"{CONTENT}?a=b", ("Authorization", good)).status == 401
    fields = parse_header(good)
    for number in (fields.block_number, fields.block_number + 9_999):
        changed = format_header(replace(fields, block_number=BlockNumber(number), block_hash=Bytes32(ZERO)))
        assert ask(service, running_api, authorization=changed).status == 401
    query = f"poster_address={people.poster.address}"
    stranger = service.authorization(people.owner.wallet.private_key, "POST", publication, query=query, body=b"page")
    headers = (("Authorization", stranger), ("Content-Type", "text/markdown"))
    assert running_api.request("POST", f"{publication}?{query}", *headers, body=b"page").status == 403
    assert rises() == {"malformed": 1, "signature": 1, "block_not_canonical": 1, "block_ahead": 1, "forbidden": 1}


def test_authorization__twice__is_unauthorized(service: Service, running_api: RunningApi) -> None:
    secret = service.world.people.poster.wallet.private_key
    good = service.authorization(secret, "GET", CONTENT)
    for pair in ((good, good), (good, "Bearer x"), ("Bearer x", good), (good, ""), ("", good)):
        answer = running_api.request("GET", CONTENT, *(("Authorization", value) for value in pair))
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Service-Approval"
    assert running_api.request("GET", CONTENT, ("authorization", good)).status == 404


def test_encoded_path_is_the_same_or_none(service: Service, running_api: RunningApi) -> None:
    """RFC 3986: an encoded unreserved character is that character. The signature names the decoded path."""
    assert ask(service, running_api, CONTENT.replace("bounties", "%62ounties")).status == 404
    secret = service.world.people.poster.wallet.private_key
    twin = CONTENT.replace("bounties", "%62ounties")
    answer = ask(service, running_api, twin, authorization=service.authorization(secret, "GET", twin))
    assert (answer.status, answer.code) == (401, "unauthorized")
    for other in (
        CONTENT.replace("bounties", "%2562ounties"),
        CONTENT.replace("bounties", "Bounties"),
        CONTENT.replace("/api", "//api"),
        CONTENT.replace("/api/", "/api//"),
        CONTENT + "/",
        CONTENT + "%00",
        CONTENT + "%20",
        CONTENT + ";a",
        CONTENT + "%C3%A9",
        CONTENT + "%FF",
    ):
        answer = ask(service, running_api, other)
        assert (answer.status, answer.code) == (404, "route_not_found"), other
    assert ask(service, running_api, CONTENT.replace("/api", "/x/../api")).status == 404


def test_huge_header_never_reaches_a_route(running_api: RunningApi) -> None:
    large = running_api.request("GET", CONTENT, ("Authorization", "Service-Approval " + "A" * (10 << 20)))
    assert large.status in {0, 400, 431}
    for value in ("Service-Approval é", "Service-Approval " + "A" * 20_000, "Service-Approval ~~~"):
        answer = running_api.request("GET", CONTENT, ("Authorization", value))
        assert (answer.status, answer.code) == (401, "unauthorized")
    assert running_api.request("GET", "/healthz").status == 200


QUERY = b'{"query":"{ _meta { block { number } } }"}'
CHUNKS = b"5\r\n" + QUERY[:5] + b"\r\n" + f"{len(QUERY) - 5:x}\r\n".encode() + QUERY[5:] + b"\r\n"


@pytest.mark.parametrize(
    "body", [CHUNKS + b"0\r\n\r\n", CHUNKS, CHUNKS[:-9], CHUNKS + b"zz\r\n", b"10000\r\n" + b"x" * 65_536]
)
def test_chunked_body_is_refused(running_api: RunningApi, body: bytes) -> None:
    """The server hands over one that is cut, malformed or never ends as if it was whole."""
    head = (
        "POST /subgraph HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = running_api.send(head.encode() + body, finish=not body.endswith(b"0\r\n\r\n"))
    assert answer.status in {0, 400, 411}
    assert answer.status in {0, 400} or answer.code == "length_required"


def test_unknown_encodings_of_a_body_are_refused(running_api: RunningApi) -> None:
    json_ = ("Content-Type", "application/json")
    compressed = running_api.request("POST", "/subgraph", json_, ("Content-Encoding", "gzip"), body=QUERY)
    assert (compressed.status, compressed.code) == (415, "unsupported_media_type")
    for coding in ("gzip, chunked", "gzip", "identity"):
        assert running_api.request("POST", "/subgraph", json_, ("Transfer-Encoding", coding)).status in {400, 501}
    assert running_api.request("POST", "/subgraph", json_, body=QUERY).status == 200


def test_head_states_the_length_of_get(running_api: RunningApi) -> None:
    for path in ("/api/readiness-rubric", "/api/deployment", "/api/openapi.json", "/api/bounties", "/api/nothing"):
        read, stated = running_api.request("GET", path), running_api.request("HEAD", path)
        assert (stated.status, stated.headers.get("content-length")) == (read.status, str(len(read.body))), path
        assert stated.body == b""


def test_body_of_another_length_is_refused(service: Service, running_api: RunningApi) -> None:
    poster = service.world.people.poster
    path, query, body = "/api/bounty-challenge-specs/prepare-publication", f"poster_address={poster.address}", b"page"
    before = rows(service)
    authorization = service.authorization(poster.wallet.private_key, "POST", path, query=query, body=body)
    headers = (("Authorization", authorization), ("Content-Type", "text/markdown"))
    short = running_api.request("POST", f"{path}?{query}", *headers, body=body, length=10)
    assert short.status in {0, 400}
    longer = running_api.request("POST", f"{path}?{query}", *headers, body=body + b"more", length=4)
    assert longer.status == 400  # the four bytes are verified and refused as a page; the rest is no second request
    assert longer.code == "invalid_bounty_challenge"
    for length in ("-1", "x", "4, 5", "99999999999999999999"):
        raw = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        assert running_api.send(raw.encode() + body).status in {0, 400, 413, 415}
    assert rows(service) == before


def test_stopped_worker_is_sent_no_requests(running_api: RunningApi) -> None:
    """The main process goes on; probes reach the one worker, or nothing."""
    worker = worker_of(running_api.child.pid)
    wait_until(lambda: probed(running_api, "serving") == 200)
    worker.suspend()
    try:
        assert probed(running_api, "serving") == 0
    finally:
        worker.resume()
    wait_until(lambda: probed(running_api, "serving") == 200)


def worker_of(pid: int) -> psutil.Process:
    """The process that answers."""
    children = psutil.Process(pid).children()
    (worker,) = (each for each in children if "resource_tracker" not in " ".join(each.cmdline()))
    return worker


def probed(api: RunningApi, path: str) -> int:
    """The status of a probe; 0 where nothing answers it."""
    try:
        return urllib3.request("GET", f"http://{LOOPBACK}:{api.internal_port}/{path}", timeout=2, retries=False).status
    except urllib3.exceptions.HTTPError:
        return 0


def test_killed_worker_comes_back(running_api: RunningApi) -> None:
    worker_of(running_api.child.pid).kill()
    wait_until(lambda: probed(running_api, "readyz") == 200, 60.0)
    assert running_api.request("GET", "/healthz").status == 200


def test_sigterm_while_a_worker_loads_ends_it(service: Service) -> None:
    main = spawn_api(service.runtime, service.variables, service.runtime.port(), service.runtime.port())
    wait_until(lambda: bool(psutil.Process(main.pid).children()))
    main.send(signal.SIGTERM)
    wait_until(lambda: main.exit_status() is not None, 30.0)
    assert main.exit_status() == 0


def test_taken_port_is_one_line(service: Service, running_api: RunningApi) -> None:
    second = spawn_api(service.runtime, service.variables, running_api.port, service.runtime.port())
    wait_until(lambda: second.exit_status() is not None, 30.0)
    assert second.exit_status() == 1
    said = second.log_path.read_text()
    assert f"cannot listen at port {running_api.port}" in said
    assert "Traceback" not in said


def test_service_listens_in_ipv6(running_api: RunningApi) -> None:
    urls = [f"http://[::1]:{running_api.port}/api/bounties", f"http://[::1]:{running_api.internal_port}/serving"]
    assert [urllib3.request("GET", url, timeout=10, retries=False).status for url in urls] == [200, 200]


HTTP2_WITHOUT_AN_END = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"  # SETTINGS
    b"\x00\x00\x06\x01\x04\x00\x00\x00\x01\x83\x84\x86\x41\x01a"  # HEADERS: POST /, more is to come
)


def test_http2_by_prior_knowledge_is_refused(running_api: RunningApi) -> None:
    """The server never returns from reading the body of an HTTP/2 request whose connection is gone."""
    assert len(HTTP2_WITHOUT_AN_END) == 48
    with running_api.connect() as connection:
        connection.sendall(HTTP2_WITHOUT_AN_END)
        assert connection.recv(64)[:5] in {b"", b"HTTP/"}
    assert running_api.request("GET", "/api/nothing").status == 404


def test_correlation_id_is_always_answered(running_api: RunningApi) -> None:
    given = secrets.token_hex(16)
    assert running_api.request("GET", "/api/nothing", ("X-Correlation-Id", given)).headers["x-correlation-id"] == given
    for bad in ("short", "x" * 100, "with space", "é" * 10):
        answer = running_api.request("GET", "/api/nothing", ("X-Correlation-Id", bad))
        assert answer.headers["x-correlation-id"] != bad
        assert len(answer.headers["x-correlation-id"]) == 32
