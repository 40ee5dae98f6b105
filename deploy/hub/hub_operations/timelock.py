"""OpenZeppelin's TimelockController as the Hub's owner: who may do what in it, and the calls that go through it.

Proposing, cancelling and the roles themselves belong to three accounts, best Safes, so that no stolen one keeps the
other two from answering (docs/adr/0033-who-owns-the-hub.md). Nothing expires: what waited can be executed for ever.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bounty_protocol.chain.abi import Abi, parse_abi
from bounty_protocol.chain.rpc import Rpc, RpcRefused, hex_bytes, quantity
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, to_bytes
from local_stack.contract import Artifact, read_artifact
from local_stack.toolbox import ensure_npm_package
from service_indexer.web3_provider import Web3

PACKAGE: Final = Path(__file__).parent.parent / "timelock"
ARTIFACT: Final = "@openzeppelin/contracts/build/contracts/TimelockController.json"
NO_PREDECESSOR: Final = bytes(32)
ADMIN: Final = Bytes32("0x" + "00" * 32)
PROPOSER, EXECUTOR, CANCELLER = (
    Bytes32("0x" + keccak256(name).hex()) for name in (b"PROPOSER_ROLE", b"EXECUTOR_ROLE", b"CANCELLER_ROLE")
)
ROLES: Final = {ADMIN: "admin", PROPOSER: "proposer", EXECUTOR: "executor", CANCELLER: "canceller"}


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Who is to hold which role: each of three accounts alone can do little, and any two can replace the third.

    ``recovery`` is a Safe of which the other two are owners, beside a third account in a vault; two of the three sign.
    """

    proposer: Address
    canceller: Address
    recovery: Address

    @property
    def holders(self) -> dict[Bytes32, frozenset[Address]]:
        """Each role's holders, and nobody else."""
        return {
            ADMIN: frozenset({self.recovery}),
            PROPOSER: frozenset({self.proposer}),
            CANCELLER: frozenset({self.canceller}),
            EXECUTOR: frozenset({self.proposer, self.canceller}),
        }


@dataclass(frozen=True, slots=True)
class Operation:
    """One call that waits in a timelock, or waited."""

    id: Bytes32
    to: Address
    data: bytes
    ready_at: int


@lru_cache
def timelock_artifact() -> Artifact:
    """Return its bytecode and ABI, as OpenZeppelin publishes them; the lock file pins the bytes."""
    return read_artifact(ensure_npm_package(PACKAGE) / ARTIFACT)


@lru_cache
def timelock_abi() -> Abi:
    return parse_abi(json.dumps(list(timelock_artifact().abi)))


def encode(function: str, *arguments: object) -> bytes:
    """Return a call of the timelock."""
    return timelock_abi().functions[function].encode(*arguments)


