"""``--forced``: what is written is what the stack's own portal makes a transaction of, and that does the act."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import NETWORKS
from bounty_protocol.chain.rollup import ROLLUPS, keeps_its_address, rollup_of
from bounty_protocol.domain.halts import LONGEST_INCLUSION_SECONDS
from local_stack.anvil import AnvilServer
from web3 import Web3

from tests.cli import scenes
from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.portal import PORTAL, SETTLEMENT, derived, executed, sent, settlement_node
from tests.cli.scenes import Case, Stage, make_stage
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

FORCED = {"SERVICE_PORTAL_ADDRESS": PORTAL, "SERVICE_SETTLEMENT_CHAIN_ID": str(SETTLEMENT)}
L1_GAS = hex(2_000_000)
"""The portal burns as much of it as the gas that it is asked for costs, which an estimate does not find."""
ABI = json.loads((Path(__file__).parent / "portal.json").read_text(encoding="utf-8"))["abi"]


@pytest.fixture(scope="module")
def settlement() -> Iterator[AnvilServer]:
    with settlement_node() as node:
        yield node


@pytest.fixture(scope="module")
def stage(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return make_stage(ledger, ApiTwin(ledger), RpcProxy(ledger.node.url), tmp_path_factory.mktemp("forced"))


def early(stage: Stage) -> Case:
    """A Solver two days before the deadline."""
    case = scenes.seal(stage)
    bounty, page = stage.ledger.fund(seconds=2 * 86_400)
    stage.api.keep_page(page)
    return replace(case, words=("solver:submit", str(bounty), "work"))


def knowing(case: Case, **more: str) -> Terminal:
    """The person's terminal with a portal."""
    return Terminal(case.home.home, {**case.home.environment, **FORCED, **more})


WRITTEN: dict[Callable[[Stage], Case], str] = {
    early: "submit.forced_call_written",
    scenes.judge: "guardian_verdict.forced_call_written",
    scenes.claim: "claim.forced_call_written",
    scenes.claim_fee: "guardian_claim_fee.forced_call_written",
}


@pytest.mark.parametrize("scene", WRITTEN, ids=lambda scene: scene.__name__)
def test_forced_call__sent_by_its_account_on_the_settlement_layer__is_the_act(
    stage: Stage, settlement: AnvilServer, scene: Callable[[Stage], Case]
) -> None:
    case = scene(stage)
    home, before = knowing(case), stage.ledger.nonce(case.account)
    ran = home.run(*case.words, "--forced", "call.json")
    assert (ran.last["event"], ran.last["to"]) == (WRITTEN[scene], PORTAL)
    assert stage.ledger.nonce(case.account) == before  # nothing was sent
    call = json.loads((home.home / "call.json").read_text())
    assert (call["chain_id"], call["to"], call["value"], call["account"]) == (SETTLEMENT, PORTAL, "0", case.account)
    function, arguments = Web3().eth.contract(abi=ABI).decode_function_input(call["data"])
    inner = call["forces"]
    assert function.fn_name == "depositTransaction"
    assert arguments == {
        "_to": Web3.to_checksum_address(stage.ledger.contract.address), "_value": 0, "_gasLimit": inner["gas"],
        "_isCreation": False, "_data": bytes.fromhex(inner["data"][2:]),
    }  # fmt: skip
    receipt = sent(settlement, call["account"], {"to": call["to"], "data": call["data"], "value": "0x0", "gas": L1_GAS})
    assert int(receipt["status"], 16) == 1
    found = derived(receipt)
    assert (found.sender, found.to) == (case.account, stage.ledger.contract.address)
    done = executed(stage.ledger.node, found)
    assert int(done["status"], 16) == 1
    assert int(done["gasUsed"], 16) < found.gas
    stage.ledger.node.mine(3)
    later = home.run_any(*case.words)  # what the chain has is found, and nothing is sent a second time
    assert later.last["event"] == case.event or "claimed" in str(later.last["code"])
    assert done["transactionHash"] in json.dumps(later.last)
    assert stage.ledger.nonce(case.account) == before + 1


def test_forced_call__of_what_is_done_already__writes_nothing(stage: Stage) -> None:
    case = early(stage)
    case.home.run(*case.words)
    ran = knowing(case).run(*case.words, "--forced", "call.json")
    assert ran.last["event"] == "submit.submission_recorded"
    assert not (case.home.home / "call.json").exists()


def hurried(stage: Stage) -> Case:
    """A Guardian whose judging window is shorter than the sequencer's."""
    case, (number, page) = scenes.judge(stage), stage.ledger.fund(seconds=1_000, judging=LONGEST_INCLUSION_SECONDS)
    stage.api.keep_page(page)
    stage.ledger.submit(number, stage.ledger.people.solvers[0].wallet)
    stage.ledger.reveal(number)
    return replace(case, words=(case.words[0], str(number), *case.words[2:]))


