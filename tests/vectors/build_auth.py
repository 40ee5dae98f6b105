"""Vectors of request signatures: typed data, header, canonical query, freshness, and every refusal.

The keys are derived from labels and the signatures are deterministic (RFC 6979), so the files can be made again.
"""

import base64
import hashlib
from dataclasses import replace
from typing import Final

from bounty_protocol.auth.header import ApprovalHeader, format_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import Approval, SigningDomain, digest, typed_data
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, bytes32

from tests import keys
from tests.vectors.samples import CHAIN_ID, HUB, word

AUDIENCE: Final = "bounties.example:8443"
DOMAIN: Final = SigningDomain(CHAIN_ID, HUB)
HEAD: Final = BlockNumber(1_000)
WINDOW: Final = 150
ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
KEY: Final = hashlib.sha256(b"key of a signer").digest()
SIGNER: Final = keys.account_of(KEY)
SOLVER_ROUTE: Final = f"/api/bounties/7/submissions/{SIGNER}/prepare"
REQUESTS: Final = (
    RequestToSign("GET", "/api/bounties/7/submissions/" + word("submission") + "/content", "", b"", AUDIENCE),
    RequestToSign("POST", SOLVER_ROUTE, "", b'{"version":1}', AUDIENCE),
    RequestToSign(
        "POST",
        "/api/bounty-challenge-specs/prepare-publication",
        f"poster_address={SIGNER}",
        b"---\nversion: 1\n---\n",
        AUDIENCE,
    ),
    RequestToSign("POST", "/api/bounties/7/delivery/wrap", "mine&b=c+d&b=%c3%a9~", "é".encode(), "xn--e1a.example"),
)
QUERIES: Final = (
    *("", "mine", "mine=", "a=b&c=d", "c=d&a=b", "a=1&a=2", "&&a=b&", "a=b=c", "=x", "=", "&", "a=b+c", "a=b%20c"),
    *("a=%2B", "a=~", "a=*-._", "a=%C3%A9", "a=%c3%a9", "a=%FF", "a=%", "a=%zz", "a=%2", "a='(!)", "?a=b", "a=%00"),
    *("a=%F0%9F%98%80", "a=%ED%A0%80", "a=%EF%BB%BFb", "a;b=c", "a[]=1", 'a="<>`{}|', "a=b#c", "%61=%62", "a=%26%3D"),
)
BAD_QUERIES: Final = ("a=\u00e9", "a=b c", "a=\t", "a=\u0000", "a=\u007f")


def block_hash(number: int) -> Bytes32:
    """The canonical hash of the vectors' chain at ``number``."""
    return word(f"block {number}")


def sign(signed: bytes) -> bytes:
    """65 bytes r || s || v of the vectors' signer."""
    return keys.sign(KEY, signed)


def approve(request: RequestToSign, number: int = HEAD - 3, domain: SigningDomain = DOMAIN) -> ApprovalHeader:
    """An honest client's approval."""
    approval = request.approval(BlockNumber(number), block_hash(number))
    return ApprovalHeader(SIGNER, sign(digest(domain, approval)), approval.block_number, approval.block_hash)


def approvals() -> dict[str, object]:
    """Requests, what is signed, and the header."""
    return {
        "about": (
            "For each request: the typed data a wallet shows, its EIP-712 digest, the signature (RFC 6979, s in the "
            "lower half, v 27 or 28) and the Authorization header. private_key is public: never use it."
        ),
        "chain_id": CHAIN_ID,
        "hub_address": HUB,
        "private_key": "0x" + KEY.hex(),
        "signer": SIGNER,
        "accepted": [_approved(request) for request in REQUESTS],
    }


def _approved(request: RequestToSign) -> dict[str, object]:
    header = approve(request)
    approval = request.approval(header.block_number, header.block_hash)
    return {
        "request": request_json(request),
        "typed_data": typed_data(DOMAIN, approval),
        "digest": bytes32(digest(DOMAIN, approval)),
        "signature": "0x" + header.signature.hex(),
        "authorization": format_header(header),
    }


def request_json(request: RequestToSign) -> dict[str, object]:
    """A request as the vectors write it."""
    return {
        "method": request.method,
        "path": request.path,
        "raw_query": request.raw_query,
        "body": base64.b64encode(request.body).decode(),
        "audience": request.audience,
    }


def queries() -> dict[str, object]:
    """Canonical queries."""
    return {
        "about": "canonical = new URLSearchParams(raw).toString() for ASCII raw queries; others are refused (401).",
        "accepted": [{"raw": raw, "canonical": canonical_query(raw)} for raw in QUERIES],
        "rejected": [{"raw": raw} for raw in BAD_QUERIES],
    }


