"""EIP-3009 authorizations as a Poster's wallet signs them, derived here a second time."""

from coincurve import PrivateKey
from eth_abi.abi import encode
from eth_utils.crypto import keccak

DOMAIN = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
RECEIVE = (
    b"ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    b"bytes32 nonce)"
)


def address_of(key: bytes) -> str:
    return "0x" + keccak(PrivateKey(key).public_key.format(compressed=False)[1:])[12:].hex()


def authorization(
    key: bytes, *, token: str, chain_id: int, to: str, amount: int, valid: tuple[int, int], nonce: bytes
) -> bytes:
    """The 65-byte signature over the token's typed data."""
    words = ["bytes32"] * 3 + ["uint256", "address"]
    domain = keccak(encode(words, [keccak(DOMAIN), keccak(b"Test USD Coin"), keccak(b"2"), chain_id, token]))
    types = ["bytes32", "address", "address", "uint256", "uint256", "uint256", "bytes32"]
    content = keccak(encode(types, [keccak(RECEIVE), address_of(key), to, amount, *valid, nonce]))
    signed = PrivateKey(key).sign_recoverable(keccak(b"\x19\x01" + domain + content), hasher=None)
    return signed[:64] + bytes([27 + signed[64]])
