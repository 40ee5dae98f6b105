"""The VerificationRecord of the detail: derived once, kept as it is, never beside its error."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from bounty_protocol.domain.envelope.canonical_json import canonical_bytes
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId, UnixSeconds
from local_stack import anvil
from service_api import jobs
from service_api.bounties.show_bounty import show_bounty
from service_api.bounties.verification_records import Records
from service_api.resources import Resources
from service_common.db import app as t
from service_common.db import hub_index
from service_common.db.hub_facts import FactSource
from service_common.jobs import message
from service_indexer.follower import Halted
from sqlalchemy import delete, insert, select, update

from tests.api.conftest import Service
from tests.servers import DatabaseServer
from tests.world import ChainClock, World, make_world


@dataclass(frozen=True, slots=True)
class Late:
    """A clock that is far ahead of the chain."""

    inner: ChainClock

    def now(self) -> UnixSeconds:
        return UnixSeconds(self.inner.now() + 3_600)

    def monotonic(self) -> float:
        return self.inner.monotonic()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("no test waits")


@pytest.fixture(scope="module")
def world(service: Service) -> Iterator[World]:
    """A chain whose facts these tests change and put back."""
    with chain_beside(service) as made:
        yield made


@pytest.fixture
def doomed(service: Service) -> Iterator[World]:
    """A chain that the test breaks."""
    with chain_beside(service) as made:
        yield made


@contextmanager
def chain_beside(service: Service) -> Iterator[World]:
    """Another chain and its index, on the same database server."""
    database = DatabaseServer(service.world.database.server, service.world.database.passwords).new()
    with anvil.start(mining="automine") as node, make_world(node, database) as made:
        yield made
    database.close()


def detail(world: World, bounty_id: BountyId, *, late: bool = False) -> dict[str, object]:
    """The body of the public read."""
    engine, clock = world.engine("service_api"), ChainClock(world.rpc)
    source = FactSource(engine, world.chain_id, world.hub_address, Late(clock) if late else clock)
    found = to_json(show_bounty(Records(source), bounty_id)[1])
    assert len({"verification_record", "verification_record_error"} & set(found)) <= 1
    return found


def error(found: dict[str, object]) -> object:
    """The reason beside facts that are there all the same."""
    assert found["facts"]
    reason = found["verification_record_error"]
    assert isinstance(reason, dict)
    return reason["code"]


def awarded(world: World) -> BountyId:
    """An award whose block is not final yet."""
    bounty_id = world.fund()
    commitment = world.submit(bounty_id, world.solver(1))
    world.decide(bounty_id, world.solver(1), commitment)
    world.index()
    return bounty_id


def kept(world: World, bounty_id: BountyId) -> list[tuple[bytes, str]]:
    c = t.verification_records.c
    with world.engine("service_api").connect() as connection:
        rows = connection.execute(select(c.content, c.block_hash).where(c.bounty_id == bounty_id)).all()
    return [(bytes(row.content), row.block_hash) for row in rows]


@pytest.fixture
def job(world: World, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's jobs with this world's database."""

    @contextmanager
    def resources() -> Iterator[Resources]:
        engine = world.engine("service_api")
        chain = replace(service.resources.config.chain, hub_address=world.hub_address)
        config = replace(service.resources.config, chain=chain)
        yield replace(service.resources, engine=engine, config=config, clock=ChainClock(world.rpc))

    monkeypatch.setattr(jobs, "_resources", resources)


def test_record_is_kept_once_its_blocks_are_final(world: World, job: None) -> None:
    bounty_id = awarded(world)
    blocks = {"first_block": world.head().block_number, "last_block": world.head().block_number}
    assert jobs.keep_final(message(**blocks)) == 0, "not final yet, whatever a message says"
    world.finalize()
    earlier = {name: number - 2 for name, number in blocks.items()}
    assert jobs.keep_final(message(**earlier)) == 0
    assert kept(world, bounty_id) == []
    assert jobs.keep_final(message(**blocks)) == 1
    assert jobs.keep_final(message(**blocks)) == 0
    ((content, _),) = kept(world, bounty_id)
    assert content == canonical_bytes(detail(world, bounty_id)["verification_record"])


