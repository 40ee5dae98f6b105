"""Accounts without ether do acts by the calls of the Python library and of the TypeScript client, sent by a bundler."""

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bounty_protocol.types import Address, BountyId, parse_address
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet
from local_stack.runtime import Runtime, running
from service_cli import Client, PreparedAct

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, LONG_AGO, Ledger, make_ledger
from tests.clients.package import built, programs, run_node
from tests.e2e.smart_accounts.bundler import BundlerServer, start_bundler
from tests.e2e.smart_accounts.contracts import ENTRY_POINT, FACTORY, AccountContracts, deploy_contracts
from tests.e2e.smart_accounts.delegated import DELEGATE, ENTRY_POINT_08, deploy_for_keys
from tests.e2e.smart_accounts.operations import Call, OperationReceipt, send_user_operation
from tests.e2e.smart_accounts.paymaster import PaymasterService, start_paymaster

AWARD = ESCROW * 96 // 100


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def node(runtime: Runtime) -> Iterator[AnvilServer]:
    with anvil.start(runtime, mining="automine", genesis_time=int(time.time()) - LONG_AGO) as server:
        yield server


@pytest.fixture(scope="module")
def ledger(node: AnvilServer) -> Iterator[Ledger]:
    with make_ledger(node) as found:
        yield found


@pytest.fixture(scope="module")
def contracts(node: AnvilServer) -> AccountContracts:
    return deploy_contracts(node)


@pytest.fixture(scope="module")
def bundler(node: AnvilServer, contracts: AccountContracts, runtime: Runtime) -> Iterator[BundlerServer]:
    with start_bundler(node, runtime) as server:
        yield server


@pytest.fixture
def paymaster(contracts: AccountContracts) -> Iterator[PaymasterService]:
    with start_paymaster(contracts) as service:
        yield service


@pytest.fixture
def api(ledger: Ledger) -> Iterator[ApiTwin]:
    twin = ApiTwin(ledger)
    yield twin
    twin.close()


@dataclass
class Person:
    """An owner without ether, whose account is not on the chain yet, and a client that has no key."""

    client: Client
    contracts: AccountContracts
    bundler: BundlerServer
    paymaster: PaymasterService
    owner: Wallet

    @property
    def account(self) -> Address:
        return parse_address(self.contracts.address_of(self.owner.address))

    def operate(self, act: PreparedAct[object]) -> OperationReceipt:
        """The calls of an act as one sponsored operation."""
        calls = [Call(call.to, bytes.fromhex(call.data[2:]), call.value) for call in act.calls]
        return send_user_operation(
            calls, self.owner.private_key, self.bundler.url, self.paymaster.url, contracts=self.contracts
        )

    def ether(self) -> int:
        w3 = self.contracts.w3
        return sum(w3.eth.get_balance(w3.to_checksum_address(each)) for each in (self.account, self.owner.address))


@pytest.fixture
def person(
    ledger: Ledger,
    api: ApiTwin,
    contracts: AccountContracts,
    bundler: BundlerServer,
    paymaster: PaymasterService,
    tmp_path: Path,
) -> Person:
    client = Client(dict(api.variables()), state_directory=tmp_path / "state")
    return Person(client, contracts, bundler, paymaster, Wallet())


def test_python__acts_of_an_account_without_ether__are_found_by_their_events(
    person: Person, ledger: Ledger, tmp_path: Path
) -> None:
    bounty, work = BountyId(ledger.fund(seconds=1_000, judging=20 * 86_400)[0]), tmp_path / "work"
    work.mkdir()
    (work / "main.py").write_text("print(1)\n")
    act = person.client.prepare_submit(bounty, work, person.account, without_api=True)
    assert person.client.result(act) is None
    sent = person.operate(act)
    recorded = person.client.wait_for(act)
    assert (recorded.tx_hash, recorded.solver) == (sent.transaction_hash, person.account)
    assert ledger.submission(bounty, person.account) == recorded.submission_commitment
    ledger.reveal(bounty)
    ledger.award(bounty, person.account, recorded.submission_commitment)

    claim = person.client.prepare_claim(bounty, person.account)
    person.operate(claim)
    assert person.client.wait_for(claim).claimable_amount == AWARD
    assert int(ledger.token.call("balanceOf", person.account)) == AWARD
    assert (person.client.prepare_claim(bounty, person.account).calls, person.ether()) == ((), 0)


