"""The committed Hub and test token in an EVM inside this process: calls in, values, logs or a named refusal out."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from pyrevm import EVM, BlockEnv
from service_common.chain.abi import Abi, parse_abi
from service_common.types import Bytes32

ARTIFACTS = Path(__file__).resolve().parents[2] / "contracts" / "artifacts"
DEPLOYER = "0x" + "de" * 20
_OUTPUT = re.compile(r"output: (0x[0-9a-f]*)")


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
    """One block at a time, at the time it is told."""

    def __init__(self, time: int) -> None:
        self.evm = EVM(spec_id="CANCUN")
        self.evm.set_balance(DEPLOYER, 10**24)
        self.time = time
        self.number = 0
        self.warp(time)

    def warp(self, time: int) -> None:
        self.time = time
        self.number += 1
        self.evm.set_block_env(BlockEnv(number=self.number, timestamp=time))

    def deploy(self, name: str, *arguments: tuple[str, object]) -> "Contract":
        artifact = json.loads((ARTIFACTS / f"{name}.json").read_text(encoding="utf-8"))
        types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
        code = bytes.fromhex(artifact["bytecode"][2:]) + encode(types, values)
        return Contract(self, self.evm.deploy(DEPLOYER, code).lower(), parse_abi(json.dumps(artifact["abi"])))


class Contract:
    def __init__(self, chain: Chain, address: str, abi: Abi) -> None:
        self.chain, self.address, self.abi = chain, address, abi

    def send(self, sender: str, function: str, *arguments: object) -> Done | Refusal:
        """One transaction; a refusal leaves no trace."""
        codec = self.abi.functions[function]
        try:
            answer = self.chain.evm.message_call(sender, self.address, calldata=codec.encode(*arguments))
        except RuntimeError as error:
            return self._refusal(str(error))
        result = self.chain.evm.result
        return Done(codec.decode(bytes(answer)), tuple(self._events(result.logs if result else [])))

    def read(self, function: str, *arguments: object) -> Any:
        """The one value of a view, or the tuple of its several."""
        done = self.send(DEPLOYER, function, *arguments)
        if isinstance(done, Refusal):
            raise AssertionError(f"{function}: {done}")
        return done.values[0] if len(done.values) == 1 else done.values

    def _refusal(self, message: str) -> Refusal:
        found = _OUTPUT.search(message)
        named = self.abi.revert(bytes.fromhex(found.group(1)[2:])) if found else None
        if named is None:
            raise AssertionError(f"a revert without a name: {message}")
        return Refusal(*named)

    def _events(self, logs: Sequence[Any]) -> list[Event]:
        own = [log for log in logs if log.address.lower() == self.address]
        codecs = [self.abi.events[Bytes32(log.topics[0])] for log in own]
        return [
            Event(codec.name, codec.decode([Bytes32(topic) for topic in log.topics], bytes(log.data[1])))
            for codec, log in zip(codecs, own, strict=True)
        ]
