"""The twin's own rules, beside the contract suite that runs the service's adapter against it."""

import base64
import json
import stat
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3
from bounty_protocol.types import Bytes32
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from gcs_twin.answers import ErrorAnswer
from gcs_twin.bodies import Body, BodyCut, byte_range
from gcs_twin.cors import answer_headers, parse_rules, preflight_headers
from gcs_twin.keys import make_service_account, read_account
from gcs_twin.objects import Declared, Objects
from gcs_twin.signature import query_pairs
from local_stack import gcs
from service_api.storage.gcs import GcsStore
from service_common.storage_settings import StorageSettings

from .conftest import REPOSITORY

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@pytest.fixture(scope="module")
def twin() -> Iterator[gcs.GcsServer]:
    with gcs.start() as server:
        yield server


@pytest.fixture(scope="module")
def http() -> Iterator[urllib3.PoolManager]:
    pool = urllib3.PoolManager(retries=False, timeout=30)
    yield pool
    pool.clear()


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def assertion(key_file: Path, changes: dict[str, object] | None = None, header: dict[str, str] | None = None) -> str:
    account = json.loads(key_file.read_text())
    now = int(time.time())
    claims = {"iss": account["client_email"], "aud": account["token_uri"], "scope": "x", "iat": now, "exp": now + 3600}
    head = {"typ": "JWT", "alg": "RS256", "kid": account["private_key_id"], **(header or {})}
    parts = (json.dumps(part).encode() for part in (head, claims | (changes or {})))
    text = ".".join(encoded(part) for part in parts)
    key = load_pem_private_key(account["private_key"].encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return f"{text}.{encoded(key.sign(text.encode(), padding.PKCS1v15(), SHA256()))}"


def ask_token(
    twin: gcs.GcsServer, http: urllib3.PoolManager, jwt: str, grant: str = GRANT
) -> tuple[int, dict[str, object]]:
    form = urlencode({"grant_type": grant, "assertion": jwt})
    answer = http.request("POST", f"{twin.url}/token", body=form)
    return answer.status, answer.json()


def test_token__own_assertion__opens_the_json_interface(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
    status, answer = ask_token(twin, http, assertion(twin.credentials_file))
    listing = f"{twin.url}/storage/v1/b/{twin.bucket}/o"

    assert (status, answer["token_type"]) == (200, "Bearer")
    bearer = {"Authorization": f"Bearer {answer['access_token']}"}
    assert http.request("GET", listing, headers=bearer).status == 200
    assert http.request("GET", listing, headers={"Authorization": "Bearer guessed"}).status == 401
    assert http.request("GET", listing).status == 401
    assert http.request("GET", listing + "?ifMetagenerationMatch=1", headers=bearer).status == 400


@pytest.mark.parametrize(
    ("changes", "header"),
    [
        ({"iss": "somebody@else.invalid"}, {}),
        ({"aud": "https://another.invalid/token"}, {}),
        ({"exp": 1_000}, {}),
        ({"exp": int(time.time()) + 86_400}, {}),
        ({"iat": int(time.time()) + 3_000}, {}),
        ({"iat": "now"}, {}),
        ({"scope": None}, {}),
        ({}, {"alg": "none"}),
        ({}, {"kid": "another"}),
    ],
)
def test_token__assertion_wrong__is_refused(
    twin: gcs.GcsServer, http: urllib3.PoolManager, changes: dict[str, object], header: dict[str, str]
) -> None:
    status, answer = ask_token(twin, http, assertion(twin.credentials_file, changes, header))

    assert (status, answer["error"]) == (400, "invalid_grant")


def test_token__assertion_forged__is_refused(twin: gcs.GcsServer, http: urllib3.PoolManager, tmp_path: Path) -> None:
    stranger, _ = make_service_account(tmp_path, f"{twin.url}/token")
    own = assertion(twin.credentials_file)

    for jwt in (assertion(stranger), own[:-6], own.rpartition(".")[0] + ".", "a.b.c", ""):
        assert ask_token(twin, http, jwt)[0] == 400
    assert ask_token(twin, http, own, grant="password")[0] == 400


def test_upload__chunked_and_too_long__stores_nothing(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    for count, expected in ((11, 400), (9, 400), (10, 200)):
        target = store.sign_upload("chunked", sha256=Bytes32("0x" + "00" * 32), byte_length=10, lifetime=60)
        pieces = iter([b"x"] * count)
        answer = http.request("PUT", target.url, body=pieces, headers=dict(target.headers), chunked=True)
        assert answer.status == expected
        assert (store.stat("chunked") is not None) == (expected == 200)
    store.close()


def test_download__of_a_range__is_answered_with_that_part_of_a_signed_url(
    twin: gcs.GcsServer, http: urllib3.PoolManager
) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    target = store.sign_upload("ranged", sha256=Bytes32("0x" + "00" * 32), byte_length=10, lifetime=60)
    assert http.request("PUT", target.url, body=b"0123456789", headers=dict(target.headers)).status == 200
    info = store.stat("ranged")
    assert info is not None
    url = store.sign_download("ranged", generation=info.generation, lifetime=60).url
    store.close()

    def ranged(text: str) -> tuple[int, bytes, str | None]:
        answer = http.request("GET", url, headers={"Range": text})
        return answer.status, answer.data, answer.headers.get("Content-Range")

    assert ranged("bytes=7-") == (206, b"789", "bytes 7-9/10")
    assert ranged("bytes=0-0") == (206, b"0", "bytes 0-0/10")
    assert [ranged(text)[0] for text in ("bytes=10-", "bytes=99-")] == [416, 416]


def test_list__of_a_prefix__reads_it_as_a_form_and_refuses_what_the_twin_has_not(
    twin: gcs.GcsServer, http: urllib3.PoolManager
) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    for name in ("form a/1", "form+a/2"):
        target = store.sign_upload(name, sha256=Bytes32("0x" + "00" * 32), byte_length=1, lifetime=60)
        assert http.request("PUT", target.url, body=b"x", headers=dict(target.headers)).status == 200
    assert [info.locator for info in store.list("form+a/")] == ["form+a/2"]
    store.close()
    _, granted = ask_token(twin, http, assertion(twin.credentials_file))
    headers = {"Authorization": f"Bearer {granted['access_token']}"}

    def listed(query: str) -> tuple[int, list[str]]:
        answer = http.request("GET", f"{twin.url}/storage/v1/b/{twin.bucket}/o?{query}", headers=headers)
        return answer.status, [item["name"] for item in answer.json().get("items", ())]

    assert listed("prefix=form+a/") == (200, ["form a/1"])
    assert listed("prefix=form%2Ba/") == (200, ["form+a/2"])
    for unknown in ("delimiter=/", "versions=true"):
        assert listed(unknown) == (400, [])


def test_log__of_a_signed_request__holds_no_signature(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    url = store.sign_download("logged-object", generation=1, lifetime=60).url
    http.request("GET", url)
    store.close()

    assert twin.child is not None
    log = twin.child.log_path.read_text()
    assert "logged-object" in log
    assert "X-Goog-" not in log


def test_service_account__public_half__has_no_secret(tmp_path: Path) -> None:
    private, public = make_service_account(tmp_path, "http://127.0.0.1:1/token")

    assert "private_key" not in json.loads(public.read_text())
    assert read_account(public).public_key.public_numbers() == read_account(private).public_key.public_numbers()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (private, public)} == {0o600}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"public_key": "no"}', '{"private_key": 1}'])
def test_service_account__unreadable__is_one_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "key.json").write_text(content)

    with pytest.raises(ValueError, match="is not a service account file"):
        read_account(tmp_path / "key.json")


def test_objects__source_breaks__leaves_nothing(tmp_path: Path) -> None:
    objects = Objects(tmp_path)

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise BodyCut

    with pytest.raises(BodyCut):
        objects.create("bucket", "name", broken(), Declared(), if_generation=0)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_objects__reader_of_the_former_generation__keeps_its_bytes(tmp_path: Path) -> None:
    objects = Objects(tmp_path)
    first = objects.create("bucket", "name", [b"one"], Declared(), if_generation=0)
    with objects.open(first) as reading:
        second = objects.create("bucket", "name", [b"two"], Declared(), if_generation=None)
        assert reading.read() == b"one"

    assert second.generation > first.generation
    with pytest.raises(ErrorAnswer, match="does not exist"):
        objects.open(first)
    with objects.open(Objects(tmp_path).find("bucket", "name")) as reading:
        assert reading.read() == b"two"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-0", (0, 0)),
        ("bytes=3-", (3, 9)),
        ("bytes=3-100", (3, 9)),
        ("bytes=-4", (6, 9)),
        ("bytes=-100", (0, 9)),
        ("bytes=-", None),
        ("lines=1-2", None),
    ],
)
def test_byte_range__of_ten_bytes__is_read_as_http_says(header: str | None, expected: tuple[int, int] | None) -> None:
    assert byte_range(header, 10) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=5-4", "bytes=-0"])
