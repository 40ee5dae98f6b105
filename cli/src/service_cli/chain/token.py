"""The escrow token as a Poster's client needs it: allowance, and whether an authorization was used.

Whether the token takes authorizations of this
account at all is decided by asking it, before anything is signed.
"""

from typing import Final

from bounty_protocol.chain.eip3009 import domain_separator
from bounty_protocol.chain.hub_constants import read_token, token_calls
from bounty_protocol.chain.rpc import Call, ChainUnavailable, RpcRefused, hex_bytes
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, Bytes32, TokenAmount

from service_cli.chain.session import ChainClient, chain_errors, code_call
from service_cli.ui.text import tokens

_ALLOWANCE: Final = "0xdd62ed3e"
_AUTHORIZATION_STATE: Final = "0xe94a0102"
_DOMAIN_SEPARATOR: Final = "0x3644e515"


def shown_amount(chain: ChainClient, value: int) -> str:
    """Format an amount of the escrow token for people; in base units if the token does not describe itself."""
    try:
        return tokens(value, chain.token)
    except ServiceError:
        return f"{value} base units"


def allowance(chain: ChainClient, owner: Address) -> TokenAmount:
    """Read the Hub's allowance of this account."""
    with chain_errors():
        call = _call(chain.settings.escrow_token(), _ALLOWANCE + _word(owner) + _word(chain.hub.address))
        return TokenAmount(int.from_bytes(hex_bytes(chain.rpc.answer(call)), "big"))


def authorization_calls(chain: ChainClient, owner: Address) -> list[Call]:
    """Return the calls that ``takes_authorizations`` reads."""
    token, some = chain.settings.escrow_token(), Bytes32("0x" + "00" * 32)
    return [code_call(owner), state_call(chain, owner, some), _call(token, _DOMAIN_SEPARATOR), *token_calls(token)]


def takes_authorizations(asked: ChainClient, owner: Address) -> bool:
    """Return whether the token would accept an EIP-3009 signature of a plain key of this account.

    For accounts with code, the token asks their code, not their key; a token whose domain differs from its description
    would reject the signature.
    """
    if asked.has_code(owner):  # refused by an endpoint that answers nothing at all, which is no property of the token
        return False
    try:
        _, *answered = authorization_calls(asked, owner)
        state, separator = (hex_bytes(asked.rpc.answer(call)) for call in answered[:2])
        token = read_token(asked.rpc, asked.settings.escrow_token())
    except (RpcRefused, ChainUnavailable, ValueError):
        return False
    return len(state) == 32 and separator == domain_separator(token, asked.chain_id)


def state_call(chain: ChainClient, owner: Address, nonce: Bytes32) -> Call:
    """Return the call of ``is_unused``."""
    return _call(chain.settings.escrow_token(), _AUTHORIZATION_STATE + _word(owner) + nonce[2:])


def is_unused(asked: ChainClient, owner: Address, nonce: Bytes32) -> bool:
    """Return whether the authorization is neither used nor cancelled on the token."""
    with chain_errors():
        return int.from_bytes(hex_bytes(asked.rpc.answer(state_call(asked, owner, nonce))), "big") == 0


def _call(token: Address, data: str) -> Call:
    return "eth_call", [{"to": token, "data": data}, "latest"]


def _word(account: Address) -> str:
    return account[2:].rjust(64, "0")
