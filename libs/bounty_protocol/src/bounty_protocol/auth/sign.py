"""Making an approval: what a client signs, and the header it sends.

One approval is for one request; the typed data passed to a wallet and the header are built from the same values. The
wallet itself (a local key, a person with a hardware wallet) is the caller's.
"""

from dataclasses import dataclass

from bounty_protocol.auth.header import ApprovalHeader, format_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.auth.typed_data import Approval, body_hash, endpoint_id
from bounty_protocol.types import Address, BlockNumber, Bytes32


@dataclass(frozen=True, slots=True)
class RequestToSign:
    """One request about to be signed. ``audience`` is the URL's host, lowercased, with a non-default port."""

    method: str
    path: str
    raw_query: str
    body: bytes
    audience: str

    def approval(self, block_number: BlockNumber, block_hash: Bytes32) -> Approval:
        """Return the message to sign, bound to a recent block."""
        return Approval(
            endpoint_id=endpoint_id(self.method, self.path),
            audience=self.audience,
            body_hash=body_hash(self.body),
            query=canonical_query(self.raw_query),
            block_number=block_number,
            block_hash=block_hash,
        )


def approval_header(signer: Address, signature: bytes, approval: Approval) -> str:
    """Return the Authorization header's value."""
    return format_header(ApprovalHeader(signer, signature, approval.block_number, approval.block_hash))
