"""What every ``GcsStore`` keeps: create-only, exact length, expiry, generations, and refusals without side effects.

Statuses are those of Google Cloud Storage; an expired URL may be 400 or 403, peers differ.
"""

import hashlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3
from bounty_protocol.types import Bytes32
from service_api.storage.gcs import CHUNK_BYTES, GcsStore, ObjectGone, SignedUrl
from service_api.submissions.ciphertexts import Verification, verify_object

from tests.waiting import wait_until

CIPHERTEXT = b"age-encryption.org/v1\n" + bytes(range(256)) * 40


def sha256(data: bytes) -> Bytes32:
    return Bytes32("0x" + hashlib.sha256(data).hexdigest())


def target(store: GcsStore, locator: str, data: bytes = CIPHERTEXT, lifetime: int = 60) -> SignedUrl:
    return store.sign_upload(locator, sha256=sha256(data), byte_length=len(data), lifetime=lifetime)


def send(
    http: urllib3.PoolManager,
    upload: SignedUrl,
    data: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    url: str = "",
) -> int:
    sent = upload.headers if headers is None else headers
    return http.request("PUT", url or upload.url, body=data, headers=dict(sent)).status


def test_upload__exact_bytes__are_stored_and_read_back(
    store: GcsStore, http: urllib3.PoolManager, locator: str
) -> None:
    upload = target(store, locator)

    assert send(http, upload, CIPHERTEXT) == 200
    info = store.stat(locator)

    assert info is not None
    assert (info.locator, info.byte_length, info.encoded) == (locator, len(CIPHERTEXT), False)
    assert abs(info.created_at - time.time()) < 120
    assert b"".join(store.read(info)) == CIPHERTEXT
    download = store.sign_download(locator, generation=info.generation, lifetime=60)
    assert http.request("GET", download.url).data == CIPHERTEXT


@pytest.mark.spec(161, 388)
def test_targets__lifetime__is_what_the_url_says(store: GcsStore, locator: str) -> None:
    before = int(time.time())
    upload = target(store, locator, lifetime=900)
    download = store.sign_download(locator, generation=1, lifetime=300)

    assert before + 900 <= upload.expires_at <= time.time() + 900
    assert before + 300 <= download.expires_at <= time.time() + 300


def test_upload_url_is_used_once(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    """Also after the bytes that it stored were found to be wrong, and taken away."""
    first, second = target(store, locator), target(store, locator)
    assert first.url != second.url
    assert send(http, first, b"x" * len(CIPHERTEXT)) == 200
    found = store.stat(locator)
    assert found is not None
    assert [send(http, each, CIPHERTEXT) for each in (first, second)] == [412, 412]
    assert store.empty(locator, generation=found.generation)
    assert store.stat(locator) is None
    assert [send(http, each, CIPHERTEXT) for each in (first, second)] == [412, 412]
    third = target(store, locator)
    assert send(http, third, CIPHERTEXT) == 200
    assert send(http, third, CIPHERTEXT) == 412
    assert not store.empty(locator, generation=found.generation)
    kept = store.stat(locator)
    assert kept is not None
    assert b"".join(store.read(kept)) == CIPHERTEXT


def test_stat__nothing_stored__is_none(store: GcsStore, locator: str) -> None:
    assert store.stat(locator) is None


@pytest.mark.spec(63, 387)
def test_second_upload_is_refused_and_the_first_kept(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    upload = target(store, locator)
    send(http, upload, CIPHERTEXT)
    first = store.stat(locator)

    other = bytes(len(CIPHERTEXT))
    assert send(http, upload, other) == 412
    assert send(http, target(store, locator, other), other) == 412

    assert store.stat(locator) == first
    assert first is not None
    assert b"".join(store.read(first)) == CIPHERTEXT


def test_upload__eight_at_once__one_wins_whole(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    bodies = [bytes([number]) * 300_000 for number in range(8)]
    upload = target(store, locator, bodies[0])

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda body: send(http, upload, body), bodies))

    assert statuses.count(200) == 1
    assert set(statuses) - {200} <= {412, 409, 429}
    info = store.stat(locator)
    assert info is not None
    assert b"".join(store.read(info)) == bodies[statuses.index(200)]


@pytest.mark.parametrize("difference", [-1, 1, -len(CIPHERTEXT), 5_000_000])
def test_upload_of_another_length_stores_nothing(
    store: GcsStore, http: urllib3.PoolManager, locator: str, difference: int
) -> None:
    body = bytes(len(CIPHERTEXT) + difference)

    try:
        status = send(http, target(store, locator), body)
    except urllib3.exceptions.ProtocolError:
        status = 400  # the answer came and the connection closed while the body was still being sent

    assert status == 400
    assert store.stat(locator) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-type", "text/html"),
        ("x-goog-content-length-range", "0,999999999"),
        ("x-goog-if-generation-match", "1"),
        ("x-goog-meta-sha256", "00" * 32),
        ("x-goog-meta-more", "unsigned"),
        ("x-goog-acl", "public-read"),
    ],
)
def test_changed_or_added_condition_is_refused(
    store: GcsStore, http: urllib3.PoolManager, locator: str, name: str, value: str
) -> None:
    upload = target(store, locator)

    assert send(http, upload, CIPHERTEXT, headers={**upload.headers, name: value}) in {400, 403}
    assert store.stat(locator) is None


