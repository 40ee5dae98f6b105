"""Damage to what is kept is found by the inspections, names its bounty, and is gone once it is repaired."""

import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import urllib3
from bounty_protocol.domain.commitments import report_commitment
from bounty_protocol.errors import ServiceError
from service_api.dependencies import DOWNLOAD_LIFETIME_SECONDS, Dependencies
from service_api.storage.port import ObjectInfo
from service_api.usecases import inspecting
from service_api.usecases.ciphertexts import verify
from service_api.usecases.defects import Looked, Walk, list_defects, note_known
from service_api.usecases.inspecting import inspect_kept, look_again
from service_api.usecases.putting_back import put_back
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.recent import Recent
from sqlalchemy import delete, func, insert, select, update
from structlog.testing import capture_logs

from tests.api.conftest import Service, error_of
from tests.api.test_ciphertexts import put, record, stored
from tests.api.test_faults import Raising
from tests.api.test_list import listed, published
from tests.api.test_submissions import Sealed, open_bounty, seal
from tests.api.test_written_verdicts import document, judgeable, write
from tests.clocks import HandClock
from tests.waiting import wait_until

OPERATIONS = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def first_walk(service: Service) -> None:
    """Nothing is inspected yet; what other tests altered is gone."""
    with service.dependencies.engine.begin() as connection:
        for table in (t.inspections, t.defects):
            connection.execute(delete(table))


def walk(deps: Dependencies, name: Walk) -> set[int]:
    """One inspection from the beginning to the end, as a week later; the bounties with defects."""
    end_walks(deps, *(each for each in Walk if each is not name))
    inspect_kept(deps)
    d = t.defects.c
    with deps.engine.connect() as connection:
        return set(connection.execute(select(d.bounty_id).where(d.inspection == name)).scalars())


def end_walks(deps: Dependencies, *names: Walk) -> None:
    """These have just ended; all others are due."""
    with deps.engine.begin() as connection:
        connection.execute(delete(t.inspections))
        connection.execute(insert(t.inspections).values([{"name": each, "ended_at": func.now()} for each in names]))


def recorded(service: Service, folder: Path, name: str = "work") -> Sealed:
    """A recorded Submission of a bounty of its own."""
    (folder / name).mkdir()
    sealed = seal(service, folder / name, open_bounty(service), service.world.solver(1))
    record(sealed)
    return sealed


def info_of(sealed: Sealed) -> ObjectInfo:
    found = stored(sealed)
    assert found is not None
    return found


def lose(sealed: Sealed) -> None:
    info = info_of(sealed)
    sealed.service.dependencies.store.delete(info.locator, generation=info.generation)


def replace_object(sealed: Sealed) -> None:
    info = info_of(sealed)
    lose(sealed)
    put(sealed.service, info.locator, b"\1" * info.byte_length)


def rot(sealed: Sealed) -> None:
    """The storage states another checksum of the same generation."""
    set_known(sealed, checksum="AAAAAA==")


def set_known(sealed: Sealed, **values: object) -> None:
    with sealed.service.dependencies.engine.begin() as connection:
        locator = sealed.envelope.ciphertext.storage_locator
        statement = update(t.verified_objects).where(t.verified_objects.c.storage_locator == locator)
        connection.execute(statement.values(**values))


def alter_envelope(sealed: Sealed) -> None:
    with sealed.service.dependencies.engine.begin() as connection:
        e = t.submission_envelopes
        mine = e.c.submission_commitment == sealed.envelope.commitment()
        connection.execute(update(e).where(mine).values(content=b"{}"))


DAMAGES: Final = (lose, replace_object, rot, alter_envelope)


@pytest.mark.attack
def test_sealed_object__that_is_gone_or_changed__is_found_and_names_its_bounty(
    service: Service, tmp_path: Path
) -> None:
    deps, whole = service.dependencies, recorded(service, tmp_path, "whole")
    set_known(whole, checksum=None)  # as a release before left it
    damaged = [recorded(service, tmp_path, damage.__name__) for damage in DAMAGES]
    ids = {each.bounty_id for each in damaged}
    assert {whole.bounty_id, *ids} & walk(deps, Walk.OBJECTS) == set()
    for each, damage in zip(damaged, DAMAGES, strict=True):
        damage(each)
    found = walk(deps, Walk.OBJECTS)
    assert ids <= found
    assert whole.bounty_id not in found
    lines = list_defects(deps.engine)
    for each in damaged:
        assert any(line.startswith(f"bounty {each.bounty_id}: {each.envelope.commitment()}: ") for line in lines)
    rot(whole)  # what it had is kept since
    assert whole.bounty_id in walk(deps, Walk.OBJECTS)


