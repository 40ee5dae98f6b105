"""Drawn requests, terms and envelopes, through Python and the TypeScript client: the same bytes, the same refusals.

A campaign (``SERVICE_CAMPAIGN=full``) draws 10,000 cases, a usual run 150 of them.
"""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Final

import pytest
from bounty_protocol.auth.header import ApprovalHeader, format_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.domain.abi_hashes import (
    authorization_nonce,
    funding_salt,
    guardian_roster_hash,
    recipients_commitment,
)
from bounty_protocol.domain.canonical_json import canonical_bytes
from bounty_protocol.domain.commitments import submission_commitment
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.domain.terms import Terms
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import (
    Address,
    BlockNumber,
    Bytes32,
    ChainId,
    TokenAmount,
    UnixSeconds,
    bytes32,
    parse_address,
)

from tests.campaign import size, source
from tests.clients.package import PACKAGE, built, run_node
from tests.vectors.build_auth import KEY, SIGNER, sign

APPROVALS: Final = size(50, 4_000)
TERMS: Final = size(50, 3_000)
ENVELOPES: Final = size(50, 3_000)
QUERY_PARTS: Final = (
    "a",
    "=",
    "&",
    "+",
    "%20",
    "%C3%A9",
    "%ff",
    "%",
    "~",
    "*",
    "b",
    ";",
    "%2B",
    "'",
    "<",
    "[",
    "/",
    "?",
)
METHODS: Final = ("GET", "post", "DELETE", "PUT")
EDGES: Final = (0, 1, 2**53 - 1, 2**53, 2**64 - 1, 2**96, 2**255, 2**256 - 1)

Found = Mapping[str, list[object]]
"""What was made of each case, by kind."""


def word(draw: random.Random) -> Bytes32:
    return bytes32(draw.randbytes(32))


def account(draw: random.Random) -> Address:
    return parse_address(f"0x{draw.randbytes(20).hex()}")


def number(draw: random.Random) -> int:
    return draw.choice(EDGES) if draw.random() < 0.3 else draw.getrandbits(draw.randrange(1, 257))


def approval(draw: random.Random) -> tuple[dict[str, object], object]:
    """A request, and the header that Python's client sends with it."""
    query = "".join(draw.choices(QUERY_PARTS, k=draw.randrange(9)))
    method, path = draw.choice(METHODS), "/api/" + "".join(draw.choices("abc/7-", k=6))
    audience = draw.choice(("bounties.example", "bounties.example:8443", "127.0.0.1:9"))
    body, block, block_hash = draw.randbytes(draw.choice((0, 1, 32, 700))), draw.getrandbits(48), word(draw)
    chain_id, hub = draw.choice((1, 8453, 31_337, 2**53 - 1)), account(draw)
    request = RequestToSign(method, path, query, body, audience)
    asked = request.approval(BlockNumber(block), block_hash)
    signature = sign(digest(SigningDomain(ChainId(chain_id), hub), asked))
    header = format_header(ApprovalHeader(SIGNER, signature, asked.block_number, asked.block_hash))
    assert asked.query == canonical_query(query)
    given: dict[str, object] = {"method": method, "url": f"https://{audience}{path}{'?' + query if query else ''}"}
    given |= {"body": body.hex(), "number": str(block), "hash": block_hash, "chainId": chain_id, "hubAddress": hub}
    return given, header