def freshness() -> dict[str, object]:
    """Blocks around the edges of the window, on a chain of 2 s and on one of 0.2 s, whose header times are whole."""

    def chain(block_time: float, head: int, numbers: list[int]) -> dict[str, object]:
        def time_of(number: int) -> int:
            return 1_800_000_000 + int(number * block_time)

        def is_fresh(number: int) -> bool:
            return number <= head and time_of(head) - time_of(number) <= 300

        cases = [{"block_number": n, "block_time": time_of(min(n, head + 1)), "fresh": is_fresh(n)} for n in numbers]
        return {"block_time_seconds": block_time, "head": head, "head_time": time_of(head), "cases": cases}

    return {
        "about": (
            "A canonical block is fresh when it exists and is at most 300 seconds older than the newest one, by the "
            "times in their headers. At 2 seconds a block these are 150 blocks."
        ),
        "window_seconds": 300,
        "chains": [
            chain(2, HEAD, [0, HEAD - WINDOW - 1, HEAD - WINDOW, HEAD - 3, HEAD, HEAD + 1, 2**63 - 1]),
            chain(0.2, 10_000, [0, 8_499, 8_500, 9_000, 9_970, 10_000, 10_001]),
        ],
    }


def refusals() -> dict[str, object]:
    """Everything that is 401 although something near it is accepted."""
    base = REQUESTS[1]
    good = approve(base)
    return {
        "about": (
            "Each case is answered 401 unauthorized by a service of this deployment whose newest block is head and "
            "whose block hashes are those of canonical_blocks; the first header is the accepted neighbour."
        ),
        "chain_id": CHAIN_ID,
        "hub_address": HUB,
        "audience": AUDIENCE,
        "head": HEAD,
        "window_blocks": WINDOW,
        "canonical_blocks": {str(number): block_hash(number) for number in (HEAD - 151, HEAD - 150, HEAD - 3, HEAD)},
        "accepted": {"request": request_json(base), "authorization": format_header(good)},
        "rejected": [
            *(_case(reason, request, format_header(good)) for reason, request in _changed(base)),
            *(_case(reason, base, format_header(header)) for reason, header in _other_approvals(base, good)),
            *(_case(reason, base, text) for reason, text in _malformed(good)),
        ],
    }


def _case(reason: str, request: RequestToSign, authorization: str) -> dict[str, object]:
    return {"reason": reason, "request": request_json(request), "authorization": authorization}


def _changed(base: RequestToSign) -> list[tuple[str, RequestToSign]]:
    return [
        ("another method", replace(base, method="GET")),
        ("another route", replace(base, path=base.path.replace("prepare", "artifact-upload-url"))),
        ("another bounty", replace(base, path=base.path.replace("/7/", "/8/"))),
        ("a trailing slash", replace(base, path=base.path + "/")),
        ("upper case in the path", replace(base, path=base.path.upper())),
        ("a query added", replace(base, raw_query="a")),
        ("one byte of the body", replace(base, body=base.body[:-1] + b"]")),
        ("a byte appended to the body", replace(base, body=base.body + b"\n")),
        ("an empty body", replace(base, body=b"")),
    ]


def _other_approvals(base: RequestToSign, good: ApprovalHeader) -> list[tuple[str, ApprovalHeader]]:
    r, s, v = good.signature[:32], int.from_bytes(good.signature[32:64], "big"), good.signature[64]
    swapped = replace(base, raw_query="b=2&a=1").approval(good.block_number, good.block_hash)
    unknown = base.approval(BlockNumber(HEAD - 3), word("no block"))
    return [
        ("signed for another host", approve(replace(base, audience="other.example"))),
        ("signed for the host in upper case", approve(replace(base, audience=AUDIENCE.upper()))),
        ("signed for the host without its port", approve(replace(base, audience="bounties.example"))),
        ("signed for another chain", approve(base, domain=SigningDomain(ChainId(8453), HUB))),
        ("signed for another Hub", approve(base, domain=SigningDomain(CHAIN_ID, Address("0x" + "11" * 20)))),
        ("signed over another query", replace(good, signature=sign(digest(DOMAIN, swapped)))),
        ("a stale block", approve(base, number=HEAD - WINDOW - 1)),
        ("a future block", approve(base, number=HEAD + 1)),
        ("a block that is not canonical", _of(unknown)),
        ("another block's number", replace(good, block_number=HEAD)),
        ("another block's hash", replace(good, block_hash=block_hash(HEAD))),
        ("another signer", replace(good, address=HUB)),
        ("v of 0 or 1", replace(good, signature=good.signature[:64] + bytes([v - 27]))),
        ("the other v", replace(good, signature=good.signature[:64] + bytes([55 - v]))),
        ("high s", replace(good, signature=r + (ORDER - s).to_bytes(32, "big") + bytes([55 - v]))),
        ("a compact signature", replace(good, signature=_compact(good.signature))),
        ("66 bytes", replace(good, signature=good.signature + b"\0")),
        ("64 bytes", replace(good, signature=good.signature[:64])),
        ("zeros", replace(good, signature=bytes(65))),
        ("r of zero", replace(good, signature=bytes(32) + good.signature[32:])),
        ("r of the group order", replace(good, signature=ORDER.to_bytes(32, "big") + good.signature[32:])),
        ("signed as a personal message", replace(good, signature=sign(_personal(base, good)))),
    ]


