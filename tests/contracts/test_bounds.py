"""The bounds of a deployment: the contract, the audit and docs/hub.md state the same."""

import re
from pathlib import Path
from typing import Final

import pytest
from service_audit.rules import HubConfig

from tests.contracts.evm import Chain, Contract
from tests.vectors.samples import PROTOCOL, account

DOCUMENT: Final = Path(__file__).parents[2] / "docs/hub.md"
CONFIG: Final = "(address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address)"
OWNER: Final = account("owner")
ROWS: Final = re.findall(r"(?m)^\| `(\w+)` \| (\d+|`\w+`) \| (\d+|`\w+`) \|$", DOCUMENT.read_text(encoding="utf-8"))


def config(token: str, **changed: int) -> HubConfig:
    """A deployment that a Hub takes, but for these fields, by their names in the contract."""
    values = {re.sub("([A-Z])", r"_\1", name).lower(): value for name, value in changed.items()}
    usual = {"reveal_delay": 10, "min_submission_window": 5, "max_submission_window": 10**6, "min_judging_window": 5}
    usual |= {"max_judging_window": 10**6, "min_escrow": 100, "publication_delay": 1}
    usual |= {"protocol_fee_bps": 250, "guardian_fee_bps": 500}
    return HubConfig(token, OWNER, **(usual | values), protocol_fee_recipient=PROTOCOL)


def bound(text: str) -> int:
    """A number, or the usual value of the field that the document names."""
    name = re.sub("([A-Z])", r"_\1", text.strip("`")).lower()
    return int(text) if text.isdecimal() else int(getattr(config(""), name))


def test_document_states_a_bound_for_each_field() -> None:
    numbers = sum(kind is int for kind in HubConfig.__annotations__.values())
    assert len(ROWS) == len({name for name, *_ in ROWS}) == numbers


@pytest.mark.parametrize(("name", "least", "most"), ROWS)
def test_bounds_are_the_same_in_all_places(name: str, least: str, most: str) -> None:
    chain = Chain(1_800_000_000)
    token = chain.deploy_token(OWNER).address
    for value, is_taken in (
        (bound(least), True), (bound(least) - 1, False), (bound(most), True), (bound(most) + 1, False),
    ):  # fmt: skip
        if value < 0:  # of no unsigned field
            continue
        tried = config(token, **{name: value})
        assert tried.is_within_bounds is is_taken
        assert is_deployed(chain, tried) is is_taken


def is_deployed(chain: Chain, tried: HubConfig) -> bool:
    """Whether the contract's constructor takes this."""
    values = tuple(getattr(tried, field) for field in HubConfig.__slots__)
    try:
        return isinstance(chain.deploy("Hub", (CONFIG, values)), Contract)
    except RuntimeError:
        return False
