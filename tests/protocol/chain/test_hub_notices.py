"""Whether the chain bears a notice out: real Hubs and Safes, the real timelock, and wallets that accept everything."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_notices import may_sign, why_void
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused
from bounty_protocol.domain.hub_notice import HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.types import Address, Bytes32, ChainId, UnixSeconds, parse_address, to_bytes
from hub_operations.ownership import creation_code
from hub_operations.timelock import CANCELLER, EXECUTOR, PROPOSER, ScheduledCall, encode
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet, wait_for
from local_stack.hub import LocalHubTerms, deploy_hub

from tests import keys
from tests.protocol.auth import wallets as w
from tests.safe.wallet import SafeWallet, make_safe

NOW = UnixSeconds(1_800_000_000)


@dataclass
class Owned:
    """A Hub that a timelock owns, of which a Safe is the canceller and another account the proposer."""

    node: AnvilServer
    hub: Hub
    timelock: Address
    admin: Wallet
    canceller: SafeWallet
    proposer: Wallet

    def notice(self, signer: str) -> HubNotice:
        chain, ends = ChainId(self.node.chain_id), UnixSeconds(NOW + 86_400)
        account = parse_address(signer)
        return HubNotice(chain, self.hub.address, account, NoticeReason.HUB_FLAW, NOW, ends, NoticeSignature("0x00"))

    def by_safe(self, safe: SafeWallet, owners: int = 2) -> HubNotice:
        notice = self.notice(safe.address)
        return with_signature(notice, safe.sign_digest(notice_digest(notice), safe.owners[:owners]))

    def issues(self, notice: HubNotice, now: int = NOW) -> list[str]:
        return [issue.path for issue in why_void(self.hub, ChainId(self.node.chain_id), notice, UnixSeconds(now))]

    def change(self, function: str, role: Bytes32, account: str) -> None:
        data = encode(function, to_bytes(role), account)
        wait_for(self.node.w3, self.admin.send(self.node.w3, data, to=self.timelock))


def with_signature(notice: HubNotice, signature: bytes) -> HubNotice:
    return replace(notice, signature=NoticeSignature("0x" + signature.hex()))


def key_of(wallet: Wallet) -> bytes:
    return bytes.fromhex(wallet.private_key[2:])


@pytest.fixture(scope="module")
def owned() -> Iterator[Owned]:
    with anvil.start(mining="automine") as node:
        owner, admin, proposer = Wallet(), Wallet(), Wallet()
        node.fund(admin.address)
        local = deploy_hub(node, owner=owner, fee_recipient=proposer, terms=LocalHubTerms())
        hub = Hub(JsonRpc([node.url]), Address(local.hub.address))
        timelock = Address(admin.next_contract(node.w3))
        sent = [admin.send(node.w3, creation_code(0, Address(admin.address)))]
        safe = make_safe(node.w3, admin)
        holders = ((PROPOSER, admin), (EXECUTOR, admin), (PROPOSER, proposer), (CANCELLER, safe))
        for role, holder in holders:
            sent.append(admin.send(node.w3, encode("grantRole", to_bytes(role), holder.address), to=timelock))
        local.hub.transact(owner, "transferOwnership", timelock)
        accepting = ScheduledCall(timelock, hub.address, local.hub.encode("acceptOwnership"), bytes(32))
        sent += [admin.send(node.w3, data, to=timelock) for data in (accepting.schedule(0), accepting.execute())]
        for each in sent:
            wait_for(node.w3, each)
        assert hub.read("owner") == (timelock,)
        yield Owned(node, hub, timelock, admin, safe, proposer)


@pytest.fixture
def world(owned: Owned) -> Iterator[Owned]:
    """The same again in each test."""
    before = owned.node.rpc.call("evm_snapshot")
    yield owned
    assert owned.node.rpc.call("evm_revert", before)
    owned.admin.forget_nonce()


def test_notice__by_the_cancelling_safe__counts_until_its_end(world: Owned) -> None:
    notice = world.by_safe(world.canceller)
    assert world.issues(notice) == []
    assert world.issues(notice, notice.expires_at - 1) == []
    assert world.issues(notice, notice.expires_at) == ["expires_at"]
    assert world.issues(world.by_safe(world.canceller, owners=1)) == ["signature"]


def test_notice__by_a_canceller_with_a_plain_key__counts(world: Owned) -> None:
    wallet = Wallet()
    world.change("grantRole", CANCELLER, wallet.address)
    notice = world.notice(wallet.address)
    good = with_signature(notice, keys.sign(key_of(wallet), notice_digest(notice)))
    assert world.issues(good) == []
    assert world.issues(replace(good, reason=NoticeReason.WITHDRAWN)) == ["signature"]
    assert world.issues(replace(good, expires_at=UnixSeconds(good.expires_at + 1))) == ["signature"]


@pytest.mark.attack
def test_notice__of_anybody_else__is_void(world: Owned) -> None:
    stranger = Wallet()
    accepting = w.place(world.node, w.ACCEPT_ALL, "accepts everything")
    for account in (stranger.address, world.proposer.address, world.admin.address, world.timelock, accepting):
        notice = world.notice(account)
        signed = with_signature(notice, keys.sign(key_of(stranger), notice_digest(notice)))
        assert world.issues(signed) == ["signer"] if account != world.timelock else ["signature"], account
    assert not may_sign(world.hub, Address(accepting))


@pytest.mark.attack
def test_notice__of_a_thief__is_void_once_the_role_is_taken_away(world: Owned) -> None:
    notice = world.by_safe(world.canceller)
    assert world.issues(notice) == []
    world.change("revokeRole", CANCELLER, world.canceller.address)
    assert world.issues(notice) == ["signer"]
    new = make_safe(world.node.w3, world.admin)
    world.change("grantRole", CANCELLER, new.address)
    assert world.issues(world.by_safe(new)) == []
    assert world.issues(notice) == ["signer"]


@pytest.mark.attack
def test_notice__for_another_chain_or_hub__is_void(world: Owned) -> None:
    notice = world.by_safe(world.canceller)
    assert world.issues(replace(notice, chain_id=ChainId(1))) == ["chain_id"]
    assert world.issues(replace(notice, hub_address=Address("0x" + "11" * 20))) == ["hub_address"]
    elsewhere = replace(notice, hub_address=Address("0x" + "11" * 20))
    signed = with_signature(elsewhere, world.canceller.sign_digest(notice_digest(elsewhere)))
    assert world.issues(replace(signed, hub_address=world.hub.address)) == ["signature"]


@pytest.mark.attack
@pytest.mark.parametrize("kind", [kind for kind in w.HOSTILE if kind != "writes state"])  # which harms nobody here
def test_notice__by_a_canceller_whose_code_is_hostile__is_void_or_the_chain_is_silent(world: Owned, kind: str) -> None:
    account = w.place(world.node, w.HOSTILE[kind], kind)
    world.change("grantRole", CANCELLER, account)
    hub = Hub(world.hub.rpc.bounded(seconds=3, max_answer_bytes=16_384), world.hub.address)
    try:
        found = why_void(hub, ChainId(world.node.chain_id), world.notice(account), NOW)
    except (ChainUnavailable, RpcRefused):
        return
    assert [issue.path for issue in found] == ["signature"]


def test_notice__of_a_hub_that_an_account_owns__is_that_accounts(world: Owned) -> None:
    owner = Wallet()
    local = deploy_hub(world.node, owner=owner, fee_recipient=world.admin, terms=LocalHubTerms())
    hub = Hub(world.hub.rpc, Address(local.hub.address))
    notice = replace(world.notice(owner.address), hub_address=hub.address)
    good = with_signature(notice, keys.sign(key_of(owner), notice_digest(notice)))
    assert why_void(hub, good.chain_id, good, NOW) == []
    other = replace(world.by_safe(world.canceller), hub_address=hub.address)
    assert [issue.path for issue in why_void(hub, other.chain_id, other, NOW)] == ["signer"]
