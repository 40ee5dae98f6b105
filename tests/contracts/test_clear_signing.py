"""What a hardware wallet shows is what is signed: every argument, of every call, and the request as it is signed."""

import copy
import json
from typing import Any

import pytest
from service_common.auth.typed_data import Approval, SigningDomain, typed_data
from service_common.types import ZERO_BYTES32, Address, BlockNumber, ChainId

from contracts.tools.clear_signing import descriptors
from tests.contracts.evm import ARTIFACTS

HUB = "0x" + "11" * 20
ABI: list[dict[str, Any]] = json.loads((ARTIFACTS / "Hub.abi.json").read_text(encoding="utf-8"))


def test_call__with_an_argument_that_is_not_decided_about__is_refused() -> None:
    assert descriptors(ABI, [])
    for entry in [e for e in ABI if e["type"] == "function" and e["stateMutability"] == "nonpayable"]:
        changed = copy.deepcopy(ABI)
        function = next(e for e in changed if e["type"] == "function" and e["name"] == entry["name"])
        function["inputs"].append({"name": "added", "type": "address"})
        with pytest.raises(SystemExit, match=f"every argument of {entry['name']}$"):
            descriptors(changed, [])


def test_call__that_the_words_do_not_name__is_refused() -> None:
    added = {"type": "function", "name": "drain", "stateMutability": "nonpayable", "inputs": [], "outputs": []}
    with pytest.raises(SystemExit, match="other functions"):
        descriptors([*ABI, added], [])


def test_request__is_shown_as_it_is_signed__and_only_for_the_hubs_that_stand() -> None:
    shown = descriptors(ABI, [(8453, HUB)])["eip712-ApiRequestApproval.json"]
    approval = Approval("GET /", "host", ZERO_BYTES32, "", BlockNumber(1), ZERO_BYTES32)
    signed = typed_data(SigningDomain(ChainId(8453), Address(HUB)), approval)
    assert isinstance(signed["message"], dict)
    assert isinstance(signed["domain"], dict)
    bound = shown["context"]["eip712"]
    assert bound["schemas"] == [{"primaryType": signed["primaryType"], "types": signed["types"]}]
    assert bound["domain"].items() <= signed["domain"].items()
    assert bound["deployments"] == [{"chainId": 8453, "address": HUB}]
    fields = shown["display"]["formats"]["ApiRequestApproval"]["fields"]
    assert {field["path"] for field in fields} == set(signed["message"])
