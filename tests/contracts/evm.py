"""The committed Hub, and USDC, on an EVM: calls in, values, logs or a named refusal out.

Two EVMs run them through one small port: pyrevm in this process, and the project's own node, anvil. pyrevm is faster
and is used where it has a wheel; ``SERVICE_TEST_EVM=anvil`` takes the node there, too, and ``both`` plays everything on
each and compares every answer. ``CALLS`` counts what was asked of which.
"""

import importlib.util
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from bounty_protocol.chain.abi import Abi, parse_abi
from bounty_protocol.types import Bytes32
from eth_abi.abi import encode
from local_stack.token import NAME, SYMBOL, usdc_code

ARTIFACTS: Final = Path(__file__).resolve().parents[2] / "contracts" / "artifacts"
DEPLOYER: Final = "0x" + "de" * 20
PYREVM: Final = importlib.util.find_spec("pyrevm") is not None
CHOSEN: Final = os.environ.get("SERVICE_TEST_EVM") or ("pyrevm" if PYREVM else "anvil")
CALLS: Final[Counter[str]] = Counter()
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Log:
    """One log as the contract emitted it."""

    address: str
    topics: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    output: bytes
    logs: tuple[Log, ...]


@dataclass(frozen=True, slots=True)
class Reverted:
    output: bytes


class Evm(Protocol):
    """A chain of its own, with nothing on it; another one's beginning may end it."""

    def set_time(self, time: int) -> None:
        """Begin a block: what follows runs at ``time``."""

    def deploy(self, sender: str, code: bytes) -> str:
        """Create a contract; its address."""

    def call(self, sender: str, to: str, data: bytes) -> Accepted | Reverted:
        """One transaction; a reverted one leaves no trace."""

    def read(self, sender: str, calls: Sequence[tuple[str, bytes]]) -> list[Accepted | Reverted]:
        """The answers to many views, each an address and its calldata."""


def begin(name: str) -> Evm:
    """A new chain on an EVM by its name."""
    if name == "pyrevm":
        from tests.contracts.revm import Revm

        return Revm()
    if name == "anvil":
        from tests.contracts.node import Anvil

        return Anvil()
    if name == "both":
        return Both()
    raise ValueError(f"SERVICE_TEST_EVM is pyrevm, anvil or both, not {name}")


class Both:
    """Two EVMs that must give the same answer to everything."""

    def __init__(self) -> None:
        self.evms = [begin("pyrevm"), begin("anvil")]

    def set_time(self, time: int) -> None:
        for evm in self.evms:
            evm.set_time(time)

    def deploy(self, sender: str, code: bytes) -> str:
        return _same([evm.deploy(sender, code) for evm in self.evms])

    def call(self, sender: str, to: str, data: bytes) -> Accepted | Reverted:
        return _same([evm.call(sender, to, data) for evm in self.evms])

    def read(self, sender: str, calls: Sequence[tuple[str, bytes]]) -> list[Accepted | Reverted]:
        return _same([evm.read(sender, calls) for evm in self.evms])


def _same(answers: list[Answer]) -> Answer:
    first, second = answers
    assert first == second, "pyrevm and anvil disagree"
    return first


@dataclass(frozen=True)
class Refusal:
    """A named custom error with its values."""

    name: str
    values: tuple[object, ...]


@dataclass(frozen=True)
class Event:
    name: str
    values: dict[str, object]


@dataclass(frozen=True)
class Done:
    """What an accepted call returned, and the contract's own logs."""

    values: tuple[object, ...]
    events: tuple[Event, ...]


class Chain:
    """A chain whose time is what the test says."""

    def __init__(self, time: int, evm: str = CHOSEN) -> None:
        self.evm = begin(evm)
        self.warp(time)

    def warp(self, time: int) -> None:
        self.time = time
        self.evm.set_time(time)

    def deploy(self, name: str, *arguments: tuple[str, object]) -> "Contract":
        code, abi = _artifact(name)
        types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
        return Contract(self, self.evm.deploy(DEPLOYER, code + encode(types, values)), abi)

    def deploy_token(self, issuer: str) -> "Contract":
        """USDC without its proxy; ``issuer`` has all roles and mints."""
        code = usdc_code()
        token = code.token(self.evm.deploy(DEPLOYER, code.library.bytecode))
        made = Contract(self, self.evm.deploy(DEPLOYER, token.bytecode), _token_abi())
        steps: dict[str, tuple[object, ...]] = {
            "initialize": (NAME, SYMBOL, "USD", 6, issuer, issuer, issuer, issuer),
            "initializeV2": (NAME,),
            "initializeV2_1": (issuer,),
            "initializeV2_2": ([], SYMBOL),
            "configureMinter": (issuer, 2**256 - 1),
        }
        for function, arguments in steps.items():
            assert isinstance(made.send(issuer, function, *arguments), Done), function
        return made

    def read(self, views: Sequence["View"]) -> list[Any]:
        """The values of many views, asked at once."""
        answers = self.evm.read(DEPLOYER, [(view.contract.address, view.data) for view in views])
        return [view.value(answer) for view, answer in zip(views, answers, strict=True)]


@cache
def _artifact(name: str) -> tuple[bytes, Abi]:
    artifact = json.loads((ARTIFACTS / f"{name}.json").read_text(encoding="utf-8"))
    return bytes.fromhex(artifact["bytecode"][2:]), parse_abi(json.dumps(artifact["abi"]))


@cache
def _token_abi() -> Abi:
    return parse_abi(json.dumps(usdc_code().abi))


class Contract:
    def __init__(self, chain: Chain, address: str, abi: Abi) -> None:
        self.chain, self.address, self.abi = chain, address, abi

    def send(self, sender: str, function: str, *arguments: object) -> Done | Refusal:
        """One transaction."""
        codec = self.abi.functions[function]
        answer = self.chain.evm.call(sender, self.address, codec.encode(*arguments))
        if isinstance(answer, Reverted):
            return self.refusal(answer)
        return Done(codec.decode(answer.output), tuple(self._events(answer.logs)))

    def view(self, function: str, *arguments: object) -> "View":
        """A question for ``Chain.read``."""
        return View(self, function, self.abi.functions[function].encode(*arguments))

    def read(self, function: str, *arguments: object) -> Any:
        """The one value of a view, or the tuple of its several."""
        return self.chain.read([self.view(function, *arguments)])[0]

    def refusal(self, answer: Reverted) -> Refusal:
        named = self.abi.revert(answer.output)
        assert named is not None, f"a revert without a name: {answer.output.hex()}"
        return Refusal(*named)

    def _events(self, logs: Sequence[Log]) -> list[Event]:
        own = [log for log in logs if log.address == self.address]
        codecs = [self.abi.events[Bytes32(log.topics[0])] for log in own]
        return [
            Event(codec.name, codec.decode([Bytes32(topic) for topic in log.topics], log.data))
            for codec, log in zip(codecs, own, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class View:
    """A view of a contract with its arguments."""

    contract: Contract
    function: str
    data: bytes

    def value(self, answer: Accepted | Reverted) -> Any:
        if isinstance(answer, Reverted):
            raise AssertionError(f"{self.function}: {self.contract.refusal(answer)}")
        values = self.contract.abi.functions[self.function].decode(answer.output)
        return values[0] if len(values) == 1 else values
