"""What is signed at most for gas follows from what the Hub was measured to take."""

import json
from pathlib import Path

import pytest
from bounty_protocol.chain.gas import GAS_NEEDS, MAX_TIP_WEI, PLAIN_TIP_WEI, reasonable_tip
from hypothesis import given
from hypothesis import strategies as st

SNAPSHOT = Path(__file__).parents[3] / "contracts" / "snapshots" / "hub.gas.json"
FIGURES = {name.removeprefix("hub.gas."): int(used) for name, used in json.loads(SNAPSHOT.read_text()).items()}
MEASURED = {
    "approve": ("approve",),
    "createBounty": ("create",),
    "createBountyWithAuthorization": ("create_with_authorization",),
    "submit": ("submit", "second_submit"),
    "recordVerdict": (
        "verdict",
        "verdict_of_a_former_roster",
        "second_verdict",
        "deciding_verdict",
        "deciding_verdict_of_fifteen",
    ),
    "settle": ("settle", "settle_of_fifteen"),
    "claim": ("claim",),
    "claimRefund": ("refund",),
    "claimGuardianFee": ("guardian_fee",),
    "claimProtocolFee": ("protocol_fee",),
    "heartbeat": ("heartbeat",),
}
OWNERS = {
    "acceptOwnership",
    "publishDeliveryKey",
    "publishRoster",
    "setFeePolicy",
    "transferOwnership",
    "withdrawDeliveryKey",
}


@pytest.mark.parametrize("function", MEASURED)
def test_need_is_what_was_measured_rounded_up(function: str) -> None:
    most = max(FIGURES[name] for name in MEASURED[function])
    assert most <= GAS_NEEDS[function].used <= most * 1.05


@pytest.mark.parametrize(("figure", "claims"), [("claim", 1), ("four_guardian_fees", 4), ("thirty_two_awards", 32)])
def test_need_of_many_claims_is_rounded_up(figure: str, claims: int) -> None:
    need = GAS_NEEDS["claimMany"]
    assert FIGURES[figure] <= need.usual(claims) <= FIGURES[figure] * 1.15
    assert need.most(claims) == 3 * need.usual(claims)


def test_need_of_each_public_call_is_known() -> None:
    abi = json.loads((SNAPSHOT.parents[1] / "artifacts" / "Hub.abi.json").read_text())
    writing = {each["name"] for each in abi if each.get("stateMutability") == "nonpayable" and "name" in each}
    assert set(GAS_NEEDS) == writing - OWNERS | {"approve"}


TIPS = st.integers(0, 2**256 - 1)


@given(TIPS, st.lists(TIPS, max_size=20))
def test_tip_is_bounded_whatever_an_endpoint_shows(suggested: int, recent: list[int]) -> None:
    assert 0 <= reasonable_tip(suggested, recent) <= min(suggested, MAX_TIP_WEI)


@given(TIPS, st.lists(st.integers(0, PLAIN_TIP_WEI // 2), max_size=10), st.lists(TIPS, max_size=4))
def test_tip_is_not_raised_by_a_few_blocks(suggested: int, usual: list[int], other: list[int]) -> None:
    if len(other) < len(usual):
        assert reasonable_tip(suggested, usual + other) <= PLAIN_TIP_WEI
