"""The Hub on a local chain: what was asked for is what stands there."""

from collections.abc import Iterator

import pytest
from bounty_protocol.chain.rpc import quantity
from bounty_protocol.crypto.x25519 import Identity
from local_stack import anvil
from local_stack.contract import Contract, Wallet, read_artifact
from local_stack.hub import ARTIFACTS, ETHER, TOKEN, LocalHub, LocalHubTerms, RosterEntry, deploy_hub
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


def test_deploy__everyone__has_ether_and_holders_have_tokens(
    local: LocalHub, poster: Wallet, guardians: list[RosterEntry], chain: anvil.AnvilServer
) -> None:
    for wallet in (poster, local.owner, local.fee_recipient, *(guardian.wallet for guardian in guardians)):
        assert quantity(chain.rpc.call("eth_getBalance", wallet.address, "latest")) > 900 * ETHER
    assert local.token.call("balanceOf", poster.address) >= 1_000_000 * TOKEN  # another test may give one more
    assert local.token.call("balanceOf", local.owner.address) == 0


def test_deploy__block__has_the_hubs_first_log(local: LocalHub, chain: anvil.AnvilServer) -> None:
    logs = chain.rpc.call("eth_getLogs", {"address": local.hub.address, "fromBlock": "0x0", "toBlock": "latest"})

    assert isinstance(logs, list)
    assert min(int(log["blockNumber"], 16) for log in logs) >= local.deploy_block


def test_transact__refused_by_the_hub__names_its_error(local: LocalHub, poster: Wallet) -> None:
    with pytest.raises(StackError, match=r"reverted: .*BountyNotFound"):
        local.hub.transact(poster, "settle", 12_345)
    local.token.transact(local.owner, "mint", poster.address, 1)
    assert local.token.call("balanceOf", poster.address) == 1_000_000 * TOKEN + 1


def test_contract__unknown_function__is_a_key_error(local: LocalHub) -> None:
    with pytest.raises(KeyError, match="no function steal of 0 arguments"):
        Contract(local.hub.w3, local.hub.address, local.hub.abi).call("steal")


def test_read_artifact__missing__is_named(chain: anvil.AnvilServer) -> None:
    with pytest.raises(StackError, match=r"^the contract artifact Nothing\.json cannot be read"):
        read_artifact(ARTIFACTS / "Nothing.json")


def test_deploy__by_the_clock__fits_into_one_block(guardians: list[RosterEntry]) -> None:
    with anvil.start(mining="interval") as clocked:
        local = deploy_hub(clocked, owner=Wallet(), fee_recipient=Wallet(), guardians=guardians, holders=[Wallet()])

        assert clocked.w3.eth.block_number <= local.deploy_block + 1
        assert local.hub.call("currentRosterVersion") == 1
