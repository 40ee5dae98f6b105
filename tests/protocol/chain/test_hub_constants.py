"""A token that describes itself as tokens do, and what else an endpoint may say in its place."""

from collections.abc import Sequence

import pytest
from bounty_protocol.chain.hub_constants import read_token
from bounty_protocol.chain.rpc import Call, ChainNode, ChainUnavailable
from bounty_protocol.types import Address

TOKEN = Address("0x" + "11" * 20)


class Scripted(ChainNode):
    """Answers every call with this, and ``decimals`` with 6."""

    def __init__(self, text: object) -> None:
        self._text = text

    def batch(self, calls: Sequence[Call]) -> list[object]:
        return ["0x06" if "0x313ce567" in str(call) else self._text for call in calls]


def words(*numbers: int, text: bytes = b"") -> str:
    return "0x" + b"".join(number.to_bytes(32, "big") for number in numbers).hex() + text.ljust(32, b"\0").hex()


def test_token__that_describes_itself__is_read() -> None:
    token = read_token(Scripted(words(32, 4, text=b"USDC")), TOKEN)
    assert (token.symbol, token.name, token.version, token.decimals) == ("USDC", "USDC", "USDC", 6)


@pytest.mark.parametrize(
    "text",
    [
        "0x",
        words(32, 2, text=b"\xff\xff"),
        words(32, 2**256 - 1),
        words(2**256 - 1),
        words(2**62),
        "0xabc",
        "x",
        None,
        7,
    ],
)
def test_token_described_otherwise_is_no_answer(text: object) -> None:
    with pytest.raises(ChainUnavailable):
        read_token(Scripted(text), TOKEN)
