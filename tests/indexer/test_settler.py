"""The settler: what it sends, once, and when it does nothing."""

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import urllib3
from bounty_protocol.auth.signature import parse_private_key
from bounty_protocol.chain.gas import MAX_FEE_WEI, MAX_TIP_WEI
from bounty_protocol.chain.rpc import LIMIT_WAITS, ChainUnavailable, Rpc
from bounty_protocol.types import Address, BountyId
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes
from local_stack.contract import Wallet
from local_stack.runtime import running
from local_stack.valkey import ValkeyServer
from redis import Redis
from service_common.jobs import QueueName, message, open_queue
from service_common.timeouts import Figures
from service_indexer import settler as settler_module
from service_indexer.deadlines import has_work, read_due
from service_indexer.settler import (
    FAILED_AFTER,
    MAX_ATTEMPTS,
    RESTED_AFTER,
    SETTLE_GAS,
    SETTLEMENTS,
    STUCK_AFTER,
    Settler,
    make_settler,
    settler_figures,
)
from service_indexer.settler_tables import settlements
from sqlalchemy import select, text, update

from tests.cli.servers import RpcProxy
from tests.providers import provider_before
from tests.scraping import rises_of, start
from tests.waiting import wait_until
from tests.world import World


@pytest.fixture
def endpoint(world: World) -> Iterator[RpcProxy]:
    with RpcProxy(world.node.url) as one:
        yield one


def settler_of(world: World) -> Settler:
    return settler_with(world, world.people.settler.wallet)


def settler_with(world: World, wallet: Wallet, *urls: str, hub: Address | None = None) -> Settler:
    engine, key = world.engine("service_indexer"), parse_private_key(wallet.private_key)
    rpc = Rpc(urls or [world.node.url], patient=True)
    return make_settler(engine, rpc, key, world.chain_id, hub or world.hub_address)


def outcome(world: World, bounty_id: BountyId) -> tuple[int, int]:
    """Once the node has mined what it was sent: it answers before it does."""
    wait_until(lambda: world.rpc.call("txpool_status") == {"pending": "0x0", "queued": "0x0"})
    view = world.contract.call("getBounty", bounty_id)
    return int(view[13]), int(view[14])


def rows(world: World) -> list[int]:
    with world.engine("service_indexer").connect() as connection:
        return [row.bounty_id for row in connection.execute(select(settlements.c.bounty_id))]


def test_work_is_what_is_due_and_what_was_sent(world: World) -> None:
    engine, settler = world.engine("service_indexer"), settler_of(world)
    world.fund(seconds=90_000)
    bounty_id = world.fund(seconds=100)
    world.finalize()
    assert not has_work(engine, world.chain_id)
    world.advance_to(world.time() + 101)
    world.finalize()
    assert has_work(engine, world.chain_id)
    assert settler.settle_due() == 1
    assert outcome(world, bounty_id) == (2, 2)
    world.index()
    assert has_work(engine, world.chain_id), "the ending is not final: the row is kept"
    world.finalize()
    assert has_work(engine, world.chain_id), "the row is to be forgotten"
    assert settler.settle_due() == 0
    assert not has_work(engine, world.chain_id)
    due(world)
    with engine.begin() as connection:
        connection.execute(text("UPDATE hub_index.head SET halted = 'for a test'"))
    assert not has_work(engine, world.chain_id)


def test_settler_settles_what_is_up_and_no_other(world: World) -> None:
    empty, silent, open_still = world.fund(seconds=100), world.fund(seconds=100), world.fund(seconds=90_000)
    world.submit(silent, world.solver(1))
    world.finalize()
    settler = settler_of(world)
    assert settler.settle_due() == 0
    world.advance_to(world.time() + 101)
    world.finalize()
    assert settler.settle_due() == 1
    assert outcome(world, empty) == (2, 2)
    assert outcome(world, silent) == (0, 0)
    world.advance_to(world.judging_deadline(silent))
    world.finalize()
    assert settler.settle_due() == 1
    assert outcome(world, silent) == (2, 3)
    assert outcome(world, open_still) == (0, 0)
    world.index()
    assert settler.settle_due() == 0
    assert rows(world) == [silent]  # a reorg may still take its ending out
    world.finalize()
    assert settler.settle_due() == 0
    assert rows(world) == []


