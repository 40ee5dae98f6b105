"""The EVM of pyrevm, inside this process."""

import re
from collections.abc import Sequence
from typing import Any

from pyrevm import EVM, BlockEnv

from tests.contracts.evm import CALLS, Accepted, Log, Reverted

_OUTPUT = re.compile(r"output: (0x[0-9a-f]*)")


class Revm:
    """A chain in memory; several live side by side."""

    def __init__(self) -> None:
        self._evm: Any = EVM(spec_id="CANCUN")
        self._number = 0

    def set_time(self, time: int) -> None:
        self._number += 1
        self._evm.set_block_env(BlockEnv(number=self._number, timestamp=time))

    def deploy(self, sender: str, code: bytes) -> str:
        CALLS["calls on pyrevm"] += 1
        return str(self._evm.deploy(sender, code)).lower()

    def call(self, sender: str, to: str, data: bytes) -> Accepted | Reverted:
        CALLS["calls on pyrevm"] += 1
        return self._run(sender, to, data)

    def read(self, sender: str, calls: Sequence[tuple[str, bytes]]) -> list[Accepted | Reverted]:
        CALLS["reads on pyrevm"] += len(calls)
        return [self._run(sender, to, data) for to, data in calls]

    def _run(self, sender: str, to: str, data: bytes) -> Accepted | Reverted:
        try:
            output = self._evm.message_call(sender, to, calldata=data)
        except RuntimeError as error:
            found = _OUTPUT.search(str(error))
            assert found is not None, f"neither accepted nor reverted: {error}"
            return Reverted(bytes.fromhex(found.group(1)[2:]))
        logs = (Log(log.address.lower(), tuple(log.topics), bytes(log.data[1])) for log in self._evm.result.logs)
        return Accepted(bytes(output), tuple(logs))