def _of(approval: Approval) -> ApprovalHeader:
    return ApprovalHeader(SIGNER, sign(digest(DOMAIN, approval)), approval.block_number, approval.block_hash)


def _compact(signature: bytes) -> bytes:
    """EIP-2098: the parity of v in the top bit of s."""
    top = (signature[64] - 27) << 7
    return signature[:32] + bytes([signature[32] | top]) + signature[33:64]


def _personal(base: RequestToSign, good: ApprovalHeader) -> bytes:
    """The digest that personal_sign makes of the right digest."""
    signed = digest(DOMAIN, base.approval(good.block_number, good.block_hash))
    return keccak256(b"\x19Ethereum Signed Message:\n32" + signed)


def _malformed(good: ApprovalHeader) -> list[tuple[str, str]]:
    joined = f"{good.address}~0x{good.signature.hex()}~{good.block_number}~{good.block_hash}"

    def spelled(text: str, scheme: str = "Service-Approval") -> str:
        return f"{scheme} {base64.b64encode(text.encode()).decode()}"

    whole = spelled(joined)
    number = f"~{good.block_number}~"
    return [
        ("no header value", ""),
        ("another scheme", spelled(joined, "Bearer")),
        ("no scheme", whole.split()[1]),
        ("two spaces", whole.replace(" ", "  ")),
        ("three fields", spelled(joined.rpartition("~")[0])),
        ("five fields", spelled(joined + "~x")),
        ("an empty field", spelled(joined.replace("~", "~~", 1))),
        ("base64url", whole.replace(" ", " -", 1)),
        ("base64 cut short", whole[:-1]),
        ("base64 with bits left over", _loose(format_header(approve(REQUESTS[1], number=HEAD)))),
        ("base64 with a line feed", whole[:40] + "\n" + whole[40:]),
        ("not ASCII inside", "Service-Approval " + base64.b64encode(joined.encode() + b"\xff").decode()),
        ("a signature without 0x", spelled(joined.replace("~0x", "~", 1))),
        ("half a byte of signature", spelled(joined.replace("~0x", "~0x0", 1))),
        ("spaces in the signature", spelled(joined.replace("~0x", "~0x ", 1))),
        ("a signature in no hex", spelled(joined.replace("~0x", "~0xzz", 1))),
        ("a leading zero", spelled(joined.replace(number, f"~0{good.block_number}~"))),
        ("a sign", spelled(joined.replace(number, f"~+{good.block_number}~"))),
        ("a hexadecimal number", spelled(joined.replace(number, f"~{hex(good.block_number)}~"))),
        ("a short block hash", spelled(joined[:-2])),
        ("an address with a wrong checksum", spelled(joined.replace(good.address, _miscased(good.address)))),
        ("two values in one", f"{whole},{whole}"),
        ("more than 16 KiB", "Service-Approval " + "A" * 16_384),
    ]


def _loose(text: str) -> str:
    """The same bytes in base64 that is not canonical: a bit that nobody reads is set."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = text.rstrip("=")
    changed = body[:-1] + letters[letters.index(body[-1]) + 1] + text[len(body) :]
    assert changed.endswith("=")
    assert base64.b64decode(changed.split()[1]) == base64.b64decode(text.split()[1])
    return changed


def _miscased(address: str) -> str:
    """Its first letter alone in upper case."""
    index = next(i for i, c in enumerate(address) if i > 1 and c.isalpha())
    return address[:index] + address[index].upper() + address[index + 1 :]


FILES: Final = {
    "request_approval.json": approvals,
    "canonical_query.json": queries,
    "freshness.json": freshness,
    "request_refusals.json": refusals,
}
