"""What a transaction may cost: its gas, its tip and all of it, for any answer of endpoint or contract."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.gas import GAS_NEEDS, GWEI, MAX_TIP_WEI, PLAIN_TIP_WEI
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from tests.campaign import some
from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.scenes import (
    Case,
    Stage,
    claim,
    claim_all,
    claim_fee,
    fund,
    heartbeat,
    judge,
    make_stage,
    replace_by_wallet,
    seal,
)
from tests.cli.screen import at_terminal
from tests.cli.servers import Params, RpcProxy

Answer = dict[str, object] | None
OFFERED = Callable[[], list[dict[str, int]]]


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


@pytest.fixture
def offered(rpc: RpcProxy) -> OFFERED:
    """The transactions that were sent, as they were signed."""
    raws: list[str] = []

    def before(method: str, params: Params) -> Answer:
        if method == "eth_sendRawTransaction":
            raws.append(str(params[0]))
        return None

    rpc.before = before
    return lambda: [TypedTransaction.from_bytes(HexBytes(raw)).as_dict() for raw in raws]


def estimating(gas: int) -> Callable[[str, Params, object], object]:
    return lambda method, _params, found: hex(gas) if method == "eth_estimateGas" else found


@pytest.mark.parametrize("scene", some("gas", [seal, judge, heartbeat, claim, claim_all, claim_fee], 2))
def test_gas_above_its_need_is_refused(stage: Stage, rpc: RpcProxy, scene: Callable[[Stage], Case]) -> None:
    """A heartbeat of 27.5 million gas once cost 13.6 ether."""
    case = scene(stage)
    before = rpc.sent()
    rpc.after = estimating(27_500_000)
    ran = case.home.run(*case.words, code=1)
    assert ran.last["code"] == "gas_excessive"
    assert "34,375,000 gas" in str(ran.last["message"])
    assert (rpc.sent(), "signing:" in ran.words, stage.api.approvals()) == (before, False, [])
    rpc.honest()
    assert case.home.run(*case.words).last["event"] == case.event


def test_gas_is_bounded_without_the_authorization(stage: Stage, rpc: RpcProxy, offered: OFFERED) -> None:
    case, most = fund(stage), 3 * GAS_NEEDS["createBountyWithAuthorization"].used
    assert case.home.run(*case.words).last["event"] == case.event
    assert [each["gas"] for each in offered()] == [most]
    assert "eth_estimateGas" not in rpc.calls


def test_gas_above_its_need_is_not_given_to_a_wallet(stage: Stage, rpc: RpcProxy) -> None:
    case = replace_by_wallet(stage)
    rpc.after = estimating(27_500_000)
    ran = case.home.run(*case.words, code=1)
    assert (ran.names, ran.last["code"]) == (["submit.refused"], "gas_excessive")
    rpc.honest()
    ran = case.home.run(*case.words)
    assert ran.last["event"] == case.event
    assert "your wallet chooses gas and price; this call takes about 57,000 gas" in ran.words


def history(tip: int) -> dict[str, object]:
    return {"oldestBlock": "0x1", "baseFeePerGas": ["0x1"] * 6, "gasUsedRatio": [0.5] * 5, "reward": [[hex(tip)]] * 5}


TIPS: list[tuple[int, int, int]] = [
    (498 * GWEI, 0, PLAIN_TIP_WEI),
    (498 * GWEI, 400 * GWEI, MAX_TIP_WEI),
    (GWEI, GWEI, GWEI),
]


@pytest.mark.parametrize(("suggested", "recent", "tip"), TIPS)
def test_tip_follows_recent_blocks_and_has_a_bound(
    stage: Stage, rpc: RpcProxy, offered: OFFERED, suggested: int, recent: int, tip: int
) -> None:
    """A tip of 498 gwei once made a creation cost 0.083 ether."""
    answers = {"eth_maxPriorityFeePerGas": hex(suggested), "eth_feeHistory": history(recent)}
    rpc.after = lambda method, _params, found: answers.get(method, found)
    case = heartbeat(stage)
    assert case.home.run(*case.words).last["event"] == case.event
    assert [each["maxPriorityFeePerGas"] for each in offered()] == [tip]


@pytest.mark.parametrize("scene", some("cost", [fund, seal, judge, heartbeat, claim], 2))
def test_cost_far_above_the_usual_needs_consent(stage: Stage, rpc: RpcProxy, scene: Callable[[Stage], Case]) -> None:
    case = scene(stage)
    rpc.charge(100)
    ran = case.home.run(*case.words, code=1)
    assert ran.last["code"] == "gas_cost_too_high"
    assert "the limit is 0.003 ether" in str(ran.last["message"])
    assert "--max-cost" in str(ran.last["next_action"])
    assert (rpc.sent(), "signing:" in ran.words, stage.api.approvals()) == (0, False, [])
    for limit in ("0.0000001", "0"):
        low = case.home.run(*case.words, "--max-cost", limit, code=1).last
        assert (low["code"], f"the limit is {limit} ether" in str(low["message"])) == ("gas_cost_too_high", True)
    assert case.home.run(*case.words, "--max-cost", "0.2").last["event"] == case.event


@pytest.mark.parametrize(("typed", "code"), [("yes\n", 0), ("y\n", 1)])
def test_unusual_cost_is_asked_for(stage: Stage, rpc: RpcProxy, typed: str, code: int) -> None:
    case = heartbeat(stage)
    rpc.charge(100)
    seen = at_terminal(case.home, *case.words, typed=typed, prompt="Type yes", columns=200)
    assert (seen.code, rpc.sent()) == (code, 1 - code)
    assert "the limit is 0.003 ether" in seen.screen
