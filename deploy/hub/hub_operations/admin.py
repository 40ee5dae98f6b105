"""``./noxw -s hub -- admin``: the owner's few powers, each explained before it is signed.

A dry run unless ``--send`` or ``--safe FILE``; what is signed is simulated first and described in a sentence.
``--safe`` writes the call as a file for the transaction builder of a Safe; a plain key signs only on a local chain.
Where a timelock owns the Hub, its proposer announces each call, and after the delay ``--execute`` writes its execution.
Of an existing bounty nothing here reaches more than the delivery of its winning work. ``claim-protocol-fee`` is the fee
recipient's own call.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.chain.events import decode_log, parse_log
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import read_publication_delay
from bounty_protocol.chain.rpc import Rpc, quantity
from bounty_protocol.clock import iso_utc
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.x25519 import parse_recipient, recipient_text
from bounty_protocol.domain.envelope.public_keys import parse_public_key
from bounty_protocol.domain.lifecycle.hub_events import DeliveryKeyPublished, RosterPublished
from bounty_protocol.types import (
    ZERO_BYTES32,
    Address,
    Bytes32,
    ChainId,
    parse_address,
    parse_bounty_id,
    to_bytes,
)

from hub_operations.safe import write_transactions
from hub_operations.signing import OperationRefused, read_operator
from hub_operations.timelock import EXECUTOR, PROPOSER, ROLES, Timelock, is_timelock, next_passage, waiting_passage

KEY_FORM: Final = "an X25519 public key, as age1… or as 0x and 64 hexadecimal digits"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the Hub, who has to make it, and what it means."""

    function: str
    arguments: tuple[object, ...]
    sender: Address
    words: str

    @property
    def data(self) -> bytes:
        """Call data."""
        return hub_abi().functions[self.function].encode(*self.arguments)


def parse_key(text: str) -> Bytes32:
    """Parse a public key in either of its two forms; ``ValueError`` with the form for anything else."""
    try:
        return parse_recipient(text) if text.startswith("age1") else parse_public_key(text)
    except (ValueError, SealedDataError) as error:
        raise ValueError(KEY_FORM) from error


