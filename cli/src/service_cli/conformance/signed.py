"""What needs a signature: refused without one, and with every signature that is not of exactly this request.

The keys are made for the run and own nothing. The request that is altered is a read of sealed work by a stranger: with
his right signature it is refused by who he is, with any other one by the signature. No check changes anything.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.signature import account_of_key
from bounty_protocol.auth.typed_data import Approval, SigningDomain, typed_data
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.deployment import SIGNING_OFFSET_BLOCKS
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused, block_number, quantity
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.timely import HttpAnswer
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId

from service_cli.conformance.asking import Broken, NotChecked, as_json, check_refusal, code_of, shown
from service_cli.conformance.public import Known, first_id

HASH: Final = "0x" + "11" * 32
GROUP_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_JSON: Final = "application/json"
BY_WHO_HE_IS: Final = (PROBLEMS["forbidden"].status, PROBLEMS["submission_not_found"].status)
"""How a stranger's read of sealed work is answered once his signature is believed."""


@dataclass(frozen=True, slots=True)
class ProtectedRequest:
    """A request that needs a signature; ``id``, ``hash`` and ``account`` are put into its path."""

    method: str
    path: str
    media_type: str | None = None
    query: str = ""


CONTENT: Final = ProtectedRequest("GET", "/api/bounties/{id}/submissions/{hash}/content")
PROTECTED: Final = (
    CONTENT,
    ProtectedRequest("POST", "/api/bounties/{id}/submissions/contents", _JSON),
    ProtectedRequest("POST", "/api/bounties/{id}/submissions/{account}/artifact-upload-url", _JSON),
    ProtectedRequest("POST", "/api/bounties/{id}/submissions/{account}/prepare", _JSON),
    ProtectedRequest("POST", "/api/bounties/{id}/delivery/wrap", _JSON),
    ProtectedRequest("POST", "/api/bounties/{id}/delivery/retrieve", _JSON),
    ProtectedRequest(
        "POST", "/api/bounty-challenge-specs/prepare-publication", "text/markdown", "poster_address={account}"
    ),
    ProtectedRequest("POST", "/api/written-verdicts/{hash}", "text/markdown"),
    ProtectedRequest("GET", "/api/written-verdicts/{hash}/document"),
    ProtectedRequest("GET", "/api/bounties/{id}/challenge"),
    ProtectedRequest("GET", "/api/webhooks"),
    ProtectedRequest("POST", "/api/webhooks", _JSON),
    ProtectedRequest("DELETE", "/api/webhooks/{hash}"),
    ProtectedRequest("POST", "/api/webhooks/{hash}/test"),
    ProtectedRequest("POST", "/api/webhooks/{hash}/rotate"),
)
"""Every protected request of the interface; a test compares them with its description."""


def without_a_signature(known: Known) -> str:
    """Each protected request without an Authorization, or with one that is none, is refused, and says what it needs."""
    for each in PROTECTED:
        for value in (None, "Bearer abc", "Service-Approval !", "Service-Approval " + "A" * 200):
            path, query = _filled(known, each.path), _filled(known, each.query)
            headers = {"Content-Type": each.media_type} if each.media_type else {}
            headers |= {} if value is None else {"Authorization": value}
            body = None if each.media_type is None else as_json({})
            answer = known.deployed.refused(each.method, path, "unauthorized", query=query, body=body, headers=headers)
            if not answer.headers.get("WWW-Authenticate"):
                raise Broken(f"{each.method} {path} is answered 401 without WWW-Authenticate")
    return f"{len(PROTECTED)} requests"


def altered_signatures(known: Known, rpc_url: str | None) -> str:
    """A stranger's own signature is refused by who he is; one of anything else than this request is no signature."""
    reads = _StrangerReads.prepared(known, rpc_url)
    answer = reads.send(reads.signed())
    if answer not in BY_WHO_HE_IS:
        raise Broken(f"a stranger's right signature is answered {answer}; it has to be refused by who he is")
    for name, header in reads.altered():
        reads.expect_unauthorized(name, header)
    return f"{len(list(reads.altered()))} alterations, beside the right one ({answer})"


def chain_facts(known: Known, rpc_url: str | None) -> str:
    """The chain that the deployment names is the endpoint's, and its Hub has code there."""
    deployment, rpc = known.needed(), _rpc(rpc_url)
    try:
        chain_id, code = quantity(rpc.call("eth_chainId")), rpc.call("eth_getCode", deployment.hub_address, "latest")
    except (ChainUnavailable, RpcRefused, ValueError) as error:
        raise _unanswered(error) from None
    if chain_id != deployment.chain_id:
        raise Broken(f"the deployment names chain {deployment.chain_id}, and the RPC endpoint is of {chain_id}")
    if code in {"0x", None}:
        raise Broken(f"there is no contract at the Hub's address {deployment.hub_address}")
    return f"chain {chain_id}"


