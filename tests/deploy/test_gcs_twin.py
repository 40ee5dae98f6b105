"""The twin's own rules, beside the contract suite that runs the service's adapter against it."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3
from bounty_protocol.types import Bytes32
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from gcs_twin.cors import answer_headers, parse_rules, preflight_headers
from gcs_twin.keys import make_service_account
from local_stack import gcs
from service_api.storage.gcs import GcsStore
from service_api.storage.settings import StorageSettings

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


def test_own_assertion_opens_the_json_interface(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
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


CORS = parse_rules((REPOSITORY / "deploy/storage/cors.json").read_text(encoding="utf-8"))
PAGES = "https://bounties.example"
SENT = "content-type,range,x-goog-content-length-range,x-goog-if-generation-match,x-goog-meta-sha256"


def preflight(origin: str, method: str, headers: str = SENT) -> dict[str, str]:
    asked = {
        "origin": origin, "access-control-request-method": method, "access-control-request-headers": headers,
    }  # fmt: skip
    return preflight_headers(CORS, asked)


def test_cors_rule_lets_pages_use_signed_addresses(twin: gcs.GcsServer) -> None:
    store = GcsStore(StorageSettings(twin.bucket, twin.url, twin.credentials_file.read_text()))
    target = store.sign_upload("submissions/x", sha256=Bytes32("0x" + "11" * 32), byte_length=5, lifetime=60)
    headers = ",".join(target.headers)
    assert preflight(PAGES, "PUT", headers)["Access-Control-Allow-Origin"] == PAGES
    assert preflight(PAGES, "GET", "")["Access-Control-Allow-Origin"] == PAGES
    assert answer_headers(CORS, "GET", {"origin": PAGES})["Access-Control-Allow-Origin"] == PAGES


def test_cors_answers_preflights(twin: gcs.GcsServer, http: urllib3.PoolManager) -> None:
    url = f"{twin.url}/{twin.bucket}/submissions/none"
    asked = {"Origin": PAGES, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": SENT}
    answer = http.request("OPTIONS", url, headers=asked)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "*")
    refused = http.request("GET", url, headers={"Origin": PAGES})
    assert (refused.status >= 400, refused.headers["Access-Control-Allow-Origin"]) == (True, "*")
    assert "Access-Control-Allow-Origin" not in http.request("GET", url).headers
