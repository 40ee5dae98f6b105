"""Requests as they go over the wire, each from an address of its own behind the deployment's proxy, and signed."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from local_stack.stack import Stack

from tests.protocol.auth.signing import Key

PUBLICATION = "/api/bounty-challenge-specs/prepare-publication"
BLOCKS_BEHIND = 3


def request(
    method: str, target: str, address: str, *lines: str, body: bytes = b"", media_type: str = "", length: int = 0
) -> bytes:
    """Return one request whose caller the proxy saw at ``address``; ``length`` where more is announced than is sent."""
    head = [f"{method} {target} HTTP/1.1", "Host: a", f"X-Forwarded-For: {address}", *lines]
    if media_type:
        head += [f"Content-Type: {media_type}", f"Content-Length: {length or len(body)}"]
    return "\r\n".join((*head, "", "")).encode() + body


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs over a block of a stack's chain that it has seen lately."""

    domain: SigningDomain
    audience: str
    block: Header

    def line(
        self,
        key: Key,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        account: Address | None = None,
        signature: bytes | None = None,
    ) -> str:
        """Return the header line of exactly this request: signed by a key for its own account or, as its owner, for a
        contract wallet, or with a signature that was made up.
        """
        approval = RequestToSign(method, path, query, body, self.audience).approval(self.block.number, self.block.hash)
        signature = signature or key.sign(digest(self.domain, approval))
        return f"Authorization: {approval_header(account or key.address, signature, approval)}"

    def publication(self, key: Key, page: bytes, address: str) -> bytes:
        """Return a page, signed by its Poster."""
        query = f"poster_address={key.address}"
        signed = self.line(key, "POST", PUBLICATION, query=query, body=page)
        return request("POST", f"{PUBLICATION}?{query}", address, signed, body=page, media_type="text/markdown")


def signer(stack: Stack) -> Signer:
    """Return one for the next minutes."""
    rpc = Rpc([stack.anvil.url])
    block = header_at(rpc, BlockNumber(header_at(rpc, "latest").number - BLOCKS_BEHIND))
    domain = SigningDomain(ChainId(stack.anvil.chain_id), Address(stack.hub.hub.address))
    return Signer(domain, urlsplit(stack.api_base_url).netloc, block)