def test_urls__expired__are_refused(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    upload = target(store, locator, lifetime=1)
    wait_until(lambda: time.time() >= upload.expires_at + 1)

    assert send(http, upload, CIPHERTEXT) in {400, 403}
    assert store.stat(locator) is None


@pytest.mark.spec(161, 388)
def test_download__tampered_or_expired__is_refused(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    send(http, target(store, locator), CIPHERTEXT)
    info = store.stat(locator)
    assert info is not None
    url = store.sign_download(locator, generation=info.generation, lifetime=300).url

    assert http.request("GET", url).status == 200
    assert http.request("GET", url.replace(f"generation={info.generation}", "generation=1")).status == 403
    assert http.request("GET", url.split("?")[0]).status in {400, 401, 403}
    assert http.request("PUT", url, body=CIPHERTEXT).status == 403
    short = store.sign_download(locator, generation=info.generation, lifetime=1)
    wait_until(lambda: time.time() >= short.expires_at + 1)
    refused = http.request("GET", short.url)
    assert (refused.status in {400, 403}, b"expired" in refused.data) == (True, True)


def test_download__range__is_served(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    send(http, target(store, locator), CIPHERTEXT)
    info = store.stat(locator)
    assert info is not None
    url = store.sign_download(locator, generation=info.generation, lifetime=60).url

    part = http.request("GET", url, headers={"Range": "bytes=100-199"})

    assert (part.status, part.data) == (206, CIPHERTEXT[100:200])


def test_replaced_object_is_another_generation(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    poisoned = bytes(len(CIPHERTEXT))
    send(http, target(store, locator), poisoned)
    first = store.stat(locator)
    assert first is not None
    old_url = store.sign_download(locator, generation=first.generation, lifetime=60).url

    assert store.delete(locator, generation=first.generation) is True
    assert send(http, target(store, locator), CIPHERTEXT) == 200
    second = store.stat(locator)

    assert second is not None
    assert second.generation != first.generation
    assert http.request("GET", old_url).status == 404
    with pytest.raises(ObjectGone):
        list(store.read(first))
    assert b"".join(store.read(second)) == CIPHERTEXT


def test_delete__another_generation__keeps_the_object(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    send(http, target(store, locator), CIPHERTEXT)
    info = store.stat(locator)
    assert info is not None

    assert store.delete(locator, generation=info.generation - 1) is False
    assert store.stat(locator) == info
    assert store.delete(locator, generation=info.generation) is True
    assert store.delete(locator, generation=info.generation) is False
    assert store.stat(locator) is None


def test_list__prefix__names_each_object_once_in_order(
    store: GcsStore, http: urllib3.PoolManager, locator: str
) -> None:
    folder = locator.rpartition("/")[0]
    names = [f"{folder}/{number:02}.age" for number in range(3)]
    for name in reversed(names):
        send(http, target(store, name), CIPHERTEXT)

    found = list(store.list(folder + "/"))
    for info in found:
        store.delete(info.locator, generation=info.generation)

    assert [info.locator for info in found] == names
    assert list(store.list(folder + "/")) == []


def test_verify__bytes_and_claims__are_told_apart(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    data = bytes(range(251)) * (2 * CHUNK_BYTES // 251 + 7)
    send(http, target(store, locator, data), data)
    info = store.stat(locator)
    assert info is not None

    assert all(len(chunk) <= CHUNK_BYTES for chunk in store.read(info))
    assert verify_object(store, info, sha256=sha256(data), byte_length=len(data)) is Verification.MATCHES
    assert verify_object(store, info, sha256=sha256(b""), byte_length=len(data)) is Verification.DIFFERS
    assert verify_object(store, info, sha256=sha256(data), byte_length=len(data) - 1) is Verification.DIFFERS
    stopped = verify_object(store, info, sha256=sha256(data), byte_length=len(data), keep_going=lambda: False)
    assert stopped is Verification.UNFINISHED


def test_declared_encoding_differs(store: GcsStore, http: urllib3.PoolManager, locator: str) -> None:
    upload = target(store, locator)
    assert send(http, upload, CIPHERTEXT, headers={**upload.headers, "content-encoding": "gzip"}) == 200
    info = store.stat(locator)

    assert info is not None
    assert info.encoded
    verdict = verify_object(store, info, sha256=sha256(CIPHERTEXT), byte_length=len(CIPHERTEXT))
    assert verdict is Verification.DIFFERS


def test_check__bucket_answers__returns(store: GcsStore) -> None:
    store.check()
