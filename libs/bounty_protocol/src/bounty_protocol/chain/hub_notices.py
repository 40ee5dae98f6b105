"""Whether the chain bears a notice about the Hub out: the account may sign one, and did.

The Hub's owner is a timelock, which cannot sign. Of its roles the canceller's watches and stops what others announce,
and that is who signs notices (docs/adr/0034-notices-about-the-hub.md). A Hub whose owner is an account of another kind
has notices by that account. Both are read from the chain each time, so that an account that lost its role, or a key
that a Safe has replaced, has no notice any more. The signer is called only once the owner's timelock has named it.
"""

from typing import Final

from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused, hex_bytes
from bounty_protocol.domain.hub_notice import HubNotice, notice_issues
from bounty_protocol.errors import Issue
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, ChainId, UnixSeconds, bytes32, to_bytes

CANCELLER_ROLE: Final[Bytes32] = bytes32(keccak256(b"CANCELLER_ROLE"))
"""Of OpenZeppelin's TimelockController."""
_HAS_ROLE: Final = keccak256(b"hasRole(bytes32,address)")[:4]
_IS_VALID_SIGNATURE: Final = keccak256(b"isValidSignature(bytes32,bytes)")[:4]
_WORD: Final = 32
_TRUE: Final = (1).to_bytes(_WORD, "big")
_ACCEPTED: Final = _IS_VALID_SIGNATURE.ljust(_WORD, b"\0")
_CALL_GAS: Final = 3_000_000


def why_void(hub: Hub, chain_id: ChainId, notice: HubNotice, now: UnixSeconds) -> list[Issue]:
    """Why a notice does not count for this Hub now; none where it does.

    What costs nothing is checked first. Raises ``ChainUnavailable`` or ``RpcRefused`` where the chain does not answer:
    that says nothing about the notice.
    """
    if issues := notice_issues(notice, chain_id, hub.address, now):
        return issues
    if not may_sign(hub, notice.signer):
        return [Issue("signer", "must be a canceller of the timelock that owns the Hub, or the Hub's owner itself")]
    if not is_signed(hub.rpc, notice):
        return [Issue("signature", "is not the signer's over this notice")]
    return []


def may_sign(hub: Hub, account: Address) -> bool:
    """Whether the Hub's owner, as it is now, names this account for notices."""
    owner = Address(str(hub.read("owner")[0]))
    if owner == account:
        return True
    return _answer(hub.rpc, owner, _HAS_ROLE + to_bytes(CANCELLER_ROLE) + _word(to_bytes(account))) == _TRUE


def is_signed(rpc: JsonRpc, notice: HubNotice) -> bool:
    """Whether the signer's key signed a notice, or the signer's own code takes the signature (ERC-1271)."""
    digest, signature = notice_digest(notice), hex_bytes(notice.signature)
    if recover(digest, signature) == notice.signer:
        return True
    padded = signature + bytes(-len(signature) % _WORD)
    arguments = digest + _number(2 * _WORD) + _number(len(signature)) + padded
    return _answer(rpc, notice.signer, _IS_VALID_SIGNATURE + arguments) == _ACCEPTED


def _answer(rpc: JsonRpc, account: Address, data: bytes) -> bytes:
    """An account's answer to a call; nothing where it has no code, or reverts."""
    call = {"to": account, "data": "0x" + data.hex(), "gas": hex(_CALL_GAS)}
    try:
        return hex_bytes(rpc.call("eth_call", call, "latest"))
    except RpcRefused as refusal:
        if not refusal.is_revert:
            raise
        return b""
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint answered a call with something else than bytes") from error


def _word(value: bytes) -> bytes:
    return value.rjust(_WORD, b"\0")


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")
