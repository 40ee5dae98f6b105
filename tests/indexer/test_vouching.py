"""The storage that the copy's facts give is the Hub's, whatever happened to it."""

import gzip
import json

import rlp
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.json_rpc import hex_bytes
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import to_bytes
from service_common.db.engine import reading
from service_indexer.storage import stored_words
from service_indexer.vouching import root_of_copy
from trie.hexary import HexaryTrie

from tests.world import World


def stored(world: World) -> dict[int, int]:
    """The Hub's storage as the node keeps it; it keeps zeros, too, which Ethereum does not."""
    state = json.loads(gzip.decompress(hex_bytes(world.node.rpc.call("anvil_dumpState"))))
    words: dict[str, str] = state["accounts"][world.hub_address]["storage"]
    return {int(slot, 16): int(value, 16) for slot, value in words.items() if int(value, 16)}


def check_storage(world: World) -> None:
    """What the copy's facts give is what the node keeps, word by word, and so is the root of all."""
    engine, newest = world.engine("service_indexer"), header_at(world.rpc, "latest").number
    with reading(engine) as connection:
        words = {int.from_bytes(slot, "big"): value for slot, value in stored_words(connection, newest)}
        assert words == stored(world)
        assert root_of_copy(connection, engine, newest) == root_of(words)


def root_of(words: dict[int, int]) -> str:
    """By the library, which builds the tree word by word."""
    tree = HexaryTrie({})
    for slot, value in words.items():
        tree[keccak256(slot.to_bytes(32, "big"))] = rlp.encode(value)
    return "0x" + tree.root_hash.hex()


def lives(world: World) -> None:
    """Everything that changes storage, in every way that the layout distinguishes."""
    owner, key = world.people.owner.wallet, bytes.fromhex(world.delivery.public_key[2:])
    quiet, rejected, awarded = world.create(), world.create(), world.create()
    commitments = {number: world.submit(awarded, world.solver(number)) for number in (1, 2, 3)}
    commitments[1] = world.submit(awarded, world.solver(1))
    named = world.submit(rejected, world.solver(2))
    world.contract.transact(owner, "setFeePolicy", 200, 500, world.people.fee_recipient.wallet.address)
    later = world.create(seconds=2_000)
    world.contract.transact(owner, "publishDeliveryKey", key)
    world.contract.transact(owner, "transferOwnership", world.solver(3).address)
    world.contract.transact(world.guardian(3), "heartbeat")
    world.advance_to(world.reveal_at(awarded))
    world.award(awarded, world.guardian(1), world.solver(2), commitments[2])
    world.reject(awarded, world.guardian(1))
    world.award(awarded, world.guardian(2), world.solver(3), commitments[3])
    world.award(awarded, world.guardian(1), world.solver(1), commitments[1])
    world.award(awarded, world.guardian(2), world.solver(1), commitments[1])
    world.award(rejected, world.guardian(3), world.solver(2), named)
    for number in (1, 2):
        world.reject(rejected, world.guardian(number))
    world.contract.transact(world.solver(1), "claim", awarded, b"", b"")
    world.contract.transact(world.people.fee_recipient.wallet, "claimProtocolFee", awarded)
    world.contract.transact(world.guardian(2), "claimGuardianFee", awarded)
    world.contract.transact(world.people.poster.wallet, "claimRefund", rejected)
    world.contract.transact(world.solver(1), "settle", quiet)
    world.submit(later, world.solver(1))
    world.contract.transact(world.solver(3), "acceptOwnership")
    world.contract.transact(world.solver(3), "withdrawDeliveryKey", key)
    publish_roster(world, 2)
    world.index()


def publish_roster(world: World, size: int) -> None:
    """The first Guardians, by the owner that ``lives`` leaves."""
    members = [(each.wallet.address, each.identity.public_key) for each in world.people.guardians if each.identity]
    accounts, keys = zip(*sorted(members)[:size], strict=True)
    world.contract.transact(world.solver(3), "publishRoster", accounts, [to_bytes(key) for key in keys], size)


def test_root__of_the_copys_facts__is_the_hubs_after_everything_that_can_happen(world: World) -> None:
    check_storage(world)
    lives(world)
    check_storage(world)
    world.await_publication()
    publish_roster(world, 3)
    world.index()
    check_storage(world)
    publish_roster(world, 2)  # in the place of one that never took effect
    world.index()
    check_storage(world)