@pytest.mark.attack
@pytest.mark.parametrize("name", [Walk.OBJECTS, Walk.BYTES])
def test_sealed_object__that_the_storage_never_gives__is_found_and_keeps_nothing_else_unseen(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Walk
) -> None:
    deps = service.dependencies
    refused, lost, back = [recorded(service, tmp_path, each) for each in ("refused", "lost", "back")]
    for each in (lost, back):
        lose(each)
    walk(deps, Walk.OBJECTS)
    assert back.upload() == 200
    locators = {each.envelope.ciphertext.storage_locator for each in (refused, lost)}
    with monkeypatch.context() as now:
        now.setattr(deps, "store", Refusing(deps.store, locators))
        assert {refused.bounty_id, lost.bounty_id} <= walk(deps, name)
        assert notices(back) == ["lost", "restored"]
        look_again(deps)
    assert (notices(refused), notices(lost)) == ([], ["lost"])
    look_again(deps)
    assert refused.bounty_id not in known_bounties(deps)


@dataclass
class Refusing:
    """A storage that gives anything but a few objects."""

    store: Any
    locators: set[str]

    def stat(self, locator: str) -> ObjectInfo | None:
        if locator in self.locators:
            raise ServiceError("storage_unavailable", "Refused.")
        found: ObjectInfo | None = self.store.stat(locator)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@pytest.mark.attack
def test_walk__while_the_storage_is_away__is_left_to_the_next_run_and_finds_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    with monkeypatch.context() as now:
        now.setattr(deps, "store", Raising(ServiceError("storage_unavailable", "Away.")))
        assert sealed.bounty_id not in walk(deps, Walk.OBJECTS)
    lose(sealed)
    inspect_kept(deps)
    assert sealed.bounty_id in known_bounties(deps)


@pytest.mark.attack
@pytest.mark.parametrize("name", [Walk.OBJECTS, Walk.BYTES])
def test_work__of_a_bucket_that_is_missing__is_not_lost(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Walk
) -> None:
    """As by a wrong setting: the storage's library says of each object that there is none."""
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    with monkeypatch.context() as now:
        now.setattr(deps, "store", Blind(deps.store, is_missing=True))
        assert sealed.bounty_id not in walk(deps, name)
        assert error_of(sealed.content(service.world.guardian(1).private_key))["code"] == "storage_unavailable"
    with monkeypatch.context() as now:
        now.setattr(deps, "store", Blind(deps.store, is_missing=False))
        assert sealed.bounty_id not in walk(deps, name), "it was there when it was looked for again"
    assert notices(sealed) == []


@dataclass
class Blind:
    """A storage that has nothing until it is asked whether its bucket is there."""

    store: Any
    is_missing: bool
    is_seen: bool = False

    def stat(self, locator: str) -> ObjectInfo | None:
        found: ObjectInfo | None = self.store.stat(locator) if self.is_seen else None
        self.is_seen = False
        return found

    def check(self) -> None:
        if self.is_missing:
            raise ServiceError("storage_unavailable", "No such bucket.")
        self.is_seen = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@pytest.mark.attack
def test_sealed_object__whose_bytes_alone_changed__is_found_by_hashing_them_again(
    service: Service, tmp_path: Path
) -> None:
    deps, damaged = service.dependencies, recorded(service, tmp_path)
    replace_object(damaged)
    info = info_of(damaged)
    set_known(damaged, generation=info.generation, checksum=info.checksum)  # all that the storage states fits
    assert damaged.bounty_id not in walk(deps, Walk.OBJECTS)
    assert damaged.bounty_id in walk(deps, Walk.BYTES)
    lose(damaged)
    put(service, info.locator, damaged.file.read_bytes())  # from a backup
    assert damaged.bounty_id not in walk(deps, Walk.OBJECTS)  # what was lost is hashed as soon as it is there
    assert damaged.bounty_id not in walk(deps, Walk.BYTES)


def test_object__from_a_backup_before_anybody_missed_it__is_no_lost_work_and_reported_until_hashed(
    service: Service, tmp_path: Path
) -> None:
    deps, moved = service.dependencies, recorded(service, tmp_path)
    info = info_of(moved)
    lose(moved)
    put(service, info.locator, moved.file.read_bytes())
    assert moved.bounty_id in walk(deps, Walk.OBJECTS)
    assert (notices(moved), lost_since(moved)) == ([], None)
    assert moved.bounty_id not in walk(deps, Walk.BYTES)
    assert moved.bounty_id not in walk(deps, Walk.OBJECTS)


