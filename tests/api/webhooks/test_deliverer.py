"""The worker over a real index and real receivers: what is sent, in which order, how often, and when no more."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Address, TokenAmount, UnixSeconds
from bounty_protocol.wire.bounties import BountyFilter
from bounty_protocol.wire.values import ChangeNumber
from prometheus_client import CollectorRegistry
from service_api.changes import read_changes
from service_api.usecases.defects import Looked, Walk, note
from service_api.usecases.webhooks import FORMER_SECRETS
from service_api.webhooks.deliveries import BACKOFF, CHALLENGES, admit_new, list_hearing, pass_over
from service_api.webhooks.lanes import NEW, OTHERS, PROVEN, Lanes
from service_api.webhooks.messages import MAX_FACTS
from service_api.webhooks.metrics import WebhookCollector
from service_api.webhooks.receivers import ReceiverRules
from service_api.webhooks.secrets import make_secret, seal, secret_text
from service_api.webhooks.sending import Sender
from service_api.webhooks.subjects import Subject, concerned_by
from service_api.webhooks.tables import deliveries, progress, subscriptions
from service_api.webhooks.worker import Deliverer, IndexOfAnotherHub
from service_indexer.replay import rebuild_copy
from sqlalchemy import Engine, delete, event, func, select, text, update
from standardwebhooks import Webhook, WebhookVerificationError

from tests.api.conftest import WEBHOOK_KEY, Service, running_service
from tests.api.test_list import created, published
from tests.api.webhooks.receiving import Got, Receiving, echo, receiving
from tests.api.webhooks.test_registration import Subscriber
from tests.indexer.test_replay import config_of
from tests.world import World

LOCAL = ReceiverRules(loopback=True)
OTHER = {"other": "0x" + "0f" * 32}
HOUR, DAY = 3_600, 86_400


class ShiftedClock:
    """Now, and a while that a test lets pass; ``monotonic`` leaps, so that each look is one, unless it stands."""

    def __init__(self) -> None:
        self.passed, self.ticks, self.leap = 0, 0.0, 10.0

    def now(self) -> UnixSeconds:
        return UnixSeconds(int(time.time()) + self.passed)

    def monotonic(self) -> float:
        self.ticks += self.leap
        return self.ticks

    def sleep(self, seconds: float) -> None:
        raise AssertionError("no test waits")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Of its own: reorgs, rebuilds and other webhooks would disturb."""
    with running_service() as started:
        yield started


@pytest.fixture
def receiver() -> Iterator[Receiving]:
    with receiving() as started:
        yield started


class Worker:
    """A deliverer, run until it has nothing to do."""

    def __init__(
        self,
        service: Service,
        sender: Sender | None = None,
        engine: Engine | None = None,
        hub_address: Address | None = None,
    ) -> None:
        self.clock = ShiftedClock()
        engine, sender = engine or service.world.engine("service_webhooks"), sender or Sender(LOCAL)
        chain_id, hub_address = service.world.chain_id, hub_address or service.world.hub_address
        self.deliverer = Deliverer(engine, chain_id, hub_address, (WEBHOOK_KEY,), LOCAL, sender, self.clock)

    def run(self) -> int:
        """How many messages it sent."""
        sent = 0
        while (started := self.deliverer.look()) or not self.deliverer.idle:
            sent += started
            self.deliverer.collect(5.0)
        return sent

    def later(self, seconds: int) -> int:
        self.clock.passed += seconds
        return self.run()

    def close(self) -> None:
        self.deliverer.close()
        self.deliverer.engine.dispose()


@pytest.fixture
def worker(service: Service) -> Iterator[Worker]:
    made = Worker(service)
    yield made
    made.close()


@pytest.fixture
def subscriber(service: Service) -> Iterator[Subscriber]:
    made = Subscriber(service)
    yield made
    for each in made.list():
        made.remove(each["webhook_id"])


def confirmed(subscriber: Subscriber, worker: Worker, receiver: Receiving, **wanted: Any) -> dict[str, Any]:
    """A webhook whose receiver has answered the challenge."""
    made = subscriber.register(receiver.url(), **wanted)
    worker.run()
    assert subscriber.one(made["webhook"]["webhook_id"])["state"] == "active"
    return made


def names(receiver: Receiving) -> list[str]:
    return [fact["event"]["name"] if fact["event"] else fact["kind"] for fact in receiver.facts()]


def test_webhooks__that_were_registered_since__are_counted_once(
    service: Service, subscriber: Subscriber, receiver: Receiving
) -> None:
    engine, now = service.world.engine("service_webhooks"), datetime.now(UTC)
    assert admit_new(engine, now) == 0
    subscriber.register(receiver.url(), all_bounties=True)
    assert [admit_new(engine, now) for _ in range(2)] == [1, 0]


