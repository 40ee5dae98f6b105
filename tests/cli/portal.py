"""The OP stack's own portal on a node that stands for the settlement layer, and what its event makes of the rollup.

The portal's code is the published one (``portal.json``). Its ``SystemConfig`` is a stub of the same six figures as a
standard chain's. No rollup node runs: ``derived`` reads a log by the stack's format, and the transaction is executed on
the rollup's node as that account.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bounty_protocol.types import Address
from eth_abi.abi import decode
from eth_utils.abi import event_abi_to_log_topic
from local_stack import anvil
from local_stack.anvil import AnvilServer

from tests.waiting import wait_until

SETTLEMENT: Final = 900
PORTAL: Final = Address("0x" + "70" * 20)
_CONFIG: Final = "0x" + "5c" * 20
_FIGURES: Final = (20_000_000, 10, 8, 10**9, 1_000_000, 2**128 - 1)
"""``ResourceConfig``: the most gas of a block's deposits, two factors, the least price, the system's gas, no most."""
_PUBLISHED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "portal.json").read_text(encoding="utf-8"))
_WORD: Final = 32


@dataclass(frozen=True, slots=True)
class Derived:
    """The transaction that the rollup makes of a deposit."""

    sender: str
    to: str
    value: int
    gas: int
    data: bytes


@contextmanager
def settlement_node() -> Iterator[AnvilServer]:
    """A node with the portal."""
    with anvil.start(mining="automine", chain_id=SETTLEMENT) as node:
        answer = b"".join(figure.to_bytes(_WORD) for figure in _FIGURES)
        returns = bytes.fromhex("60c0600c60003960c06000f3") + answer  # any call is answered by the figures
        node.rpc.call("anvil_setCode", _CONFIG, "0x" + returns.hex())
        node.rpc.call("anvil_setCode", PORTAL, _PUBLISHED["deployed_bytecode"])
        node.rpc.call("anvil_setStorageAt", PORTAL, hex(55), "0x" + _CONFIG[2:].rjust(64, "0"))  # systemConfig
        price = (10**9).to_bytes(16)  # params: the block before, no gas bought, a price of 1 gwei
        node.rpc.call("anvil_setStorageAt", PORTAL, hex(1), "0x" + (bytes(16) + price).hex())
        yield node


def sent(node: AnvilServer, account: str, transaction: Mapping[str, str]) -> dict[str, Any]:
    """The receipt of a transaction of any account."""
    node.fund(account)
    node.rpc.call("anvil_impersonateAccount", account)
    tx_hash = node.rpc.call("eth_sendTransaction", {"from": account, **transaction})
    wait_until(lambda: node.rpc.call("eth_getTransactionReceipt", tx_hash) is not None)
    receipt = node.rpc.call("eth_getTransactionReceipt", tx_hash)
    assert isinstance(receipt, dict)
    return receipt


def derived(receipt: Mapping[str, Any]) -> Derived:
    """What the rollup's nodes read in the portal's log."""
    (event,) = [each for each in _PUBLISHED["abi"] if each["type"] == "event"]
    (log,) = [one for one in receipt["logs"] if one["address"] == PORTAL]
    topic, sender, to, version = log["topics"]
    assert (topic, int(version, 16)) == ("0x" + event_abi_to_log_topic(event).hex(), 0)
    (opaque,) = decode(["bytes"], bytes.fromhex(log["data"][2:]))
    mint, value, rest = int.from_bytes(opaque[:32]), int.from_bytes(opaque[32:64]), opaque[64:]
    assert (mint, rest[8]) == (0, 0)  # no ether comes with it, and it creates no contract
    return Derived("0x" + sender[-40:], "0x" + to[-40:], value, int.from_bytes(rest[:8]), rest[9:])


def executed(node: AnvilServer, found: Derived) -> dict[str, Any]:
    """The rollup's node does it, as that account, with the gas of the deposit."""
    call = {"to": found.to, "value": hex(found.value), "gas": hex(found.gas), "data": "0x" + found.data.hex()}
    return sent(node, found.sender, call)