@dataclass(frozen=True)
class _StrangerReads:
    """A read of sealed work, signed by a key that owns nothing."""

    known: Known
    request: RequestToSign
    domain: SigningDomain
    approval: Approval
    key: bytes
    stale: tuple[BlockNumber, Bytes32] | None
    """A block that is older than the window; None on a chain that is too short."""

    @staticmethod
    def prepared(known: Known, rpc_url: str | None) -> "_StrangerReads":
        deployment, rpc = known.needed(), _rpc(rpc_url)
        if not known.items:
            raise NotChecked("it has no bounty whose sealed work a stranger could ask for")
        request = RequestToSign(CONTENT.method, _filled(known, CONTENT.path), "", b"", deployment.public_host)
        try:
            newest = block_number(rpc.call("eth_blockNumber"))
            block = header_at(rpc, BlockNumber(max(0, newest - SIGNING_OFFSET_BLOCKS)))
            old = newest - deployment.freshness_window_blocks - 10
            stale = header_at(rpc, BlockNumber(old)) if old >= 0 else None
        except (ChainUnavailable, RpcRefused, ValueError) as error:
            raise _unanswered(error) from None
        domain = SigningDomain(deployment.chain_id, deployment.hub_address)
        approval = request.approval(block.number, block.hash)
        of_stale = None if stale is None else (stale.number, stale.hash)
        return _StrangerReads(known, request, domain, approval, secrets.token_bytes(32), of_stale)

    def signed(
        self, approval: Approval | None = None, domain: SigningDomain | None = None, sent: Approval | None = None
    ) -> str:
        """The header over ``approval``; ``sent`` is what it states beside the signature."""
        approval = approval or self.approval
        signature = _sign(self.key, domain or self.domain, approval)
        return approval_header(account_of_key(self.key), signature, sent or approval)

    def altered(self) -> list[tuple[str, str]]:
        """Headers that must count for nothing, each with what is wrong with it."""
        mine, right = account_of_key(self.key), _sign(self.key, self.domain, self.approval)
        s = int.from_bytes(right[32:64], "big")
        high = right[:32] + (GROUP_ORDER - s).to_bytes(32, "big") + bytes([55 - right[64]])
        compact = right[:32] + (s | (right[64] - 27) << 255).to_bytes(32, "big")

        def change(**values: object) -> Callable[[], str]:
            other = replace(self.approval, **values)  # type: ignore[arg-type]  # names of its own fields
            return lambda: self.signed(other, sent=self.approval)

        host = self.request.audience
        no_block = BlockNumber(self.approval.block_number + 10_000_000)
        found = [
            ("another method", change(endpoint_id=f"POST {self.request.path}")()),
            ("another path", change(endpoint_id="GET /api/webhooks")()),
            ("another host", change(audience=f"other.{host}")()),
            ("another body", change(body_hash=Bytes32(HASH))()),
            ("another query", change(query="limit=1")()),
            ("another block than it states", change(block_number=BlockNumber(self.approval.block_number - 1))()),
            ("another chain", self.signed(domain=replace(self.domain, chain_id=ChainId(self.domain.chain_id + 1)))),
            ("another Hub", self.signed(domain=replace(self.domain, hub_address=Address("0x" + "33" * 20)))),
            ("a block that is not there", self.signed(replace(self.approval, block_hash=Bytes32(HASH)))),
            ("a block to come", self.signed(replace(self.approval, block_number=no_block))),
            ("another account", approval_header(Address("0x" + "44" * 20), right, self.approval)),
            ("the upper s of the same signature", approval_header(mine, high, self.approval)),
            ("the compact form", approval_header(mine, compact, self.approval)),
            ("a recovery byte of 0 or 1", approval_header(mine, right[:64] + bytes([right[64] - 27]), self.approval)),
        ]
        if self.stale is not None:
            number, block_hash = self.stale
            old = replace(self.approval, block_number=number, block_hash=block_hash)
            found.append(("a block older than the window", self.signed(old)))
        return found

    def send(self, header: str) -> int:
        """The status of the answer."""
        return self._send(header).status

    def expect_unauthorized(self, name: str, header: str) -> None:
        answer = self._send(header)
        if answer.status < 400:
            raise Broken(f"a signature over {name} is answered {answer.status} {shown(code_of(answer))}")
        check_refusal(answer, "unauthorized", f"a signature over {name}")

    def _send(self, header: str) -> HttpAnswer:
        return self.known.deployed.send(self.request.method, self.request.path, headers={"Authorization": header})


def _unanswered(error: Exception) -> NotChecked:
    if isinstance(error, ChainUnavailable) and error.limited:
        return NotChecked(f"the RPC endpoint limits its requests: try again {error.try_again}")
    return NotChecked(f"the RPC endpoint does not answer ({type(error).__name__})")


def _rpc(rpc_url: str | None) -> JsonRpc:
    if rpc_url is None:
        raise NotChecked("needs an RPC endpoint of its chain: SERVICE_RPC_URL")
    return JsonRpc([rpc_url], patient=True)


def _filled(known: Known, text: str) -> str:
    return text.format(id=first_id(known), hash=HASH, account="0x" + "22" * 20)


def _sign(key: bytes, domain: SigningDomain, approval: Approval) -> bytes:
    """By eth-account: a digest of our own would agree with a service that has the same mistake."""
    from service_cli.chain.signer import eth_account, with_integers

    data = with_integers(typed_data(domain, approval))
    return bytes(eth_account().sign_typed_data(key, full_message=data).signature)
