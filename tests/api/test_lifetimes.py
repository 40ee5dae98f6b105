"""What strangers leave behind has an end, and what anybody can still need has none."""

import secrets
from datetime import timedelta
from pathlib import Path

from bounty_protocol.domain.challenge.commitments import spec_commitment
from service_api.storage import lifetimes
from service_api.storage.lifetimes import DAY_SECONDS, delete_expired
from service_common.db import app as t
from sqlalchemy import Table, func, insert, select, update

from tests.api.conftest import Service
from tests.api.pages import page_for
from tests.api.test_ciphertexts import record
from tests.api.test_submissions import open_bounty, seal


def expire(service: Service) -> int:
    """Delete what nothing needs any more."""
    return delete_expired(service.resources.facts)


def keys(service: Service, table: Table) -> set[str]:
    """The first column of each row."""
    with service.resources.engine.connect() as connection:
        return {str(row[0]) for row in connection.execute(select(table))}


def put(service: Service, table: Table, **row: object) -> None:
    with service.resources.engine.begin() as connection:
        connection.execute(insert(table).values(**row))


def age(service: Service, table: Table, column: str, days: float) -> None:
    """Make every row of a table so much older."""
    with service.resources.engine.begin() as connection:
        moment = table.c[column]
        connection.execute(update(table).values({column: moment - timedelta(days=days)}))


def test_unfunded_page_goes_a_week_later(service: Service) -> None:
    world = service.world
    funded = open_bounty(service)
    funded_page = "0x" + world.contract.call("getBounty", funded)[2].hex()
    never = page_for(world, title="Never funded")
    assert service.publish(never).status_code == 200
    commitment = spec_commitment(never)
    put(service, t.challenge_pages, spec_commitment=funded_page, content=b"the page of a bounty", submission_deadline=1)
    with service.resources.engine.connect() as connection:
        c = t.challenge_pages.c
        deadline = connection.execute(select(c.submission_deadline).where(c.spec_commitment == commitment)).scalar_one()
    world.finalize_at(deadline + 7 * DAY_SECONDS)
    expire(service)
    assert {commitment, funded_page} <= keys(service, t.challenge_pages)
    world.advance_to(deadline + 7 * DAY_SECONDS + 1)
    world.index()  # not final yet
    expire(service)
    assert commitment in keys(service, t.challenge_pages)
    world.finalize()
    expire(service)
    assert {commitment, funded_page} & keys(service, t.challenge_pages) == {funded_page}


def test_approval_stays_until_its_block_is_long_past(service: Service) -> None:
    """Else a recorded request counts again where the api's node stands still, and is answered with a new secret."""
    world = service.world
    assert service.publish(page_for(world, title="Approved")).status_code == 200
    put(service, t.processed_approvals, approval_digest="old", block_number=1)
    put(service, t.processed_approvals, approval_digest="of a block to come", block_number=2**40)

    def left() -> int:
        with service.resources.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(t.processed_approvals)).scalar_one()

    world.finalize()
    expire(service)
    assert left() == 3
    age(service, t.processed_approvals, "created_at", lifetimes.APPROVAL_DAYS - 0.1)
    expire(service)
    assert left() == 3
    age(service, t.processed_approvals, "created_at", 0.2)
    expire(service)
    assert left() == 1


def test_charge__that_no_quota_counts__is_deleted(service: Service) -> None:
    identifier = secrets.token_hex(8)
    put(service, t.review_charges, review_id=identifier, poster="somebody")
    age(service, t.review_charges, "charged_at", 1.9)
    expire(service)
    assert identifier in keys(service, t.review_charges)
    age(service, t.review_charges, "charged_at", 0.2)
    expire(service)
    assert identifier not in keys(service, t.review_charges)


def test_unsubmitted_envelope_goes_with_its_bytes(service: Service, tmp_path: Path) -> None:
    world, folders = service.world, [tmp_path / name for name in ("recorded", "prepared")]
    for folder in folders:
        folder.mkdir()
    bounty = open_bounty(service)
    recorded = seal(service, folders[0], bounty, world.solver(1))
    record(recorded)
    prepared = seal(service, folders[1], bounty, world.solver(2))
    prepared.upload()
    assert prepared.prepare().status_code == 201

    def left(table: Table, column: str) -> list[bool]:
        with service.resources.engine.connect() as connection:
            found = {str(each) for each in connection.execute(select(table.c[column])).scalars()}
        return [sealed.envelope.ciphertext.storage_locator in found for sealed in (recorded, prepared)]

    deadline = int(world.contract.call("getBounty", bounty)[3])
    age(service, t.verified_objects, "verified_at", lifetimes.VERIFIED_DAYS + 1)
    world.finalize_at(deadline + DAY_SECONDS)
    expire(service)
    assert left(t.submission_envelopes, "storage_locator") == [True, True]
    assert left(t.verified_objects, "storage_locator") == [True, True]
    world.finalize_at(deadline + DAY_SECONDS + 1)
    expire(service)
    assert left(t.submission_envelopes, "storage_locator") == [True, False]
    expire(service)
    assert left(t.verified_objects, "storage_locator") == [True, False]
    assert recorded.content(world.guardian(1).private_key).status_code == 200


def test_unrecorded_verdict_goes_a_week_later(service: Service) -> None:
    world, bounty = service.world, open_bounty(service)
    guardian, commitment = world.guardian(1).address, "0x" + secrets.token_hex(32)
    put(service, t.written_verdicts, report_commitment=commitment, content=b"x", bounty_id=bounty, guardian=guardian)
    judged = int(world.contract.call("getBounty", bounty)[5])
    for moment, is_there in ((judged + 7 * DAY_SECONDS, True), (judged + 7 * DAY_SECONDS + 1, False)):
        world.finalize_at(moment)
        expire(service)
        assert (commitment in keys(service, t.written_verdicts)) is is_there
