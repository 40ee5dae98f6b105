"""Recorded work that is not here any more: found daily, counted in the status, forgotten once it is here again."""

from pathlib import Path

import pytest
from bounty_protocol.errors import ServiceError
from service_api.storage.gcs import GcsStore
from service_api.storage.missing import count_missing, note_missing
from service_common.db import app as t
from sqlalchemy import delete

from tests.api.conftest import Service
from tests.api.test_ciphertexts import record
from tests.api.test_submissions import open_bounty, seal


def lost(service: Service) -> int:
    """What the status says, read anew."""
    note_missing(service.resources.facts, service.resources.store)
    with service.resources.engine.connect() as connection:
        return count_missing(connection)


def test_missing_work_is_counted_until_it_is_here(service: Service, tmp_path: Path) -> None:
    world, store, engine = service.world, service.resources.store, service.resources.engine
    bounty_id = open_bounty(service)
    works = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        works.append(seal(service, folder, bounty_id, world.solver(number)))
    without_object, without_envelope = works
    for work in (without_object, without_envelope):
        record(work)
    world.finalize()
    before = lost(service)
    for _ in range(2):  # of envelopes that nobody has; the second replaces the first, also where that was noted
        world.submit(bounty_id, world.solver(3))
        world.finalize()
        assert lost(service) == before + 1
    before += 1
    locator = without_object.envelope.ciphertext.storage_locator
    found = store.stat(locator)
    assert found is not None
    store.delete(locator, generation=found.generation)
    e = t.submission_envelopes.c
    with engine.begin() as connection:
        its_row = e.submission_commitment == without_envelope.envelope.commitment()
        connection.execute(delete(t.submission_envelopes).where(its_row))
    assert lost(service) == before + 2
    assert (service.get("/api/status").json or {})["lost_submission_count"] == before + 2
    assert without_object.upload() == 200
    assert without_object.prepare().status_code == 200
    assert without_envelope.prepare().status_code == 201
    assert lost(service) == before


def test_storage_without_preconditions_is_not_ready(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GcsStore(service.resources.config.storage)
    put = store._plain.put

    def careless(url: str, **options: object) -> object:
        answer = put(url, **options)  # type: ignore[arg-type]
        answer.status_code = 200
        return answer

    monkeypatch.setattr(store._plain, "put", careless)
    with pytest.raises(ServiceError, match="more than once"):
        store.check()
    monkeypatch.setattr(store._plain, "put", put)
    store.check()
    store.close()
