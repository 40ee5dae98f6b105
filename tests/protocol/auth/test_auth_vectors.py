"""The published vectors of request signatures, read as another implementation would: from the JSON files alone."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.auth.header import format_header, parse_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import SigningDomain, digest, typed_data
from bounty_protocol.auth.verify import FRESHNESS_SECONDS, Authority, CanonicalBlock, ReceivedRequest, verify_request
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, Bytes32, ChainId, bytes32, parse_address
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.protocol.auth.signing import PLAIN_KEYS, Key, block_hash, header_for, received

VECTORS = Path(__file__).parents[2] / "vectors"


def _load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


APPROVALS, REFUSALS = _load("request_approval.json"), _load("request_refusals.json")


class VectorChain:
    """The chain that the refusals name."""

    def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
        if number > REFUSALS["head"]:
            return None
        known: dict[str, Bytes32] = REFUSALS["canonical_blocks"]
        return CanonicalBlock(known.get(str(number)), 2 * (REFUSALS["head"] - number))


def _authority(audience: str = REFUSALS["audience"]) -> Authority:
    domain = SigningDomain(ChainId(REFUSALS["chain_id"]), parse_address(REFUSALS["hub_address"]))
    return Authority(domain, audience)


def _to_sign(case: Any) -> RequestToSign:
    request = case["request"]
    body = base64.b64decode(request["body"], validate=True)
    return RequestToSign(request["method"], request["path"], request["raw_query"], body, request["audience"])


def _received(case: Any) -> ReceivedRequest:
    to_sign = _to_sign(case)
    return ReceivedRequest(to_sign.method, to_sign.path, to_sign.raw_query, to_sign.body, (case["authorization"],))


@pytest.mark.spec(155, 291, 292, 293, 294, 295, 296, 297, 298, 301, 302, 303, 308, 309, 390, 391)
@pytest.mark.parametrize("case", APPROVALS["accepted"], ids=lambda case: case["request"]["path"])
def test_approval_is_the_vector_to_the_last_byte(case: Any) -> None:
    header = parse_header(case["authorization"])
    approval = _to_sign(case).approval(header.block_number, header.block_hash)
    domain = SigningDomain(ChainId(APPROVALS["chain_id"]), parse_address(APPROVALS["hub_address"]))
    assert typed_data(domain, approval) == case["typed_data"]
    assert bytes32(digest(domain, approval)) == case["digest"]
    assert format_header(header) == case["authorization"]
    assert header.address == APPROVALS["signer"]
    verified = verify_request(_received(case), _authority(case["request"]["audience"]), VectorChain(), PLAIN_KEYS)
    assert verified.signer == APPROVALS["signer"]


@pytest.mark.parametrize("case", APPROVALS["accepted"], ids=lambda case: case["request"]["path"])
def test_signature__by_another_library__is_the_vectors(case: Any) -> None:
    message = encode_typed_data(full_message=case["typed_data"])
    signed = Account.sign_message(message, APPROVALS["private_key"])
    assert "0x" + bytes(signed.signature).hex() == case["signature"]


def test_query__accepted_and_rejected__as_said() -> None:
    value = _load("canonical_query.json")
    for case in value["accepted"]:
        assert canonical_query(case["raw"]) == case["canonical"]
    for case in value["rejected"]:
        with pytest.raises(ValueError, match="ASCII"):
            canonical_query(case["raw"])


def test_refusals__their_neighbour__is_accepted() -> None:
    case = REFUSALS["accepted"]
    assert verify_request(_received(case), _authority(), VectorChain(), PLAIN_KEYS).body == b'{"version":1}'


@pytest.mark.spec(310, 311, 312, 313, 317, 361, 362, 363)
@pytest.mark.parametrize("case", REFUSALS["rejected"], ids=lambda case: case["reason"].replace(" ", "-"))
def test_request__with_a_known_defect__is_unauthorized(case: Any) -> None:
    with pytest.raises(ServiceError) as caught:
        verify_request(_received(case), _authority(), VectorChain(), PLAIN_KEYS)
    assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
    assert caught.value.next_action


@pytest.mark.spec(305, 306, 382)
@pytest.mark.parametrize("chain", _load("freshness.json")["chains"], ids=lambda chain: chain["block_time_seconds"])
def test_freshness__at_every_edge__is_as_said(chain: Any) -> None:
    assert _load("freshness.json")["window_seconds"] == FRESHNESS_SECONDS
    key = Key(bytes.fromhex(APPROVALS["private_key"][2:]))
    to_sign = _to_sign(REFUSALS["accepted"])
    for case in chain["cases"]:
        header = header_for(key, to_sign, number=case["block_number"], domain=_authority().domain)

        class OneBlock(VectorChain):
            def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
                age = chain["head_time"] - case["block_time"]  # noqa: B023  # called within this turn
                return CanonicalBlock(block_hash(number), age) if number <= chain["head"] else None

        if case["fresh"]:
            assert verify_request(received(header, to_sign), _authority(), OneBlock(), PLAIN_KEYS).signer == key.address
        else:
            with pytest.raises(ServiceError, match="block"):
                verify_request(received(header, to_sign), _authority(), OneBlock(), PLAIN_KEYS)
