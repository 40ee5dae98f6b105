"""Which error wins where several things of a signed request are wrong together.

The interface decides in this order: signature; the shape of what names the signer; the facts it needs; 403; the rest of
the shape. Each route is asked with everything wrong at once, and then with one mistake less at a time. The routes of
the delivery service are asked the same in its own tests.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from bounty_protocol.types import BountyId
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of
from tests.api.test_submissions import open_bounty
from tests.api.test_written_verdicts import document, judgeable

UNKNOWN = BountyId(999_999)
ZERO = "0x" + "00" * 32


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a request."""

    unsigned: bool = False
    bounty: bool = False
    signer: bool = False
    shape: bool = False


@dataclass(frozen=True)
class Sent:
    """One request. ``own`` signs where the signer is right."""

    method: str
    path: str
    own: str
    query: str = ""
    body: bytes = b""
    media_type: str | None = None


def publication(service: Service, wrong: Wrong) -> Sent:
    poster = service.world.people.poster
    path = "/api/bounty-challenge-specs/prepare-publication"
    body = b"no frontmatter" if wrong.shape else b"---\nversion: 2\n---\n"
    return Sent("POST", path, poster.wallet.private_key, f"poster_address={poster.address}", body, "text/markdown")


def upload_url(service: Service, wrong: Wrong) -> Sent:
    return _of_solver(service, wrong, "artifact-upload-url")


def prepare(service: Service, wrong: Wrong) -> Sent:
    return _of_solver(service, wrong, "prepare")


def content(service: Service, wrong: Wrong) -> Sent:
    bounty_id = UNKNOWN if wrong.bounty else open_bounty(service)
    path = f"/api/bounties/{bounty_id}/submissions/{ZERO}/content"
    return Sent("GET", path, service.world.people.poster.wallet.private_key)


def contents(service: Service, wrong: Wrong) -> Sent:
    bounty_id = UNKNOWN if wrong.bounty else open_bounty(service)
    body = b'{"submission_commitments":[]}' if wrong.shape else b'{"submission_commitments":["' + ZERO.encode() + b'"]}'
    path = f"/api/bounties/{bounty_id}/submissions/contents"
    key = service.world.people.poster.wallet.private_key
    return Sent("POST", path, key, body=body, media_type="application/json")


def verdict(service: Service, wrong: Wrong) -> Sent:
    world = service.world
    bounty_id = UNKNOWN if wrong.bounty else judgeable(service)[0]
    body = document(service, bounty_id, world.guardian(1))
    path = f"/api/written-verdicts/{ZERO}"  # never the hash of the body: the rest of the shape
    return Sent("POST", path, world.guardian(1).private_key, body=body, media_type="text/markdown")


def _of_solver(service: Service, wrong: Wrong, name: str) -> Sent:
    solver = service.world.solver(1)
    bounty_id = UNKNOWN if wrong.bounty else open_bounty(service)
    good = b'{"ciphertext_sha256":"' + ZERO.encode() + b'","ciphertext_byte_length":1}'
    body = b'{"x":1}' if wrong.shape else good
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}/{name}"
    return Sent("POST", path, solver.private_key, body=body, media_type="application/json")


ALL = Wrong(bounty=True, signer=True, shape=True)
SUBMISSION = "invalid_solver_submission"
NOTHING_FITS = Wrong(unsigned=True, bounty=True, signer=True, shape=True)
CASES = [
    (publication, NOTHING_FITS, "unauthorized"),
    (publication, ALL, "forbidden"),
    (publication, Wrong(shape=True), "invalid_bounty_challenge"),
    (upload_url, NOTHING_FITS, "unauthorized"),
    (upload_url, ALL, "forbidden"),
    (upload_url, Wrong(bounty=True, shape=True), SUBMISSION),
    (upload_url, Wrong(bounty=True), "bounty_not_found"),
    (prepare, NOTHING_FITS, "unauthorized"),
    (prepare, ALL, "forbidden"),
    (prepare, Wrong(bounty=True, shape=True), SUBMISSION),
    (content, NOTHING_FITS, "unauthorized"),
    (content, ALL, "bounty_not_found"),
    (content, Wrong(signer=True, shape=True), "forbidden"),
    (content, Wrong(shape=True), "submission_not_found"),
    (contents, NOTHING_FITS, "unauthorized"),
    (contents, ALL, "bounty_not_found"),
    (contents, Wrong(signer=True, shape=True), "forbidden"),
    (contents, Wrong(shape=True), "invalid_request"),
    (verdict, NOTHING_FITS, "unauthorized"),
    (verdict, ALL, "bounty_not_found"),
    (verdict, Wrong(signer=True, shape=True), "forbidden"),
    (verdict, Wrong(shape=True), "invalid_written_verdict"),
]


@pytest.mark.parametrize(("make", "wrong", "code"), CASES)
def test_first_of_several_mistakes_is_answered(
    service: Service, make: Callable[[Service, Wrong], Sent], wrong: Wrong, code: str
) -> None:
    assert error_of(send(service, make(service, wrong), wrong))["code"] == code


def send(service: Service, sent: Sent, wrong: Wrong) -> TestResponse:
    headers = {} if sent.media_type is None else {"Content-Type": sent.media_type}
    if not wrong.unsigned:
        key = service.world.solver(3).private_key if wrong.signer else sent.own
        headers["Authorization"] = service.authorization(key, sent.method, sent.path, query=sent.query, body=sent.body)
    url = sent.path + (f"?{sent.query}" if sent.query else "")
    return service.client.open(url, method=sent.method, data=sent.body or None, headers=headers)
