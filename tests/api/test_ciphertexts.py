"""What becomes of uploaded ciphertext: verified at length, never served altered, never removed wrongly, swept."""

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import urllib3
from bounty_protocol.domain.envelope.locator import parse_locator, storage_locator
from bounty_protocol.types import Address, BountyId, Bytes32
from service_api import jobs
from service_api.jobs import PERIODIC
from service_api.storage import orphans
from service_api.storage.gcs import ObjectInfo
from service_api.storage.lifetimes import DAY_SECONDS
from service_api.storage.orphans import ENVELOPE_DAYS, delete_orphans
from service_api.submissions import ciphertexts
from service_api.submissions.ciphertexts import Ciphertexts, Verification
from service_api.submissions.prepare_submission import store_envelope
from service_common.db import app as t
from service_common.jobs import QueueName, message, open_queue
from sqlalchemy import delete

from tests.api.conftest import Service, error_of, failed
from tests.api.test_submissions import Sealed, open_bounty, seal
from tests.scraping import start
from tests.waiting import wait_until


def stored(sealed: Sealed) -> ObjectInfo | None:
    return sealed.service.resources.store.stat(sealed.envelope.ciphertext.storage_locator)


def record(sealed: Sealed) -> None:
    """Upload, prepare and submit."""
    assert sealed.upload() == 200
    assert sealed.prepare().status_code == 201
    sealed.service.world.submit(sealed.bounty_id, sealed.solver, sealed.envelope.commitment())
    sealed.service.world.finalize()


def put(service: Service, locator: str, data: bytes) -> None:
    """An object that some way came there without the api."""
    target = service.resources.store.sign_upload(
        locator, sha256=Bytes32("0x" + "00" * 32), byte_length=len(data), lifetime=60
    )
    assert urllib3.request("PUT", target.url, body=data, headers=dict(target.headers)).status == 200


@pytest.fixture(autouse=True)
def _of_no_other_test(service: Service) -> None:
    """The queue is the world's, which tests share."""
    forget_jobs(service)


def forget_jobs(service: Service) -> None:
    queue = open_queue(QueueName.ARTIFACTS, service.resources.redis)
    for job_id in queue.job_ids:
        queue.remove(job_id)
        service.resources.redis.delete(f"rq:job:{job_id}")


def test_long_verification_ends_in_the_queue(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1), size=9 * 2**20)
    assert sealed.upload() == 200
    before = failed()
    monkeypatch.setattr(ciphertexts, "VERIFY_BOUND_SECONDS", -1.0)
    for _ in range(2):
        pending = sealed.prepare()
        assert (pending.status_code, error_of(pending)["code"]) == (503, "storage_verification_pending")
    assert failed() == before, "it is no failure to wait"
    assert len(open_queue(QueueName.ARTIFACTS, service.resources.redis).job_ids) == 1
    worker = start(service.runtime, "api-worker", service.variables, "service-api", "worker")
    ends = time.monotonic() + 60
    while (answer := sealed.prepare()).status_code == 503 and time.monotonic() < ends:
        time.sleep(0.1)
    assert answer.status_code == 201
    redis, queue = service.resources.redis, open_queue(QueueName.ARTIFACTS, service.resources.redis)
    wait_until(lambda: all(redis.exists(f"rests:{each.job_id}") for each in PERIODIC))  # its own sweeps are done
    assert (queue.job_ids, queue.failed_job_registry.get_job_ids()) == ([], [])
    length = sealed.envelope.ciphertext.byte_length
    wait_until(lambda: worker.metrics().value("service_ciphertext_bytes_total") == length)
    assert worker.metrics().value("service_ciphertexts_total", result="matches") == 1
    service.runtime.family.end([worker.child])
    forget_jobs(service)


