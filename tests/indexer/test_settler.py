"""The settler: what it sends, once, and when it does nothing."""

from collections.abc import Callable
from functools import partial

import pytest
from local_stack.contract import Wallet
from local_stack.runtime import running
from local_stack.valkey import ValkeyServer
from redis import Redis
from service_common.chain.json_rpc import JsonRpc
from service_common.db.settler import settlements
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.types import Address, BountyId, ChainId
from service_indexer.due import read_due
from service_indexer.gas_wallet import Fees, make_gas_wallet
from service_indexer.settler import SETTLEMENTS, Settler
from sqlalchemy import select, text

from tests.scraping import rises_of, start, wait_until
from tests.world import World


def settler_of(world: World) -> Settler:
    wallet = make_gas_wallet(world.people.settler.wallet.private_key, world.chain_id, world.hub_address)
    return Settler(world.engine("service_indexer"), world.rpc, wallet)


def outcome(world: World, bounty_id: BountyId) -> tuple[int, int]:
    """Once the node has mined what it was sent: it answers before it does."""
    wait_until(lambda: world.rpc.call("txpool_status") == {"pending": "0x0", "queued": "0x0"})
    view = world.contract.call("getBounty", bounty_id)
    return int(view[13]), int(view[14])


def rows(world: World) -> list[int]:
    with world.engine("service_indexer").connect() as connection:
        return [row.bounty_id for row in connection.execute(select(settlements.c.bounty_id))]


def test_settler__with_bounties_whose_time_is_up__settles_exactly_those(world: World) -> None:
    empty, silent, open_still = world.create(seconds=100), world.create(seconds=100), world.create(seconds=90_000)
    world.submit(silent, world.solver(1))
    world.finalize()
    settler = settler_of(world)
    assert settler.settle_due(world.chain_id) == 0
    world.advance_to(world.time() + 101)
    world.finalize()
    assert settler.settle_due(world.chain_id) == 1
    assert outcome(world, empty) == (2, 2)
    assert outcome(world, silent) == (0, 0)
    world.advance_to(world.judging_deadline(silent))
    world.finalize()
    assert settler.settle_due(world.chain_id) == 1
    assert outcome(world, silent) == (2, 3)
    assert outcome(world, open_still) == (0, 0)
    world.index()
    assert settler.settle_due(world.chain_id) == 0
    assert rows(world) == []


def test_boundary__one_second_before_the_deadline__is_not_due(world: World) -> None:
    bounty_id = world.create(seconds=1_000)
    world.finalize()
    deadline = int(world.contract.call("getBounty", bounty_id)[3])
    for moment, due in ((deadline - 1, []), (deadline, [bounty_id])):
        world.advance_to(moment)
        world.index()
        with world.facts("service_indexer").open() as facts:
            assert read_due(facts.connection, facts.head) == due


def test_settler__restarted_before_its_transaction_was_mined__sends_the_same_bytes(world: World) -> None:
    bounty_id = world.create(seconds=100)
    world.finalize()
    world.advance_to(world.time() + 101)
    world.finalize()
    world.rpc.call("evm_setAutomine", False)
    first, second = settler_of(world), settler_of(world)
    assert first.settle_due(world.chain_id) == 1
    with world.engine("service_indexer").connect() as connection:
        sent = connection.execute(select(settlements)).one()
    assert second.settle_due(world.chain_id) == 0
    pool = world.rpc.call("txpool_content")
    assert isinstance(pool, dict)
    assert sum(len(nonces) for nonces in pool["pending"].values()) == 1
    with world.engine("service_indexer").begin() as connection:
        connection.execute(text("UPDATE settler.settlements SET sent_at = now() - interval '1 hour'"))
    assert second.settle_due(world.chain_id) == 1
    with world.engine("service_indexer").connect() as connection:
        replaced = connection.execute(select(settlements)).one()
    assert replaced.nonce == sent.nonce
    assert replaced.max_fee_per_gas > sent.max_fee_per_gas
    world.rpc.call("evm_setAutomine", True)
    world.node.mine(1)
    assert outcome(world, bounty_id) == (2, 2)


def test_settler__that_somebody_was_faster_than__sends_nothing(world: World) -> None:
    bounty_id = world.create(seconds=100)
    world.finalize()
    world.advance_to(world.time() + 101)
    world.finalize()
    stranger = Wallet()
    world.node.fund(stranger.address)
    world.contract.transact(stranger, "settle", bounty_id)
    assert settler_of(world).settle_due(world.chain_id) == 0


def test_settler__without_ether__keeps_its_row_and_harms_nothing(world: World) -> None:
    world.create(seconds=100)
    world.finalize()
    world.advance_to(world.time() + 101)
    world.finalize()
    poor = make_gas_wallet(Wallet().private_key, world.chain_id, world.hub_address)
    settler = Settler(world.engine("service_indexer"), JsonRpc([world.node.url]), poor)
    before = events()
    assert settler.settle_due(world.chain_id) == 0
    world.node.fund(poor.address)
    assert settler.settle_due(world.chain_id) == 1
    assert {event: n - before[event] for event, n in events().items() if n > before[event]} == {
        "not_accepted": 1,
        "sent_again": 1,
    }


def test_settlements__by_the_running_settler__are_counted_by_what_became_of_them(
    world: World, redis: Redis, valkey_server: ValkeyServer
) -> None:
    variables = {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_BLOCK_TIME_SECONDS": "2",
        "SERVICE_RPC_URLS": world.node.url,
        "SERVICE_DATABASE_URL": world.database.url("service_indexer"),
        "SERVICE_REDIS_URL": valkey_server.url(),
        "SERVICE_SETTLER_PRIVATE_KEY": world.people.settler.wallet.private_key,
    }
    bounty_id, faster = world.create(seconds=100), world.create(seconds=100)
    world.advance_to(world.time() + 101)
    world.finalize()
    world.contract.transact(world.solver(1), "settle", faster)  # not indexed yet: the settler tries it, too
    with running() as runtime:
        settler = start(runtime, "settler", variables, "service-indexer", "settler")
        rises = rises_of(settler.metrics, "service_settlements_total", "event")
        for expected in ({"sent": 1, "refused": 1}, {"sent": 1, "refused": 1, "confirmed": 1}):
            open_queue(QueueName.SETTLE, redis).enqueue("service_indexer.settling.settle", message())
            wait_until(partial(_is, expected, rises))
            world.finalize()
        assert settler.metrics().value("service_job_seconds_count", queue="settle") == 2
    assert outcome(world, bounty_id) == (2, 2)


def _is(expected: object, found: Callable[[], object]) -> bool:
    return found() == expected


def events() -> dict[str, float]:
    """What this process has counted of each event."""
    samples = next(iter(SETTLEMENTS.collect())).samples
    return {each.labels["event"]: each.value for each in samples if each.name.endswith("_total")}


def test_fees__raised__stay_valid_and_grow_by_an_eighth() -> None:
    raised = Fees(1_000, 1_000).raised()
    assert (raised.max_fee, raised.tip) == (1_126, 1_126)
    with pytest.raises(ValueError, match="tip"):
        Fees(1, 2)


@pytest.mark.parametrize("text", ["", "0x12", "zz" * 32, "0x" + "00" * 32, "0x" + "ff" * 32])
def test_gas_key__that_is_none__is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="not a private key") as caught:
        make_gas_wallet(text, ChainId(31337), Address("0x" + "22" * 20))
    assert not text or text not in str(caught.value)
