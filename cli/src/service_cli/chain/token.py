"""The escrow token as a Poster's client needs it: allowance, and whether an authorization was used.

Whether the token takes authorizations of this
account at all is decided by asking it, before anything is signed.
"""

from typing import Final

from bounty_protocol.chain.eip3009 import domain_separator
from bounty_protocol.chain.hub_constants import read_token
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused, hex_bytes
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, Bytes32, TokenAmount

from service_cli.chain.session import ChainClient, chain_errors
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
        return TokenAmount(int.from_bytes(_ask(chain, _ALLOWANCE + _word(owner) + _word(chain.hub.address)), "big"))


def takes_authorizations(chain: ChainClient, owner: Address) -> bool:
    """Return whether the token would accept an EIP-3009 signature of a plain key of this account.

    For accounts with code, the token asks their code, not their key; a token whose domain differs from its description
    would reject the signature.
    """
    if chain.has_code(owner):
        return False
    try:
        state = _ask(chain, _AUTHORIZATION_STATE + _word(owner) + "00" * 32)
        separator = _ask(chain, _DOMAIN_SEPARATOR)
        token = read_token(chain.rpc, chain.settings.escrow_token())
    except (RpcRefused, ChainUnavailable, ValueError) as error:
        with chain_errors():
            if isinstance(error, ChainUnavailable) and error.limited:
                raise error  # noqa: TRY201  # within, it is the command's own
            chain.hub.token()  # an endpoint that answers nothing at all is a failure, not a property of the token
        return False
    return len(state) == 32 and separator == domain_separator(token, chain.chain_id)


def is_unused(chain: ChainClient, owner: Address, nonce: Bytes32) -> bool:
    """Return whether the authorization is neither used nor cancelled on the token."""
    with chain_errors():
        return int.from_bytes(_ask(chain, _AUTHORIZATION_STATE + _word(owner) + nonce[2:]), "big") == 0


def _ask(chain: ChainClient, data: str) -> bytes:
    return hex_bytes(chain.rpc.call("eth_call", {"to": chain.settings.escrow_token(), "data": data}, "latest"))


def _word(account: Address) -> str:
    return account[2:].rjust(64, "0")
