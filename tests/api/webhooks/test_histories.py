"""Drawn histories: a chain that grows, reorganizes and becomes final, an index that is rebuilt, or restored so that it
counts anew, a worker that is killed or loses its rows, and receivers that are away, refuse, or take a message whose
answer is lost.

At the end everybody is well and everything final: what each receiver has heard, taken together, is the chain. 20 by
default; 1,000 in a campaign.
"""

import random
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from bounty_protocol.types import BlockNumber
from service_api.webhooks.receivers import Receiver
from service_api.webhooks.sending import AttemptEnd, AttemptResult, Outgoing, Sender
from service_indexer.derived import keep_up, note_retraction
from sqlalchemy import Connection, Engine, text

from tests.api.conftest import Service, running_service
from tests.api.webhooks.test_deliverer import Worker
from tests.api.webhooks.test_registration import Subscriber
from tests.campaign import SEED, size

TOP = Path(__file__).resolve().parents[3]
FINALITIES = ("finalized", "unsafe")
STEPS = 25
HOURS = 3_600 * 2
"""Longer than any pause after a failure."""
(LOST_COUNT,) = re.findall(r"UPDATE webhooks[^;]*", (TOP / "docs/operations.md").read_text(encoding="utf-8"))
"""What the operator types after a restore."""
Fact = tuple[int, str, int]
"""Block, its hash, and the log's place."""


@dataclass
class Audience:
    """The receivers of one webhook of each kind, in place of the network."""

    dice: random.Random
    moods: dict[str, str] = field(default_factory=dict)
    told: dict[str, list[tuple[str, dict[str, Any], bool]]] = field(default_factory=dict)
    """By address: each message that was taken: its id, itself, and whether the worker heard that it was."""

    def send(self, receiver: Receiver, outgoing: Outgoing, _seconds: float) -> AttemptResult:
        message = orjson.loads(outgoing.body)
        url = f"{receiver.host}{receiver.target}"
        if outgoing.challenge is not None:
            return AttemptResult(AttemptEnd.DELIVERED, 200, 0.0)
        mood = self.moods.get(url, "well")
        if mood == "away":
            return AttemptResult(AttemptEnd.UNREACHABLE, None, 0.0)
        if mood == "refuses":
            return AttemptResult(AttemptEnd.REFUSED, 500, 0.0)
        is_known = mood == "well"  # else its answer is lost
        self.told.setdefault(url, []).append((outgoing.fields["webhook-id"], message, is_known))
        return (
            AttemptResult(AttemptEnd.DELIVERED, 204, 0.0)
            if is_known
            else AttemptResult(AttemptEnd.TIMED_OUT, None, 0.0)
        )


@dataclass
class Chain:
    """The rows of the index, as its writer makes them of a chain that is drawn."""

    connection: Connection
    dice: random.Random
    tip: int
    final: int
    facts: list[Fact] = field(default_factory=list)

    def grow(self, blocks: int) -> None:
        for _ in range(blocks):
            self.tip += 1
            block_hash = "0x" + secrets.token_hex(32)
            for place in range(self.dice.choice((0, 1, 1, 2))):
                self._insert(self.tip, block_hash, place)
                self.facts.append((self.tip, block_hash, place))
        keep_up(self.connection)
        self._move_head()

    def reorganize(self, depth: int) -> None:
        last = max(self.final, self.tip - depth)
        self._take_out(last)
        self.tip = last
        self.grow(depth)

    def finalize(self, blocks: int) -> None:
        self.final = min(self.tip, self.final + blocks)
        self._move_head()

    def rebuild(self) -> None:
        """A fact that the index had was wrong, final or not: a rebuild puts others in its place."""
        if not self.facts:
            return
        first = self.dice.choice(self.facts[-6:])[0]
        again = self.tip - first + 1
        self._take_out(first - 1)
        self.tip = first - 1
        self.grow(again)

    def restore(self) -> None:
        """A backup is put back, and catches up with a chain whose newest blocks are others meanwhile: it counts anew,
        and knows of no retraction."""
        depth = self.dice.choice((0, 1, 3))
        self._take_out(last := max(self.final, self.tip - depth))
        again, self.tip = self.tip - last, last
        self.connection.execute(text("TRUNCATE hub_index.changes RESTART IDENTITY"))
        self.connection.execute(text(LOST_COUNT))
        self.grow(again)

    def _take_out(self, last: int) -> None:
        note_retraction(self.connection, BlockNumber(last))
        self.connection.execute(text("DELETE FROM hub_index.logs WHERE block_number > :last"), {"last": last})
        self.facts = [fact for fact in self.facts if fact[0] <= last]

    def _insert(self, number: int, block_hash: str, place: int) -> None:
        self.connection.execute(
            text(
                "INSERT INTO hub_index.logs"
                " (block_number, block_hash, log_index, tx_hash, time, bounty_id, topics, data)"
                " SELECT :number, :hash, :place, tx_hash, time, bounty_id, topics, data FROM hub_index.logs"
                " ORDER BY block_number, log_index LIMIT 1"
            ),
            {"number": number, "hash": block_hash, "place": place},
        )

    def _move_head(self) -> None:
        self.connection.execute(
            text("UPDATE hub_index.head SET block_number = :tip, finalized_number = :final"),
            {"tip": self.tip, "final": self.final},
        )


@dataclass(frozen=True)
class Stage:
    """A service, and its database as its owner and as the worker see it."""

    service: Service
    owner: Engine
    worker: Engine