def notices(sealed: Sealed) -> list[str]:
    """What webhooks are sent about this work."""
    c = t.work_notices.c
    named = (c.solver == sealed.solver.address) & (c.submission_commitment == sealed.envelope.commitment())
    with sealed.service.dependencies.engine.connect() as connection:
        return list(connection.execute(select(c.kind).where(named).order_by(c.number)).scalars())


def lost_since(sealed: Sealed) -> int | None:
    """What everybody reads of it."""
    query = f'{{ submissions(where: {{bounty_id: "{sealed.bounty_id}"}}) {{ lost_since }} }}'
    answer = sealed.service.client.post("/subgraph", json={"query": query}).get_json()
    found: int | None = answer["data"]["submissions"][0]["lost_since"]
    return found


def test_lost_work__is_announced_once_and_once_more_when_it_was_put_back(service: Service, tmp_path: Path) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    assert (notices(sealed), lost_since(sealed)) == ([], None)
    lose(sealed)
    for _ in range(2):
        walk(deps, Walk.OBJECTS)
        walk(deps, Walk.BYTES)
        assert notices(sealed) == ["lost"]
        assert lost_since(sealed) is not None
    info = sealed.envelope.ciphertext
    put(service, info.storage_locator, b"\1" * info.byte_length)
    inspect_kept(deps)
    assert stored(sealed) is None, "other bytes would keep the right ones away"
    assert notices(sealed) == ["lost"]
    assert sealed.upload() == 200
    inspect_kept(deps)  # in the next run, not in the next walk
    assert (notices(sealed), lost_since(sealed)) == (["lost", "restored"], None)
    walk(deps, Walk.OBJECTS)
    assert notices(sealed) == ["lost", "restored"]


def test_lost_work__that_was_put_back__is_looked_at_before_the_walk_takes_what_a_day_may_have(
    service: Service, tmp_path: Path
) -> None:
    deps = replace(service.dependencies, config=replace(service.dependencies.config, inspected_bytes=1))
    first, waits, known = (recorded(service, tmp_path, name) for name in ("first", "waits", "known"))
    for each in (first, waits, known):
        lose(each)
        note_known(deps.engine, Walk.OBJECTS, [found_lost(each)])
        assert each.upload() == 200
    assert known.content(service.world.guardian(1).private_key).status_code == 200
    inspect_kept(deps)
    assert notices(known)[1:] == ["restored"]
    assert sorted(notices(each)[1:] for each in (first, waits)) == [[], ["restored"]]


