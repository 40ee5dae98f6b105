"""Which events may leave the Hub's storage as it was: what the index does not see by comparing storage roots.

A run of blocks is spared where the storage is the same at both ends, each block later than the one before. So the
storage at the end of each block is kept, and wherever it returns, only the named events may lie between.
"""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from tests.campaign import SEED, size
from tests.contracts.evm import PYREVM, Done, Event, Refusal
from tests.contracts.layout import slots
from tests.contracts.machine import KEYS, OWNERS, POSTERS, SOLVERS, START, HubMachine
from tests.contracts.walk import ESCROWS, step

UNSEEN = {
    "SubmissionRecorded",
    "OwnershipTransferStarted",
    "OwnershipTransferred",
    "DeliveryKeyPublished",
    "DeliveryKeyWithdrawn",
}
"""The events whose logs leave the storage root as it was, if they are repeated."""

pytestmark = pytest.mark.skipif(not PYREVM, reason="only pyrevm shows a contract's storage as Ethereum has it")


class StorageMachine(HubMachine):
    """Keeps the storage at the end of each block, and what was logged in it."""

    def watch(self) -> None:
        self.policies, self.logged = 1, list[Event]()
        self.ends: list[tuple[dict[int, int], list[Event]]] = [(self.words(), [])]

    def words(self) -> dict[int, int]:
        evm = self.chain.evm._evm  # type: ignore[attr-defined]
        read = ((slot, evm.storage(self.hub.address, slot)) for slot in slots(self.model, self.policies))
        return {slot: value for slot, value in read if value}

    def compare(self, answer: Done | Refusal, expectation: Callable[[], list[Event]]) -> None:
        super().compare(answer, expectation)
        if isinstance(answer, Done) and hasattr(self, "ends"):
            self.logged += answer.events
            self.policies += sum(event.name == "FeePolicyChanged" for event in answer.events)

    def end_block(self, seconds: int = 1) -> None:
        self.ends.append((self.words(), self.logged))
        self.logged = []
        self.chain.warp(self.chain.time + seconds)

    def returned(self) -> Iterator[set[str]]:
        """The names of what was logged between each two block ends with the same storage, the nearest ones."""
        seen = dict[frozenset[tuple[int, int]], int]()
        for place, (words, _) in enumerate(self.ends):
            kept = frozenset(words.items())
            if kept in seen:
                yield {event.name for _, events in self.ends[seen[kept] + 1 : place + 1] for event in events}
            seen[kept] = place


def test_returned_storage_hides_the_named_events_alone() -> None:
    hidden = set[str]()
    for place in range(size(1, 60)):
        random = Random(7_000 * SEED + place)
        machine = StorageMachine()
        machine.begin(250, 300, 3, 0, False)
        machine.create(POSTERS[0], ESCROWS[0], 500, 500, -1, False, bytes(32))
        machine.watch()
        for _ in range(size(400, 1_500)):
            step(machine, random)
            if random.random() < 0.8:
                machine.end_block()
        machine.end_block()
        for names in machine.returned():
            assert names <= UNSEEN, names - UNSEEN
            hidden |= names
    assert "SubmissionRecorded" in hidden


def submit_again(machine: StorageMachine) -> None:
    machine.submit(SOLVERS[0], OWNERS[0], False, 0, b"\7" * 32, False, False)


def submit_another_and_back(machine: StorageMachine) -> None:
    machine.submit(SOLVERS[0], OWNERS[0], False, 0, b"\x08" * 32, False, False)
    machine.end_block()
    submit_again(machine)


def offer(machine: StorageMachine, heir: str) -> None:
    machine.play(machine.model.owner, "transferOwnership", [heir], machine.model.transfer_ownership, heir)


def accept(machine: StorageMachine, heir: str) -> None:
    machine.play(heir, "acceptOwnership", [], machine.model.accept_ownership)


def offer_and_withdraw(machine: StorageMachine) -> None:
    offer(machine, OWNERS[1])
    machine.end_block()
    offer(machine, "0x" + "00" * 20)


def hand_to_oneself(machine: StorageMachine) -> None:
    offer(machine, OWNERS[0])
    accept(machine, OWNERS[0])


def hand_there_and_back(machine: StorageMachine) -> None:
    for heir in (OWNERS[1], OWNERS[0]):
        offer(machine, heir)
        accept(machine, heir)
        machine.end_block()


def publish_key(machine: StorageMachine, key: bytes) -> None:
    now = machine.chain.time
    machine.play(machine.model.owner, "publishDeliveryKey", [key], machine.model.publish_delivery_key, key, now)


def withdraw_key(machine: StorageMachine, key: bytes) -> None:
    now = machine.chain.time
    machine.play(machine.model.owner, "withdrawDeliveryKey", [key], machine.model.withdraw_delivery_key, key, now)


def announce_and_withdraw(machine: StorageMachine, *, late: int) -> None:
    """With the key in force published a second time, so many seconds after that counts."""
    for _ in range(2):
        publish_key(machine, KEYS[0])
        machine.end_block()
    announced = machine.model.announced_delivery_key(machine.chain.time)[1]
    machine.chain.warp(announced + late)
    machine.ends = [(machine.words(), [])]
    publish_key(machine, KEYS[1])
    withdraw_key(machine, KEYS[1])


def heartbeat(machine: StorageMachine) -> None:
    guardian = machine.model.rosters[0].accounts[0]
    machine.play(guardian, "heartbeat", [], machine.model.heartbeat, machine.chain.time)


def same_fees(machine: StorageMachine) -> None:
    policy = machine.model.policy
    fees = (policy.protocol_bps, policy.guardian_bps, policy.recipient)
    machine.play(machine.model.owner, "setFeePolicy", list(fees), machine.model.set_fee_policy, *fees)


@pytest.mark.parametrize(
    ("life", "hides"),
    [
        (submit_again, {"SubmissionRecorded"}),
        (submit_another_and_back, {"SubmissionRecorded"}),
        (offer_and_withdraw, {"OwnershipTransferStarted"}),
        (hand_to_oneself, {"OwnershipTransferStarted", "OwnershipTransferred"}),
        (hand_there_and_back, {"OwnershipTransferStarted", "OwnershipTransferred"}),
        (lambda machine: announce_and_withdraw(machine, late=0), {"DeliveryKeyPublished", "DeliveryKeyWithdrawn"}),
        (lambda machine: announce_and_withdraw(machine, late=1), None),
        (heartbeat, None),
        (same_fees, None),
    ],
    ids=["same", "and back", "withdrawn offer", "oneself", "owner and back", "key", "key later", "heartbeat", "fees"],
)
def test_storage_after_each_named_event(life: Callable[[StorageMachine], None], hides: set[str] | None) -> None:
    machine = StorageMachine()
    machine.begin(250, 300, 3, 1, False)
    machine.submit(SOLVERS[0], OWNERS[0], False, 0, b"\7" * 32, False, False)
    machine.chain.warp(START + 5)
    machine.watch()
    life(machine)
    machine.end_block()
    (first, _), (last, _) = machine.ends[0], machine.ends[-1]
    logged = {event.name for _, events in machine.ends for event in events}
    assert logged
    assert (first == last) is (hides is not None)
    assert hides is None or logged == hides
