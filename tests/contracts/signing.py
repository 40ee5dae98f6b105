"""EIP-3009 authorizations as a Poster's wallet signs them, derived here a second time."""

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from tests.keys import account_of, sign

DOMAIN = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
RECEIVE = (
    b"ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    b"bytes32 nonce)"
)


def authorization(
    key: bytes, *, token: str, chain_id: int, to: str, amount: int, valid: tuple[int, int], nonce: bytes
) -> bytes:
    """The 65-byte signature over the token's typed data."""
    words = ["bytes32"] * 3 + ["uint256", "address"]
    domain = keccak(encode(words, [keccak(DOMAIN), keccak(b"Test USD Coin"), keccak(b"2"), chain_id, token]))
    types = ["bytes32", "address", "address", "uint256", "uint256", "uint256", "bytes32"]
    content = keccak(encode(types, [keccak(RECEIVE), account_of(key), to, amount, *valid, nonce]))
    return sign(key, keccak(b"\x19\x01" + domain + content))