def test_receiver__before_it_answers_the_challenge__gets_no_fact(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    receiver.answer = lambda _: (200, b"{}")
    webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
    service.world.create()
    service.world.finalize()
    assert worker.run() == 1
    shown = subscriber.one(webhook_id)
    assert (shown["state"], shown["last_result"], shown["last_status"]) == ("pending", "wrong_challenge", 200)
    receiver.answer = echo
    worker.later(BACKOFF[0])
    assert subscriber.one(webhook_id)["state"] == "active"
    assert subscriber.one(webhook_id)["last_success_at"] is not None
    assert names(receiver) == ["BountyCreated"]  # of the time between registration and proof, too
    assert len({each.message["data"]["challenge"] for each in receiver.of_type("webhook.challenge")}) == 2


@pytest.mark.attack
def test_worker__whose_database_is_of_another_hub__sends_nothing(
    service: Service, subscriber: Subscriber, receiver: Receiving
) -> None:
    webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
    mistaken = Worker(service, hub_address=Address("0x" + "cd" * 20))
    with pytest.raises(IndexOfAnotherHub):
        mistaken.run()
    mistaken.close()
    assert (receiver.got, subscriber.one(webhook_id)["state"]) == ([], "pending")


def test_receiver__that_never_answers_the_challenge__is_asked_a_few_times(
    subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    receiver.answer = lambda _: (404, b"")
    webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
    worker.run()
    for seconds in BACKOFF * 2:
        worker.later(seconds)
    assert len(receiver.got) == CHALLENGES
    assert subscriber.one(webhook_id)["state"] == "off"
    receiver.answer = echo
    subscriber.test(webhook_id)
    assert worker.run() == 1
    assert subscriber.one(webhook_id)["state"] == "active"


def test_fact__when_it_is_final__arrives_once_and_verifies(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    made = confirmed(subscriber, worker, receiver, all_bounties=True)
    bounty_id = world.create()
    world.index()
    assert worker.run() == 0  # not final yet
    world.finalize()
    assert worker.run() == 1
    assert worker.run() == 0
    (got,) = receiver.of_type("hub.facts")
    message = Webhook(made["secret"]).verify(got.body, dict(got.headers))
    data = message["data"]
    assert (data["chain_id"], data["hub_address"]) == (world.chain_id, world.hub_address)
    assert data["webhook_id"] == made["webhook"]["webhook_id"]
    (change,) = data["changes"]
    listed = service.get(f"/api/changes?after={change['number'] - 1}&limit=1").get_json()
    assert change == listed["items"][0]
    assert (change["event"]["bounty_id"], change["event"]["finality"]) == (str(bounty_id), "finalized")


def test_webhook__of_a_bounty_or_an_account__hears_of_what_concerns_it(
    service: Service, subscriber: Subscriber, worker: Worker
) -> None:
    world = service.world
    with ExitStack() as stack:
        of_bounty, of_poster, of_solver, of_guardian, of_stranger = (stack.enter_context(receiving()) for _ in range(5))
        bounty_id = world.create()
        confirmed(subscriber, worker, of_bounty, bounty_id=str(bounty_id))
        for receiver, account in (
            (of_poster, world.people.poster.address),
            (of_solver, world.solver(1).address),
            (of_guardian, world.guardian(1).address),
            (of_stranger, world.people.settler.address),
        ):
            confirmed(subscriber, worker, receiver, account_address=account)
        other = world.create()
        world.submit(other, world.solver(2))
        world.submit(bounty_id, world.solver(1))
        world.submit(bounty_id, world.solver(2))
        world.finalize()
        worker.run()
        everything = ["BountyCreated", *["SubmissionRecorded"] * 3]
        assert names(of_bounty) == ["BountyCreated", *["SubmissionRecorded"] * 2]
        assert names(of_poster) == names(of_guardian) == ["BountyCreated", *everything]
        assert {each["event"]["bounty_id"] for each in of_solver.facts()} == {str(bounty_id)}
        assert names(of_solver)[-2:] == ["SubmissionRecorded"] * 2
        assert names(of_stranger) == []


def test_webhook__of_a_search__hears_of_bounties_that_matched_and_of_all_that_follows(
    service: Service, subscriber: Subscriber, worker: Worker
) -> None:
    world = service.world
    filters: tuple[dict[str, object], ...] = (
        {"search": "zebra"},
        {"search": "zebra parser", "min_award": "24000000"},
        {"search": "zebra", "min_award": "24000001"},
        {"poster_address": world.people.poster.address, "max_award": "23999999"},
        {"guardian_address": world.guardian(1).address},
        {"guardian_address": world.solver(1).address},
        {"deadline_before": world.time() + 500},
    )
    with ExitStack() as stack:
        receivers = [stack.enter_context(receiving()) for _ in filters]
        for receiver, wanted in zip(receivers, filters, strict=True):
            made = confirmed(subscriber, worker, receiver, bounties_matching=wanted)
            assert made["webhook"]["bounties_matching"] == wanted
        found = published(service, "A parser for zebra crossings")
        soon = published(service, "Something else", seconds=100)
        world.submit(found, world.solver(1))
        world.submit(soon, world.solver(1))
        world.finalize()
        worker.run()
        heard = [{str(each["event"]["bounty_id"]) for each in receiver.facts()} for receiver in receivers]
        both = {str(found), str(soon)}
        assert heard == [{str(found)}, {str(found)}, set(), set(), both, set(), {str(soon)}]
        assert names(receivers[0]) == ["BountyCreated", "SubmissionRecorded"]


def test_webhook__of_a_search_of_unsafe_facts__takes_back_what_a_reorg_took(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    world.finalize()
    confirmed(subscriber, worker, receiver, bounties_matching={"search": "okapi"}, finality="unsafe")
    created(service, "An okapi")
    world.index()
    worker.run()
    assert names(receiver) == ["BountyCreated"]
    world.rpc.call("anvil_reorg", 1, [])
    world.people.poster.wallet.forget_nonce()
    world.open_bounties.pop()
    world.index()
    worker.run()
    assert names(receiver) == ["BountyCreated", "retraction"]


def test_filters__of_many_strangers__are_asked_together(service: Service) -> None:
    """A hundred and twenty filters of one page of changes are three statements, each of these bounties alone."""
    world = service.world
    bounty_id = world.create()
    world.finalize()
    subjects = {Subject(matching=BountyFilter(min_award=TokenAmount(number))) for number in range(120)}
    asked: list[str] = []
    with service.dependencies.facts.open() as facts:
        changes = read_changes(facts.connection, facts.head, ChangeNumber(0), 1_000)
        listening = (facts.connection.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        event.listen(*listening)
        try:
            concerned = concerned_by(facts.connection, changes, subjects)
        finally:
            event.remove(*listening)
    assert len(asked) == 3
    assert len([filter_ for number, filter_ in concerned if number == bounty_id]) == 120


def test_facts__more_than_fit_in_a_message__arrive_in_order(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    confirmed(subscriber, worker, receiver, all_bounties=True)
    bounty_id = world.create()
    for _ in range(MAX_FACTS):
        world.submit(bounty_id, world.solver(1))
    world.finalize()
    assert worker.run() == 2
    assert [len(each.message["data"]["changes"]) for each in receiver.of_type("hub.facts")] == [MAX_FACTS, 1]
    places = [(each["event"]["block_number"], each["event"]["log_index"]) for each in receiver.facts()]
    assert places == sorted(set(places))


def test_message__that_was_refused__comes_again_as_it_was_and_then_the_rest(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    webhook_id = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    receiver.answer = lambda _: (500, b"")
    world.create()
    world.finalize()
    worker.run()
    world.create()
    world.finalize()
    for seconds in BACKOFF[:3]:
        assert worker.run() == 0  # not before its time
        assert worker.later(seconds) == 1
    shown = subscriber.one(webhook_id)
    assert (shown["state"], shown["failure_count"], shown["last_status"]) == ("active", 4, 500)
    receiver.answer = echo
    assert worker.later(BACKOFF[3]) == 2
    messages = receiver.of_type("hub.facts")
    assert len({each.headers["webhook-id"] for each in messages}) == 2
    assert [each.body for each in messages[:-1]] == [messages[0].body] * 5
    assert names(receiver)[-2:] == ["BountyCreated"] * 2
    assert subscriber.one(webhook_id)["failure_count"] == 0


def test_worker__that_is_killed_before_it_wrote__repeats_under_the_same_id(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    confirmed(subscriber, worker, receiver, all_bounties=True)
    service.world.create()
    service.world.finalize()
    assert worker.deliverer.look() == 1
    worker.deliverer.close()  # it was delivered, and nothing is written
    successor = Worker(service)
    assert successor.run() == 1
    first, second = receiver.of_type("hub.facts")
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    worker.deliverer.collect(5.0)  # what it wrote late changes nothing
    assert successor.run() == 0
    successor.close()


def test_receiver__that_fails_for_days_or_is_gone__is_switched_off_until_it_is_tested(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    webhook_id = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    receiver.answer = lambda _: (500, b"")
    service.world.create()
    service.world.finalize()
    worker.run()
    for _ in range(5):
        worker.later(DAY // 2)
    assert subscriber.one(webhook_id)["state"] == "active"
    worker.later(DAY // 2)
    assert subscriber.one(webhook_id)["state"] == "off"
    assert worker.later(DAY) == 0
    receiver.answer = echo
    subscriber.test(webhook_id)
    assert worker.run() == 2  # the challenge, and what it has not heard
    assert names(receiver)[-1:] == ["BountyCreated"]
    receiver.answer = lambda _: (410, b"")
    service.world.create()
    service.world.finalize()
    worker.run()
    assert (subscriber.one(webhook_id)["state"], subscriber.one(webhook_id)["last_result"]) == ("off", "gone")


def test_receiver__that_failed_a_test_days_ago__is_not_switched_off_by_its_next_failure(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    webhook_id = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    receiver.answer = lambda _: (500, b"")
    subscriber.test(webhook_id)
    worker.run()
    worker.clock.passed += 4 * DAY
    service.world.create()
    service.world.finalize()
    assert worker.run() == 1
    assert subscriber.one(webhook_id)["state"] == "active"


def test_receiver__that_does_not_answer__holds_up_no_other(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    held = Event()

    def hold(got: Got) -> tuple[int, bytes]:
        if got.message["type"] == "hub.facts":
            held.wait()
        return echo(got)

    with receiving() as dead:
        dead.answer = hold
        confirmed(subscriber, worker, dead, all_bounties=True)
        confirmed(subscriber, worker, receiver, all_bounties=True)
        for count in (1, 2, 3):
            service.world.create()
            service.world.finalize()
            while len(receiver.facts()) < count:
                worker.deliverer.look()
                worker.deliverer.collect(0.1)
        assert len(dead.facts()) == 1
        held.set()
        worker.run()
        assert len(dead.facts()) == 3


def test_receiver__that_fails__shares_no_thread_with_those_that_answer(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    # No attempt ends by itself.
    proven, others = (replace(lane, threads=1, places=1, seconds=600.0) for lane in (PROVEN, OTHERS))
    worker.deliverer = replace(worker.deliverer, lanes=Lanes(proven=proven, others=others))
    held, begun = Event(), Event()

    def hold(_: Got) -> tuple[int, bytes]:
        begun.set()
        held.wait()
        return 204, b""

    with receiving() as failing:
        confirmed(subscriber, worker, failing, all_bounties=True)
        confirmed(subscriber, worker, receiver, all_bounties=True)
        failing.answer = lambda _: (500, b"")
        service.world.create()
        service.world.finalize()
        worker.run()
        failing.answer = hold
        worker.clock.passed += BACKOFF[0]
        worker.deliverer.look()
        assert begun.wait(60)
        service.world.create()
        service.world.finalize()
        worker.deliverer.look()
        assert worker.deliverer.collect(60.0) == 1
        assert len(receiver.facts()) == 2
        held.set()
        worker.run()


@pytest.mark.attack
def test_newcomer__behind_many_registrations_that_hold_their_places__is_challenged_at_once(
    service: Service, worker: Worker, subscriber: Subscriber, receiver: Receiving
) -> None:
    new = replace(NEW, threads=8, places=8, of_account=2, seconds=600.0)
    worker.deliverer = replace(worker.deliverer, lanes=Lanes(new=new))
    held, attackers = Event(), [Subscriber(service) for _ in range(3)]

    def hold(got: Got) -> tuple[int, bytes]:
        held.wait()
        return echo(got)

    with receiving() as silent:
        silent.answer = hold
        for attacker in attackers:
            for number in range(5):
                attacker.register(silent.url(f"/{number}"), all_bounties=True)
        worker.deliverer.look()
        assert len(worker.deliverer.lanes) == len(attackers) * new.of_account
        webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
        worker.deliverer.look()
        assert worker.deliverer.collect(60.0) == 1
        assert subscriber.one(webhook_id)["state"] == "active"
        held.set()
        worker.run()
        states = [each["state"] for attacker in attackers for each in attacker.list()]
        assert states == ["active"] * 15
        for attacker in attackers:
            for each in attacker.list():
                attacker.remove(each["webhook_id"])


@pytest.mark.attack
def test_receiver__among_slow_ones_that_are_far_behind__waits_for_one_message_of_each(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    others, order = replace(OTHERS, threads=1, places=1), list[str]()
    worker.deliverer = replace(worker.deliverer, lanes=Lanes(others=others))

    def note(got: Got) -> tuple[int, bytes]:
        order.append(got.path)
        return echo(got)

    def slow(path: str) -> None:
        subscriber.register(receiver.url(path), all_bounties=True)
        worker.run()
        with service.world.database.engine().begin() as connection:
            connection.execute(text("UPDATE webhooks.deliveries SET slow_until = now() + interval '1 hour'"))

    slow("/far")
    worker.deliverer.lanes.closed = frozenset({others})
    bounty_id = service.world.create()
    for _ in range(3 * MAX_FACTS):
        service.world.submit(bounty_id, service.world.solver(1))
    service.world.finalize()
    slow("/near")
    service.world.create()
    service.world.finalize()
    receiver.answer = note
    worker.deliverer.lanes.closed = frozenset()
    worker.later(5)
    assert order == ["/far", "/near", "/far", "/far", "/far"]


def test_receiver__that_is_slow_no_longer_while_it_waits__has_one_message_on_its_way(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    others = replace(OTHERS, threads=1, places=1)
    worker.deliverer = replace(worker.deliverer, lanes=Lanes(others=others))
    for path in ("/first", "/waits"):
        subscriber.register(receiver.url(path), all_bounties=True)
        worker.later(1)
    with service.world.database.engine().begin() as connection:
        connection.execute(text("UPDATE webhooks.deliveries SET slow_until = now() + interval '30 minutes'"))
    service.world.create()
    service.world.finalize()
    assert worker.deliverer.look() == 1
    worker.clock.ticks, worker.clock.leap = worker.clock.ticks + 10.0, 0.0
    assert worker.deliverer.look() == 0  # those that wait are read, and not anew: from here on no second passes
    worker.clock.passed += HOUR
    assert worker.deliverer.collect(60.0) == 1  # its place is free, and the other one is proven
    worker.run()
    assert [each.path for each in receiver.of_type("hub.facts")] == ["/first", "/waits"]


@pytest.mark.attack
def test_facts__while_slow_receivers_are_waited_for_at_the_end__go_to_the_others(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    held, begun = Event(), Event()

    def hold(got: Got) -> tuple[int, bytes]:
        begun.set()
        held.wait()
        return echo(got)

    with receiving() as slow:
        confirmed(subscriber, worker, slow, all_bounties=True)
        confirmed(subscriber, worker, receiver, all_bounties=True)
        slow.answer = lambda _: (500, b"")
        service.world.create()
        service.world.finalize()
        worker.run()
        slow.answer = hold
        worker.clock.passed += BACKOFF[0]
        worker.deliverer.look()
        assert begun.wait(60)
        service.world.create()
        service.world.finalize()

        def is_time() -> bool:
            if len(receiver.facts()) == 2:  # it got the new one, while nothing else ended
                held.set()
            return True

        worker.deliverer.drain(is_time, 0.1)
        assert worker.deliverer.idle
        assert len(receiver.facts()) == 2


def test_unsafe_facts__arrive_at_once_and_are_taken_back_by_a_reorg(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    world.finalize()
    confirmed(subscriber, worker, receiver, all_bounties=True, finality="unsafe")
    world.create()
    world.index()
    worker.run()
    (created,) = receiver.facts()
    assert created["event"]["finality"] == "unsafe"
    world.rpc.call("anvil_reorg", 1, [])
    world.people.poster.wallet.forget_nonce()
    world.open_bounties.pop()
    world.index()
    worker.run()
    (_, taken) = receiver.facts()
    assert taken["kind"] == "retraction"
    assert taken["last_block_number"] < created["event"]["block_number"]
    world.finalize()
    assert worker.run() == 0


def rebuild(world: World) -> None:
    """As the job does, in place of the writer."""
    with world.without_writer():
        rebuild_copy(config_of(world), lambda _: None)


def alter_log(world: World, block: int) -> None:
    """As an endpoint that lied about a block, or somebody with the database."""
    with world.database.engine().begin() as connection:
        connection.execute(
            text("UPDATE hub_index.logs SET tx_hash = :other WHERE block_number = :block"), OTHER | {"block": block}
        )


def test_index__that_is_rebuilt_without_a_difference__sends_nothing(
    service: Service, subscriber: Subscriber, worker: Worker
) -> None:
    world = service.world
    with receiving() as of_final, receiving() as of_unsafe:
        confirmed(subscriber, worker, of_final, all_bounties=True)
        confirmed(subscriber, worker, of_unsafe, all_bounties=True, finality="unsafe")
        world.create()
        world.finalize()
        worker.run()
        rebuild(world)
        assert worker.run() == 0
        world.create()
        world.finalize()
        worker.run()
        assert names(of_final) == names(of_unsafe) == ["BountyCreated"] * 2


@pytest.mark.attack
@pytest.mark.parametrize("is_written", [True, False], ids=["delivered", "killed_before_it_wrote"])
def test_fact__that_a_rebuild_finds_wrong__is_taken_back_from_whoever_heard_it(
    service: Service, subscriber: Subscriber, worker: Worker, is_written: bool
) -> None:
    world = service.world
    with receiving() as of_final, receiving() as of_unsafe:
        confirmed(subscriber, worker, of_final, all_bounties=True)
        confirmed(subscriber, worker, of_unsafe, all_bounties=True, finality="unsafe")
        world.create()
        world.finalize()
        worker.run()
        world.create()
        block = world.tip()
        world.finalize()
        alter_log(world, block)
        if is_written:
            worker.run()
        else:
            worker.deliverer.look()
        worker.close()
        rebuild(world)
        successor = Worker(service)
        successor.run()
        successor.close()
        for heard in (of_final, of_unsafe):
            (_, false, taken, true) = heard.facts()
            assert (false["event"]["tx_hash"], taken["last_block_number"]) == (OTHER["other"], block - 1)
            assert true["event"]["tx_hash"] != OTHER["other"]
            assert true["event"]["block_number"] == block


@pytest.mark.attack
@pytest.mark.parametrize("is_written", [True, False], ids=["away", "killed_before_it_wrote"])
def test_unsafe_fact__that_was_reorganized_away_before_finality_passed__is_taken_back_however_late(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving, is_written: bool
) -> None:
    world = service.world
    world.finalize()
    confirmed(subscriber, worker, receiver, all_bounties=True, finality="unsafe")
    world.create()
    world.index()
    if is_written:
        worker.run()
    else:
        worker.deliverer.look()
    worker.close()
    world.rpc.call("anvil_reorg", 1, [])
    world.people.poster.wallet.forget_nonce()
    world.open_bounties.pop()
    world.index()
    world.create()
    world.finalize()
    successor = Worker(service)
    successor.run()
    successor.close()
    assert names(receiver) == ["BountyCreated", "retraction", "BountyCreated"]


@pytest.mark.parametrize(("finality", "count"), [("finalized", 2), ("unsafe", 3)], ids=["goes_on", "begins_again"])
def test_index__that_counts_anew_after_a_restore__says_so(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving, finality: str, count: int
) -> None:
    world = service.world
    confirmed(subscriber, worker, receiver, all_bounties=True, finality=finality)
    world.create()
    final = world.tip()
    world.finalize()
    worker.run()
    with world.database.engine().begin() as connection:
        connection.execute(text("UPDATE webhooks.deliveries SET after_number = after_number + 1000000"))
    successor = Worker(service)
    world.create()
    world.finalize()
    successor.run()
    successor.close()
    assert names(receiver) == ["BountyCreated"] * count
    (missed,) = receiver.of_type("hub.missed")
    assert missed.message["data"]["last_block_number"] <= final


def test_webhook__of_a_change_that_came_while_the_worker_looked__is_of_no_index_that_counts_anew(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = service.world

    def admit_later(engine: Engine, now: datetime) -> int:
        if not subscriber.list():
            world.create()
            world.index()
            subscriber.register(receiver.url(), all_bounties=True, finality="unsafe")
        return admit_new(engine, now)

    monkeypatch.setattr("service_api.webhooks.worker.admit_new", admit_later)
    worker.run()
    world.create()
    world.finalize()
    worker.run()
    assert names(receiver) == ["BountyCreated"]
    assert receiver.of_type("hub.missed") == []


def test_lag__of_a_worker_that_never_sent__is_since_the_first_registration(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    def lag() -> float | None:
        registry = CollectorRegistry()
        registry.register(WebhookCollector(worker.deliverer.engine, service.world.chain_id))
        return registry.get_sample_value("service_webhooks_lag_seconds")

    with service.world.database.engine().begin() as connection:
        connection.execute(delete(progress))
    assert lag() is None, "there is nobody to be late for"
    subscriber.register(receiver.url(), all_bounties=True)
    with service.world.database.engine().begin() as connection:
        connection.execute(update(subscriptions).values(created_at=func.now() - timedelta(hours=1)))
    assert (lag() or 0) >= HOUR
    worker.run()
    assert (lag() or 0) < HOUR


def test_webhook__whose_row_of_the_worker_is_gone__is_challenged_and_told_everything_again(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    world = service.world
    confirmed(subscriber, worker, receiver, all_bounties=True)
    world.create()
    world.finalize()
    worker.run()
    with world.database.engine().begin() as connection:
        connection.execute(text("DELETE FROM webhooks.deliveries"))
    world.create()
    world.finalize()
    worker.run()
    assert names(receiver) == ["BountyCreated"] * 3


def test_secret__that_was_rotated__signs_beside_the_former_one(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    made = confirmed(subscriber, worker, receiver, all_bounties=True)
    renewed = subscriber.rotate(made["webhook"]["webhook_id"])
    assert renewed["secret"] != made["secret"]
    subscriber.test(made["webhook"]["webhook_id"])
    worker.run()
    (got,) = receiver.of_type("webhook.test")
    for secret in (made["secret"], renewed["secret"]):
        Webhook(secret).verify(got.body, dict(got.headers))
    worker.clock.passed += 2 * DAY
    subscriber.test(made["webhook"]["webhook_id"])
    worker.run()
    assert len(receiver.of_type("webhook.test")[-1].headers["webhook-signature"].split()) == 1


def verifying(receiver: Receiving, secrets: list[str]) -> list[bool]:
    """Which of these secrets verify the newest test message, as receivers do."""
    got = receiver.of_type("webhook.test")[-1]

    def verifies(secret: str) -> bool:
        with suppress(WebhookVerificationError):
            Webhook(secret).verify(got.body, dict(got.headers))
            return True
        return False

    return [verifies(each) for each in secrets]


def test_secret__that_a_receiver_has__signs_for_its_day_whatever_is_rotated_meanwhile(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    """Of its rotations only the last one's answer arrived."""
    made = confirmed(subscriber, worker, receiver, all_bounties=True)
    webhook_id, secrets = made["webhook"]["webhook_id"], [made["secret"]]
    for _ in range(FORMER_SECRETS):
        service.world.node.mine(1)  # else it would be the same request
        secrets.append(subscriber.rotate(webhook_id)["secret"])
        grow_older(service, hours=4)
    grow_older(service, hours=1)
    subscriber.test(webhook_id)
    worker.run()
    assert verifying(receiver, [*secrets, secret_text(make_secret())]) == [True] * len(secrets) + [False]
    for ended in range(1, len(secrets)):
        grow_older(service, hours=4)
        subscriber.test(webhook_id)
        worker.run()
        assert verifying(receiver, secrets) == [False] * ended + [True] * (len(secrets) - ended)
    service.world.node.mine(1)
    secrets = [secrets[-1], subscriber.rotate(webhook_id)["secret"]]
    subscriber.test(webhook_id)
    worker.run()
    assert verifying(receiver, secrets) == [True, True]
    assert len(receiver.of_type("webhook.test")[-1].headers["webhook-signature"].split()) == 2


def grow_older(service: Service, hours: int) -> None:
    """As if the secrets had been rotated so long before."""
    ago = f"interval '{hours} hours'"
    older = f"ARRAY(SELECT until - {ago} FROM unnest(older_until) WITH ORDINALITY AS u(until, place) ORDER BY place)"
    with service.world.database.engine().begin() as connection:
        changed = f"former_until = former_until - {ago}, older_until = {older}"
        connection.execute(text(f"UPDATE webhooks.subscriptions SET {changed}"))


def test_webhook__whose_secret_does_not_open__is_not_sent_to(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
    worker.deliverer = replace(worker.deliverer, keyring=())
    worker.run()
    assert receiver.got == []
    assert subscriber.one(webhook_id)["last_result"] == "unsendable"


@pytest.mark.parametrize(
    ("lost", "result", "signatures"), [("former_sealed_secret", "delivered", 1), ("sealed_secret", "unsendable", None)]
)
def test_webhook__of_whose_secrets_one_does_not_open__is_sent_to_where_that_is_the_former(
    service: Service,
    subscriber: Subscriber,
    worker: Worker,
    receiver: Receiving,
    lost: str,
    result: str,
    signatures: int | None,
) -> None:
    made = confirmed(subscriber, worker, receiver, all_bounties=True)
    webhook_id = made["webhook"]["webhook_id"]
    renewed = subscriber.rotate(webhook_id)
    sealed = seal(make_secret(), Identity.generate().public_key, webhook_id)  # to a key that was lost
    with service.world.database.engine().begin() as connection:
        named = {"sealed": sealed, "webhook_id": webhook_id}
        connection.execute(
            text(f"UPDATE webhooks.subscriptions SET {lost} = :sealed WHERE webhook_id = :webhook_id"), named
        )
    subscriber.test(webhook_id)
    worker.run()
    assert subscriber.one(webhook_id)["last_result"] == result
    tests = receiver.of_type("webhook.test")
    assert [len(each.headers["webhook-signature"].split()) for each in tests] == ([signatures] if signatures else [])
    for each in tests:
        Webhook(renewed["secret"]).verify(each.body, dict(each.headers))


def test_test__that_the_operator_cannot_send__is_tried_each_minute_and_switches_on_then(
    subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    webhook_id = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    receiver.answer = lambda _: (410, b"")
    subscriber.test(webhook_id)
    worker.run()
    assert subscriber.one(webhook_id)["state"] == "off"
    receiver.answer = echo
    good, worker.deliverer = worker.deliverer, replace(worker.deliverer, keyring=())
    subscriber.test(webhook_id)
    assert [worker.run(), worker.run(), worker.later(60)] == [1, 0, 1]
    assert (subscriber.one(webhook_id)["state"], subscriber.one(webhook_id)["last_result"]) == ("off", "unsendable")
    worker.deliverer = good
    assert worker.later(60) == 1
    assert subscriber.one(webhook_id)["state"] == "active"


def test_webhooks__that_the_operator_cannot_send_to_for_days__are_not_switched_off_and_hear_everything_afterwards(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    active = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    pending = subscriber.register(receiver.url("/new"), all_bounties=True)["webhook"]["webhook_id"]
    service.world.create()
    service.world.finalize()
    good, worker.deliverer = worker.deliverer, replace(worker.deliverer, keyring=())
    for _ in range(8):
        worker.run()
        worker.clock.passed += DAY
    for webhook_id, state in ((active, "active"), (pending, "pending")):
        shown = subscriber.one(webhook_id)
        assert (shown["state"], shown["last_result"]) == (state, "unsendable")
    worker.deliverer = good
    receiver.answer = lambda _got: (500, b"")
    worker.run()
    assert subscriber.one(active)["state"] == "active", "its days of failure begin now"
    receiver.answer = echo
    worker.clock.passed += 120
    worker.run()
    assert "BountyCreated" in names(receiver)


def test_index__that_is_halted__sends_nothing(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    confirmed(subscriber, worker, receiver, all_bounties=True)
    engine = service.world.engine("service_indexer")
    service.world.create()
    service.world.finalize()
    with halted(engine):
        assert worker.run() == 0
    assert worker.run() == 1


@contextmanager
def halted(engine: Any) -> Iterator[None]:
    def write(reason: str | None) -> None:
        with engine.begin() as connection:
            connection.execute(text("UPDATE hub_index.head SET halted = :reason"), {"reason": reason})

    write("by a test")
    yield
    write(None)


def test_verdict__that_replaces_one__is_marked_for_every_guardian_of_the_roster(
    service: Service, worker: Worker, receiver: Receiving, subscriber: Subscriber
) -> None:
    world = service.world
    thief, other = world.guardian(1), world.guardian(2)
    confirmed(subscriber, worker, receiver, account_address=other.address)
    bounty_id = world.create()
    solver = world.solver(1)
    commitment = bytes.fromhex(world.submit(bounty_id, solver)[2:])
    world.advance_to(world.reveal_at(bounty_id))
    world.contract.transact(thief, "recordVerdict", bounty_id, 1, solver.address, commitment, b"\x01" * 32)
    world.contract.transact(thief, "recordVerdict", bounty_id, 2, "0x" + "00" * 20, bytes(32), b"\x02" * 32)
    world.finalize()
    worker.run()
    heard = [fact["event"] for fact in receiver.facts() if fact["event"] and fact["event"]["name"] == "VerdictRecorded"]
    first, second = heard
    assert "replaces" not in first
    assert (second["fields"]["guardian"], second["replaces"]["kind"]) == (thief.address, "awarded")
    assert second["replaces"]["solver_address"] == solver.address
    assert second["replaces"]["tx_hash"] == first["tx_hash"]


def test_lost_work__is_sent_once_to_whom_its_bounty_concerns_and_so_is_its_return(
    service: Service, worker: Worker, receiver: Receiving, subscriber: Subscriber
) -> None:
    world = service.world
    solver, bounty_id, elsewhere = world.solver(1), world.create(), world.create()
    commitment = world.submit(bounty_id, solver)
    world.finalize()
    engine = service.dependencies.engine
    finding = Looked("", commitment, bounty_id, "the storage has no ciphertext", Address(solver.address), is_lost=True)
    note(engine, Walk.OBJECTS, [replace(finding, subject="0x" + "11" * 32)])  # before anybody listened
    made = confirmed(subscriber, worker, receiver, account_address=solver.address)
    confirmed(subscriber, worker, receiver, bounty_id=str(elsewhere))
    note(engine, Walk.OBJECTS, [finding])
    receiver.answer = lambda _: (500, b"")
    worker.run()
    receiver.answer = echo
    worker.later(BACKOFF[0])
    note(engine, Walk.OBJECTS, [finding])
    worker.run()
    failed, lost = receiver.of_type("submission.lost")
    assert failed.headers["webhook-id"] == lost.headers["webhook-id"]
    assert lost.message["data"] == {
        "webhook_id": made["webhook"]["webhook_id"],
        "chain_id": world.chain_id,
        "hub_address": world.hub_address,
        "bounty_id": str(bounty_id),
        "solver_address": solver.address,
        "submission_commitment": commitment,
    }
    note(engine, Walk.OBJECTS, [replace(finding, what=None)])
    worker.run()
    (restored,) = receiver.of_type("submission.restored")
    assert restored.message["data"] == lost.message["data"]
    assert len(receiver.of_type("submission.lost")) == 2


@pytest.mark.attack
def test_notice__that_another_worker_sent_meanwhile__is_not_sent_once_more(
    service: Service, worker: Worker, receiver: Receiving, subscriber: Subscriber
) -> None:
    webhook_id = confirmed(subscriber, worker, receiver, all_bounties=True)["webhook"]["webhook_id"]
    engine, now = worker.deliverer.engine, datetime.now(UTC)
    listed = list_hearing(engine, now, ChangeNumber(10**9), 10**9, proven=True)
    (due,) = [each for each in listed if each.webhook_id == webhook_id]
    for after in (due.after_notice + 5, due.after_notice + 2):  # the second one read its page before
        pass_over(engine, [due], due.cursor, after)
    with engine.connect() as connection:
        kept = select(deliveries.c.after_notice).where(deliveries.c.webhook_id == webhook_id)
        assert connection.execute(kept).scalar_one() == due.after_notice + 5
        connection.execute(delete(deliveries).where(deliveries.c.webhook_id == webhook_id))
        connection.commit()


def test_webhook__whose_next_attempt_a_wrong_clock_wrote__hears_at_once(
    service: Service, subscriber: Subscriber, worker: Worker, receiver: Receiving
) -> None:
    confirmed(subscriber, worker, receiver, all_bounties=True)
    with service.world.database.engine().begin() as connection:
        connection.execute(text("UPDATE webhooks.deliveries SET next_attempt_at = now() + interval '1 day'"))
    service.world.create()
    service.world.finalize()
    worker.run()
    assert "BountyCreated" in names(receiver)
