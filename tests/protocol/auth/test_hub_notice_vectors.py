"""The published vectors of notices about the Hub, read as another implementation would: from the JSON file alone."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import notice_digest, notice_typed_data
from bounty_protocol.domain.hub_notice import HubNotice, notice_issues
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, ChainId, UnixSeconds, bytes32
from bounty_protocol.wire.reading import read
from eth_account import Account
from eth_account.messages import encode_typed_data

VECTORS: Final[Any] = json.loads((Path(__file__).parents[2] / "vectors" / "hub_notice.json").read_text("utf-8"))


def issues_of(notice: HubNotice) -> list[str]:
    chain, hub, now = ChainId(VECTORS["chain_id"]), Address(VECTORS["hub_address"]), UnixSeconds(VECTORS["now"])
    return [issue.path for issue in notice_issues(notice, chain, hub, now)]


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda case: case["about"])
def test_notice__that_counts__is_signed_over_what_a_wallet_shows(case: Any) -> None:
    notice = read(HubNotice, case["notice"])
    assert to_json(notice) == case["notice"]
    assert issues_of(notice) == []
    assert notice_typed_data(notice) == case["typed_data"]
    assert bytes32(notice_digest(notice)) == case["digest"]
    signature = bytes.fromhex(notice.signature[2:])
    assert recover(notice_digest(notice), signature) == notice.signer
    by_library = Account.recover_message(encode_typed_data(full_message=case["typed_data"]), signature=signature)
    assert by_library.lower() == notice.signer


@pytest.mark.attack
@pytest.mark.parametrize("case", VECTORS["rejected"], ids=lambda case: case["about"])
def test_notice__of_another_deployment_or_time__is_refused_by_its_field(case: Any) -> None:
    assert issues_of(read(HubNotice, case["notice"])) == case["issues"] != []


@pytest.mark.attack
@pytest.mark.parametrize("case", VECTORS["unreadable"], ids=lambda case: case["about"])
def test_notice__of_another_form__is_none(case: Any) -> None:
    with pytest.raises(ValueError):
        read(HubNotice, case["notice"])
