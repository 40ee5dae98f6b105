"""Sealed Submissions through the api: upload, prepare, content."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import urllib3
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.clock import Clock
from bounty_protocol.crypto.artifact import SealedArtifact
from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId, Bytes32, UnixSeconds, parse_address
from bounty_protocol.wire.submissions import MAX_CONTENTS
from local_stack.contract import Wallet
from psycopg import errors as pg
from service_api.app import make_app
from service_api.deployment.constants import Constants
from service_api.storage.gcs import ObjectInfo
from service_api.submissions import ciphertexts
from service_common.budgets import Budget
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.db.errors import DatabaseUnavailable
from sqlalchemy import delete, select, update
from sqlalchemy.exc import OperationalError
from structlog.testing import CapturingLogger
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of, used_by
from tests.api.contract import checked_client
from tests.api.test_faults import PLANT, FaultyRpc, Raising
from tests.clocks import StandingClock
from tests.sealing import seal_for

UNAVAILABLE = "bounty_submission_content_authority_unavailable"


@dataclass
class Sealed:
    """A Solver's sealed work for one bounty."""

    service: Service
    bounty_id: BountyId
    solver: Wallet
    file: Path
    artifact: SealedArtifact
    envelope: Envelope

    @property
    def path(self) -> str:
        return f"/api/bounties/{self.bounty_id}/submissions/{self.solver.address}"

    def upload_url(self, **changes: object) -> TestResponse:
        body = {
            "ciphertext_sha256": self.artifact.sha256,
            "ciphertext_byte_length": self.artifact.byte_length,
            **changes,
        }
        return self.service.signed(
            self.solver.private_key,
            "POST",
            f"{self.path}/artifact-upload-url",
            body=json.dumps(body).encode(),
            media_type="application/json",
        )

    def upload(self, data: bytes | None = None) -> int:
        target = self.upload_url().json
        assert target is not None
        assert target["storage_locator"] == self.envelope.ciphertext.storage_locator
        return urllib3.request(
            target["upload_method"],
            target["upload_url"],
            body=data if data is not None else self.file.read_bytes(),
            headers=target["upload_headers"],
        ).status

    def prepare(self, envelope: Envelope | None = None, body: bytes | None = None) -> TestResponse:
        return self.service.signed(
            self.solver.private_key,
            "POST",
            f"{self.path}/prepare",
            body=body or (envelope or self.envelope).canonical_bytes(),
            media_type="application/json",
        )

    def content(self, key: str, commitment: Bytes32 | None = None) -> TestResponse:
        commitment = commitment or self.envelope.commitment()
        return self.service.signed(key, "GET", f"/api/bounties/{self.bounty_id}/submissions/{commitment}/content")

    def contents(self, key: str, *commitments: str) -> TestResponse:
        path = f"/api/bounties/{self.bounty_id}/submissions/contents"
        body = json.dumps({"submission_commitments": commitments or [self.envelope.commitment()]}).encode()
        return self.service.signed(key, "POST", path, body=body, media_type="application/json")

    def record(self) -> Bytes32:
        """Upload, prepare and submit it; its commitment."""
        assert (self.upload(), self.prepare().status_code) == (200, 201)
        self.service.world.submit(self.bounty_id, self.solver, self.envelope.commitment())
        self.service.world.finalize()
        return self.envelope.commitment()


def seal(service: Service, folder: Path, bounty_id: BountyId, solver: Wallet, *, size: int = 0) -> Sealed:
    """Seal a small directory as the client does, with a file of ``size`` bytes in it."""
    world = service.world
    work = folder / "work"
    work.mkdir()
    (work / "answer.txt").write_text("forty-two\n")
    (work / "data.bin").write_bytes(bytes(size))
    binding = Binding(world.chain_id, world.hub_address, bounty_id, parse_address(solver.address))
    detail = service.get(f"/api/bounties/{bounty_id}").json
    assert detail is not None
    file = folder / "ciphertext.age"
    artifact, envelope = seal_for(binding, detail, work, file, used_by(service.client, Constants).beacon)
    return Sealed(service, bounty_id, solver, file, artifact, envelope)


def open_bounty(service: Service) -> BountyId:
    bounty_id = service.world.fund(seconds=100_000)
    service.world.finalize()
    return bounty_id


