"""``./noxw -s hub_admin``: the owner's few powers, each explained before it is signed.

A dry run unless ``--send``; what is signed is simulated first and described in a sentence. Nothing here can touch an
existing bounty, because the Hub has no function that could. ``claim-protocol-fee`` is the fee recipient's own call.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service_common.chain.abi import hub_abi
from service_common.chain.hub import Hub
from service_common.chain.json_rpc import JsonRpc, quantity
from service_common.domain.public_keys import parse_public_key
from service_common.types import Address, ChainId, parse_address, parse_bounty_id, to_bytes

from hub_operations.signing import OperationRefused, read_operator


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the Hub, and what it means."""

    function: str
    arguments: tuple[object, ...]
    words: str

    @property
    def data(self) -> bytes:
        """Call data."""
        return hub_abi().functions[self.function].encode(*self.arguments)


def publish_roster(options: argparse.Namespace, hub: Hub) -> Call:
    """A new roster version from a JSON file."""
    try:
        roster = json.loads(Path(options.file).read_text(encoding="utf-8"))
        quorum = int(roster["quorum"])
        members = sorted(
            (parse_address(member["guardian_address"]), parse_public_key(member["encryption_public_key"]))
            for member in roster["members"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        wanted = '{"quorum": 2, "members": [{"guardian_address": "0x…", "encryption_public_key": "0x…"}, …]}'
        raise OperationRefused(f"the roster file is not of the form {wanted}") from error
    accounts, keys = [account for account, _ in members], [key for _, key in members]
    version = hub.current_roster_version() + 1
    text = f"publish roster version {version}: quorum {quorum} of {len(accounts)}\n" + "\n".join(
        f"  {account}  {key}" for account, key in zip(accounts, keys, strict=True)
    )
    text += "\nBounties created from now on pin it; existing ones keep the roster they have."
    return Call("publishRoster", (accounts, [to_bytes(key) for key in keys], quorum), text)


def publish_delivery_key(options: argparse.Namespace, hub: Hub) -> Call:
    """The X25519 key that Guardians wrap winning keys to."""
    text = f"publish the delivery key {options.key} (now {hub.delivery_key()}). Guardians deliver to no other key."
    return Call("publishDeliveryKey", (to_bytes(options.key),), text)


def set_fees(options: argparse.Namespace, hub: Hub) -> Call:
    """Fees of future bounties."""
    protocol, guardian, recipient = hub.fee_policy()
    text = (
        f"set the fees of future bounties: protocol {options.protocol_fee_bps} bps to {options.recipient}, guardian "
        f"{options.guardian_fee_bps} bps (now {protocol} to {recipient}, {guardian}). Existing bounties keep theirs."
    )
    return Call("setFeePolicy", (options.protocol_fee_bps, options.guardian_fee_bps, options.recipient), text)


def transfer_ownership(options: argparse.Namespace, hub: Hub) -> Call:
    """First of two steps."""
    text = f"offer the Hub {hub.address} to {options.new_owner}; it becomes the owner only when it accepts."
    return Call("transferOwnership", (options.new_owner,), text)


def accept_ownership(_options: argparse.Namespace, hub: Hub) -> Call:
    """Second of two steps, by the new owner."""
    return Call("acceptOwnership", (), f"become the owner of the Hub {hub.address}.")


def claim_protocol_fee(options: argparse.Namespace, hub: Hub) -> Call:
    """The fee recipient pulls one bounty's protocol fee."""
    bounty = hub.bounty(options.bounty_id)
    if bounty is None:
        raise OperationRefused(f"the Hub has no bounty {options.bounty_id}")
    text = f"pull the protocol fee of {bounty.protocol_fee_due} base units of bounty {options.bounty_id}."
    return Call("claimProtocolFee", (options.bounty_id,), text)


ACTIONS: dict[str, Callable[[argparse.Namespace, Hub], Call]] = {
    "publish-roster": publish_roster,
    "publish-delivery-key": publish_delivery_key,
    "set-fees": set_fees,
    "transfer-ownership": transfer_ownership,
    "accept-ownership": accept_ownership,
    "claim-protocol-fee": claim_protocol_fee,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``admin``."""
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--hub", type=parse_address, required=True)
    parser.add_argument("--send", action="store_true", help="send the transaction; without it nothing is sent")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("publish-roster").add_argument("file", help="a JSON file with quorum and members")
    actions.add_parser("publish-delivery-key").add_argument("key", type=parse_public_key)
    fees = actions.add_parser("set-fees")
    fees.add_argument("protocol_fee_bps", type=int)
    fees.add_argument("guardian_fee_bps", type=int)
    fees.add_argument("recipient", type=parse_address)
    actions.add_parser("transfer-ownership").add_argument("new_owner", type=parse_address)
    actions.add_parser("accept-ownership")
    actions.add_parser("claim-protocol-fee").add_argument("bounty_id", type=parse_bounty_id)


def run(options: argparse.Namespace) -> None:
    """The command ``admin``."""
    rpc = JsonRpc([options.rpc_url])
    chain_id = ChainId(quantity(rpc.call("eth_chainId")))
    hub = Hub(rpc, Address(options.hub))
    call = ACTIONS[options.action](options, hub)
    print(f"chain {chain_id}, Hub {hub.address}\n{call.words}")
    if not options.send:
        print("\ndry run: nothing was signed; add --send to send it")
        return
    operator = read_operator(rpc, chain_id)
    operator.simulate(hub.address, call.data)
    receipt = operator.send(hub.address, call.data)
    print(f"\ndone in transaction {receipt['transactionHash'].to_0x_hex()}")