def test_every_field_of_a_settlement_is_set_here(world: World, endpoint: RpcProxy) -> None:
    asked: set[str] = set()
    endpoint.before = lambda method, _params: asked.add(method)
    due(world)
    assert settler_with(world, world.people.settler.wallet, endpoint.url).settle_due() == 1
    of_fees = {"eth_maxPriorityFeePerGas", "eth_feeHistory"}
    assert asked == {"eth_call", "eth_getTransactionCount", "eth_sendRawTransaction", *of_fees}


def test_database_of_another_hub_spends_nothing(world: World) -> None:
    due(world)
    other = settler_with(world, world.people.settler.wallet, hub=Address("0x" + "cd" * 20))
    assert (other.settle_due(), rows(world)) == (0, [])
    assert settler_of(world).settle_due() == 1


def test_second_before_the_deadline_is_not_due(world: World) -> None:
    bounty_id = world.fund(seconds=1_000)
    world.finalize()
    deadline = int(world.contract.call("getBounty", bounty_id)[3])
    for moment, due in ((deadline - 1, []), (deadline, [bounty_id])):
        world.advance_to(moment)
        world.index()
        with world.facts("service_indexer").open() as facts:
            assert read_due(facts.connection, facts.head) == due


def test_restarted_settler_sends_the_same_bytes(world: World) -> None:
    bounty_id = world.fund(seconds=100)
    world.finalize()
    world.advance_to(world.time() + 101)
    world.finalize()
    world.rpc.call("evm_setAutomine", False)
    first, second = settler_of(world), settler_of(world)
    assert first.settle_due() == 1
    with world.engine("service_indexer").connect() as connection:
        sent = connection.execute(select(settlements)).one()
    assert second.settle_due() == 0
    pool = world.rpc.call("txpool_content")
    assert isinstance(pool, dict)
    assert sum(len(nonces) for nonces in pool["pending"].values()) == 1
    with world.engine("service_indexer").begin() as connection:
        connection.execute(text("UPDATE settler.settlements SET sent_at = now() - interval '1 hour'"))
    assert second.settle_due() == 1
    with world.engine("service_indexer").connect() as connection:
        replaced = connection.execute(select(settlements)).one()
    assert replaced.nonce == sent.nonce
    assert replaced.max_fee > sent.max_fee
    world.rpc.call("evm_setAutomine", True)
    world.node.mine(1)
    assert outcome(world, bounty_id) == (2, 2)


def test_settler_without_ether_keeps_its_row(world: World) -> None:
    world.fund(seconds=100)
    world.finalize()
    world.advance_to(world.time() + 101)
    world.finalize()
    poor = Wallet()
    settler = settler_with(world, poor)
    before = events()
    assert settler.settle_due() == 0
    world.node.fund(poor.address)
    assert settler.settle_due() == 1
    assert {event: n - before[event] for event, n in events().items() if n > before[event]} == {
        "not_accepted": 1,
        "sent_again": 1,
    }


def test_settler_signs_at_the_fees_of_the_day(world: World, endpoint: RpcProxy) -> None:
    bounty_id, poor = due(world), Wallet()
    history = {"oldestBlock": "0x1", "baseFeePerGas": [hex(10**11)], "gasUsedRatio": [], "reward": [["0x1"]]}
    endpoint.after = lambda asked, _params, result: history if asked == "eth_feeHistory" else result
    settler = settler_with(world, poor, endpoint.url)
    for _ in range(MAX_ATTEMPTS + 1):
        assert settler.settle_due() == 0
        let_it_be_stuck(world)
    assert [attempts for *_, attempts in signed(world)] == [0]
    endpoint.after = lambda _asked, _params, result: result
    world.rpc.call("anvil_setBalance", poor.address, hex(SETTLE_GAS * 10**10))
    assert settler.settle_due() == 1
    assert outcome(world, bounty_id) == (2, 2)