@pytest.mark.spec(13, 14, 15, 20, 64, 141, 144, 151, 156, 157, 159, 160, 162, 164, 320, 322, 323)
def test_submission_is_served_to_its_parties_only(service: Service, tmp_path: Path) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    assert sealed.upload() == 200
    newest = header_at(world.rpc, "latest")
    first = sealed.prepare()
    assert first.status_code == 201
    assert header_at(world.rpc, "latest") == newest, "nothing was sent"
    assert first.json is not None
    transaction = first.json["transaction"]
    assert transaction["args"] == [
        str(sealed.bounty_id),
        sealed.envelope.commitment(),
        sealed.envelope.guardian_roster_hash,
    ]
    assert sealed.prepare().status_code == 200
    not_recorded = sealed.content(world.guardian(1).private_key)
    assert error_of(not_recorded)["code"] == "submission_not_found"
    world.submit(sealed.bounty_id, world.solver(1), sealed.envelope.commitment())
    world.finalize()
    for reader in (world.people.poster.wallet, world.guardian(3)):
        content = sealed.content(reader.private_key).json
        assert content is not None
        assert content["envelope"].encode() == sealed.envelope.canonical_bytes()
        assert content["active"] is True
        downloaded = urllib3.request("GET", content["download_url"])
        assert downloaded.data == sealed.file.read_bytes()
        for plain in (b"forty-two", b"answer.txt"):
            assert plain not in downloaded.data + content["envelope"].encode()
    for stranger in (world.solver(1), world.solver(2)):
        refused = sealed.content(stranger.private_key)
        assert (refused.status_code, error_of(refused)["code"]) == (403, "forbidden")


@pytest.mark.spec(61, 96)
def test_replaced_submission_ends_once_final(service: Service, tmp_path: Path) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    sealed.upload()
    sealed.prepare()
    world.submit(sealed.bounty_id, world.solver(1), sealed.envelope.commitment())
    world.finalize()
    world.submit(sealed.bounty_id, world.solver(1))
    world.index()
    between = sealed.content(world.guardian(1).private_key).json
    assert between is not None
    assert between["active"] is False
    world.finalize()
    assert error_of(sealed.content(world.guardian(1).private_key))["code"] == "submission_not_found"


@pytest.mark.spec(53)
@pytest.mark.parametrize("first", ["copier", "author"])
def test_copied_commitment_hides_and_gains_nothing(first: str, service: Service, tmp_path: Path) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    commitment = sealed.envelope.commitment()
    assert (sealed.upload(), sealed.prepare().status_code) == (200, 201)
    order = [world.solver(2), world.solver(1)] if first == "copier" else [world.solver(1), world.solver(2)]
    for solver in order:
        world.submit(sealed.bounty_id, solver, commitment)
    world.finalize()
    for reader in (world.people.poster.wallet, world.guardian(1)):
        content = sealed.content(reader.private_key).json
        assert content is not None
        assert (content["solver_address"], content["active"]) == (world.solver(1).address, True)
        assert content["envelope"].encode() == sealed.envelope.canonical_bytes()
    # The author's replacement ends the old work, although the copier's record of it stays active.
    world.submit(sealed.bounty_id, world.solver(1), Bytes32("0x" + "77" * 32))
    world.finalize()
    assert error_of(sealed.content(world.guardian(2).private_key))["code"] == "submission_not_found"


@pytest.mark.spec(55, 87, 90, 144, 145, 146, 147, 148, 152, 356)
def test_prepare_that_does_not_fit_stores_nothing(service: Service, tmp_path: Path) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(2))
    missing = sealed.prepare()
    assert [i["path"] for i in error_of(missing)["issues"]] == ["ciphertext"]  # type: ignore[attr-defined]
    sealed.upload()
    envelope = sealed.envelope
    policy = replace(envelope.reveal_policy, round=envelope.reveal_policy.round - 1)
    elsewhere = replace(envelope.ciphertext, storage_locator="submissions/elsewhere.age")
    wrong: list[tuple[bytes, str]] = [
        (replace(envelope, spec_commitment=Bytes32("0x" + "11" * 32)).canonical_bytes(), "spec_commitment"),
        (replace(envelope, recipients_commitment=Bytes32("0x" + "11" * 32)).canonical_bytes(), "recipients_commitment"),
        (replace(envelope, reveal_policy=policy).canonical_bytes(), "reveal_policy.round"),
        (replace(envelope, key_capsule=b"another").canonical_bytes(), "key_capsule_sha256"),
        (replace(envelope, ciphertext=elsewhere).canonical_bytes(), "ciphertext.storage_locator"),
        (envelope.canonical_bytes() + b" ", "envelope"),
        (envelope.canonical_bytes().replace(b'{"bounty_id"', b'{"a":1,"bounty_id"'), "a"),
        (b"{}", "version"),
        (b"not json", "envelope"),
    ]
    for body, path in wrong:
        response = sealed.prepare(body=body)
        error = error_of(response)
        assert (response.status_code, error["code"]) == (400, "invalid_solver_submission")
        assert path in {issue["path"] for issue in error["issues"]}  # type: ignore[attr-defined]
    assert sealed.prepare().status_code == 201


