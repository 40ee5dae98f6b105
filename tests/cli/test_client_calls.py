"""``service_cli.Client``: the calls of an act for another program to send, and its result found by the Hub's events."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.types import Address, BountyId, parse_address
from local_stack.contract import Wallet, wait_for
from service_cli import Client, PreparedAct, Refused
from service_cli.chain.signer import eth_account
from service_cli.ui.event import Event

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import Stage, claim, claim_all, make_stage, seal
from tests.cli.servers import RpcProxy

AWARD = ESCROW * 96 // 100
REQUEST = "ApiRequestApproval"


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


class Person:
    """An account whose key is at a bundler or the owners of a multisig, and never in the client."""

    def __init__(self, stage: Stage, wallet: Wallet | None = None) -> None:
        self.stage, self.wallet = stage, wallet or Wallet()
        self.account = parse_address(self.wallet.address)
        self.events: list[Event] = []
        self.signed: list[str] = []
        self.client = self.new_client()

    def new_client(self, **more: str) -> Client:
        """Of another process, with the same state."""
        values = {**self.stage.api.variables(), "SERVICE_RPC_URL": self.stage.rpc.url, **more}
        return Client(values, state_directory=self.stage.folder / self.account, on_event=self.events.append)

    def sign(self, typed_data: Mapping[str, object]) -> bytes:
        self.signed.append(str(typed_data["primaryType"]))
        key = self.wallet.private_key
        return bytes(eth_account().sign_typed_data(key, full_message=dict(typed_data)).signature)

    def send(self, act: PreparedAct[object]) -> None:
        """What a bundler or a multisig does with the calls."""
        self.wallet.forget_nonce()
        w3 = self.stage.ledger.node.w3
        for call in act.calls:
            assert call.value == 0
            assert wait_for(w3, self.wallet.send(w3, bytes.fromhex(call.data[2:]), to=call.to))

    def nonce(self) -> int:
        return self.stage.ledger.node.w3.eth.get_transaction_count(
            self.stage.ledger.node.w3.to_checksum_address(self.account)
        )


def functions(act: PreparedAct[object], ledger: Ledger) -> list[str]:
    names = {"0x095ea7b3": "approve"}
    hub = ledger.contract
    for entry in hub.abi:
        if entry["type"] == "function":
            selector = ledger.node.w3.keccak(
                text=f"{entry['name']}({','.join(_typed(each) for each in entry['inputs'])})"
            )[:4].hex()
            names[f"0x{selector.removeprefix('0x')}"] = entry["name"]
    targets = {hub.address, ledger.token.address}
    assert {call.to for call in act.calls} <= targets
    return [names[call.data[:10]] for call in act.calls]


def _typed(given: Mapping[str, object]) -> str:
    kind = str(given["type"])
    if not kind.startswith("tuple"):
        return kind
    parts = given["components"]
    assert isinstance(parts, list)
    return f"({','.join(map(_typed, parts))}){kind.removeprefix('tuple')}"


@pytest.mark.parametrize("without_api", [False, True])
def test_submit__whose_call_others_send__is_found_by_its_event(stage: Stage, *, without_api: bool) -> None:
    case, person = seal(stage), Person(stage)
    stage.ledger.node.fund(person.account)
    bounty, work = BountyId(int(case.words[1])), case.home.home / "work"
    sign = None if without_api else person.sign
    act = person.client.prepare_submit(bounty, work, person.account, sign=sign, without_api=without_api)
    assert functions(act, stage.ledger) == ["submit"]
    assert person.signed == ([] if without_api else [REQUEST] * 2)
    stage.ledger.submit(bounty, stage.ledger.people.solvers[1].wallet)  # somebody else's is not its result
    assert person.client.result(act) is None
    again = person.new_client().prepare_submit(bounty, work, person.account, sign=sign, without_api=without_api)
    assert again.calls == act.calls
    person.send(act)
    done = person.client.wait_for(act)
    assert (done.solver, done.bounty_id) == (person.account, bounty)
    assert stage.ledger.submission(bounty, person.account) == done.submission_commitment
    once_more = person.client.prepare_submit(bounty, work, person.account, sign=sign, without_api=without_api)
    assert (once_more.calls, person.client.result(once_more)) == ((), done)


def test_claims__whose_calls_others_send__are_found_by_their_events(stage: Stage) -> None:
    case = claim(stage)
    bounty, person = BountyId(int(case.words[1])), Person(stage, stage.ledger.people.solvers[1].wallet)
    with pytest.raises(Refused) as refused:
        person.client.prepare_claim(bounty, Address("0x" + "77" * 20))
    assert refused.value.code == "not_entitled"
    act = person.client.prepare_claim(bounty, person.account)
    assert (functions(act, stage.ledger), person.client.result(act)) == (["claim"], None)
    person.send(act)
    done = person.client.wait_for(act)
    assert done.claimable_amount == AWARD
    with pytest.raises(Refused) as refused:
        person.client.result(replace(act, hub=Address("0x" + "77" * 20)))
    assert refused.value.code == "deployment_mismatch"
    again = person.new_client().prepare_claim(bounty, person.account)
    assert (again.calls, person.client.result(again)) == ((), done)


def test_claims__of_everything__are_one_call_and_their_total_is_found(stage: Stage) -> None:
    claim_all(stage)
    person = Person(stage, stage.ledger.people.solvers[1].wallet)
    act = person.client.prepare_claim_all(person.account)
    assert (functions(act, stage.ledger), person.client.result(act)) == (["claimMany"], None)
    person.send(act)
    total = person.client.wait_for(act)
    assert (total.parts, total.amount) == (2, 2 * AWARD)
    nothing = person.client.prepare_claim_all(person.account)
    found = person.client.result(nothing)
    assert found is not None
    assert (nothing.calls, found.parts) == ((), 0)