def test_new_key_signs_what_the_former_could_not_pay(world: World) -> None:
    bounties = [due(world), due(world)]
    assert settler_with(world, Wallet()).settle_due() == 0  # cannot pay
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(settlements).values(attempts=MAX_ATTEMPTS))
    new = Wallet()
    world.node.fund(new.address)
    assert settler_with(world, new).settle_due() == 2
    assert [outcome(world, each) for each in bounties] == [(2, 2), (2, 2)]
    assert [(nonce, attempts) for nonce, _, attempts in signed(world)] == [(0, 1), (1, 1)]


def test_needless_first_nonce_is_used(world: World) -> None:
    first, second = due(world), due(world)
    poor = Wallet()
    settler = settler_with(world, poor)
    assert settler.settle_due() == 0  # neither reaches the chain
    stranger = Wallet()
    for wallet in (poor, stranger):
        world.node.fund(wallet.address)
    world.contract.transact(stranger, "settle", first)
    world.finalize()
    settler.settle_due()
    assert outcome(world, second) == (2, 2)
    world.finalize()
    settler.settle_due()
    assert rows(world) == []


def test_only_row_is_forgotten_without_its_nonce(world: World) -> None:
    only = due(world)
    poor, stranger = Wallet(), Wallet()
    settler = settler_with(world, poor)
    assert settler.settle_due() == 0
    for wallet in (poor, stranger):
        world.node.fund(wallet.address)
    world.contract.transact(stranger, "settle", only)
    world.finalize()
    assert settler.settle_due() == 0
    assert rows(world) == []
    assert world.rpc.call("eth_getTransactionCount", poor.address, "latest") == "0x0"


def test_running_settler_counts_what_became_of_each(world: World, redis: Redis, valkey_server: ValkeyServer) -> None:
    variables = {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_RPC_URLS": world.node.url,
        "SERVICE_DATABASE_URL": world.database.url("service_indexer"),
        "SERVICE_REDIS_URL": valkey_server.url(),
        "SERVICE_SETTLER_PRIVATE_KEY": world.people.settler.wallet.private_key,
    }
    bounty_id, faster = world.fund(seconds=100), world.fund(seconds=100)
    world.advance_to(world.time() + 101)
    world.finalize()
    world.contract.transact(world.solver(1), "settle", faster)  # not indexed yet: the settler tries it, too
    redis.set("rests:service-indexer-settling-settle", 1)  # the worker begins no job of its own
    with running() as runtime:
        settler = start(runtime, "settler", variables, "service-indexer", "settler")
        rises = rises_of(settler.metrics, "service_settlements_total", "event")
        for expected in ({"sent": 1, "refused": 1}, {"sent": 1, "refused": 1, "confirmed": 1}):
            open_queue(QueueName.SETTLE, redis).enqueue("service_indexer.settling.settle", message())
            wait_until(partial(_is, expected, rises))
            world.finalize()
        assert settler.metrics().value("service_job_seconds_count", queue="settle") == 2
        assert world.people.settler.wallet.address.lower() in settler.child.log_path.read_text()
    assert outcome(world, bounty_id) == (2, 2)


def _is(expected: object, found: Callable[[], object]) -> bool:
    return found() == expected


def events() -> dict[str, float]:
    """What this process has counted of each event."""
    samples = next(iter(SETTLEMENTS.collect())).samples
    return {each.labels["event"]: each.value for each in samples if each.name.endswith("_total")}


def due(world: World) -> BountyId:
    """A bounty whose time is up."""
    bounty_id = world.fund(seconds=100)
    world.advance_to(world.time() + 101)
    world.finalize()
    return bounty_id


