"""What a hardware wallet shows is what is signed: every argument, of every call, and the request as it is signed."""

import copy
import json
from typing import Any

import pytest
from bounty_protocol.auth.typed_data import Approval, SigningDomain, typed_data
from bounty_protocol.types import ZERO_BYTES32, Address, BlockNumber, ChainId

from contracts.tools.clear_signing import descriptors
from tests.contracts.evm import ARTIFACTS

HUB = "0x" + "11" * 20
ABI: list[dict[str, Any]] = json.loads((ARTIFACTS / "Hub.abi.json").read_text(encoding="utf-8"))


def test_call_with_an_undecided_argument_is_refused() -> None:
    assert descriptors(ABI, [])
    for entry in [e for e in ABI if e["type"] == "function" and e["stateMutability"] == "nonpayable"]:
        changed = copy.deepcopy(ABI)
        function = next(e for e in changed if e["type"] == "function" and e["name"] == entry["name"])
        function["inputs"].append({"name": "added", "type": "address"})
        with pytest.raises(SystemExit, match=f"every argument of {entry['name']}$"):
            descriptors(changed, [])


def test_call__that_the_words_do_not_name__is_refused() -> None:
    added = {"type": "function", "name": "drain", "stateMutability": "nonpayable", "inputs": [], "outputs": []}
    with pytest.raises(SystemExit, match="do not name the same functions: drain"):
        descriptors([*ABI, added], [])


REQUEST = typed_data(
    SigningDomain(ChainId(8453), Address(HUB)),
    Approval("GET /", "host", ZERO_BYTES32, "", BlockNumber(1), ZERO_BYTES32),
)


def test_typed_data_is_shown_as_it_is_signed() -> None:
    signed: dict[str, Any] = REQUEST
    name = signed["primaryType"]
    shown = descriptors(ABI, [(8453, HUB)])[f"eip712-{name}.json"]
    bound = shown["context"]["eip712"]
    assert bound["schemas"] == [{"primaryType": name, "types": signed["types"]}]
    assert bound["domain"].items() <= signed["domain"].items()
    assert bound["deployments"] == [{"chainId": 8453, "address": HUB}]
    fields = shown["display"]["formats"][name]["fields"]
    assert {field["path"] for field in fields} == set(signed["message"])