def test_record_without_a_message_is_kept_in_time(world: World, job: None) -> None:
    bounty_id = awarded(world)
    world.finalize()
    assert jobs.keep_endings(message()) >= 1
    assert len(kept(world, bounty_id)) == 1


@pytest.mark.parametrize("blocks", [{}, {"first_block": "x", "last_block": 1}])
def test_message_without_blocks_is_refused(blocks: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError)):
        jobs.keep_final(message(**blocks))


@pytest.mark.spec(47, 79)
def test_record_is_the_same_bytes_once_final(world: World) -> None:
    bounty_id = awarded(world)
    assert error(detail(world, bounty_id)) == "not_finalized"
    assert error(detail(world, bounty_id, late=True)) == "index_behind"
    assert kept(world, bounty_id) == []
    world.finalize()
    first = detail(world, bounty_id)["verification_record"]
    ((content, _),) = kept(world, bounty_id)
    assert content == canonical_bytes(first)
    world.contract.transact(world.solver(1), "claim", bounty_id, b"", b"")
    world.contract.transact(world.guardian(1), "claimGuardianFee", bounty_id)
    world.finalize()
    assert detail(world, bounty_id)["verification_record"] == first
    assert kept(world, bounty_id)[0][0] == content


def test_record_of_facts_that_do_not_agree(world: World) -> None:
    bounty_id = awarded(world)
    world.finalize()
    for change in (
        delete(hub_index.verdicts).where(hub_index.verdicts.c.log_index == 0),
        update(hub_index.verdicts).values(kind=2),
        update(hub_index.finalizations).values(reason=4),
        update(hub_index.finalizations).values(reason=3),
        update(hub_index.finalizations).values(award=hub_index.finalizations.c.award - 1),
        update(hub_index.finalizations).values(guardian_fee_count=3),
        update(hub_index.bounties).values(guardian_fee=0),
        update(hub_index.rosters).values(quorum=3),
    ):
        with world.engine("service_indexer").begin() as connection:
            rows = [dict(row) for row in connection.execute(select(change.table)).mappings()]
            connection.execute(change)
        assert error(detail(world, bounty_id)) == "derivation_failed", str(change)
        assert kept(world, bounty_id) == []
        with world.engine("service_indexer").begin() as connection:
            connection.execute(delete(change.table))
            connection.execute(insert(change.table), rows)
    assert "verification_record" in detail(world, bounty_id)


@pytest.mark.spec(48, 115)
def test_record_kept_but_damaged(world: World) -> None:
    bounty_id = awarded(world)
    world.finalize()
    detail(world, bounty_id)
    for content in (b"", b"7", b"\xff", b"{"):
        with world.engine("service_api").begin() as connection:
            connection.execute(update(t.verification_records).values(content=content))
        assert error(detail(world, bounty_id)) == "derivation_failed"


@pytest.mark.spec(22)
def test_record_of_a_gone_block_is_derived_anew(doomed: World) -> None:
    world, bounty_id = doomed, awarded(doomed)
    world.finalize()
    detail(world, bounty_id)
    before = kept(world, bounty_id)
    world.node.mine(2)
    world.index()
    world.rpc.call("anvil_reorg", 6, [])
    world.node.mine(3)
    with pytest.raises(Halted):
        world.index()
    with pytest.raises(ServiceError) as refused:  # nothing is said of any bounty until the copy is rebuilt
        detail(world, bounty_id)
    assert refused.value.code == "bounty_projection_unavailable"
    assert kept(world, bounty_id) == before
    stale, other = b'{"version": 1}', "0x" + "11" * 32
    with world.engine("service_api").begin() as connection:
        connection.execute(update(t.verification_records).values(content=stale))
    with world.engine("service_indexer").begin() as connection:  # as a rebuild over the other chain would leave it
        connection.execute(update(hub_index.head).values(halted=None))
        connection.execute(update(hub_index.finalizations).values(block_hash=other, reason=3))
    assert error(detail(world, bounty_id)) == "derivation_failed"  # it contradicts itself
    assert kept(world, bounty_id) == [(stale, before[0][1])]
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(hub_index.finalizations).values(reason=1))
    served = detail(world, bounty_id)["verification_record"]
    assert kept(world, bounty_id) == [(canonical_bytes(served), other)]
    assert served != json.loads(stale)
    assert detail(world, bounty_id)["verification_record"] == served
