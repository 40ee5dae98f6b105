"""Roots of whole trees against the library, which builds them key by key; proofs of an account, and false ones."""

import random
from typing import Any

import pytest
import rlp
from bounty_protocol.chain.blocks import Header
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds, bytes32
from service_indexer.contradiction import Contradiction
from service_indexer.headers import parse_proven_header
from service_indexer.merkle import EMPTY_ROOT, FalseProof, list_root, storage_root, tree_root
from service_indexer.receipts import logs_of_receipts
from trie.hexary import HexaryTrie

HUB = Address("0x" + "ab" * 20)


def by_library(items: list[tuple[bytes, bytes]]) -> str:
    tree = HexaryTrie({})
    for key, value in items:
        tree[key] = value
    return "0x" + tree.root_hash.hex()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 16, 17, 127, 128, 129, 300])
def test_root__of_a_list__is_the_librarys(count: int) -> None:
    dice = random.Random(count)
    values = [dice.randbytes(dice.choice([1, 5, 40, 700])) for _ in range(count)]
    assert list_root(values) == by_library([(rlp.encode(place), value) for place, value in enumerate(values)])


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 700])
@pytest.mark.parametrize("alike", [0, 1, 2, 3, 31])
def test_root__of_a_large_tree__is_the_librarys_however_alike_the_keys_are(count: int, alike: int) -> None:
    dice = random.Random(count)
    keys = {bytes(alike) + dice.randbytes(32 - alike) for _ in range(count)}
    items = sorted((key, dice.randbytes(dice.choice([1, 2, 33]))) for key in keys)
    assert tree_root(items) == by_library(items)


def test_proof__of_an_account__gives_its_storage_root_and_of_none_the_empty_one() -> None:
    state, root = HexaryTrie({}), "0x" + "17" * 32
    for number in range(50):
        state[keccak256(number.to_bytes(20, "big"))] = rlp.encode([b"", b"\1", bytes(32), bytes(32)])
    state[keccak256(bytes.fromhex(HUB[2:]))] = rlp.encode([b"\1", b"", bytes.fromhex(root[2:]), bytes(32)])

    def proof(account: str) -> list[bytes]:
        return [rlp.encode(node) for node in state.get_proof(keccak256(bytes.fromhex(account[2:])))]

    at = bytes32(state.root_hash)
    other = Address("0x" + "cd" * 20)
    assert storage_root(at, HUB, proof(HUB)) == root
    assert storage_root(at, other, proof(other)) == EMPTY_ROOT
    for false in (
        [],
        proof(HUB)[:-1],
        proof(HUB)[1:],
        proof(other),
        [b"\xc0"],
        [b"\xff"] * 70,
        [*proof(HUB)[:-1], b""],
    ):
        with pytest.raises(FalseProof):
            storage_root(at, HUB, false)
    with pytest.raises(FalseProof):
        storage_root(bytes32(bytes(32)), HUB, proof(HUB))


def receipt(place: int, **more: Any) -> dict[str, Any]:
    log = {"address": "0x" + "AB" * 20, "topics": ["0x" + "01" * 32, "0x" + "02" * 32], "data": "0x" + "03" * 70}
    return {
        "type": "0x2",
        "status": "0x1",
        "cumulativeGasUsed": hex(21_000 * (place + 1)),
        "logsBloom": "0x" + "00" * 256,
        "logs": [log, log | {"address": "0x" + "cd" * 20, "topics": [], "data": "0x"}],
        "transactionHash": "0x" + f"{place:064x}",
        **more,
    }


def encoded(receipt: dict[str, Any]) -> bytes:
    """As the specifications of Ethereum and of the OP stack have it, by the library."""
    fields: list[Any] = [
        int(receipt["status"], 16),
        int(receipt["cumulativeGasUsed"], 16),
        bytes.fromhex(receipt["logsBloom"][2:]),
        [
            [bytes.fromhex(text[2:]) for text in (log["address"],)]
            + [[bytes.fromhex(topic[2:]) for topic in log["topics"]], bytes.fromhex(log["data"][2:])]
            for log in receipt["logs"]
        ],
    ]
    if "depositReceiptVersion" in receipt:
        fields += [int(receipt["depositNonce"], 16), int(receipt["depositReceiptVersion"], 16)]
    kind = int(receipt["type"], 16)
    return (bytes([kind]) if kind else b"") + bytes(rlp.encode(fields))


DEPOSIT = {"type": "0x7e", "depositNonce": "0x1b4", "depositReceiptVersion": "0x1"}
BEFORE_CANYON = {"type": "0x7e", "depositNonce": "0x1b4"}


def test_receipts__of_every_type__have_the_blocks_root_and_altered_ones_not() -> None:
    receipts = [
        receipt(0, **DEPOSIT),
        receipt(1, **BEFORE_CANYON),
        receipt(2, type="0x0"),
        receipt(3, status="0x0", logs=[]),
        receipt(4),
    ]
    root = Bytes32(by_library([(rlp.encode(place), encoded(each)) for place, each in enumerate(receipts)]))
    header = Header(BlockNumber(7), bytes32(b"\7" * 32), bytes32(bytes(32)), UnixSeconds(1), b"", root, root)
    logs = logs_of_receipts(header, receipts, HUB)
    assert [(each.log_index, each.tx_hash[-1]) for each in logs] == [(0, "0"), (2, "1"), (4, "2"), (6, "4")]
    assert {(each.address, each.block_hash, len(each.topics), len(each.data)) for each in logs} == {
        (HUB, header.hash, 2, 70)
    }
    altered: list[Any] = [
        receipts[:-1],
        [*receipts, receipts[0]],
        receipts[::-1],
        [receipts[0] | {"depositNonce": "0x1b5"}, *receipts[1:]],
        [receipts[0] | {"logs": None}, *receipts[1:]],
        [receipts[0] | {"logsBloom": "0xzz"}, *receipts[1:]],
        [receipts[0] | {"logs": [7]}, *receipts[1:]],
        [],
        None,
    ]
    for each in altered:
        with pytest.raises(Contradiction):
            logs_of_receipts(header, each, HUB)


def test_header__that_lacks_a_field__is_refused() -> None:
    hashes = ("parentHash", "sha3Uncles", "stateRoot", "transactionsRoot", "receiptsRoot", "mixHash")
    fields: dict[str, Any] = dict.fromkeys(hashes, "0x" + "00" * 32)
    fields |= {"miner": "0x" + "00" * 20, "logsBloom": "0x" + "00" * 256, "nonce": "0x" + "00" * 8, "extraData": "0x"}
    fields |= dict.fromkeys(("difficulty", "number", "gasLimit", "gasUsed", "timestamp"), "0x5")
    names = ["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"]
    names += ["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce"]
    raw = [5 if fields[name] == "0x5" else bytes.fromhex(fields[name][2:]) for name in names]
    whole = fields | {"hash": "0x" + keccak256(rlp.encode(raw)).hex()}
    assert parse_proven_header(whole).state_root == fields["stateRoot"]
    for name in ("mixHash", "miner"):
        with pytest.raises(Contradiction):
            parse_proven_header({key: value for key, value in whole.items() if key != name})
    with pytest.raises(Contradiction):
        parse_proven_header(whole | {"baseFeePerGas": "0x1"})
