"""The Hub on a local chain: what was asked for is what stands there."""

from collections.abc import Iterator

import pytest
from bounty_protocol.crypto.x25519 import Identity
from local_stack import anvil
from local_stack.contract import Wallet
from local_stack.hub import TOKEN, LocalHub, LocalHubTerms, RosterEntry, deploy_hub
from local_stack.process import StackError


@pytest.fixture(scope="module")
def chain() -> Iterator[anvil.AnvilServer]:
    with anvil.start() as server:
        yield server


@pytest.fixture(scope="module")
def guardians() -> list[RosterEntry]:
    return [RosterEntry(Wallet(), Identity.generate().public_key) for _ in range(3)]


@pytest.fixture(scope="module")
def poster() -> Wallet:
    return Wallet()


DELIVERY = Identity.generate()


@pytest.fixture(scope="module")
def local(chain: anvil.AnvilServer, guardians: list[RosterEntry], poster: Wallet) -> LocalHub:
    return deploy_hub(
        chain,
        owner=Wallet(),
        fee_recipient=Wallet(),
        guardians=guardians,
        delivery_public_key=DELIVERY.public_key,
        holders=[poster],
        terms=LocalHubTerms(reveal_delay=7, min_judging_window=3),
    )


def test_deploy__immutables__are_the_terms(local: LocalHub) -> None:
    hub = local.hub

    assert hub.call("token") == local.token.address
    assert hub.call("owner") == local.owner.address
    assert (hub.call("revealDelay"), hub.call("minJudgingWindow")) == (7, 3)
    assert (hub.call("minSubmissionWindow"), hub.call("minEscrow")) == (1, TOKEN)
    assert hub.call("feePolicy") == (100, 300, local.fee_recipient.address)
    assert hub.call("deliveryKey").hex() == DELIVERY.public_key[2:]


def test_deploy__roster__is_ascending_with_a_majority(local: LocalHub, guardians: list[RosterEntry]) -> None:
    roster_hash, quorum, accounts, keys, *_ = local.hub.call("getRoster", local.hub.call("currentRosterVersion"))

    by_account = {guardian.wallet.address: guardian.encryption_public_key for guardian in guardians}
    assert list(accounts) == sorted(by_account)
    assert ["0x" + key.hex() for key in keys] == [by_account[account] for account in accounts]
    assert quorum == 2
    assert local.roster_hash == "0x" + roster_hash.hex()


def test_transact__refused_by_the_hub__names_its_error(local: LocalHub, poster: Wallet) -> None:
    with pytest.raises(StackError, match=r"reverted: .*BountyNotFound"):
        local.hub.transact(poster, "settle", 12_345)
    local.token.transact(local.owner, "mint", poster.address, 1)
    assert local.token.call("balanceOf", poster.address) == 1_000_000 * TOKEN + 1


def test_deploy__by_the_clock__fits_into_one_block(guardians: list[RosterEntry]) -> None:
    with anvil.start(mining="interval") as clocked:
        local = deploy_hub(clocked, owner=Wallet(), fee_recipient=Wallet(), guardians=guardians, holders=[Wallet()])

        assert clocked.w3.eth.block_number <= local.deploy_block + 1
        assert local.hub.call("currentRosterVersion") == 1