@pytest.mark.spec(59, 149)
def test_prepare_with_another_length_says_so(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(2))
    sealed.upload()
    assert sealed.prepare().status_code == 201
    reference = replace(sealed.envelope.ciphertext, byte_length=sealed.artifact.byte_length + 1)
    error = error_of(sealed.prepare(replace(sealed.envelope, ciphertext=reference)))
    issues = error["issues"]
    assert isinstance(issues, list)
    assert ["the length stated" in issue["message"] for issue in issues] == [True]
    assert "removed" not in issues[0]["message"]
    assert sealed.prepare().status_code == 200


@pytest.mark.spec(149, 387)
def test_poisoned_upload_is_removed_and_repeated(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(3))
    assert sealed.upload(b"\0" * sealed.artifact.byte_length) == 200
    assert sealed.upload() == 412
    logger = CapturingLogger()
    monkeypatch.setattr(ciphertexts, "log", logger)
    assert error_of(sealed.prepare())["code"] == "invalid_solver_submission"
    (logged,) = logger.calls
    assert logged.args == ("bytes other than announced",)
    assert logged.kwargs["locator"] == sealed.envelope.ciphertext.storage_locator, "it names bounty and Solver"
    assert sealed.upload() == 200
    assert sealed.prepare().status_code == 201
    assert logger.calls == [logged]


@pytest.mark.spec(62, 87, 97, 140, 152, 381)
def test_upload_url_of_a_closed_bounty_is_refused(service: Service, tmp_path: Path) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    for changes in (
        {"ciphertext_byte_length": "12"},
        {"ciphertext_byte_length": 0},
        {"ciphertext_byte_length": 2 * 1024**3},
        {"ciphertext_sha256": "0x12"},
        {"extra": 1},
    ):
        assert error_of(sealed.upload_url(**changes))["code"] == "invalid_solver_submission"
    world.advance_to(world.time() + 100_001)
    world.finalize()
    closed = sealed.upload_url()
    error = error_of(closed)
    assert (closed.status_code, error["code"]) == (400, "invalid_solver_submission")
    assert "Read the chain again" in str(error["next_action"])
    assert "Retry-After" not in closed.headers