def hashed(draw: random.Random) -> tuple[dict[str, object], object]:
    """Terms and a roster, and what the Hub and the token make of them."""
    chain_id, hub, poster = draw.choice((1, 8453, 2**53 - 1)), account(draw), account(draw)
    terms = Terms(
        word(draw),
        word(draw),
        TokenAmount(number(draw)),
        UnixSeconds(number(draw)),
        number(draw),
        TokenAmount(number(draw)),
        TokenAmount(number(draw)),
        word(draw),
    )
    accounts = [account(draw) for _ in range(draw.randrange(6))]
    keys = [word(draw) for _ in accounts]
    version, quorum, count = number(draw), number(draw), number(draw)
    roster = guardian_roster_hash(
        chain_id, hub, version=version, accounts=accounts, encryption_public_keys=keys, quorum=quorum
    )
    expected = [
        authorization_nonce(chain_id, hub, poster, terms),
        funding_salt(chain_id, hub, poster, terms.spec_commitment, count),
        roster,
        recipients_commitment(terms.spec_commitment, keys),
    ]
    given: dict[str, object] = {"chainId": chain_id, "hub": hub, "poster": poster, "terms": terms.to_args()}
    given |= {"version": str(version), "quorum": str(quorum), "count": str(count), "accounts": accounts, "keys": keys}
    return given, expected


def altered(draw: random.Random, accepted: Mapping[str, object]) -> tuple[str, object]:
    """An envelope with a field that is left out, another type, or altered by a letter; now and then it is as it was."""
    value: dict[str, object] = json.loads(json.dumps(accepted))
    name = draw.choice(sorted(value))
    inner = value[name]
    target = inner if isinstance(inner, dict) and draw.random() < 0.7 else value
    name = draw.choice(sorted(target))
    change = draw.randrange(6)
    if change == 0:
        del target[name]
    elif change == 1:
        target[name] = draw.choice((None, 0, -1, 2**53 - 1, "", "0x", [], {}, True, 1))
    elif change == 2:
        target["other"] = 1
    elif change == 3 and isinstance(target[name], str):
        text = str(target[name])
        at = draw.randrange(len(text))
        target[name] = text[:at] + draw.choice("0fgA=. ") + text[at + 1 :]
    data = canonical_bytes(value)
    if change == 4:
        at = draw.randrange(len(data))
        data = data[:at] + draw.choice((b"", b" ", b"\xff", b"0")) + data[at + draw.randrange(2) :]
    try:
        parse_envelope(data)
    except ServiceError as error:
        return data.hex(), error.code
    return data.hex(), submission_commitment(data)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found]:
    """What Python expects, and what Node made of it, by kind."""
    draw = source("typescript differential")
    vectors = json.loads((PACKAGE.parents[1] / "tests/vectors/envelope.json").read_text(encoding="utf-8"))
    accepted = [json.loads(each["envelope"]) for each in vectors["accepted"]]
    drawn: Mapping[str, Sequence[tuple[object, object]]] = {
        "approvals": [approval(draw) for _ in range(APPROVALS)],
        "terms": [hashed(draw) for _ in range(TERMS)],
        "envelopes": [altered(draw, draw.choice(accepted)) for _ in range(ENVELOPES)],
    }
    path = tmp_path_factory.mktemp("differential") / "cases.json"
    path.write_text(
        json.dumps({"key": f"0x{KEY.hex()}"} | {kind: [one for one, _ in all_] for kind, all_ in drawn.items()})
    )
    found: Found = json.loads(run_node(built() / "test/differential.mjs", path, timeout=1_200))
    return {kind: [expected for _, expected in all_] for kind, all_ in drawn.items()}, found


@pytest.mark.parametrize(("kind", "count"), [("approvals", APPROVALS), ("terms", TERMS), ("envelopes", ENVELOPES)])
def test_drawn_cases__in_both_languages__are_the_same(compared: tuple[Found, Found], kind: str, count: int) -> None:
    expected, found = compared
    assert len(found[kind]) == count
    assert [pair for pair in zip(expected[kind], found[kind], strict=True) if pair[0] != pair[1]][:3] == []


def test_drawn_envelopes_are_accepted_and_refused(compared: tuple[Found, Found]) -> None:
    refused = [one == "invalid_solver_submission" for one in compared[0]["envelopes"]]
    assert len(refused) / 20 < sum(refused) < len(refused) * 19 / 20
