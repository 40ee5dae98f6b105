"""What the Hub's calls take with USDC's own compiled code and with the local token: the table of docs/test-token.md.

Each call is a transaction of its own on the project's node; what its call data costs is left out, since addresses and
signatures are drawn anew for each token.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from bounty_protocol.types import Address
from local_stack import anvil
from local_stack.contract import Wallet

from tests.contracts.life import Life, new_life, play
from tests.usdc.code import usdc_on

MOST: Final = 450
"""The most gas by which a call of the Hub may differ."""
CALLS: Final = (
    *("transfer", "approve", "createBounty", "createBountyWithAuthorization"),
    *("claim", "claimRefund", "claimGuardianFee", "claimProtocolFee"),
)
"""Those that reach the token."""
LAST_WORD: Final = 18
OWN_WORD: Final = 15
"""Has the token's address in it."""


@pytest.fixture(scope="module")
def lives() -> Iterator[tuple[Life, Life]]:
    """One with USDC's code, one with the local token."""
    with anvil.start(mining="automine") as node:
        payer = Wallet()
        node.fund(payer.address)
        both = new_life(node, usdc_on(node.w3, payer)), new_life(node)
        for life in both:
            play(life)
        yield both


def test_costs__with_the_local_token__are_those_of_usdc_but_for_little(lives: tuple[Life, Life]) -> None:
    assert {name: more for name, more in _more(lives).items() if abs(more) > MOST} == {}


def _more(lives: tuple[Life, Life]) -> dict[str, int]:
    """What each call takes more with the local token."""
    usdc, local = lives
    return {name: local.cost(name) - usdc.cost(name) for name in CALLS}


def test_storage__word_by_word__is_that_of_usdc(lives: tuple[Life, Life]) -> None:
    usdc, local = (_words(life) for life in lives)
    assert usdc == local


def _words(life: Life) -> Mapping[int, str]:
    token = Address(life.local.token.address)
    words = {
        slot: str(life.node.rpc.call("eth_getStorageAt", token, hex(slot), "latest")) for slot in range(LAST_WORD + 2)
    }
    owner = life.local.owner.address[2:]
    return {slot: word.replace(owner, "") for slot, word in words.items() if slot != OWN_WORD}