def test_invented_fees_are_paid_up_to_the_bound(world: World, endpoint: RpcProxy) -> None:
    due(world)
    history = {"oldestBlock": "0x1", "baseFeePerGas": [hex(10**30)], "gasUsedRatio": [], "reward": [[hex(10**30)]]}
    lies: dict[str, object] = {"eth_maxPriorityFeePerGas": hex(10**30), "eth_feeHistory": history}
    endpoint.after = lambda asked, _params, result: lies.get(asked, result)
    poor = Wallet()  # cannot pay, so the row stays
    assert settler_with(world, poor, endpoint.url).settle_due() == 0
    with world.engine("service_indexer").connect() as connection:
        row = connection.execute(select(settlements)).one()
    signed = TypedTransaction.from_bytes(HexBytes(row.raw_transaction)).as_dict()
    assert signed["gas"] == SETTLE_GAS <= 2 * 35_000
    assert signed["maxPriorityFeePerGas"] <= MAX_TIP_WEI
    assert int(row.max_fee) == signed["maxFeePerGas"] <= MAX_FEE_WEI


def test_settlement_that_one_endpoint_drops_is_mined(world: World, endpoint: RpcProxy) -> None:
    bounty_id, wallet = due(world), world.people.settler.wallet
    taken: dict[str, object] = {"result": "0x" + "ab" * 32}
    endpoint.before = lambda asked, _params: taken if asked == "eth_sendRawTransaction" else None
    assert settler_with(world, wallet, endpoint.url, world.node.url).settle_due() == 1
    assert "eth_sendRawTransaction" in endpoint.calls
    assert outcome(world, bounty_id) == (2, 2)


def test_settler_beside_a_hanging_endpoint_settles(world: World, endpoint: RpcProxy) -> None:
    bounty_id, wallet, node = due(world), world.people.settler.wallet, world.node.url
    endpoint.before = lambda *_: time.sleep(60.0)
    rpc = Rpc([endpoint.url, node], timeout=urllib3.Timeout(0.5), answer_seconds=0.5, patient=True)
    key = parse_private_key(wallet.private_key)
    settler = make_settler(world.engine("service_indexer"), rpc, key, world.chain_id, world.hub_address)
    assert settler.settle_due() == 1
    assert outcome(world, bounty_id) == (2, 2)


def test_failed_settlement_is_sent_anew_in_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bounty_id, settler, before = due(world), settler_of(world), events()["failed"]
    with monkeypatch.context() as patch:
        patch.setattr(settler_module, "SETTLE_GAS", 24_000)  # too little
        patch.setattr(Settler, "_would_succeed", lambda *_: True)
        assert settler.settle_due() == 1
    assert outcome(world, bounty_id) == (0, 0)
    assert (settler.settle_due(), rows(world)) == (0, [bounty_id])  # not each few seconds
    with world.engine("service_indexer").begin() as connection:
        connection.execute(text("UPDATE settler.settlements SET sent_at = now() - interval '1 hour'"))
    world.finalize()
    attempts = update(settlements).values(attempts=MAX_ATTEMPTS)
    with world.engine("service_indexer").begin() as connection:
        connection.execute(attempts)
    assert settler.settle_due() == 0, "each that fails in a block is paid for"
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(settlements).values(sent_at=settlements.c.sent_at - FAILED_AFTER))
    assert (settler.settle_due(), rows(world), events()["failed"]) == (1, [bounty_id], before + 1)
    assert outcome(world, bounty_id) == (2, 2)


def test_settlement_after_an_outage_is_replaced_hourly(world: World, endpoint: RpcProxy) -> None:
    """Nodes refused each for ten minutes, the fees rose above the last one's: it was sent for ever as it was."""
    bounty_id, settler = due(world), settler_with(world, Wallet(), endpoint.url)
    endpoint.refuse_transactions()
    for _ in range(MAX_ATTEMPTS + 3):
        assert settler.settle_due() == 0
        let_it_be_stuck(world)
    ((_, last, attempts),) = signed(world)
    assert attempts == MAX_ATTEMPTS
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(settlements).values(sent_at=settlements.c.sent_at - RESTED_AFTER))
    assert settler.settle_due() == 0
    ((_, raised, attempts),) = signed(world)
    assert (raised != last, attempts) == (True, MAX_ATTEMPTS + 1)
    assert settler.settle_due() == 0
    assert [raw for _, raw, _ in signed(world)] == [raised], "one an hour"
    world.rpc.call("anvil_setBalance", settler.account, hex(10**18))
    endpoint.honest()
    assert settler.settle_due() == 1
    assert outcome(world, bounty_id) == (2, 2)


