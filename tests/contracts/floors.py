"""The least that a call of the Hub can take: what it has to pay for, whatever code does it.

That is the transaction and its call data; each word of the Hub's storage that it reads or changes, once; its logs; the
hashes; the reentrancy guard's word; and the calls of the token, as they were measured. The rest of the gas is the Hub's
own code: finding the function, moving values, computing, comparing.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from local_stack.anvil import AnvilServer

COLD: Final = 2_100
WARM: Final = 100
NEW_WORD: Final = 20_000
OTHER_VALUE: Final = 2_900
LOG: Final = 375
LOG_TOPIC: Final = 375
LOG_BYTE: Final = 8
HASH: Final = 30
HASHED_WORD: Final = 6
CALLS: Final = frozenset({"CALL", "STATICCALL", "DELEGATECALL"})


@dataclass
class Needed:
    """What the Hub's own frame of one transaction had to do; ``words`` has what each word was changed to, or None."""

    words: dict[int, int | None] = field(default_factory=dict)
    gas: int = 0
    """Of all but those words."""

    def add(self, step: Any, after: Any) -> None:
        """One step, and the next one of the same frame."""
        name, stack = str(step["op"]), [int(word, 16) for word in step["stack"]]
        if name == "SLOAD":
            self.words.setdefault(stack[-1], None)
        elif name == "SSTORE":
            self.words[stack[-1]] = stack[-2]
        elif name in {"TLOAD", "TSTORE"}:
            self.gas += WARM
        elif name.startswith("LOG"):
            self.gas += LOG + int(name[3:]) * LOG_TOPIC + LOG_BYTE * stack[-2]
        elif name == "KECCAK256":
            self.gas += HASH + HASHED_WORD * -(-stack[-2] // 32)
        elif name in CALLS:
            self.gas += int(step["gas"]) - int(after["gas"])


def above_floor(node: AnvilServer, transaction: bytes) -> int:
    """How much of the gas of a call of the Hub is its own code."""
    found = node.w3.eth.get_transaction(transaction)  # type: ignore[arg-type]
    trace: Any = node.rpc.call("debug_traceTransaction", "0x" + bytes(transaction).hex(), {"disableMemory": True})
    own = [step for step in trace["structLogs"] if step["depth"] == 1]
    needed = Needed()
    for step, after in itertools.pairwise(own):
        needed.add(step, after)
    used = int(own[0]["gas"]) - int(own[-1]["gas"]) + int(own[-1]["gasCost"])
    return used - needed.gas - _words(node, str(found["to"]), int(found["blockNumber"]) - 1, needed.words.items())


def _words(node: AnvilServer, hub: str, before: int, words: Iterable[tuple[int, int | None]]) -> int:
    """Each word once: read, and changed where its value is another one at the end."""
    total = 0
    for slot, value in words:
        held = int(str(node.rpc.call("eth_getStorageAt", hub, hex(slot), hex(before))), 16)
        total += COLD
        if value is not None and value != held:
            total += OTHER_VALUE if held else NEW_WORD
    return total