def test_typescript__allowance_and_bounty_of_an_account_without_ether__are_one_operation(
    ledger: Ledger, contracts: AccountContracts, bundler: BundlerServer, paymaster: PaymasterService
) -> None:
    owner, holder = Wallet(), ledger.people.poster.wallet
    account = contracts.address_of(owner.address)
    holder.forget_nonce()
    ledger.token.transact(holder, "transfer", account, ESCROW)
    terms = {
        "specCommitment": "0x" + secrets.token_hex(32),
        "expectedRosterHash": ledger.hub.roster_hash,
        "escrowAmount": str(ESCROW),
        "submissionDeadline": str(ledger.time() + 10_000),
        "judgingWindow": "86400",
        "maxProtocolFee": str(ESCROW),
        "maxGuardianFee": str(ESCROW),
        "salt": "0x" + secrets.token_hex(32),
    }
    variables = {
        "RPC_URL": ledger.node.url,
        "BUNDLER_URL": bundler.url,
        "PAYMASTER_URL": paymaster.url,
        "ENTRY_POINT": ENTRY_POINT,
        "FACTORY": FACTORY,
        "OWNER_KEY": owner.private_key,
        "HUB": ledger.contract.address,
        "TOKEN": ledger.token.address,
        "CHAIN_ID": str(ledger.node.chain_id),
        "TERMS": json.dumps(terms),
    }
    done = json.loads(run_node(built() / "test/operated.mjs", variables=variables))
    assert (done["success"], done["same"], done["account"]) == (True, True, account)
    assert ledger.contract.call("getBounty", int(done["bountyId"]))[0].lower() == account
    assert int(ledger.token.call("balanceOf", account)) == 0
    w3 = ledger.node.w3
    assert w3.eth.get_balance(w3.to_checksum_address(account)) == 0
    assert paymaster.asked == ["pm_getPaymasterStubData", "pm_getPaymasterData"]


def test_typescript__a_key_without_ether__claims_by_the_program_of_the_page_once_it_is_delegated(
    ledger: Ledger, contracts: AccountContracts, runtime: Runtime
) -> None:
    solver, node = Wallet(), ledger.node
    node.fund(solver.address)
    bounty = ledger.awarded(solver)
    node.rpc.call("anvil_setBalance", solver.address, "0x0")
    settings = {
        "rpcUrl": node.url,
        "deployment": {"chainId": node.chain_id, "hubAddress": ledger.contract.address},
    }
    folder = programs()
    lines = [f"export const {name} = {json.dumps(value)};\n" for name, value in settings.items()]
    (folder / "settings.js").write_text("".join(lines))
    for_keys = deploy_for_keys(node, contracts)
    with (
        start_bundler(node, runtime, entry_point=ENTRY_POINT_08, name="alto-keys") as bundler,
        start_paymaster(for_keys) as paymaster,
    ):
        variables = {
            "SERVICE_CLAIMANT_PRIVATE_KEY": solver.private_key,
            "BUNDLER_URL": bundler.url,
            "PAYMASTER_URL": paymaster.url,
        }
        assert run_node(folder / "smart.js", bounty, variables=variables).strip() == str(AWARD)
    w3 = node.w3
    account = w3.to_checksum_address(solver.address)
    assert int(ledger.token.call("balanceOf", solver.address)) == AWARD
    assert bytes(w3.eth.get_code(account)).hex() == "ef0100" + DELEGATE[2:]
    assert w3.eth.get_balance(account) == 0
