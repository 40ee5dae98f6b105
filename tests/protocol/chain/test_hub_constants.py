"""A token that describes itself as tokens do, and what else an endpoint may say in its place."""

from collections.abc import Sequence

import pytest
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import balance_of, read_hub_constants, read_publication_delay, read_token
from bounty_protocol.chain.rpc import Call, ChainNode, ChainUnavailable, RpcRefused
from bounty_protocol.types import Address, ChainId

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


@pytest.mark.parametrize("answer", ["0x", "0x" + "00" * 31, "0x" + "00" * 64, "x", None])
def test_balance_of_other_than_a_word_is_no_answer(answer: object) -> None:
    with pytest.raises(ChainUnavailable, match="no balance"):
        balance_of(Scripted(answer), TOKEN, TOKEN)


def test_endpoint_of_another_chain_is_unavailable() -> None:
    with pytest.raises(ChainUnavailable, match="a chain other than"):
        read_hub_constants(Scripted("0x1"), TOKEN, ChainId(8453))


@pytest.mark.parametrize(
    ("refusal", "is_older"), [(RpcRefused(3, "execution reverted"), True), (RpcRefused(-32000, "no state"), False)]
)
def test_revert_alone_is_a_hub_of_another_release(refusal: RpcRefused, is_older: bool) -> None:
    with pytest.raises(ChainUnavailable if is_older else RpcRefused):
        read_publication_delay(Hub(Scripted(refusal), TOKEN))
