"""Requests of callers behind the deployment's proxy, signed over a block of the stack's chain."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from local_stack.stack import Stack

from bench.http.load import post
from tests.protocol.auth.signing import Key

PUBLICATION = "/api/bounty-challenge-specs/prepare-publication"
BLOCKS_BEHIND = 3


def seen_at(address: str) -> str:
    """Return the header line in which the proxy names the caller's address."""
    return f"Callers: {address}"


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
        return post(f"{PUBLICATION}?{query}", page, seen_at(address), signed, media_type="text/markdown")


def signer(stack: Stack) -> Signer:
    """Return one for the next minutes."""
    rpc = Rpc([stack.anvil.url])
    block = header_at(rpc, BlockNumber(header_at(rpc, "latest").number - BLOCKS_BEHIND))
    domain = SigningDomain(ChainId(stack.anvil.chain_id), Address(stack.hub.hub.address))
    return Signer(domain, urlsplit(stack.api_base_url).netloc, block)


def readers(stack: Stack) -> list[Key]:
    """Return the keys of those who may read the sealed work of a bounty."""
    accounts = (stack.people.poster, *stack.people.guardians)
    return [Key(bytes.fromhex(each.wallet.private_key.removeprefix("0x"))) for each in accounts]
