"""Files for the transaction builder of a Safe: their form, and when two are the same."""

import json

from bounty_protocol.types import Address, ChainId
from hub_operations.safe import safe_batch

SAFE, HUB = Address("0x" + "ab" * 20), Address("0x" + "cd" * 20)


def batch(chain: int = 31337, data: bytes = b"\x12", at: int = 7, safe: Address = SAFE, words: str = "claim") -> str:
    return safe_batch(ChainId(chain), safe, [(HUB, data)], words, at)


def test_batch_of_a_safe_has_call_bytes_alone() -> None:
    found = json.loads(batch())
    assert (found["version"], found["chainId"], found["createdAt"]) == ("1.0", "31337", 7_000)
    assert found["meta"]["createdFromSafeAddress"].lower() == SAFE
    assert found["meta"]["createdFromSafeAddress"] != SAFE
    (call,) = found["transactions"]
    assert (call["to"].lower(), call["value"], call["data"]) == (HUB, "0", "0x12")
    assert (call["contractMethod"], call["contractInputsValues"]) == (None, None)
