"""Whether a Hub can work with a token: looked at before it is deployed, since a Hub keeps its token for ever."""

from typing import Final

from bounty_protocol.chain.eip3009 import domain_separator
from bounty_protocol.chain.hub_constants import EscrowToken, read_token
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused, hex_bytes
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, ChainId, to_bytes

from hub_operations.signing import OperationRefused

DECIMALS: Final = 6
"""Of amounts in pages and in the terms of every network."""
_WORD: Final = 32


def usable_token(rpc: Rpc, chain_id: ChainId, token: Address, hub: Address, recipient: Address) -> EscrowToken:
    """Return how the token describes itself; refused if it could not be paid into this Hub, or out of it."""
    try:
        found = read_token(rpc, token)
        separator = _call(rpc, token, "DOMAIN_SEPARATOR()")
        state = _call(rpc, token, "authorizationState(address,bytes32)", to_bytes(hub), bytes(_WORD))
    except (RpcRefused, ChainUnavailable, ValueError) as error:
        raise _refused(token, "is no token that takes signed authorizations (EIP-3009)") from error
    if found.decimals != DECIMALS:
        raise _refused(token, f"has {found.decimals} decimals, not {DECIMALS}")
    if len(state) != _WORD or separator != domain_separator(found, chain_id):
        raise _refused(token, "does not check signatures by the domain that it describes")
    if _is_set(rpc, token, "paused()"):
        raise _refused(token, "is paused by its issuer", "wait until it is not")
    for what, account in (("the Hub's address", hub), ("the fee recipient", recipient)):
        if _is_set(rpc, token, "isBlacklisted(address)", to_bytes(account)):
            raise _refused(token, f"has {what} {account} on its block list", "choose another salt, or recipient")
    return found


def _is_set(rpc: Rpc, token: Address, signature: str, *words: bytes) -> bool:
    """Return whether the token says so; one that has no such function does not."""
    try:
        return int.from_bytes(_call(rpc, token, signature, *words), "big") != 0
    except RpcRefused as refusal:
        if refusal.is_revert:
            return False
        raise


def _call(rpc: Rpc, token: Address, signature: str, *words: bytes) -> bytes:
    data = keccak256(signature.encode())[:4] + b"".join(word.rjust(_WORD, b"\0") for word in words)
    return hex_bytes(rpc.call("eth_call", {"to": token, "data": "0x" + data.hex()}, "latest"))


def _refused(token: Address, why: str, next_action: str = "check its address and the network") -> OperationRefused:
    return OperationRefused(f"the escrow token {token} {why}, so nothing was sent: {next_action}")
