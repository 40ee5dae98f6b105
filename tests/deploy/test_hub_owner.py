"""A thief of one of the three accounts that share the Hub's timelock, in each row of the table of ADR 33.

Real Safes, the real timelock, the real Hub, and the commands that an operator types.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Address
from hub_operations.timelock import NO_PREDECESSOR, encode
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet
from local_stack.hub import LocalHub, LocalHubTerms, deploy_hub
from local_stack.process import StackError

from tests.deploy.test_hub_operations import operate
from tests.safe.wallet import SafeWallet, make_safe, make_safe_of

DELAY = 1_000


@dataclass
class World:
    """A Hub that a timelock owns: its Safes, and what an operator and a thief do with them."""

    node: AnvilServer
    payer: Wallet
    local: LocalHub
    folder: Path
    proposer: SafeWallet
    canceller: SafeWallet
    vault: SafeWallet
    recovery: SafeWallet
    timelock: Address
    files: int = 0

    @property
    def hub(self) -> Hub:
        return Hub(Rpc([self.node.url]), Address(self.local.hub.address))

    def wait(self, seconds: int = DELAY) -> None:
        self.node.rpc.call("evm_increaseTime", seconds)
        self.node.mine(1)

    def owner(self, *arguments: str, code: int = 0) -> str:
        return operate("owner", arguments[0], "--rpc-url", self.node.url, *arguments[1:], code=code)

    def in_timelock(self, *arguments: str, code: int = 0) -> str:
        return self.owner(arguments[0], "--timelock", self.timelock, *arguments[1:], code=code)

    def file(self) -> Path:
        self.files += 1
        return self.folder / f"{self.files}.json"

    def calls(self, file: Path, safe: SafeWallet) -> list[tuple[str, bytes]]:
        batch = json.loads(file.read_text())
        assert batch["meta"]["createdFromSafeAddress"].lower() == safe.address
        return [(call["to"], bytes.fromhex(call["data"][2:])) for call in batch["transactions"]]

    def admin(self, safe: SafeWallet, *action: str, execute: bool = False, code: int = 0) -> str:
        """The owner's call, through the file that the command wrote for a Safe."""
        file = self.file()
        arguments = ["admin", "--rpc-url", self.node.url, "--hub", self.hub.address, "--safe", str(file)]
        said = operate(*arguments, "--by", safe.address, *(["--execute"] if execute else []), *action, code=code)
        for to, data in self.calls(file, safe) if code == 0 else []:
            safe.execute(self.payer, to, data)
        return said

    def cancel(self, safe: SafeWallet, *operations: str) -> None:
        file = self.file()
        self.in_timelock("cancel", "--by", safe.address, "--safe", str(file), *operations)
        for to, data in self.calls(file, safe):
            safe.execute(self.payer, to, data)

    def replace(self, role: str, old: SafeWallet, new: SafeWallet, signing: Sequence[SafeWallet]) -> None:
        """Two of three replace the third."""
        file = self.file()
        arguments = ("--recovery", self.recovery.address, "--safe", str(file), role, old.address, new.address)
        self.in_timelock("replace", *arguments)
        for to, data in self.calls(file, self.recovery):
            self.recovery.execute_approved(self.payer, to, data, signing)

    def check(self, *, proposer: str = "", canceller: str = "", code: int = 0) -> str:
        meant = ["--proposer", proposer or self.proposer.address, "--canceller", canceller or self.canceller.address]
        return self.in_timelock(
            "check", "--hub", self.hub.address, "--recovery", self.recovery.address, *meant, code=code
        )

    def waiting(self, *, canceller: str = "") -> list[str]:
        said = self.check(canceller=canceller)
        return [line.split()[1] for line in said.splitlines() if line.startswith("waits ")]

    def announce_as_thief(self, safe: SafeWallet, function: str, *arguments: object, salt: int = 99) -> None:
        """What a thief of a proposer sends, with tools of its own."""
        data = hub_abi().functions[function].encode(*arguments)
        values = (self.hub.address, 0, data, NO_PREDECESSOR, salt.to_bytes(32, "big"))
        safe.execute(self.payer, self.timelock, encode("schedule", *values, DELAY))

    def execute_as_thief(self, safe: SafeWallet, function: str, *arguments: object, salt: int = 99) -> None:
        data = hub_abi().functions[function].encode(*arguments)
        values = (self.hub.address, 0, data, NO_PREDECESSOR, salt.to_bytes(32, "big"))
        safe.execute(self.payer, self.timelock, encode("execute", *values))