def test_lost_work__more_than_one_run_looks_at__is_all_looked_at(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that stay lost took all places of each run."""
    deps = service.dependencies
    gone, back = (recorded(service, tmp_path, name) for name in ("gone", "back"))
    end_walks(deps, *Walk)
    for each in (gone, back):
        lose(each)
        note_known(deps.engine, Walk.BYTES, [found_lost(each)])
    assert back.upload() == 200
    with monkeypatch.context() as now:
        now.setattr(inspecting, "HASHING_SECONDS", -1.0)
        inspect_kept(deps)
    assert notices(back) == ["lost"], "somebody may wait for the worker"
    monkeypatch.setattr(inspecting, "_ROWS", 1)
    for _ in range(100):
        inspect_kept(deps)
        if notices(back) == ["lost", "restored"]:
            break
    assert (notices(back), notices(gone)) == (["lost", "restored"], ["lost"])


def test_work__that_was_away_for_an_hour__is_there_again_without_hashing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a wrong setting: the walk over bytes, which nothing missing costs any of its bound, told good work as lost
    until that was hashed, of which a day may have a part, or nothing."""
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    deps = replace(deps, config=replace(deps.config, inspected_bytes=0))
    end_walks(deps, *(each for each in Walk if each is not Walk.BYTES))
    with monkeypatch.context() as away:
        away.setattr(inspecting, "find_object", lambda *_: None)
        inspect_kept(deps)
    assert notices(sealed) == ["lost"]
    inspect_kept(deps)
    assert notices(sealed) == ["lost", "restored"]


def test_work__that_its_solver_has_replaced__is_not_announced_as_lost(service: Service, tmp_path: Path) -> None:
    """Nothing ever tells that it is there again."""
    first = recorded(service, tmp_path)
    (tmp_path / "second").mkdir()
    record(seal(service, tmp_path / "second", first.bounty_id, service.world.solver(1)))
    replace_object(first)
    verify(service.dependencies, info_of(first), first.envelope.ciphertext, lambda: True)
    assert notices(first) == []


def found_lost(sealed: Sealed) -> Looked:
    """That the storage has no such bytes."""
    commitment, solver = sealed.envelope.commitment(), sealed.envelope.solver_address
    return Looked("", commitment, sealed.bounty_id, "the storage has no ciphertext", solver, is_lost=True)


@pytest.mark.parametrize("again", ["lost", "restored"])
def test_work__that_two_looks_find_so_in_the_same_moment__is_announced_once(
    service: Service, tmp_path: Path, again: str
) -> None:
    """``service-api defects --again`` beside the hourly job."""
    deps, database, sealed = service.dependencies, service.world.database, recorded(service, tmp_path)
    lost = found_lost(sealed)
    found = lost if again == "lost" else replace(lost, what=None, is_lost=False)
    if again == "restored":
        note_known(deps.engine, Walk.OBJECTS, [lost])
    with psycopg.connect(database.url()) as other, ThreadPoolExecutor(2) as threads:
        other.execute("LOCK TABLE app.defects IN SHARE MODE")  # both have read what was, before one writes
        looks = [threads.submit(note_known, deps.engine, Walk.OBJECTS, [found]) for _ in range(2)]
        wait_until(lambda: database.waiting_for_locks() == 2)
        other.rollback()
        for each in looks:
            each.result()
    assert notices(sealed) == (["lost"] if again == "lost" else ["lost", "restored"])


def bring_back(service: Service, copy: dict[str, bytes]) -> None:
    """What is in the copy and not in the bucket, as ``gcloud storage rsync --no-clobber`` does."""
    for locator, content in copy.items():
        if service.dependencies.store.stat(locator) is None:
            put(service, locator, content)


@pytest.mark.attack
def test_bucket__lost_whole__is_all_there_again_from_a_copy_as_the_inspections_say(
    service: Service, tmp_path: Path
) -> None:
    deps, store = service.dependencies, service.dependencies.store
    works = [recorded(service, tmp_path, f"work {number}") for number in range(3)]
    copy = {info.locator: b"".join(store.read(info)) for info in store.list("")}
    late = recorded(service, tmp_path, "since the last night")
    everything = [*works, late]
    ids = {each.bounty_id for each in everything}
    walk(deps, Walk.OBJECTS)

    for info in list(store.list("")):
        store.delete(info.locator, generation=info.generation)
    assert ids <= walk(deps, Walk.OBJECTS)
    guardian = service.world.guardian(1).private_key
    for each in everything:
        assert (notices(each), lost_since(each) is None) == (["lost"], False)
        assert error_of(each.content(guardian))["code"] == "solver_submission_content_invalid"

    rotten = works[0].envelope.ciphertext.storage_locator
    bring_back(service, copy | {rotten: copy[rotten][:-1] + bytes([copy[rotten][-1] ^ 1])})
    inspect_kept(deps)  # the next run: nobody has to ask for each
    assert stored(works[0]) is None, "a copy need not be trusted"
    assert [notices(each)[1:] for each in everything] == [[], ["restored"], ["restored"], []]

    bring_back(service, copy)
    inspect_kept(deps)
    assert late.upload() == 200  # what no night had yet is for its Solver
    inspect_kept(deps)
    for name in (Walk.OBJECTS, Walk.BYTES):
        assert ids & walk(deps, name) == set()
    of_them = tuple(f"bounty {each}:" for each in ids)
    assert [line for line in list_defects(deps.engine) if line.startswith(of_them)] == []
    for each in everything:
        assert (notices(each), lost_since(each)) == (["lost", "restored"], None)
        content = each.content(guardian).json
        assert content is not None
        assert urllib3.request("GET", content["download_url"]).data == each.file.read_bytes()


@pytest.mark.attack
def test_work__found_lost_by_hashing_and_then_deleted__is_not_restored_by_that(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    replace_object(sealed)
    info = info_of(sealed)
    set_known(sealed, generation=info.generation, checksum=info.checksum)
    walk(deps, Walk.BYTES)
    assert notices(sealed) == ["lost"]

    def not_given(*_: object) -> None:
        raise ServiceError("storage_unavailable", "not now")

    for name, answer in (
        ("find_object", not_given),
        ("find_object", lambda *_: None),
        ("kept_envelope", lambda *_: None),
    ):
        with monkeypatch.context() as away:
            away.setattr(inspecting, name, answer)
            walk(deps, Walk.BYTES)
            look_again(deps)
    walk(deps, Walk.OBJECTS)  # which sees that it is there again, and no more
    assert notices(sealed) == ["lost"]
    lose(sealed)
    for name in (Walk.BYTES, Walk.OBJECTS, Walk.BYTES):
        walk(deps, name)
        assert notices(sealed) == ["lost"]


def test_work__found_lost_by_hashing_and_put_back__is_restored_also_where_a_reader_hashed_it_first(
    service: Service, tmp_path: Path
) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    replace_object(sealed)
    info = info_of(sealed)
    set_known(sealed, generation=info.generation, checksum=info.checksum)
    walk(deps, Walk.BYTES)
    lose(sealed)
    assert sealed.upload() == 200
    info = info_of(sealed)
    verify(deps, info, sealed.envelope.ciphertext, lambda: True)
    inspect_kept(deps)
    assert (notices(sealed), lost_since(sealed)) == (["lost", "restored"], None)


def test_bytes__of_a_day__are_bounded_and_the_walk_goes_on_where_it_was(service: Service, tmp_path: Path) -> None:
    for name in ("one", "two"):
        recorded(service, tmp_path, name)
    deps = replace(service.dependencies, config=replace(service.dependencies.config, inspected_bytes=1))

    def place() -> str:
        """How far the walk is after another run."""
        inspect_kept(deps)
        i = t.inspections.c
        with deps.engine.begin() as connection:
            return str(connection.execute(select(i.position).where(i.name == Walk.BYTES)).scalar_one())

    def next_day() -> None:
        with deps.engine.begin() as connection:
            connection.execute(update(t.inspections).values(day=func.current_date() - timedelta(days=1)))

    first = place()
    assert first
    assert place() == first  # however small the bound is, one object a day, and no other
    next_day()
    second = place()
    assert second > first or int(second.split()[0]) > int(first.split()[0])
    next_day()
    deps = replace(deps, config=replace(deps.config, inspected_bytes=0))
    assert place() == second


@pytest.mark.attack
def test_title__altered_in_the_list__is_the_pages_again_and_gone_where_the_page_is_altered(service: Service) -> None:
    word = secrets.token_hex(6)
    true, lost = (published(service, f"{name} {word}") for name in ("True", "Lost"))
    deps, s = service.dependencies, t.challenge_summaries
    commitments = {item["bounty_id"]: commitment_of(item) for item in found(service, "")}
    with deps.engine.begin() as connection:
        connection.execute(update(s).where(s.c.title.contains(word)).values(title=f"False {word}"))
        altered = t.challenge_pages.c.spec_commitment == commitments[str(lost)]
        connection.execute(update(t.challenge_pages).where(altered).values(content=b"another page"))
    assert {item["title"] for item in found(service, word)} == {f"False {word}"}
    assert walk(deps, Walk.TITLES) >= {lost}
    titles = {item["bounty_id"]: item["title"] for item in found(service, "")}
    assert (titles[str(true)], titles[str(lost)]) == (f"True {word}", None)
    assert true not in walk(deps, Walk.TITLES)


@pytest.mark.attack
@pytest.mark.parametrize("altered", [{"tags": ["fraud"]}, {"folded": "fraud"}, {"grams": [1]}])
def test_what_finds_a_page__altered_in_the_list__is_the_pages_again(
    service: Service, altered: dict[str, object]
) -> None:
    published(service, f"True {secrets.token_hex(6)}")
    deps, s = service.dependencies, t.challenge_summaries
    commitment = s.c.spec_commitment == commitment_of(found(service, "")[0])

    def shown() -> object:
        with deps.engine.connect() as connection:
            return connection.execute(select(s).where(commitment)).one()

    true = shown()
    with deps.engine.begin() as connection:
        connection.execute(update(s).where(commitment).values(**altered))
    assert shown() != true
    walk(deps, Walk.TITLES)
    assert shown() == true
    with capture_logs() as lines:
        walk(deps, Walk.TITLES)
    assert not [line for line in lines if line["event"] == "what lists show of a page was not the page's"]


@pytest.mark.attack
def test_page__whose_row_is_lost__is_found_until_it_is_put_back(service: Service) -> None:
    deps, never = service.dependencies, service.world.create()  # of this one no page was published
    lost = published(service, f"Lost {secrets.token_hex(6)}")
    assert {lost, never} & walk(deps, Walk.TITLES) == set()
    p = t.challenge_pages
    mine = p.c.spec_commitment == commitment_of(found(service, "")[0])
    with deps.engine.begin() as connection:
        page = connection.execute(select(p.c.content).where(mine)).scalar_one()
        connection.execute(delete(p).where(mine))
    assert {lost, never} & walk(deps, Walk.TITLES) == {lost}
    assert any(line.startswith(f"bounty {lost}: ") and "is gone" in line for line in list_defects(deps.engine))
    look_again(deps)
    assert lost in known_bounties(deps)
    assert put_back(deps.engine, page) == [f"the page of bounty {lost}"]
    look_again(deps)
    assert lost not in known_bounties(deps)
    assert lost not in walk(deps, Walk.TITLES)


def lose_envelope(sealed: Sealed) -> None:
    with sealed.service.dependencies.engine.begin() as connection:
        e = t.submission_envelopes
        mine = e.c.submission_commitment == sealed.envelope.commitment()
        assert connection.execute(delete(e).where(mine)).rowcount == 1


def has_lost_envelope(sealed: Sealed) -> bool:
    """Whether it is listed for the operator."""
    subject = f"bounty {sealed.bounty_id}: {sealed.envelope.commitment()}: the envelope that was stored here is gone"
    return any(line.startswith(subject) for line in list_defects(sealed.service.dependencies.engine))


@pytest.mark.attack
def test_envelope__whose_row_is_lost__is_found_until_it_is_put_back(service: Service, tmp_path: Path) -> None:
    deps, world = service.dependencies, service.world
    lost, whole = recorded(service, tmp_path, "lost"), recorded(service, tmp_path, "whole")
    never = world.create()  # whose Solver prepared nothing here
    world.submit(never, world.solver(1))
    world.finalize()
    ids = {lost.bounty_id, whole.bounty_id, never}
    assert ids & walk(deps, Walk.ENVELOPES) == set()
    lose_envelope(lost)
    assert ids & walk(deps, Walk.ENVELOPES) == {lost.bounty_id}
    assert has_lost_envelope(lost)
    assert (notices(lost), lost_since(lost)) == ([], None), "its bytes are in the storage"
    look_again(deps)
    assert lost.bounty_id in known_bounties(deps)
    put_back(deps.engine, lost.envelope.canonical_bytes())
    look_again(deps)
    assert lost.bounty_id not in known_bounties(deps)
    assert ids & walk(deps, Walk.ENVELOPES) == set()


def test_envelope__lost_of_a_submission_that_is_replaced__is_forgotten(service: Service, tmp_path: Path) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    walk(deps, Walk.ENVELOPES)
    lose_envelope(sealed)
    assert sealed.bounty_id in walk(deps, Walk.ENVELOPES)
    service.world.submit(sealed.bounty_id, sealed.solver)
    service.world.finalize()
    look_again(deps)
    assert not has_lost_envelope(sealed)
    assert sealed.bounty_id not in walk(deps, Walk.ENVELOPES)


def test_envelope__that_a_restored_dump_does_not_have__is_found_after_the_restore_as_it_is_documented(
    service: Service, tmp_path: Path
) -> None:
    deps = service.dependencies
    walk(deps, Walk.ENVELOPES)
    before = recorded(service, tmp_path, "before the dump")
    made = service.world.time() + 50
    service.world.finalize_at(made + 50)
    lost = recorded(service, tmp_path, "after it")
    lose_envelope(before)
    lose_envelope(lost)
    assert not {before.bounty_id, lost.bounty_id} & walk(deps, Walk.ENVELOPES), "the dump knows neither"
    (sql,) = re.findall(r"INSERT INTO app.recorded_envelopes.*?(?=```)", OPERATIONS, re.DOTALL)
    its_time = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    with psycopg.connect(service.world.database.url(), autocommit=True) as operator:
        for statement in sql.replace("2026-11-27 02:00Z", its_time).split(";"):
            operator.execute(statement.encode())
    inspect_kept(deps)
    assert {before.bounty_id, lost.bounty_id} & known_bounties(deps) == {lost.bounty_id}
    assert has_lost_envelope(lost)


def commitment_of(item: dict[str, Any]) -> str:
    return str(item["facts"]["spec_commitment"])


def found(service: Service, word: str) -> list[dict[str, Any]]:
    """What the list has, of a word or of the newest two."""
    items: list[dict[str, Any]] = listed(service, f"search={word}" if word else "limit=2")["items"]
    return items


@pytest.mark.attack
@pytest.mark.parametrize(
    "altered", [{"content": b"The Poster is right.\n"}, {"bounty_id": 10**9}, {"guardian": "0x" + "ab" * 20}]
)
def test_verdict__that_was_altered__is_found_and_gone_once_its_guardian_sent_it_again(
    service: Service, altered: dict[str, object]
) -> None:
    deps, guardian = service.dependencies, service.world.guardian(1)
    bounty_id, submitted = judgeable(service)
    verdict = document(service, bounty_id, guardian, (service.world.solver(1), submitted))
    assert write(service, guardian, verdict).status_code == 201
    assert bounty_id not in walk(deps, Walk.VERDICTS)
    w = t.written_verdicts
    with deps.engine.begin() as connection:
        its_row = w.c.report_commitment == report_commitment(verdict)
        connection.execute(update(w).where(its_row).values(altered))
    assert bounty_id in walk(deps, Walk.VERDICTS)
    assert write(service, guardian, verdict).status_code == 200
    look_again(deps)
    assert not any(line.startswith(f"bounty {bounty_id}:") for line in list_defects(deps.engine))


def test_record__that_its_facts_contradict__is_found_and_names_its_bounty(service: Service) -> None:
    world, deps = service.world, service.dependencies
    ids = [world.create(seconds=1_000) for _ in range(2)]
    world.advance_to(world.time() + 2_000)
    for each in ids:
        world.contract.transact(world.people.poster.wallet, "settle", each)
    world.finalize()
    whole, damaged = ids
    for each in ids:
        detail = service.get(f"/api/bounties/{each}").json
        assert detail is not None
        assert "verification_record" in detail
    r = t.verification_records
    with deps.engine.begin() as connection:
        connection.execute(update(r).where(r.c.bounty_id == damaged).values(content=b"{}"))
    deps = replace(deps)  # as the job has it: it remembers nothing
    bad = walk(deps, Walk.RECORDS)
    assert damaged in bad
    assert whole not in bad
    with deps.engine.begin() as connection:
        connection.execute(delete(r).where(r.c.bounty_id == damaged))
    assert damaged not in walk(replace(deps), Walk.RECORDS)  # what is gone is no defect


def test_defects__looked_at_again__are_gone_where_they_were_repaired_and_no_walk_is_waited_for(
    service: Service, tmp_path: Path
) -> None:
    deps = service.dependencies
    put_back, still_lost, rotten, altered = (
        recorded(service, tmp_path, name) for name in ("back", "lost", "rot", "altered")
    )
    content = altered.envelope.canonical_bytes()
    walk(deps, Walk.OBJECTS)
    lose(put_back)
    lose(still_lost)
    replace_object(rotten)
    alter_envelope(altered)
    walk(deps, Walk.OBJECTS)
    walk(deps, Walk.BYTES)
    everything = {each.bounty_id for each in (put_back, still_lost, rotten, altered)}
    assert known_bounties(deps) >= everything
    look_again(deps)
    assert known_bounties(deps) & everything == everything, "nothing was repaired yet"

    for each in (put_back, rotten):
        assert each.upload() == 200
    with deps.engine.begin() as connection:
        e = t.submission_envelopes
        mine = e.c.submission_commitment == altered.envelope.commitment()
        connection.execute(update(e).where(mine).values(content=content))
    assert look_again(deps) >= 4
    assert known_bounties(deps) & everything == {still_lost.bounty_id}
    assert (notices(put_back), lost_since(put_back)) == (["lost", "restored"], None)


def known_bounties(deps: Dependencies) -> set[int]:
    d = t.defects.c
    with deps.engine.connect() as connection:
        return set(connection.execute(select(d.bounty_id)).scalars())


def test_page_and_record__looked_at_again__are_gone_once_they_are_put_right(service: Service) -> None:
    deps, bounty = service.dependencies, published(service, f"Altered {secrets.token_hex(6)}")
    commitment = commitment_of({item["bounty_id"]: item for item in found(service, "")}[str(bounty)])
    p = t.challenge_pages
    with deps.engine.begin() as connection:
        content = connection.execute(select(p.c.content).where(p.c.spec_commitment == commitment)).scalar_one()
        connection.execute(update(p).where(p.c.spec_commitment == commitment).values(content=b"another page"))
    assert bounty in walk(deps, Walk.TITLES)
    look_again(deps)
    assert bounty in known_bounties(deps)
    with deps.engine.begin() as connection:
        connection.execute(update(p).where(p.c.spec_commitment == commitment).values(content=content))
    look_again(deps)
    assert bounty not in known_bounties(deps)


def test_bytes__looked_at_again_beyond_the_days_bound__stay_known(service: Service, tmp_path: Path) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    lose(sealed)
    walk(deps, Walk.BYTES)
    assert sealed.upload() == 200
    look_again(replace(deps, config=replace(deps.config, inspected_bytes=0)))
    assert sealed.bounty_id in known_bounties(deps)
    look_again(deps)
    assert sealed.bounty_id not in known_bounties(deps)


def test_lost_work__that_its_solver_replaced__is_forgotten_and_not_told_to_be_back(
    service: Service, tmp_path: Path
) -> None:
    deps, sealed = service.dependencies, recorded(service, tmp_path)
    lose(sealed)
    assert sealed.bounty_id in walk(deps, Walk.OBJECTS)
    note_known(deps.engine, Walk.BYTES, [found_lost(sealed)])
    service.world.submit(sealed.bounty_id, sealed.solver)
    service.world.finalize()
    look_again(deps)
    assert sealed.bounty_id not in known_bounties(deps)
    assert notices(sealed) == ["lost"], "its bytes are still gone"


def test_walk__that_was_interrupted_goes_on_and_one_that_ended_begins_again_a_day_later(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps = service.dependencies
    for name in ("First", "Second"):
        published(service, name)
    monkeypatch.setattr(inspecting, "AT_A_RUN", 1)
    walk(deps, Walk.TITLES)
    monkeypatch.setattr(inspecting, "AT_A_RUN", 10_000)
    with deps.engine.connect() as connection:
        pages = connection.execute(select(func.count()).select_from(t.challenge_pages)).scalar_one()
    assert inspect_kept(deps) == pages - 1
    assert inspect_kept(deps) == 0
    with deps.engine.begin() as connection:
        ended = update(t.inspections).where(t.inspections.c.name == Walk.TITLES)
        connection.execute(ended.values(ended_at=func.now() - timedelta(days=1)))
    assert inspect_kept(deps) == pages


@pytest.mark.attack
def test_walk__that_finds_more_lost_pages_than_a_run_looks_at__names_them_all_and_ends(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps, p = service.dependencies, t.challenge_pages
    walk(deps, Walk.TITLES)
    named = [published(service, f"Lost {secrets.token_hex(6)}") for _ in range(3)]
    walk(deps, Walk.TITLES)
    b = h.bounties.c
    with deps.engine.begin() as connection:
        commitments = connection.execute(select(b.spec_commitment).where(b.bounty_id.in_(named))).scalars().all()
        kept = connection.execute(select(p).where(p.c.spec_commitment.in_(commitments))).mappings().all()
        connection.execute(delete(p).where(p.c.spec_commitment.in_(commitments)))
        pages = connection.execute(select(func.count()).select_from(p)).scalar_one()
    monkeypatch.setattr(inspecting, "AT_A_RUN", 1)
    walk(deps, Walk.TITLES)
    for _ in range(pages + len(named)):
        inspect_kept(deps)
    assert known_bounties(deps) >= set(named)
    assert inspect_kept(deps) == 0, "the walk has ended"
    with deps.engine.begin() as connection:
        connection.execute(insert(p), [dict(row) for row in kept])
    monkeypatch.setattr(inspecting, "AT_A_RUN", 10_000)
    assert not set(named) & walk(deps, Walk.TITLES)


@pytest.mark.attack
def test_content__of_a_ciphertext_that_is_gone__is_the_interfaces_code_and_no_url_of_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = recorded(service, tmp_path)
    deps, guardian = service.dependencies, service.world.guardian(1).private_key
    monkeypatch.setattr(deps, "downloads", Recent(DOWNLOAD_LIFETIME_SECONDS / 4, 8, HandClock()))
    first = sealed.content(guardian).json
    with monkeypatch.context() as away:  # which shows nothing of the object
        away.setattr(deps, "store", Raising(ServiceError("storage_unavailable", "Away.")))
        assert sealed.content(guardian).json == first
    lose(sealed)
    refused = sealed.content(guardian)
    assert (refused.status_code, error_of(refused)["code"]) == (500, "solver_submission_content_invalid")
    put(service, sealed.envelope.ciphertext.storage_locator, sealed.file.read_bytes())  # another generation
    again = sealed.content(guardian).json
    assert again is not None
    assert urllib3.request("GET", again["download_url"]).data == sealed.file.read_bytes()