def test_unfinished_verification_is_the_queues(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each retry would read as much of a slow storage in vain, and keep others from being verified."""
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    sealed.upload()
    with monkeypatch.context() as slow:
        slow.setattr(Ciphertexts, "verify", lambda *_, **__: Verification.UNFINISHED)
        assert error_of(sealed.prepare())["code"] == "storage_verification_pending"
    assert error_of(sealed.prepare())["code"] == "storage_verification_pending"
    monkeypatch.setattr(jobs, "_resources", lambda: nullcontext(service.resources))
    assert jobs.verify_artifact(queued(service)) == "matches"
    assert sealed.prepare().status_code == 201


def test_forged_message_removes_nothing_right(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_resources", lambda: nullcontext(service.resources))
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    assert sealed.upload() == 200
    before, locator = stored(sealed), sealed.envelope.ciphertext.storage_locator
    said = message(storage_locator=locator, sha256="0x" + "00" * 32, byte_length=1)
    assert jobs.verify_artifact(said) == "matches"
    assert stored(sealed) == before is not None
    assert sealed.prepare().status_code == 201
    elsewhere = replace(parse_locator(locator), hub_address=Address("0x" + "ee" * 20))
    put(service, str(elsewhere), b"of a Hub that shares the bucket")
    with pytest.raises(ValueError, match="another deployment"):
        jobs.verify_artifact(message(**{**said, "storage_locator": str(elsewhere)}))
    found = service.resources.store.stat(str(elsewhere))
    assert found is not None
    service.resources.store.delete(str(elsewhere), generation=found.generation)


def test_replaced_ciphertext_is_never_served(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads them wrong might be between."""
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    record(sealed)
    guardian, locator = service.world.guardian(1).private_key, sealed.envelope.ciphertext.storage_locator
    info = stored(sealed)
    assert info is not None
    service.resources.store.delete(locator, generation=info.generation)
    put(service, locator, b"\1" * info.byte_length)
    refused = sealed.content(guardian)
    assert (refused.status_code, error_of(refused)["code"]) == (500, "solver_submission_content_invalid")
    monkeypatch.setattr(jobs, "_resources", lambda: nullcontext(service.resources))
    assert jobs.verify_artifact(message(storage_locator=locator)) == "differs"
    assert stored(sealed) is not None
    assert lost_since(sealed) is not None
    replaced = stored(sealed)
    assert replaced is not None
    service.resources.store.delete(locator, generation=replaced.generation)
    put(service, locator, sealed.file.read_bytes())  # from a backup, as another generation
    content = sealed.content(guardian).json
    assert content is not None
    assert urllib3.request("GET", content["download_url"]).data == sealed.file.read_bytes()
    assert lost_since(sealed) is None


def lost_since(sealed: Sealed) -> int | None:
    """What everybody reads of it."""
    query = f'{{ submissions(where: {{bounty_id: "{sealed.bounty_id}"}}) {{ lost_since }} }}'
    answer = sealed.service.client.post("/subgraph", json={"query": query}).get_json()
    found: int | None = answer["data"]["submissions"][0]["lost_since"]
    return found


def replace_stored(sealed: Sealed) -> None:
    """Other bytes of the same length, as of a bucket that was restored from a wrong copy."""
    info = stored(sealed)
    assert info is not None
    sealed.service.resources.store.delete(info.locator, generation=info.generation)
    put(sealed.service, info.locator, b"\1" * info.byte_length)


def queued(service: Service) -> dict[str, object]:
    """The argument of the one job that waits; it is taken."""
    (job,) = open_queue(QueueName.ARTIFACTS, service.resources.redis).jobs
    forget_jobs(service)
    argument: dict[str, object] = job.args[0]
    return argument


def test_replaced_ciphertext_is_uploaded_again(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    record(sealed)
    assert sealed.upload() == 412, "they are in place, and stay there"
    replace_stored(sealed)
    guardian = service.world.guardian(1).private_key
    assert error_of(sealed.content(guardian))["code"] == "solver_submission_content_invalid"
    assert stored(sealed) is not None
    assert sealed.upload() == 200
    content = sealed.content(guardian).json
    assert content is not None
    assert urllib3.request("GET", content["download_url"]).data == sealed.file.read_bytes()


def test_other_announced_length_leaves_it(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    sealed.upload()
    sealed.prepare()
    before = stored(sealed)
    assert before is not None
    refused = sealed.upload_url(ciphertext_byte_length=before.byte_length + 1)
    assert error_of(refused)["code"] == "invalid_solver_submission"
    assert str(before.byte_length) in str(error_of(refused)["issues"])
    longer = replace(sealed.envelope.ciphertext, byte_length=before.byte_length + 1)
    assert sealed.prepare(replace(sealed.envelope, ciphertext=longer)).status_code == 400
    assert stored(sealed) == before
    assert sealed.prepare().status_code == 200


@pytest.mark.parametrize("at_once", [1, 1_000])
def test_orphans_go_a_day_after_the_deadline(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """However few of a bounty's objects are held together: anybody may upload more than fit into memory."""
    monkeypatch.setattr(orphans, "_AT_ONCE", at_once)
    world = service.world
    bounty, deps = open_bounty(service), service.resources
    folders = [tmp_path / name for name in ("recorded", "prepared", "uploaded", "open")]
    for folder in folders:
        folder.mkdir()
    recorded = seal(service, folders[0], bounty, world.solver(1))
    record(recorded)
    prepared = seal(service, folders[1], bounty, world.solver(1))  # beside the one that was recorded
    prepared.upload()
    prepared.prepare()
    uploaded = seal(service, folders[2], bounty, world.solver(3))
    uploaded.upload()
    unknown = storage_locator(
        world.chain_id,
        world.hub_address,
        BountyId(990_000 + at_once),
        Address("0x" + "11" * 20),
        Bytes32("0x" + "22" * 32),
    )
    put(service, unknown, b"x")
    deadline = int(world.contract.call("getBounty", bounty)[3])
    world.advance_to(deadline + DAY_SECONDS - 1_000)
    world.finalize()
    still_open = seal(service, folders[3], open_bounty(service), world.solver(1))
    still_open.upload()
    delete_orphans(deps.facts, deps.store)
    assert None not in [stored(sealed) for sealed in (recorded, prepared, uploaded, still_open)]
    world.advance_to(deadline + DAY_SECONDS + 1)  # not final yet: a submit might still be undone
    world.index()
    delete_orphans(deps.facts, deps.store)
    assert stored(uploaded) is not None
    world.finalize()
    assert delete_orphans(deps.facts, deps.store) >= 2
    assert [stored(sealed) is not None for sealed in (recorded, prepared, uploaded, still_open)] == [
        *(True, False, False, True)
    ]
    assert deps.store.stat(unknown) is not None
    assert delete_orphans(deps.facts, deps.store) == 0
    assert recorded.content(world.guardian(1).private_key).status_code == 200


def test_orphans_of_a_lost_envelope_go_in_the_end(service: Service, tmp_path: Path) -> None:
    world, bounty = service.world, open_bounty(service)
    sealed = seal(service, tmp_path, bounty, world.solver(1))
    assert sealed.upload() == 200
    world.submit(bounty, world.solver(1))  # of another envelope
    world.finalize()
    with service.resources.facts.open() as facts:
        judged = facts.bounty(bounty).terms.judging_deadline
    for moment, is_there in ((judged, True), (judged + ENVELOPE_DAYS * DAY_SECONDS, False)):
        world.finalize_at(moment + 1)
        delete_orphans(service.resources.facts, service.resources.store)
        assert (stored(sealed) is not None) is is_there


def test_orphans_of_a_lost_envelope_wait_for_it(service: Service, tmp_path: Path) -> None:
    """As after a restore of a dump that is older than the envelope, or where somebody deletes its row."""
    world, deps, bounty = service.world, service.resources, open_bounty(service)
    solvers = {"recorded": 1, "beside it": 1, "whole": 2, "beside the whole": 2, "no submission": 3}
    work = dict[str, Sealed]()
    for name, number in solvers.items():
        (tmp_path / name).mkdir()
        work[name] = seal(service, tmp_path / name, bounty, world.solver(number))
    for name in ("recorded", "whole"):
        record(work[name])
    for name in ("beside it", "beside the whole", "no submission"):
        assert work[name].upload() == 200
    lost = work["recorded"].envelope
    for table, its_row in (
        (t.submission_envelopes, t.submission_envelopes.c.submission_commitment == lost.commitment()),
        (t.verified_objects, t.verified_objects.c.storage_locator == lost.ciphertext.storage_locator),
    ):
        with deps.engine.begin() as connection:
            assert connection.execute(delete(table).where(its_row)).rowcount == 1
    world.finalize_at(int(world.contract.call("getBounty", bounty)[3]) + DAY_SECONDS + 1)

    def left() -> set[str]:
        delete_orphans(deps.facts, deps.store)
        return {name for name, sealed in work.items() if stored(sealed) is not None}

    assert left() == {"recorded", "beside it", "whole"}
    assert store_envelope(deps.engine, lost, lost.canonical_bytes(), None)
    assert work["recorded"].content(world.guardian(1).private_key).status_code == 200
    assert left() == {"recorded", "whole"}


@pytest.mark.spec(97, 150)
def test_late_upload_by_an_earlier_url_is_none(service: Service, tmp_path: Path) -> None:
    world, bounty = service.world, open_bounty(service)
    late = seal(service, tmp_path, bounty, world.solver(2))
    target = late.upload_url().json
    assert target is not None
    deadline = int(world.contract.call("getBounty", bounty)[3])
    world.advance_to(deadline + 10)
    world.finalize()
    body, headers = late.file.read_bytes(), target["upload_headers"]
    assert urllib3.request(target["upload_method"], target["upload_url"], body=body, headers=headers).status == 200
    assert error_of(late.prepare())["code"] == "invalid_solver_submission"
    world.advance_to(deadline + DAY_SECONDS + 1)
    world.finalize()
    delete_orphans(service.resources.facts, service.resources.store)
    assert stored(late) is None


def test_lost_ciphertext_is_uploaded_by_its_solver(service: Service, tmp_path: Path) -> None:
    world, folders = service.world, [tmp_path / name for name in ("recorded", "other", "unrecorded")]
    for folder in folders:
        folder.mkdir()
    bounty = open_bounty(service)
    sealed = seal(service, folders[0], bounty, world.solver(1))
    record(sealed)
    other = seal(service, folders[1], bounty, world.solver(1))
    other.upload()
    other.prepare()
    unrecorded = seal(service, folders[2], bounty, world.solver(2))
    unrecorded.upload()
    unrecorded.prepare()
    world.advance_to(int(world.contract.call("getBounty", bounty)[3]) + 10)
    world.finalize()
    info = stored(sealed)
    assert info is not None
    service.resources.store.delete(info.locator, generation=info.generation)
    assert error_of(sealed.content(world.guardian(1).private_key))["code"] == "solver_submission_content_invalid"
    for refused in (other.upload_url(), unrecorded.upload_url(), sealed.upload_url(ciphertext_byte_length=5)):
        assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_solver_submission")
    assert error_of(sealed.prepare())["code"] == "invalid_solver_submission"
    assert sealed.upload() == 200
    assert sealed.content(world.guardian(1).private_key).status_code == 200