class Timelock:
    """Reads of one timelock."""

    def __init__(self, rpc: Rpc, address: Address) -> None:
        self.rpc, self.address = rpc, address

    def read(self, function: str, *arguments: object) -> object:
        """Return the one value that a view returns."""
        call = {"to": self.address, "data": "0x" + encode(function, *arguments).hex()}
        return timelock_abi().functions[function].decode(hex_bytes(self.rpc.call("eth_call", call, "latest")))[0]

    @property
    def delay(self) -> int:
        """Seconds that every call waits at least."""
        return int(str(self.read("getMinDelay")))

    def has_role(self, role: Bytes32, account: Address) -> bool:
        return bool(self.read("hasRole", to_bytes(role), account))

    def ready_at(self, operation: Bytes32) -> int:
        """Return from when it can be executed: 0 if it is unknown or cancelled, 1 if it is done."""
        return int(str(self.read("getTimestamp", to_bytes(operation))))

    def holders(self, since: int) -> dict[Bytes32, frozenset[Address]]:
        """Return who holds each role, from every change since its deployment; the contract keeps no list."""
        found: dict[Bytes32, set[Address]] = {}
        for name, fields in self._events(("RoleGranted", "RoleRevoked"), since):
            role, account = Bytes32(str(fields["role"])), Address(str(fields["account"]))
            accounts = found.setdefault(role, set())
            accounts.add(account) if name == "RoleGranted" else accounts.discard(account)
        return {role: frozenset(accounts) for role, accounts in found.items() if accounts}

    def waiting(self, since: int) -> list[Operation]:
        """Scheduled operations, neither executed nor cancelled, oldest first."""
        scheduled = {Bytes32(str(fields["id"])): fields for _, fields in self._events(("CallScheduled",), since)}
        found = []
        for operation, fields in scheduled.items():  # one that was cancelled can be scheduled again
            if (ready_at := self.ready_at(operation)) > 1:
                found.append(Operation(operation, Address(str(fields["target"])), _bytes(fields["data"]), ready_at))
        return found

    def _events(self, names: Sequence[str], since: int) -> Iterator[tuple[str, dict[str, object]]]:
        topics = {topic: event for topic, event in timelock_abi().events.items() if event.name in names}
        wanted = {"address": self.address, "topics": [list(topics)]}
        for log in logs_between(self.rpc, wanted, since, quantity(self.rpc.call("eth_blockNumber"))):
            event = topics[log["topics"][0]]
            yield event.name, event.decode(log["topics"], hex_bytes(log["data"]))


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else hex_bytes(str(value))


def is_timelock(rpc: Rpc, account: Address) -> bool:
    """Return whether an account answers as a TimelockController does."""
    if rpc.call("eth_getCode", account, "latest") == "0x":
        return False
    try:
        return Timelock(rpc, account).delay >= 0
    except (RpcRefused, ValueError):
        return False


def logs_between(rpc: Rpc, wanted: Mapping[str, object], first: int, last: int) -> Iterator[dict[str, Any]]:
    """Yield logs in order, by ever shorter ranges where an endpoint refuses long ones."""
    try:
        answer: Any = rpc.call("eth_getLogs", {**wanted, "fromBlock": hex(first), "toBlock": hex(last)})
        yield from answer
    except RpcRefused:
        if first == last:
            raise
        middle = (first + last) // 2
        yield from logs_between(rpc, wanted, first, middle)
        yield from logs_between(rpc, wanted, middle + 1, last)


@dataclass(frozen=True, slots=True)
class ScheduledCall:
    """One call on its way through a timelock: announced by its proposer, and executed once it waited."""

    timelock: Address
    to: Address
    data: bytes
    salt: bytes

    @property
    def id(self) -> Bytes32:
        """Its name in the timelock."""
        types = ("address", "uint256", "bytes", "bytes32", "bytes32")
        values = (self.to, 0, self.data, NO_PREDECESSOR, self.salt)
        return Bytes32("0x" + keccak256(Web3().codec.encode(types, values)).hex())

    def schedule(self, delay: int) -> bytes:
        return encode("schedule", self.to, 0, self.data, NO_PREDECESSOR, self.salt, delay)

    def execute(self) -> bytes:
        return encode("execute", self.to, 0, self.data, NO_PREDECESSOR, self.salt)


def next_passage(timelock: Timelock, to: Address, data: bytes) -> ScheduledCall:
    """Return the passage of a call that is not in the timelock yet: the same call again has another salt."""
    return next(each for each in _passages(timelock.address, to, data) if timelock.ready_at(each.id) == 0)


def waiting_passage(timelock: Timelock, to: Address, data: bytes) -> ScheduledCall | None:
    """Return the passage of a call that waits; None if none does."""
    for each in _passages(timelock.address, to, data):
        ready_at = timelock.ready_at(each.id)
        if ready_at > 1:
            return each
        if ready_at == 0 and int.from_bytes(each.salt, "big") >= LAST_SALT:
            return None
    return None


LAST_SALT: Final = 15
"""A cancelled call leaves a gap among the salts, so that some more are looked at."""


def _passages(timelock: Address, to: Address, data: bytes) -> Iterator[ScheduledCall]:
    for number in range(1 << 16):
        yield ScheduledCall(timelock, to, data, number.to_bytes(32, "big"))