@pytest.mark.spec(316, 318, 322, 364)
def test_another_solver__in_the_path__is_forbidden(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    response = service.signed(
        service.world.solver(2).private_key,
        "POST",
        f"{sealed.path}/prepare",
        body=sealed.envelope.canonical_bytes(),
        media_type="application/json",
    )
    assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")


@pytest.mark.spec(158, 165, 319, 373)
@pytest.mark.parametrize("away", ["chain", "index", "database, once the facts are read"])
def test_content_has_one_code_while_chain_is_away(
    service: Service, tmp_path: Path, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, broken = service.world, service.resources
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    assert (sealed.upload(), sealed.prepare().status_code) == (200, 201)
    world.submit(sealed.bounty_id, world.solver(1), sealed.envelope.commitment())
    world.finalize()
    if away == "chain":
        broken = replace(broken, rpc=FaultyRpc(ChainUnavailable()))
    elif away == "index":
        broken = PLANT["engine"](broken, OperationalError("", {}, pg.AdminShutdown()))
    else:
        monkeypatch.setattr(ciphertexts, "reading", Raising(DatabaseUnavailable()).reading)
    there = replace(sealed, service=replace(service, client=checked_client(make_app(broken))))
    for refused in (there.content(world.guardian(1).private_key), there.contents(world.guardian(1).private_key)):
        assert (refused.status_code, error_of(refused)["code"]) == (503, UNAVAILABLE)
    monkeypatch.undo()
    assert sealed.content(world.guardian(1).private_key).status_code == 200


@pytest.mark.spec(108, 109, 165)
def test_content_of_an_unfinal_bounty_has_the_code(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    young = service.world.fund()
    service.world.index()
    refused = replace(sealed, bounty_id=young).content(service.world.guardian(1).private_key)
    assert (refused.status_code, error_of(refused)["code"]) == (503, UNAVAILABLE)
    service.world.finalize()


@pytest.mark.spec(153, 368)
def test_envelope_of_another_form_is_the_service_s_fault(service: Service, tmp_path: Path) -> None:
    """It hashes to what was recorded, and is no envelope of this release."""
    world, form = service.world, b'{"version":1}'
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    commitment = submission_commitment(form)
    row = {"submission_commitment": commitment, "content": form}
    stored = t.submission_envelopes.c.submission_commitment == sealed.record()
    with writing(service.resources.engine) as connection:
        connection.execute(update(t.submission_envelopes).where(stored).values(**row))
    world.submit(sealed.bounty_id, world.solver(1), commitment)
    world.finalize()
    response = sealed.content(world.guardian(1).private_key, commitment)
    assert (response.status_code, error_of(response)["code"]) == (500, "solver_submission_content_invalid")


@pytest.mark.spec(153, 368)
@pytest.mark.parametrize("content", ["of another envelope", "nothing that parses"])
def test_altered_envelope_is_healed_by_preparing(service: Service, tmp_path: Path, content: str) -> None:
    world = service.world
    sealed = seal(service, tmp_path, open_bounty(service), world.solver(1))
    sealed.upload()
    sealed.prepare()
    world.submit(sealed.bounty_id, world.solver(1), sealed.envelope.commitment())
    world.finalize()
    other = replace(sealed.envelope, spec_commitment=Bytes32("0x" + "11" * 32)).canonical_bytes()
    e = t.submission_envelopes.c
    its_row = e.submission_commitment == sealed.envelope.commitment()
    altered = {"content": other if content == "of another envelope" else b"{", "storage_locator": "elsewhere"}
    with writing(service.resources.engine) as connection:
        connection.execute(update(t.submission_envelopes).where(its_row).values(**altered))
    response = sealed.content(world.guardian(1).private_key)
    assert (response.status_code, error_of(response)["code"]) == (500, "solver_submission_content_invalid")
    assert sealed.prepare().status_code == 200
    served = sealed.content(world.guardian(1).private_key).json
    assert served is not None
    assert served["envelope"].encode() == sealed.envelope.canonical_bytes()
    with reading(service.resources.engine) as connection:
        locator = connection.execute(select(e.storage_locator).where(its_row)).scalar()
    assert locator == sealed.envelope.ciphertext.storage_locator  # what keeps the ciphertext from being deleted


def items_of(answer: TestResponse) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json is not None
    items = answer.json["items"]
    assert isinstance(items, list)
    return items


def codes_of(answer: TestResponse) -> list[str | None]:
    """The code of each item that is refused."""
    return [None if each["error"] is None else each["error"]["code"] for each in items_of(answer)]


UNKNOWN = Bytes32("0x" + "77" * 32)


class StandingChainClock(StandingClock):
    """The chain's time of day; the tests' own clock leaps past the time of a request."""

    def __init__(self, chain: Clock) -> None:
        self._chain = chain

    def now(self) -> UnixSeconds:
        return self._chain.now()


def over(service: Service, **changed: Any) -> Service:
    """The api with other resources."""
    resources = replace(service.resources, **changed)
    return replace(service, client=checked_client(make_app(resources)), resources=resources)


def two_recorded(service: Service, folder: Path) -> tuple[Sealed, Bytes32, Sealed, Bytes32]:
    bounty_id = open_bounty(service)
    found: list[Sealed | Bytes32] = []
    for number in (1, 2):
        (own := folder / str(number)).mkdir()
        found += [(sealed := seal(service, own, bounty_id, service.world.solver(number))), sealed.record()]
    one, first, two, second = found
    assert isinstance(one, Sealed)
    assert isinstance(two, Sealed)
    standing = over(service, clock=StandingChainClock(service.resources.clock))
    one, two = replace(one, service=standing), replace(two, service=standing)
    return one, Bytes32(str(first)), two, Bytes32(str(second))


def test_contents_answer_each_as_if_alone(service: Service, tmp_path: Path) -> None:
    one, first, two, second = two_recorded(service, tmp_path)
    for reader in (service.world.people.poster.wallet, service.world.guardian(2)):
        key = reader.private_key
        items = items_of(one.contents(key, second, UNKNOWN, first))
        assert [each["submission_commitment"] for each in items] == [second, UNKNOWN, first]
        assert items[2]["error"] is None
        assert [items[0]["content"], items[2]["content"]] == [two.content(key).json, one.content(key).json]
        alone = error_of(one.content(key, UNKNOWN))
        assert (items[1]["content"], items[1]["error"]["code"]) == (None, alone["code"])
        assert (items[0]["error"], items[1]["error"]["next_action"]) == (None, alone["next_action"])
        downloaded = urllib3.request("GET", items[0]["content"]["download_url"])
        assert downloaded.data == two.file.read_bytes()
    for stranger in (service.world.solver(1), service.world.solver(3)):
        refused = one.contents(stranger.private_key, second, first)
        assert (refused.status_code, error_of(refused)["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "names",
    [
        [],
        [f"0x{number:064x}" for number in range(MAX_CONTENTS + 1)],
        [UNKNOWN, UNKNOWN],
        ["0x12"],
        "0x" + "77" * 32,
    ],
)
def test_contents_of_none_or_too_many_are_refused(service: Service, tmp_path: Path, names: list[str] | str) -> None:
    path = f"/api/bounties/{open_bounty(service)}/submissions/contents"
    key = service.world.guardian(1).private_key
    body = json.dumps({"submission_commitments": names}).encode()
    refused = service.signed(key, "POST", path, body=body, media_type="application/json")
    error = error_of(refused)
    assert (refused.status_code, error["code"]) == (400, "invalid_request")
    assert "submission_commitments" in str(error["issues"])


def test_contents_count_as_single_reads(service: Service, tmp_path: Path) -> None:
    one, first, _, second = two_recorded(service, tmp_path)
    deps = one.service.resources
    limits = replace(deps.config.budgets, account=Budget("account", 6, 60), address=Budget("address", 100, 60))
    there = behind(one, config=replace(deps.config, budgets=limits))
    key = service.world.guardian(1).private_key
    assert codes_of(there.contents(key, first, second)) == [None, None]
    assert codes_of(there.contents(key, second, first)) == [None, None]
    refused = there.contents(key, second, first, UNKNOWN)  # two are left
    assert (refused.status_code, error_of(refused)["code"]) == (429, "rate_limit_reached")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert codes_of(there.contents(key, first)) == [None]  # the last that is left
    assert there.contents(key, first).status_code == 429
    assert there.contents(service.world.guardian(2).private_key, first).status_code == 200


def test_unhashed_bytes_are_left_to_the_queue(service: Service, tmp_path: Path) -> None:
    one, first, _, second = two_recorded(service, tmp_path)
    of_it = t.verified_objects.c.storage_locator == one.envelope.ciphertext.storage_locator
    with writing(service.resources.engine) as connection:
        connection.execute(delete(t.verified_objects).where(of_it))
    key = service.world.guardian(1).private_key
    assert codes_of(one.contents(key, first, second)) == ["storage_verification_pending", None]
    with reading(service.resources.engine) as connection:
        assert connection.execute(select(t.verified_objects).where(of_it)).first() is None
    alone = replace(one, service=service).content(key)
    assert alone.status_code == 200, "the job only waits: a request for one hashes it itself"


@dataclass
class SilentStore:
    """A storage that is silent, and counts what it is asked."""

    asked: int = 0

    def stat(self, _locator: str) -> ObjectInfo | None:
        self.asked += 1
        raise ServiceError("storage_unavailable", "The storage does not answer.")


def behind(one: Sealed, **changed: Any) -> Sealed:
    """The same work of an api with other resources."""
    return replace(one, service=over(one.service, **changed))


def test_silent_storage_is_asked_once(service: Service, tmp_path: Path) -> None:
    one, first, _, second = two_recorded(service, tmp_path)
    store = SilentStore()
    items = items_of(behind(one, store=store).contents(service.world.guardian(1).private_key, first, UNKNOWN, second))
    assert [each["error"]["code"] for each in items] == [
        "storage_unavailable", "submission_not_found", "storage_unavailable",
    ]  # fmt: skip
    assert [each["retry_after"] for each in items] == [2, None, 2], "what Retry-After says of one that is read alone"
    assert store.asked == 1