def test_byte_range__unsatisfiable__is_416(header: str) -> None:
    with pytest.raises(ErrorAnswer) as refusal:
        byte_range(header, 10)

    assert refusal.value.status == 416


def test_body__cut_short__is_no_body() -> None:
    for body in (Body(BytesIO(b"12345"), "10", None), Body(BytesIO(b"5\r\n123"), None, "chunked")):
        with pytest.raises(BodyCut):
            list(body.chunks())


def test_query_pairs__plus_and_percent__are_not_a_forms() -> None:
    assert query_pairs("a=1+2&b=%2B%20&&c&d=e=f") == [("a", "1+2"), ("b", "+ "), ("c", ""), ("d", "e=f")]


CORS = parse_rules((REPOSITORY / "deploy/storage/cors.json").read_text(encoding="utf-8"))
PAGES = "https://bounties.example"
SENT = "content-type,range,x-goog-content-length-range,x-goog-if-generation-match,x-goog-meta-sha256"


def preflight(origin: str, method: str, headers: str = SENT) -> dict[str, str]:
    asked = {
        "origin": origin, "access-control-request-method": method, "access-control-request-headers": headers,
    }  # fmt: skip
    return preflight_headers(CORS, asked)


def test_cors__of_the_shipped_rule__lets_the_pages_send_what_signed_addresses_need(twin: gcs.GcsServer) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    target = store.sign_upload("submissions/x", sha256=Bytes32("0x" + "11" * 32), byte_length=5, lifetime=60)
    headers = ",".join(target.headers)
    assert preflight(PAGES, "PUT", headers)["Access-Control-Allow-Origin"] == PAGES
    assert preflight(PAGES, "GET", "")["Access-Control-Allow-Origin"] == PAGES
    assert answer_headers(CORS, "GET", {"origin": PAGES})["Access-Control-Allow-Origin"] == PAGES


@pytest.mark.parametrize(
    ("origin", "method", "headers"),
    [
        ("https://attacker.example", "PUT", SENT),
        ("http://bounties.example", "PUT", SENT),
        (PAGES, "DELETE", SENT),
        (PAGES, "PUT", f"{SENT},authorization"),
    ],
)
def test_cors__of_anything_else__has_no_headers(origin: str, method: str, headers: str) -> None:
    assert preflight(origin, method, headers) == {}


def test_cors__over_http__answers_preflights_and_marks_answers(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
    url = f"{twin.url}/{twin.bucket}/submissions/none"
    asked = {"Origin": PAGES, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": SENT}
    answer = http.request("OPTIONS", url, headers=asked)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "*")
    refused = http.request("GET", url, headers={"Origin": PAGES})
    assert (refused.status >= 400, refused.headers["Access-Control-Allow-Origin"]) == (True, "*")
    assert "Access-Control-Allow-Origin" not in http.request("GET", url).headers