def publish_roster(options: argparse.Namespace, hub: Hub) -> Call:
    """Publish a new roster version from a JSON file."""
    try:
        roster = json.loads(Path(options.file).read_text(encoding="utf-8"))
        quorum = int(roster["quorum"])
        members = sorted(
            (parse_address(member["guardian_address"]), parse_key(member["encryption_public_key"]))
            for member in roster["members"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        wanted = '{"quorum": 2, "members": [{"guardian_address": "0x…", "encryption_public_key": "age1…"}, …]}'
        raise OperationRefused(f"the roster file is not of the form {wanted}") from error
    accounts, keys = [account for account, _ in members], [key for _, key in members]
    announced = hub.announced_roster()
    version = (hub.current_roster_version() if announced is None else announced[0]) + 1
    text = f"publish roster version {version}: quorum {quorum} of {len(accounts)}\n" + "\n".join(
        f"  {account}  {key}" for account, key in zip(accounts, keys, strict=True)
    )
    effect = "It is the first and takes effect at once." if version == 1 else f"It takes effect {_later(hub)}."
    text += f"\n{effect} Bounties created from then on pin it; existing ones keep the roster they have."
    if announced is not None:
        text += f"\nIt replaces version {announced[0]}, which is announced and then never takes effect."
    return Call("publishRoster", (accounts, [to_bytes(key) for key in keys], quorum), _owner(hub), text)


def publish_delivery_key(options: argparse.Namespace, hub: Hub) -> Call:
    """Publish the X25519 key that Guardians wrap winning keys to."""
    current, announced = hub.delivery_key(), hub.announced_delivery_key()
    effect = f"It takes effect {_later(hub)}"
    if current == ZERO_BYTES32 and announced is None:
        effect += ", or at once where it is the first of this Hub"
    text = f"publish the delivery key {_both_forms(options.key)}; now it is {_both_forms(current)}.\n"
    text += f"{effect}. From then on Guardians deliver to no other key."
    if announced is not None:
        text += f"\nIt replaces {announced[0]}, which is announced and then never takes effect."
    return Call("publishDeliveryKey", (to_bytes(options.key),), _owner(hub), text)


def withdraw_delivery_key(options: argparse.Namespace, hub: Hub) -> Call:
    """Take back the current or the announced delivery key, at once."""
    key, current, announced = options.key, hub.delivery_key(), hub.announced_delivery_key()
    text = f"withdraw the delivery key {_both_forms(key)} at once.\n"
    if key != current:
        text += f"The current key stays: {_both_forms(current)}."
    elif announced is None or announced[0] == key:
        text += "Deliveries pause until another key is published and has waited for the publication delay."
    else:
        text += f"Deliveries pause until {announced[0]} takes effect at {iso_utc(announced[1])}."
    return Call("withdrawDeliveryKey", (to_bytes(key),), _owner(hub), text)


def set_fees(options: argparse.Namespace, hub: Hub) -> Call:
    """Set the fees of future bounties."""
    protocol, guardian, recipient = hub.fee_policy()
    text = (
        f"set the fees of future bounties: protocol {options.protocol_fee_bps} bps to {options.recipient}, guardian "
        f"{options.guardian_fee_bps} bps (now {protocol} to {recipient}, {guardian}). Existing bounties keep theirs."
    )
    fees = (options.protocol_fee_bps, options.guardian_fee_bps, options.recipient)
    return Call("setFeePolicy", fees, _owner(hub), text)


def transfer_ownership(options: argparse.Namespace, hub: Hub) -> Call:
    """Offer the ownership: the first of two steps."""
    text = f"offer the Hub {hub.address} to {options.new_owner}; it becomes the owner only when it accepts."
    return Call("transferOwnership", (options.new_owner,), _owner(hub), text)


def accept_ownership(_options: argparse.Namespace, hub: Hub) -> Call:
    """Take the ownership: the second of two steps, by the new owner."""
    (pending,) = hub.read("pendingOwner")
    return Call("acceptOwnership", (), Address(str(pending)), f"become the owner of the Hub {hub.address}.")


def claim_protocol_fee(options: argparse.Namespace, hub: Hub) -> Call:
    """Pull one bounty's protocol fee as its recipient."""
    bounty = hub.bounty(options.bounty_id)
    if bounty is None:
        raise OperationRefused(f"the Hub has no bounty {options.bounty_id}")
    text = f"pull the protocol fee of {bounty.protocol_fee_due} base units of bounty {options.bounty_id}."
    return Call("claimProtocolFee", (options.bounty_id,), bounty.protocol_fee_recipient, text)


def _owner(hub: Hub) -> Address:
    return Address(str(hub.read("owner")[0]))


def _later(hub: Hub) -> str:
    delay = read_publication_delay(hub)
    return f"{delay} seconds after its block, at {iso_utc(header_at(hub.rpc, 'latest').time + delay)} or later"


def _both_forms(key: Bytes32) -> str:
    return "none" if key == ZERO_BYTES32 else f"{key} ({recipient_text(key)})"


ACTIONS: dict[str, Callable[[argparse.Namespace, Hub], Call]] = {
    "publish-roster": publish_roster,
    "publish-delivery-key": publish_delivery_key,
    "withdraw-delivery-key": withdraw_delivery_key,
    "set-fees": set_fees,
    "transfer-ownership": transfer_ownership,
    "accept-ownership": accept_ownership,
    "claim-protocol-fee": claim_protocol_fee,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``admin``."""
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--hub", type=parse_address, required=True)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--send", action="store_true", help="sign with a key and send; only on a local chain")
    way.add_argument("--safe", metavar="FILE", type=Path, help="write FILE for the transaction builder of a Safe")
    parser.add_argument("--by", metavar="SAFE", type=parse_address, help="the Safe that acts in the timelock")
    parser.add_argument("--execute", action="store_true", help="execute what waited in the timelock")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("publish-roster").add_argument("file", help="a JSON file with quorum and members")
    actions.add_parser("publish-delivery-key").add_argument("key", type=_key_argument, help=KEY_FORM)
    actions.add_parser("withdraw-delivery-key").add_argument("key", type=_key_argument, help=KEY_FORM)
    fees = actions.add_parser("set-fees")
    fees.add_argument("protocol_fee_bps", type=int)
    fees.add_argument("guardian_fee_bps", type=int)
    fees.add_argument("recipient", type=parse_address)
    actions.add_parser("transfer-ownership").add_argument("new_owner", type=parse_address)
    actions.add_parser("accept-ownership")
    actions.add_parser("claim-protocol-fee").add_argument("bounty_id", type=parse_bounty_id)


def _key_argument(text: str) -> Bytes32:
    try:
        return parse_key(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be {error}") from None


def run(options: argparse.Namespace) -> None:
    """The command ``admin``."""
    rpc = Rpc([options.rpc_url])
    chain_id = ChainId(quantity(rpc.call("eth_chainId")))
    hub = Hub(rpc, Address(options.hub))
    call = ACTIONS[options.action](options, hub)
    print(f"chain {chain_id}, Hub {hub.address}\n{call.words}")
    if is_timelock(rpc, call.sender):
        through_timelock(options, chain_id, Timelock(rpc, call.sender), hub, call)
        return
    if options.by is not None or options.execute:
        raise OperationRefused(f"--by and --execute are for a Hub that a timelock owns, and {call.sender} is none")
    if options.safe is not None:
        _simulate(rpc, call.sender, hub.address, call.data)
        write_transactions(options.safe, chain_id, call.sender, [(hub.address, call.data)], call.words)
        print(f"\nwritten to {options.safe}: load it in the transaction builder of the Safe {call.sender}")
        return
    if not options.send:
        print("\ndry run: nothing was signed; add --safe FILE for a Safe, or on a local chain --send")
        return
    if chain_id != LOCAL_CHAIN_ID:
        raise OperationRefused(f"a plain key signs only on a local chain, not on {chain_id}; use --safe FILE")
    operator = read_operator(rpc, chain_id)
    operator.simulate(hub.address, call.data)
    receipt = operator.send(hub.address, call.data)
    tx_hash = receipt["transactionHash"].to_0x_hex()
    print(f"\ndone in transaction {tx_hash}")
    for effective_from in _announced_by(rpc, tx_hash):
        print(f"it takes effect at {iso_utc(effective_from)}")


def through_timelock(options: argparse.Namespace, chain_id: ChainId, timelock: Timelock, hub: Hub, call: Call) -> None:
    """Announce the owner's call in the timelock, or execute it: as a file for the Safe that holds the role."""
    if options.send:
        raise OperationRefused(f"the Hub belongs to the timelock {timelock.address}: use --safe FILE and --by SAFE")
    role = EXECUTOR if options.execute else PROPOSER
    if options.execute:
        calls, words = [_execution(timelock, hub, call)], f"execute what was announced: {call.words}"
    else:
        ready = iso_utc(header_at(timelock.rpc, "latest").time + timelock.delay)
        words = f"announce in the timelock {timelock.address}, to be executed at {ready} or later: {call.words}"
        _simulate(timelock.rpc, timelock.address, hub.address, call.data)  # else it is refused only after the delay
        calls = [_announcement(timelock, hub, each) for each in _with_its_withdrawal(call)]
    print(f"\nIt is done by the {ROLES[role]} of the timelock {timelock.address}, which owns the Hub.")
    if options.safe is None:
        print("\ndry run: nothing was written; add --safe FILE and --by SAFE")
        return
    if options.by is None or not timelock.has_role(role, options.by):
        raise OperationRefused(f"--by names no {ROLES[role]} of the timelock {timelock.address}")
    for _, data in calls:
        _simulate(timelock.rpc, options.by, timelock.address, data)
    write_transactions(options.safe, chain_id, options.by, calls, words)
    print(f"\nwritten to {options.safe}: load it in the transaction builder of the Safe {options.by}")


def _announcement(timelock: Timelock, hub: Hub, call: Call) -> tuple[Address, bytes]:
    return timelock.address, next_passage(timelock, hub.address, call.data).schedule(timelock.delay)


def _execution(timelock: Timelock, hub: Hub, call: Call) -> tuple[Address, bytes]:
    passage = waiting_passage(timelock, hub.address, call.data)
    if passage is None:
        raise OperationRefused("exactly this was not announced, or is done: announce it first, without --execute")
    ready_at = timelock.ready_at(passage.id)
    if ready_at > header_at(timelock.rpc, "latest").time:
        raise OperationRefused(f"it is announced, and can be executed from {iso_utc(ready_at)} on")
    return timelock.address, passage.execute()


def _with_its_withdrawal(call: Call) -> tuple[Call, ...]:
    """Return a call with the withdrawal of the delivery key that it announces, ready before the key is.

    So a stolen key is withdrawn by one transaction, without another delay.
    """
    if call.function != "publishDeliveryKey":
        return (call,)
    return call, Call("withdrawDeliveryKey", call.arguments, call.sender, "withdraw it, once that is needed")


def _simulate(rpc: Rpc, sender: Address, to: Address, data: bytes) -> None:
    rpc.call("eth_call", {"from": sender, "to": to, "data": f"0x{data.hex()}"}, "latest")


def _announced_by(rpc: Rpc, tx_hash: str) -> list[int]:
    """Return from when the publications of a transaction are in effect, as its own logs state it."""
    answer = rpc.call("eth_getTransactionReceipt", tx_hash)
    logs = answer["logs"] if isinstance(answer, dict) else []
    events = [decode_log(parse_log(log)) for log in logs]
    return [event.effective_from for event in events if isinstance(event, RosterPublished | DeliveryKeyPublished)]