@pytest.mark.parametrize("scene", [scenes.seal, hurried])
def test_forced_call__that_could_come_too_late__is_refused_before_anything_is_sealed_or_published(
    stage: Stage, scene: Callable[[Stage], Case]
) -> None:
    case = scene(stage)
    ran = knowing(case).run(*case.words, "--forced", "call.json", code=1)
    assert (len(ran.names), ran.last["code"]) == (1, "forced_too_late")
    assert not (case.home.home / "call.json").exists()
    assert case.home.run(*case.words).last["event"] == case.event  # the sequencer may still take it


CODES = {
    "a contract": ("0x6001600101", "forced_from_contract"),
    "an EIP-7702 delegation": ("0xef0100" + "11" * 20, None),
    "no code": ("0x", None),
}


@pytest.mark.parametrize("name", CODES)
def test_account__with_code_of_its_own__is_refused(stage: Stage, name: str) -> None:
    code, refused = CODES[name]
    case = scenes.claim(stage)
    stage.ledger.node.rpc.call("anvil_setCode", case.account, code)
    try:
        ran = knowing(case).run_any(*case.words, "--forced", "call.json")
    finally:
        stage.ledger.node.rpc.call("anvil_setCode", case.account, "0x")
    assert ran.last.get("code") == refused
    assert (case.home.home / "call.json").exists() is (refused is None)


def test_portal__of_a_contracts_call__makes_it_another_accounts(stage: Stage, settlement: AnvilServer) -> None:
    """Why contracts are refused: the stack's portal adds its offset to their address."""
    caller = "0x" + "c0" * 20
    code = "0x366000600037" + "6000600036600060007" + f"3{PORTAL[2:]}5af100"  # it passes on what it is called with
    settlement.rpc.call("anvil_setCode", caller, code)
    case = scenes.claim(stage)
    home = knowing(case)
    home.run(*case.words, "--forced", "call.json")
    call = json.loads((home.home / "call.json").read_text())
    found = derived(sent(settlement, case.account, {"to": caller, "data": call["data"], "value": "0x0", "gas": L1_GAS}))
    offset = int("0x1111000000000000000000000000000000001111", 16)
    assert int(found.sender, 16) == (int(caller, 16) + offset) % 2**160


@pytest.mark.parametrize(
    ("more", "words", "code"),
    [
        ({"SERVICE_PORTAL_ADDRESS": ""}, ("call.json",), "configuration_incomplete"),
        ({"SERVICE_PORTAL_ADDRESS": "0x12"}, ("call.json",), "configuration_malformed"),
        ({"SERVICE_SETTLEMENT_CHAIN_ID": ""}, ("call.json",), "configuration_incomplete"),
        ({"SERVICE_SETTLEMENT_CHAIN_ID": "0"}, ("call.json",), "configuration_malformed"),
        ({}, ("there.json",), "file_exists"),
        ({}, ("no/such/folder.json",), "file_unwritable"),
    ],
)
def test_setting_or_file__that_cannot_be_used__is_refused(
    stage: Stage, more: dict[str, str], words: tuple[str, ...], code: str
) -> None:
    case = scenes.claim(stage)
    (case.home.home / "there.json").write_text("mine")
    assert knowing(case, **more).run(*case.words, "--forced", *words, code=1).last["code"] == code
    assert (case.home.home / "there.json").read_text() == "mine"


@pytest.mark.parametrize(
    "words",
    [
        ("claim", "--all", "--forced", "x"),
        ("claim", "1", "--claimant-address", PORTAL, "--browser", "--forced", "x"),
        ("solver:submit", "--check", "--forced", "x", "1", "."),
        ("solver:submit", "--solver-address", PORTAL, "--forced", "x", "1", "."),
        ("guardian:verdict", "1", "no_valid_submission", "--template", "--forced", "x"),
    ],
)
def test_forced__with_what_it_does_not_go_with__is_a_usage_error(shell: Terminal, words: tuple[str, ...]) -> None:
    assert "--forced" in shell.run(*words, code=2).words


def test_rollups__of_the_networks__are_known_and_the_local_one_is_none() -> None:
    assert {chain: rollup.settlement for chain, rollup in ROLLUPS.items()} == {8453: 1, 84532: 11155111}
    assert rollup_of(NETWORKS["local"]) is None


@pytest.mark.parametrize("code", ["ef0101" + "11" * 20, "ef0100" + "11" * 19, "ef0100" + "11" * 21, "00"])
def test_code__that_is_no_delegation__is_a_contracts(code: str) -> None:
    assert not keeps_its_address(bytes.fromhex(code))
    assert keeps_its_address(bytes.fromhex("ef0100" + "11" * 20))
