"""The test kit itself: an account without ether acts where somebody pays, and nothing happens where nobody does."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Contract, Wallet, wait_for
from local_stack.runtime import Runtime, running
from local_stack.token import TOKEN, Issuer

from tests.e2e.smart_accounts.bundler import BundlerServer, start_bundler
from tests.e2e.smart_accounts.contracts import AccountContracts, deploy_contracts
from tests.e2e.smart_accounts.operations import Call, OperationFailed, OperationReceipt, send_user_operation
from tests.e2e.smart_accounts.paymaster import Behaviour, PaymasterService, start_paymaster

FRIEND = "0x" + "f1" * 20
SPENDER = "0x" + "5e" * 20


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def node(runtime: Runtime) -> Iterator[AnvilServer]:
    with anvil.start(runtime) as server:
        yield server


@pytest.fixture(scope="module")
def contracts(node: AnvilServer) -> AccountContracts:
    return deploy_contracts(node)


@pytest.fixture(scope="module")
def bundler(node: AnvilServer, contracts: AccountContracts, runtime: Runtime) -> Iterator[BundlerServer]:
    with start_bundler(node, runtime) as server:
        yield server


@pytest.fixture(scope="module")
def token(node: AnvilServer) -> tuple[Contract, Wallet]:
    """A token, and who may mint it."""
    issuer = Issuer(Wallet(), Wallet())
    node.fund(issuer.wallet.address)
    made, sent = issuer.deploy(node.w3)
    for each in sent:
        wait_for(node.w3, each)
    return made, issuer.wallet


@pytest.fixture
def paymaster(contracts: AccountContracts) -> Iterator[PaymasterService]:
    with start_paymaster(contracts) as service:
        yield service


class Person:
    """An owner without ether and its account, which has tokens and is not there yet."""

    def __init__(self, contracts: AccountContracts, bundler: BundlerServer, token: tuple[Contract, Wallet]) -> None:
        self._contracts, self._bundler = contracts, bundler
        self.token, minter = token
        self.owner = Wallet()
        self.account = contracts.address_of(self.owner.address)
        self.token.transact(minter, "mint", self.account, 10 * TOKEN)

    def send(self, paymaster_url: str | None, answer_seconds: float = 3.0) -> OperationReceipt:
        """An allowance and a payment as one."""
        calls = [
            Call(self.token.address, self.token.encode("approve", SPENDER, 3 * TOKEN)),
            Call(self.token.address, self.token.encode("transfer", FRIEND, 2 * TOKEN)),
        ]
        return send_user_operation(
            calls, self.owner.private_key, self._bundler.url, paymaster_url,
            contracts=self._contracts, answer_seconds=answer_seconds,
        )  # fmt: skip

    def left(self) -> int:
        return int(self.token.call("balanceOf", self.account))

    def allowed(self) -> int:
        return int(self.token.call("allowance", self.account, SPENDER))


@pytest.fixture
def person(contracts: AccountContracts, bundler: BundlerServer, token: tuple[Contract, Wallet]) -> Person:
    return Person(contracts, bundler, token)


def test_account__without_ether__does_its_sponsored_batches(
    person: Person, contracts: AccountContracts, paymaster: PaymasterService
) -> None:
    w3, deposit = contracts.w3, contracts.deposit()
    assert not w3.eth.get_code(w3.to_checksum_address(person.account))
    first = person.send(paymaster.url)
    assert (person.left(), person.allowed()) == (8 * TOKEN, 3 * TOKEN)
    assert [log["address"].lower() for log in first.logs] == [person.token.address] * 2
    assert contracts.deposit() == deposit - first.gas_cost
    second = person.send(paymaster.url)
    assert (person.left(), contracts.nonce_of(person.account)) == (6 * TOKEN, 2)
    assert second.transaction_hash != first.transaction_hash
    assert w3.eth.get_balance(w3.to_checksum_address(person.account)) == 0
    assert paymaster.asked == ["pm_getPaymasterStubData", "pm_getPaymasterData"] * 2


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour.ABSENT, "the paymaster did not answer pm_getPaymasterStubData: no connection"),
        (Behaviour.REFUSING, "the paymaster refused pm_getPaymasterStubData: this paymaster does not pay"),
        (Behaviour.HANGING, "the paymaster did not answer pm_getPaymasterStubData: nothing came in time"),
        (Behaviour.WRONG, "the bundler refused eth_sendUserOperation: .*AA34"),
    ],
)
def test_paymaster__that_behaves_badly__is_named_and_nothing_is_mined(
    person: Person,
    contracts: AccountContracts,
    paymaster: PaymasterService,
    behaviour: Behaviour,
    reason: str,
) -> None:
    paymaster.behave(behaviour)
    block, started = contracts.w3.eth.block_number, time.monotonic()
    with pytest.raises(OperationFailed, match=reason):
        person.send(paymaster.url, answer_seconds=1.0)
    assert time.monotonic() - started < 5
    assert (contracts.w3.eth.block_number, contracts.nonce_of(person.account)) == (block, 0)
    paymaster.behave(Behaviour.OK)
    person.send(paymaster.url)
    assert person.left() == 8 * TOKEN


def test_account__without_ether_and_paymaster__is_refused_until_it_has_ether(
    person: Person, node: AnvilServer, contracts: AccountContracts
) -> None:
    with pytest.raises(OperationFailed, match=r"the bundler refused eth_.*AA21"):
        person.send(None)
    assert contracts.nonce_of(person.account) == 0
    node.fund(person.account)
    person.send(None)
    assert person.left() == 8 * TOKEN


def test_batch__one_of_whose_calls_reverts__is_refused_before_it_is_sent(
    person: Person, bundler: BundlerServer, contracts: AccountContracts, paymaster: PaymasterService
) -> None:
    calls = [
        Call(person.token.address, person.token.encode("approve", SPENDER, 1)),
        Call(person.token.address, person.token.encode("transfer", FRIEND, 11 * TOKEN)),
    ]
    with pytest.raises(OperationFailed, match="the bundler refused eth_estimateUserOperationGas"):
        send_user_operation(calls, person.owner.private_key, bundler.url, paymaster.url, contracts=contracts)
    assert person.allowed() == 0


@pytest.mark.parametrize("which", ["bundler", "paymaster"])
def test_pages__of_another_origin__may_ask(bundler: BundlerServer, paymaster: PaymasterService, which: str) -> None:
    url = {"bundler": bundler.url, "paymaster": paymaster.url}[which]
    origin = "http://127.0.0.1:1"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    allowed = urllib3.request("OPTIONS", url, headers={"Origin": origin, **asked})
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "eth_chainId", "params": []})
    answer = urllib3.request("POST", url, body=body, headers={"Origin": origin, "Content-Type": "application/json"})
    assert (allowed.status, answer.status, answer.json()["id"]) == (204, 200, 7)
    assert "content-type" in allowed.headers["Access-Control-Allow-Headers"].lower()
    assert {each.headers["Access-Control-Allow-Origin"] for each in (allowed, answer)} <= {"*", origin}


def test_bundler__at_work__shows_no_key_is_on_loopback_and_ends_when_asked(
    node: AnvilServer, contracts: AccountContracts
) -> None:
    with start_bundler(node) as server:
        child = server.child
        assert child is not None
        keys = [wallet.private_key[2:] for wallet in (server._executor, server._utility)]
        shown = Path(f"/proc/{child.pid}/cmdline").read_text() + child.log_path.read_text()
        assert not any(key in shown for key in keys)
        with socket.socket() as other:
            other.settimeout(2)
            assert other.connect_ex(("127.0.0.2", server.port)) != 0
        server.stop()
        assert child.exit_status() == 0