class History:
    """One drawn history."""

    def __init__(self, stage: Stage, subscriber: Subscriber, seed: str) -> None:
        self.stage, self.dice = stage, random.Random(seed)
        self.audience = Audience(self.dice)
        self.urls = {finality: f"https://127.0.0.1:4433/{secrets.token_hex(4)}" for finality in FINALITIES}
        self.worker, self.may_repeat, self.is_rebuilt = self._new_worker(), False, False
        for finality, url in self.urls.items():
            subscriber.register(url, all_bounties=True, finality=finality)
        self.worker.run()

    def _new_worker(self) -> Worker:
        sender: Sender = self.audience  # type: ignore[assignment]  # the network's place
        return Worker(self.stage.service, sender, self.stage.worker)

    def play(self) -> list[str]:
        """What is wrong at its end."""
        with self.stage.owner.begin() as connection:
            row = connection.execute(text("SELECT block_number, finalized_number FROM hub_index.head")).one()
        self.place = Place(row[0], row[1])
        self._chain(lambda chain: chain.finalize(1_000))  # what was there at its registration stays
        for _ in range(STEPS):
            self._step()
        self._chain(lambda chain: (chain.grow(2), chain.finalize(1_000)))
        self._recover()
        self.worker.deliverer.close()
        return [f"{finality}: {one}" for finality in FINALITIES for one in self._wrong(finality)]

    def _step(self) -> None:
        match self.dice.choice(("grow", "grow", "reorg", "final", "rare", "mood", "mood", "kill", "look", "look")):
            case "grow":
                self._chain(lambda chain: chain.grow(self.dice.choice((1, 1, 3))))
            case "reorg":
                self._chain(lambda chain: chain.reorganize(self.dice.choice((1, 2, 4))))
            case "final":
                self._chain(lambda chain: chain.finalize(self.dice.choice((1, 3, 9))))
            case "rare":
                self._rare_step()
            case "mood":
                url = self._name(self.dice.choice(FINALITIES))
                self.audience.moods[url] = self.dice.choice(("well", "well", "away", "refuses", "loses"))
            case "kill":
                self.worker.deliverer.look()
                self.may_repeat = True  # what was sent is not written
                self._start_again()
            case _:
                self.worker.later(self.dice.choice((0, 30, HOURS)))

    def _rare_step(self) -> None:
        match self.dice.choice(("rebuild", "rebuild", "rebuild", "restore", "vanish")):
            case "rebuild":
                self.is_rebuilt = True
                self._chain(lambda chain: chain.rebuild())
            case "restore":
                if self.is_rebuilt:  # what took final facts back is not in the backup: it was heard before
                    self._recover()
                self._chain(lambda chain: chain.restore())
                self._start_again()
                self.worker.run()  # all start together, before anything else happens
            case "vanish":
                self.may_repeat = True
                self._recover()
                with self.stage.owner.begin() as connection:
                    connection.execute(text("DELETE FROM webhooks.deliveries"))
                self.worker.later(30)

    def _start_again(self) -> None:
        self.worker.deliverer.close()
        passed, self.worker = self.worker.clock.passed, self._new_worker()
        self.worker.clock.passed = passed

    def _recover(self) -> None:
        """Everybody is well, until all is heard."""
        self.audience.moods.clear()
        self.worker.later(HOURS)
        self.worker.later(HOURS)

    def _name(self, finality: str) -> str:
        return self.urls[finality].removeprefix("https://").replace(":4433", "")

    def _chain(self, change: Any) -> None:
        with self.stage.owner.begin() as connection:
            chain = Chain(connection, self.dice, self.place.tip, self.place.final, self.place.facts)
            change(chain)
            self.place = Place(chain.tip, chain.final, chain.facts)

    def _wrong(self, finality: str) -> Iterator[str]:
        held, known_twice, is_lost = list[Fact](), 0, False
        for _, message, is_known in self.audience.told.get(self._name(finality), []):
            if message["type"] == "hub.missed":
                held = [fact for fact in held if fact[0] <= message["data"]["last_block_number"]]
                continue
            for change in message["data"]["changes"]:
                event = change["event"]
                if event is None:
                    held = [fact for fact in held if fact[0] <= change["last_block_number"]]
                    continue
                fact = (event["block_number"], event["block_hash"], event["log_index"])
                if finality == "finalized" and event["finality"] != "finalized":
                    yield f"{fact} was not final"
                known_twice += fact in held
                if fact not in held:
                    held.append(fact)
            is_lost |= not is_known
        if held != self.place.facts:
            yield f"heard {held}, the chain has {self.place.facts}"
        if known_twice and not (is_lost or self.may_repeat):
            yield f"{known_twice} facts came twice"


@dataclass
class Place:
    """Where a drawn chain is."""

    tip: int
    final: int
    facts: list[Fact] = field(default_factory=list)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Of its own: its chain is drawn."""
    with running_service() as service:
        service.world.create()
        service.world.finalize()
        yield Stage(service, service.world.database.engine(), service.world.engine("service_webhooks"))


def test_receivers__whatever_happened__have_heard_the_chain_at_the_end(stage: Stage) -> None:
    wrong = []
    for number in range(size(10, 1_000)):
        subscriber = Subscriber(stage.service)
        found = History(stage, subscriber, seed := f"history {SEED}.{number}").play()
        wrong += [f"{seed}: {one}" for one in found]
        for each in subscriber.list():
            subscriber.remove(each["webhook_id"])
    assert not wrong, "\n".join(wrong)
