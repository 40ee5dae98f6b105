"""Every protected request is proven here, and nowhere else.

``verify_request`` is the specification's order of checks as text; it alone makes a ``VerifiedRequest``. It does not
check whether the signer may do what the request wants. That is ``VerifiedRequest.require_signer``, with an account or
accounts taken from the path or from indexed Hub state. docs/authentication.md has the order.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Final, Protocol

from bounty_protocol.auth.header import ApprovalHeader, parse_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import Approval, SigningDomain, body_hash, digest, endpoint_id
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, Bytes32, bytes32

FRESHNESS_SECONDS: Final = 300
"""How much older than the newest block the named one may be, by the times in their headers (docs/authentication.md)."""


class Reason(StrEnum):
    """Why a signed request is refused: one name for each check, in the order of the checks."""

    MALFORMED = "malformed"
    NOT_CANONICAL = "block_not_canonical"
    AHEAD = "block_ahead"
    STALE = "block_stale"
    SIGNATURE = "signature"
    CONTRACT_WALLET = "contract_wallet"
    FORBIDDEN = "forbidden"


class Refused(ServiceError):
    """401 or 403, with its reason for its counter."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__("forbidden" if reason is Reason.FORBIDDEN else "unauthorized", message)
        self.reason = reason


class WalletAnswer(Enum):
    """An account's answer about a signature."""

    ACCEPTED = auto()
    REFUSED = auto()
    NO_CODE = auto()


@dataclass(frozen=True, slots=True)
class CanonicalBlock:
    """The chain's own block at a number. ``hash`` is None if the block is known to be older than the window."""

    hash: Bytes32 | None
    age_seconds: float
    """How much older it is than the newest block, by header times."""


class ChainView(Protocol):
    """The chain facts that a verification needs. Raises if the chain cannot be reached; that is never an answer."""

    def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
        """Return the block at a number; None if the chain has not produced it. ``named`` is the hash in the request: if
        the cache has another one for this number, the chain is read again."""


class WalletView(Protocol):
    """Accounts that are contracts. Raises if the chain cannot be reached, and if there are too many calls at once."""

    def admit(self, account: Address) -> None:
        """Charge the caller for the calls about this account, before the first of them; raises if there were too
        many."""

    def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
        """Return the answer of the account's own code about the signature (ERC-1271; before deployment ERC-6492)."""


@dataclass(frozen=True, slots=True)
class Authority:
    """The scope of one deployment's signatures: its signing domain and its one public host."""

    domain: SigningDomain
    audience: str


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came: routed path, raw query, whole body, every Authorization header."""

    method: str
    path: str
    raw_query: str
    body: bytes
    authorization: tuple[str, ...]


_MADE_HERE = object()


@dataclass(frozen=True, slots=True)
class VerifiedRequest:
    """A request whose signer is proven. ``approval_digest`` identifies the signed bytes, ``block_number`` dates it."""

    signer: Address
    approval_digest: Bytes32
    block_number: BlockNumber
    body: bytes
    _token: object = field(repr=False)

    def __post_init__(self) -> None:
        if self._token is not _MADE_HERE:
            raise TypeError("only verify_request makes a VerifiedRequest")

    def require_signer(self, allowed: Collection[Address]) -> None:
        """Raise 403 unless the action belongs to the signer (step 4)."""
        if self.signer not in allowed:
            raise Refused(Reason.FORBIDDEN, "The signature is valid, but this action belongs to another wallet.")


def verify_request(
    request: ReceivedRequest, authority: Authority, chain: ChainView, wallets: WalletView
) -> VerifiedRequest:
    """Prove who signed exactly this request, or raise 401 ``unauthorized``.

    Checks that cost no call come first: the forms, and the account that the signature recovers to. A signature of any
    other account may be a contract's; the caller is charged for its calls before the chain is read.
    """
    header, query = _parse(request)
    approval = Approval(
        endpoint_id=endpoint_id(request.method, request.path),
        audience=authority.audience,
        body_hash=body_hash(request.body),
        query=query,
        block_number=header.block_number,
        block_hash=header.block_hash,
    )
    signed = digest(authority.domain, approval)
    is_of_own_key = recover(signed, header.signature) == header.address
    if not is_of_own_key:
        wallets.admit(header.address)
    block = chain.block_at(header.block_number, header.block_hash)
    # 1. The block is canonical: the claimed hash is the real hash at its number.
    if block is not None and block.hash not in {None, header.block_hash}:
        raise Refused(Reason.NOT_CANONICAL, "The approval names a block that is not part of this chain.")
    # 2. The block is fresh: not in the future and not older than the freshness window.
    if block is None:
        raise Refused(Reason.AHEAD, "The approval names a block that this chain has not produced yet.")
    if block.hash is None or block.age_seconds > FRESHNESS_SECONDS:
        raise Refused(Reason.STALE, "The approval names a block older than the freshness window.")
    # 3. The signature is valid over the recomputed typed data. A plain key counts whether or not its account has code
    # (EIP-7702); only if it did not sign is the account itself called.
    if not is_of_own_key:
        answer = wallets.ask(header.address, signed, header.signature)
        if answer is not WalletAnswer.ACCEPTED:
            reason = Reason.CONTRACT_WALLET if answer is WalletAnswer.REFUSED else Reason.SIGNATURE
            raise Refused(reason, _not_verified(authority))
    # 4. Address scope follows where the route knows whom the action belongs to: VerifiedRequest.require_signer.
    return VerifiedRequest(header.address, bytes32(signed), header.block_number, request.body, _MADE_HERE)


def _not_verified(authority: Authority) -> str:
    """Return the message. The message names the deployment, which is public: a client configured for another one learns
    what to correct.
    """
    at = f"chain {authority.domain.chain_id}, Hub {authority.domain.hub_address}, host {authority.audience}"
    return f"The signature does not match this exact request and signer on {at}."


def _parse(request: ReceivedRequest) -> tuple[ApprovalHeader, str]:
    if len(request.authorization) != 1:
        raise Refused(Reason.MALFORMED, "Send exactly one Authorization header with the scheme Service-Approval.")
    if not (request.method.isascii() and request.path.isascii()):
        raise Refused(Reason.MALFORMED, "The method or the path holds a character outside ASCII.")
    try:
        return parse_header(request.authorization[0]), canonical_query(request.raw_query)
    except ValueError as error:
        raise Refused(Reason.MALFORMED, "The Authorization header or the query is malformed.") from error
