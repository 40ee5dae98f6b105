"""Signed requests for tests: a key, a chain that answers from a dict, and a request that verifies."""

import secrets
from dataclasses import dataclass

from bounty_protocol.auth.header import ApprovalHeader, format_header
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.auth.verify import Authority, CanonicalBlock, ReceivedRequest, WalletAnswer
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, bytes32

from tests.keys import account_of, sign

DOMAIN = SigningDomain(ChainId(31337), Address("0x" + "ab" * 20))
AUTHORITY = Authority(DOMAIN, "bounties.example:8443")
HEAD = BlockNumber(1_000)


class Chain:
    """Blocks 0 to 1000, two seconds apart, each hash derived from its number."""

    def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
        return CanonicalBlock(block_hash(number), 2 * (HEAD - number)) if number <= HEAD else None


class PlainKeys:
    """A chain on which no account has code."""

    def admit(self, account: Address) -> None:
        pass

    def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
        return WalletAnswer.NO_CODE


PLAIN_KEYS = PlainKeys()


def block_hash(number: int) -> Bytes32:
    return bytes32(keccak256(str(number).encode()))


@dataclass(frozen=True, slots=True)
class Key:
    """A throw-away account."""

    secret: bytes

    @property
    def address(self) -> Address:
        return account_of(self.secret)

    def sign(self, message: bytes) -> bytes:
        return sign(self.secret, message)


def new_key() -> Key:
    return Key(secrets.token_bytes(32))


REQUEST = RequestToSign("POST", "/api/bounties/7/delivery/wrap", "mine&b=c+d", b'{"a":1}', AUTHORITY.audience)


def header_for(
    key: Key, request: RequestToSign = REQUEST, number: int = HEAD - 3, domain: SigningDomain = DOMAIN
) -> ApprovalHeader:
    """What an honest client sends."""
    approval = request.approval(BlockNumber(number), block_hash(number))
    return ApprovalHeader(key.address, key.sign(digest(domain, approval)), approval.block_number, approval.block_hash)


def received(header: ApprovalHeader | str, request: RequestToSign = REQUEST) -> ReceivedRequest:
    """The request as it arrives."""
    text = header if isinstance(header, str) else format_header(header)
    return ReceivedRequest(request.method, request.path, request.raw_query, request.body, (text,))
