"""One signed request for programs: ``sign_request`` makes its header and sends nothing.

Use the HTTP client of your choice, with the bytes and the URL that were signed.
"""

from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, urlsplit

from bounty_protocol.auth.eip712 import typed_data_digest
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.signature import account_of_key, parse_private_key, sign_digest
from bounty_protocol.auth.typed_data import SigningDomain, typed_data
from bounty_protocol.chain.blocks import NearTip, block_to_sign
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused, quantity
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, parse_address, parse_bounty_id

from service_cli.api import audience_of

__all__ = ["BountyId", "ServiceError", "parse_address", "parse_bounty_id", "sign_request"]


SignTypedData = Callable[[Mapping[str, object]], bytes]
"""A wallet: EIP-712 typed data to its signature."""


def sign_request(
    method: str,
    url: str,
    body: bytes = b"",
    *,
    rpc_url: str,
    hub_address: str,
    private_key: bytes | str | None = None,
    wallet: tuple[str, SignTypedData] | None = None,
) -> dict[str, str]:
    """Return the ``Authorization`` header for exactly this request, signed by your key or your wallet.

    ``private_key``: 32 bytes, or their hexadecimal digits with 0x or without. ``wallet``: an address and a function
    that signs typed data (a hardware wallet, the owners of a contract wallet). Raises ``ValueError``, which never
    repeats a key, for a malformed argument, and ``ChainUnavailable`` if the chain cannot be read.
    """
    if (private_key is None) is (wallet is None):
        raise ValueError("give either a private_key or a wallet")
    if not isinstance(body, bytes | bytearray | memoryview):
        raise ValueError("the body is the bytes that will be sent")
    address, sign = _of_wallet(wallet) if private_key is None else _of_key(private_key)
    parts = _web_address(url, "the url of a request")
    _web_address(rpc_url, "the rpc_url")
    request = RequestToSign(method, parts.path, parts.query, bytes(body), audience_of(url))
    domain_hub = parse_address(hub_address)
    chain_id, number, block_hash = _recent_block(Rpc([rpc_url], patient=True))
    approval = request.approval(number, block_hash)
    signature = sign(typed_data(SigningDomain(chain_id, domain_hub), approval))
    return {"Authorization": approval_header(address, signature, approval)}


def _web_address(url: str, what: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and url.isascii():
            return parts
    except (ValueError, TypeError, AttributeError):
        pass
    raise ValueError(f"{what} starts with http:// or https:// and a host")


def _recent_block(rpc: Rpc) -> tuple[ChainId, BlockNumber, Bytes32]:
    """Read the chain, and a block a little behind its tip."""
    try:
        chain_id = ChainId(quantity(rpc.call("eth_chainId")))
        block = block_to_sign(rpc, NearTip.read(rpc))
    except (RpcRefused, ValueError, TypeError) as error:
        raise ChainUnavailable("the RPC endpoint refused, or gave an answer of the wrong shape") from error
    return chain_id, block.number, block.hash


def _of_key(private_key: bytes | str) -> tuple[Address, SignTypedData]:
    digits = private_key if isinstance(private_key, str) else bytes(private_key).hex()
    key = parse_private_key(digits.strip())
    return account_of_key(key), lambda data: sign_digest(typed_data_digest(data), key)


def _of_wallet(wallet: tuple[str, SignTypedData] | None) -> tuple[Address, SignTypedData]:
    try:
        address, sign = wallet or ("", None)
    except (TypeError, ValueError):
        sign = None
    if not callable(sign):
        raise ValueError("a wallet is an address and a function that signs typed data")
    return parse_address(address), sign
