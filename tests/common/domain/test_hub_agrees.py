"""Hashes, fees and money against the Hub itself, run in an EVM from its committed artifact."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from eth_abi.abi import decode, encode
from pyrevm import EVM
from service_common.domain.abi_hashes import authorization_nonce, guardian_roster_hash
from service_common.domain.public_keys import _LOW_ORDER
from service_common.keccak import keccak256
from service_common.types import Address, Bytes32, to_bytes

from tests.vectors.samples import POSTER, PROTOCOL, ROSTER, TERMS, account

ARTIFACTS: Final = Path(__file__).parents[3] / "contracts/artifacts"
CHAIN_ID: Final = 1  # the EVM's own
OWNER: Final = account("owner")
CONFIG: Final = "(address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address)"
TERMS_TYPE: Final = "(bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,bytes32)"
KEYS: Final = [to_bytes(key) for key in ROSTER.encryption_public_keys]


class Hub:
    """The Hub at an address of its own."""

    def __init__(self) -> None:
        self._evm = EVM()
        self._evm.set_balance(OWNER, 10**18)
        token = self._deploy("TestToken", b"")
        values = (token, OWNER, 10, 5, 10**6, 5, 10**6, 100, 250, 500, PROTOCOL)
        self.address = self._deploy("Hub", encode([CONFIG], [values]))

    def call(self, name: str, types: Sequence[str], values: Sequence[object]) -> bytes:
        """Call a function by its name and types as the owner."""
        selector = keccak256(f"{name}({','.join(types)})".encode())[:4]
        return bytes(self._evm.message_call(OWNER, self.address, calldata=selector + encode(types, values)))

    def _deploy(self, name: str, arguments: bytes) -> Address:
        code = json.loads((ARTIFACTS / f"{name}.json").read_text())["bytecode"]
        return Address(self._evm.deploy(OWNER, bytes.fromhex(code.removeprefix("0x")) + arguments).lower())


@pytest.fixture(scope="module")
def hub() -> Hub:
    return Hub()


def _publish(hub: Hub, accounts: Sequence[Address], keys: Sequence[bytes], quorum: int) -> None:
    hub.call("publishRoster", ["address[]", "bytes32[]", "uint256"], [list(accounts), list(keys), quorum])


def _version(hub: Hub) -> int:
    (version,) = decode(["uint256"], hub.call("currentRosterVersion", [], []))
    return int(version)


def test_authorization_nonce__of_the_hub__ours(hub: Hub) -> None:
    answer = hub.call("authorizationNonce", [TERMS_TYPE, "address"], [TERMS.as_tuple(), POSTER])
    assert "0x" + answer.hex() == authorization_nonce(CHAIN_ID, hub.address, POSTER, TERMS)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_guardian_roster_hash__of_the_hub__ours(size: int, hub: Hub) -> None:
    accounts, quorum = ROSTER.accounts[:size], size // 2 + 1
    _publish(hub, accounts, KEYS[:size], quorum)
    version = _version(hub)
    answer = hub.call("getRoster", ["uint256"], [version])
    ((pinned, _, members, keys, _),) = decode(["(bytes32,uint256,address[],bytes32[],uint256[])"], answer)
    expected = guardian_roster_hash(
        CHAIN_ID,
        hub.address,
        version=version,
        accounts=[Address(member) for member in members],
        encryption_public_keys=[Bytes32("0x" + key.hex()) for key in keys],
        quorum=quorum,
    )
    assert "0x" + pinned.hex() == expected


@pytest.mark.parametrize("number", [*sorted(_LOW_ORDER), 2**255 - 19, 2**255 - 18, 2**255 + 9, 2**256 - 1])
def test_public_key__that_we_refuse__the_hub_refuses_too(number: int, hub: Hub) -> None:
    before = _version(hub)
    with pytest.raises(RuntimeError):
        _publish(hub, ROSTER.accounts[:1], [number.to_bytes(32, "little")], 1)
    assert _version(hub) == before


@pytest.mark.parametrize("number", [2, 9, 2**255 - 21])
def test_public_key__beside_a_refused_one__the_hub_accepts_too(number: int, hub: Hub) -> None:
    before = _version(hub)
    _publish(hub, ROSTER.accounts[:1], [number.to_bytes(32, "little")], 1)
    assert _version(hub) == before + 1