def test_row_above_a_free_nonce_is_signed_under_it(world: World, endpoint: RpcProxy) -> None:
    bounty_id, wallet = due(world), world.people.settler.wallet
    endpoint.after = lambda asked, _params, result: hex(1_000) if asked == "eth_getTransactionCount" else result
    settler = settler_with(world, wallet, endpoint.url)
    settler.settle_due()
    assert [nonce for nonce, *_ in signed(world)] == [1_000]
    endpoint.after = lambda _asked, _params, result: result
    let_it_be_stuck(world)
    assert settler.settle_due() == 1
    assert [nonce for nonce, *_ in signed(world)] != [1_000]
    wait_until(lambda: int(world.contract.call("getBounty", bounty_id)[13]) == 2)


def let_it_be_stuck(world: World) -> None:
    """What was sent was sent long ago."""
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(settlements).values(sent_at=settlements.c.sent_at - 2 * STUCK_AFTER))


def signed(world: World) -> list[tuple[int, str, int]]:
    """The nonce, the bytes and the attempts of each row."""
    c = settlements.c
    with world.engine("service_indexer").connect() as connection:
        rows = connection.execute(select(c.nonce, c.raw_transaction, c.attempts))
        return [(row.nonce, row.raw_transaction, row.attempts) for row in rows]


NONSENSE: list[tuple[str, object]] = [
    ("eth_getTransactionCount", None),
    ("eth_getTransactionCount", "many"),
    ("eth_maxPriorityFeePerGas", "0x"),
    ("eth_maxPriorityFeePerGas", -1),
    ("eth_feeHistory", {}),
    ("eth_feeHistory", None),
]


@pytest.mark.parametrize(("method", "answer"), NONSENSE)
def test_nonsense_has_nothing_signed(world: World, endpoint: RpcProxy, method: str, answer: object) -> None:
    due(world)
    endpoint.after = lambda asked, _params, result: answer if asked == method else result
    with pytest.raises(ChainUnavailable):
        settler_with(world, world.people.settler.wallet, endpoint.url).settle_due()
    assert rows(world) == []


def test_limited_requests_are_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[float]()
    wallet, bounty_id = world.people.settler.wallet, due(world)
    monkeypatch.setattr(time, "sleep", waited.append)
    with provider_before(world.node.url) as twin:
        twin.refuse_each(1, by_status=False)
        before = events()
        with pytest.raises(ChainUnavailable, match="rate limit reached, try again in a minute"):
            settler_with(world, wallet, twin.url).settle_due()
        assert (events(), rows(world), waited) == (before, [], list(LIMIT_WAITS))
    with provider_before(world.node.url) as twin:
        twin.refuse_each(2, by_status=False)
        assert settler_with(world, wallet, twin.url).settle_due() == 1
    monkeypatch.undo()
    assert outcome(world, bounty_id) == (2, 2)


def test_gas_of_the_key_is_counted_in_settlements(world: World) -> None:
    wallet = Wallet()
    rpc = Rpc([world.node.url])

    def affordable() -> float:
        (family,) = settler_figures(rpc, Address(wallet.address))
        return family.samples[0].value

    assert affordable() == 0
    price = int(str(world.rpc.call("eth_gasPrice")), 16)
    world.rpc.call("anvil_setBalance", wallet.address, hex(7 * SETTLE_GAS * price))
    assert affordable() == 7


def test_gas_is_not_shown_while_no_node_answers() -> None:
    rpc = Rpc(["http://127.0.0.1:9"])
    assert list(Figures(lambda: settler_figures(rpc, Address("0x" + "11" * 20))).collect()) == []