@pytest.fixture(scope="module")
def handed_over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The tested handover: from a Hub that an account owns to one that the timelock owns."""
    with anvil.start(mining="automine") as node:
        owner, payer = Wallet(), Wallet()
        node.fund(payer.address)
        local = deploy_hub(node, owner=owner, fee_recipient=payer, terms=LocalHubTerms(publication_delay=DELAY))
        proposer, canceller, vault = (make_safe(node.w3, payer) for _ in range(3))
        recovery = make_safe_of(node.w3, payer, [safe.address for safe in (proposer, canceller, vault)])
        folder = tmp_path_factory.mktemp("owner")
        world = World(node, payer, local, folder, proposer, canceller, vault, recovery, Address(""))
        arguments = ("deploy", "--network", "local", "--delay", str(DELAY), "--recovery", recovery.address)
        world.timelock = Address(world.owner(*arguments).split("timelock")[1].split()[0])
        said = operate("owner", *_with_url(node, arguments), "--send", key=owner)
        assert f"the timelock stands at {world.timelock}" in said
        _hand_roles_out(world)
        operate(
            "admin",
            "--rpc-url",
            node.url,
            "--hub",
            world.hub.address,
            "--send",
            "transfer-ownership",
            world.timelock,
            key=owner,
        )
        assert "who offered it to the timelock" in world.check(code=1)
        world.admin(world.proposer, "accept-ownership")
        assert "can be executed from" in world.admin(world.proposer, "accept-ownership", execute=True, code=1)
        world.wait()
        world.admin(world.proposer, "accept-ownership", execute=True)
        assert "by nobody else" in world.check()
        yield world


def _with_url(node: AnvilServer, arguments: Sequence[str]) -> list[str]:
    return [arguments[0], "--rpc-url", node.url, *arguments[1:]]


def _hand_roles_out(world: World) -> None:
    file = world.file()
    accounts = ("--proposer", world.proposer.address, "--canceller", world.canceller.address)
    assert "is not proposer" in world.check(code=1)
    world.in_timelock("roles", "--recovery", world.recovery.address, *accounts, "--safe", str(file))
    for to, data in world.calls(file, world.recovery):
        world.recovery.execute_approved(world.payer, to, data, [world.proposer, world.vault])


@pytest.fixture
def world(handed_over: World) -> Iterator[World]:
    """The same Hub again, as it was handed over."""
    before = handed_over.node.rpc.call("evm_snapshot")
    handed_over.payer = Wallet()  # its nonces are counted here
    handed_over.node.fund(handed_over.payer.address)
    yield handed_over
    assert handed_over.node.rpc.call("evm_revert", before)


def test_stolen_proposer_is_cancelled_and_out(world: World) -> None:
    thief = world.proposer
    world.announce_as_thief(thief, "transferOwnership", thief.address)
    world.announce_as_thief(thief, "setFeePolicy", 1_000, 2_000, thief.address)
    with pytest.raises(StackError, match="reverted"):  # nothing acts before the delay
        world.execute_as_thief(thief, "setFeePolicy", 1_000, 2_000, thief.address)
    seen = world.waiting()
    assert len(seen) == 2
    with pytest.raises(StackError, match="reverted"):  # nor can the thief cancel an answer
        thief.execute(world.payer, world.timelock, encode("cancel", bytes.fromhex(seen[0][2:])))
    new = make_safe(world.node.w3, world.payer)
    world.replace("proposer", thief, new, [world.canceller, world.vault])
    world.cancel(world.canceller, *seen)
    world.wait()
    for function, arguments in (("transferOwnership", (thief.address,)), ("heartbeat", ())):
        with pytest.raises(StackError, match="reverted"):
            world.announce_as_thief(thief, function, *arguments, salt=100)
    with pytest.raises(StackError, match="reverted"):
        world.execute_as_thief(thief, "transferOwnership", thief.address)
    assert "by nobody else" in world.check(proposer=new.address)
    world.proposer = new
    world.admin(new, "set-fees", "1", "2", new.address)  # and the owner acts again
    world.wait()
    world.admin(new, "set-fees", "1", "2", new.address, execute=True)
    assert world.hub.fee_policy() == (1, 2, new.address)
    world.proposer = thief


def test_stolen_canceller_blocks_until_replaced(world: World) -> None:
    thief = world.canceller
    world.admin(world.proposer, "set-fees", "1", "2", world.payer.address)
    world.cancel(thief, *world.waiting())
    with pytest.raises(StackError, match="reverted"):
        world.announce_as_thief(thief, "setFeePolicy", 0, 0, thief.address)
    new = make_safe(world.node.w3, world.payer)
    world.replace("canceller", thief, new, [world.proposer, world.vault])
    world.admin(world.proposer, "set-fees", "1", "2", world.payer.address)
    (waiting,) = world.waiting(canceller=new.address)
    with pytest.raises(StackError, match="reverted"):
        thief.execute(world.payer, world.timelock, encode("cancel", bytes.fromhex(waiting[2:])))
    world.wait()
    world.admin(world.proposer, "set-fees", "1", "2", world.payer.address, execute=True)
    assert world.hub.fee_policy() == (1, 2, world.payer.address)


def test_vault_stolen__can_do_nothing(world: World) -> None:
    grant = encode("grantRole", bytes(32), world.vault.address)
    with pytest.raises(StackError, match="reverted"):
        world.recovery.execute_approved(world.payer, world.timelock, grant, [world.vault])
    for data in (grant, encode("cancel", bytes(32))):
        with pytest.raises(StackError, match="reverted"):
            world.vault.execute(world.payer, world.timelock, data)
    with pytest.raises(StackError, match="reverted"):
        world.announce_as_thief(world.vault, "setFeePolicy", 0, 0, world.vault.address)


def test_two_stolen_keys_wait_for_the_delay(world: World) -> None:
    world.replace("canceller", world.canceller, world.vault, [world.proposer, world.vault])  # thieves of these two
    world.announce_as_thief(world.proposer, "publishDeliveryKey", bytes([9]) + bytes(31))
    world.wait(DELAY - 10)
    with pytest.raises(StackError, match="reverted"):
        world.execute_as_thief(world.proposer, "publishDeliveryKey", bytes([9]) + bytes(31))
    assert f"{world.vault.address} is canceller, and should not be" in world.check(code=1)


def test_role_for_two_holders_is_refused(world: World) -> None:
    asked = ("replace", "--recovery", world.recovery.address, "proposer", world.proposer.address)
    assert "is canceller already" in world.in_timelock(*asked, world.canceller.address, code=1)
    assert "is recovery already" in world.in_timelock(*asked, world.recovery.address, code=1)


@pytest.mark.parametrize("role", ["proposer", "canceller"])
def test_one_lost__the_other_two_replace_it(world: World, role: str) -> None:
    lost: SafeWallet = getattr(world, role)
    left = [safe for safe in (world.proposer, world.canceller, world.vault) if safe is not lost]
    new = make_safe(world.node.w3, world.payer)
    world.replace(role, lost, new, left)
    said = world.check(proposer=new.address) if role == "proposer" else world.check(canceller=new.address)
    assert "by nobody else" in said


def test_stolen_delivery_key_is_withdrawn_at_once(world: World) -> None:
    key = Identity.generate().public_key
    world.admin(world.proposer, "publish-delivery-key", key)
    world.wait()
    world.admin(world.proposer, "publish-delivery-key", key, execute=True)
    assert world.hub.delivery_key() == key  # the first of this Hub
    world.admin(world.canceller, "withdraw-delivery-key", key, execute=True)
    assert world.hub.delivery_key() == "0x" + "00" * 32


def test_act_without_right_or_announcement_is_refused(world: World) -> None:
    fees = ("set-fees", "1", "2", world.payer.address)
    assert "names no proposer" in world.admin(world.canceller, *fees, code=1)
    assert "was not announced" in world.admin(world.proposer, *fees, execute=True, code=1)
    base = ["admin", "--rpc-url", world.node.url, "--hub", world.hub.address]
    assert "use --safe FILE and --by SAFE" in operate(*base, "--send", *fees, key=world.payer, code=1)
    assert "dry run" in operate(*base, *fees)
    too_high = ("set-fees", "10001", "2", world.payer.address)
    for asked in ([*base, *too_high], [*base, "--safe", str(world.file()), "--by", world.proposer.address, *too_high]):
        assert "Hub" in operate(*asked, code=1)  # and not only after the delay
    world.admin(world.proposer, *fees)
    assert "can be executed from" in world.admin(world.proposer, *fees, execute=True, code=1)
    world.wait()
    assert "names no executor" in world.admin(world.vault, *fees, execute=True, code=1)
