"""``./noxw -s hub -- owner``: a timelock as the Hub's owner, and the three accounts that share its roles.

``deploy`` puts it at an address known beforehand, with the recovery Safe as its only other administrator; ``roles``
writes the file with which that Safe hands the roles out; ``check`` compares every holder of every role with what is
meant and lists what waits. ``cancel`` and ``replace`` answer a thief. A dry run unless ``--send`` or ``--safe FILE``.
"""

import argparse
from pathlib import Path
from typing import Any, Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.rpc import Rpc, quantity
from bounty_protocol.clock import iso_utc
from bounty_protocol.types import Address, Bytes32, ChainId, parse_address, parse_bytes32, to_bytes
from eth_utils.abi import get_abi_input_types
from service_indexer.web3_provider import Web3

from hub_operations.deploy import create_at, created_address, first_block_of, has_code
from hub_operations.networks import TERMS
from hub_operations.safe import write_transactions
from hub_operations.signing import OperationRefused, read_operator
from hub_operations.timelock import (
    ADMIN,
    CANCELLER,
    EXECUTOR,
    PROPOSER,
    ROLES,
    Arrangement,
    Operation,
    Timelock,
    encode,
    timelock_artifact,
)

REPLACEABLE: Final = {"proposer": PROPOSER, "canceller": CANCELLER}


def creation_code(delay: int, recovery: Address) -> bytes:
    """Bytecode and arguments of a timelock in which nobody has a role but its administrator.

    Its constructor would make every proposer a canceller, too, so that a thief of one key could cancel the answer.
    """
    artifact = timelock_artifact()
    constructor: Any = next(entry for entry in artifact.abi if entry["type"] == "constructor")
    arguments: tuple[object, ...] = (delay, [], [], Web3.to_checksum_address(recovery))
    return artifact.bytecode + Web3().codec.encode(get_abi_input_types(constructor), arguments)


def handing_out(timelock: Address, meant: Arrangement) -> list[tuple[Address, bytes]]:
    """Return the calls by which the recovery Safe hands out the roles, and takes the timelock's power over them."""
    grants = [
        (timelock, encode("grantRole", to_bytes(role), account))
        for role, accounts in meant.holders.items()
        for account in sorted(accounts)
        if role != ADMIN
    ]
    return [*grants, (timelock, encode("revokeRole", to_bytes(ADMIN), timelock))]


def replacing(timelock: Address, role: Bytes32, old: Address, new: Address) -> list[tuple[Address, bytes]]:
    """Return the calls by which the recovery Safe gives the roles of one account to another, at once."""
    changes = [(change, each) for each in (role, EXECUTOR) for change in (("revokeRole", old), ("grantRole", new))]
    return [(timelock, encode(function, to_bytes(each), account)) for (function, account), each in changes]


def differences(timelock: Timelock, meant: Arrangement, since: int) -> list[str]:
    """Return who holds a role that it should not hold, and who lacks one; the whole history of roles is read."""
    found, wanted = timelock.holders(since), meant.holders
    lines = []
    for role in sorted({*found, *wanted}, key=lambda each: ROLES.get(each, each)):
        name = ROLES.get(role, f"role {role}")
        extra = found.get(role, frozenset()) - wanted.get(role, frozenset())
        missing = wanted.get(role, frozenset()) - found.get(role, frozenset())
        lines += [f"{account} is {name}, and should not be" for account in sorted(extra)]
        lines += [f"{account} is not {name}" for account in sorted(missing)]
    return lines


def meaning(operation: Operation, hub: Address) -> str:
    """Return an operation's effect, in a line."""
    if operation.to == hub:
        for function in hub_abi().functions.values():
            if operation.data[:4] == function.selector:
                return f"{function.name} of the Hub, with 0x{operation.data[4:].hex()}"
    return f"a call of {operation.to} with 0x{operation.data.hex()}"


def deploy(options: argparse.Namespace) -> None:
    """The timelock at its address."""
    terms = TERMS[options.network]
    delay = max(terms.publication_delay, options.delay)
    salt, code = int(options.salt).to_bytes(32, "big"), creation_code(delay, options.recovery)
    address = created_address(salt, code)
    print(f"network             {terms.name} (chain {terms.chain_id})\ntimelock            {address}")
    print(f"recovery Safe       {options.recovery}\ndelay               {delay} s")
    if not options.send:
        print("\ndry run: nothing was sent; add --send to deploy")
        return
    operator = read_operator(Rpc([options.rpc_url]), terms.chain_id)
    _require_contract(operator.rpc, "recovery", options.recovery)
    create_at(operator, salt, code, address)
    print(f"\nthe timelock stands at {address}; next the recovery Safe hands out the roles")


def roles(options: argparse.Namespace) -> None:
    """The file with which the recovery Safe hands out the roles."""
    rpc, meant = Rpc([options.rpc_url]), _arrangement(options)
    for name in ("proposer", "canceller"):
        _require_contract(rpc, name, getattr(options, name))
    words = f"proposer {meant.proposer}, canceller {meant.canceller}; roles change by {meant.recovery} alone"
    _write(options, rpc, meant.recovery, handing_out(options.timelock, meant), words)


def check(options: argparse.Namespace) -> None:
    """Compare roles, delay and owner with what is meant; list what waits."""
    rpc = Rpc([options.rpc_url])
    timelock, hub = Timelock(rpc, options.timelock), Hub(rpc, options.hub)
    since = first_block_of(rpc, options.timelock)
    wrong = differences(timelock, _arrangement(options), since)
    delay, (least,) = timelock.delay, hub.read("publicationDelay")
    if delay < int(str(least)):
        wrong.append(f"the timelock waits {delay} s, less than the Hub's publication delay of {least} s")
    owner, pending = (str(hub.read(name)[0]) for name in ("owner", "pendingOwner"))
    if owner != options.timelock:
        offered = ", who offered it to the timelock" if pending == options.timelock else ""
        wrong.append(f"the Hub's owner is {owner}{offered}")
    elif int(pending, 16):
        wrong.append(f"the Hub is offered to {pending}")
    for operation in timelock.waiting(since):
        print(f"waits {operation.id} until {iso_utc(operation.ready_at)}: {meaning(operation, options.hub)}")
    if wrong:
        raise OperationRefused("\n         ".join(wrong))
    print(f"the timelock {options.timelock} owns the Hub; every role is held as meant, and by nobody else")


def cancel(options: argparse.Namespace) -> None:
    """The canceller cancels what waits, at once."""
    rpc = Rpc([options.rpc_url])
    timelock = Timelock(rpc, options.timelock)
    if not timelock.has_role(CANCELLER, options.by):
        raise OperationRefused(f"{options.by} is no canceller of the timelock {options.timelock}")
    calls = []
    for operation in options.operations:
        if timelock.ready_at(operation) <= 1:
            raise OperationRefused(
                f"operation {operation} does not wait: it is done, cancelled, or was never announced"
            )
        calls.append((options.timelock, encode("cancel", to_bytes(operation))))
    _write(
        options, rpc, options.by, calls, f"cancel {len(calls)} waiting operations of the timelock {options.timelock}"
    )


def replace(options: argparse.Namespace) -> None:
    """The recovery Safe gives a stolen or lost account's roles to another one, at once."""
    rpc = Rpc([options.rpc_url])
    timelock = Timelock(rpc, options.timelock)
    if not timelock.has_role(ADMIN, options.recovery):
        raise OperationRefused(f"{options.recovery} does not administer the timelock {options.timelock}")
    role = REPLACEABLE[options.role]
    if not timelock.has_role(role, options.old):
        raise OperationRefused(f"{options.old} is no {options.role} of the timelock {options.timelock}")
    others = {name for name, each in REPLACEABLE.items() if each != role and timelock.has_role(each, options.new)}
    if others or options.new == options.recovery:
        raise OperationRefused(f"{options.new} is {min(others, default='recovery')} already: one account has one role")
    _require_contract(rpc, "new", options.new)
    words = f"{options.new} becomes {options.role} in the place of {options.old}, at once"
    _write(options, rpc, options.recovery, replacing(options.timelock, role, options.old, options.new), words)


def _arrangement(options: argparse.Namespace) -> Arrangement:
    meant = Arrangement(options.proposer, options.canceller, options.recovery)
    if len({meant.proposer, meant.canceller, meant.recovery}) < 3:
        raise OperationRefused("proposer, canceller and recovery are three different accounts")
    return meant


def _require_contract(rpc: Rpc, name: str, account: Address) -> None:
    if not has_code(rpc, account):
        raise OperationRefused(f"--{name} names {account}, which has no code: it is a Safe that stands on this chain")


def _write(
    options: argparse.Namespace, rpc: Rpc, safe: Address, calls: list[tuple[Address, bytes]], words: str
) -> None:
    print(words)
    for to, data in calls:
        rpc.call("eth_call", {"from": safe, "to": to, "data": f"0x{data.hex()}"}, "latest")
    if options.safe is None:
        print("\ndry run: nothing was written; add --safe FILE")
        return
    write_transactions(options.safe, ChainId(quantity(rpc.call("eth_chainId"))), safe, calls, words)
    print(f"\nwritten to {options.safe}: load it in the transaction builder of the Safe {safe}")


ACTIONS: Final = {"deploy": deploy, "roles": roles, "check": check, "cancel": cancel, "replace": replace}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``owner``."""
    actions = parser.add_subparsers(dest="action", required=True)
    made = {name: actions.add_parser(name, help=str(run.__doc__).splitlines()[0]) for name, run in ACTIONS.items()}
    for name, each in made.items():
        each.add_argument("--rpc-url", required=True)
        if name != "deploy":
            each.add_argument("--timelock", type=parse_address, required=True)
        if name != "cancel":
            each.add_argument("--recovery", type=parse_address, required=True, help="the Safe of two of three accounts")
        if name in ("roles", "check"):
            each.add_argument("--proposer", type=parse_address, required=True)
            each.add_argument("--canceller", type=parse_address, required=True)
        if name in ("roles", "cancel", "replace"):
            each.add_argument("--safe", metavar="FILE", type=Path, help="write FILE for the transaction builder")
    made["deploy"].add_argument("--network", choices=sorted(TERMS), required=True)
    made["deploy"].add_argument("--delay", type=int, default=0, help="seconds, if more than the publication delay")
    made["deploy"].add_argument("--salt", default="0", help="a whole number; another salt is another address")
    made["deploy"].add_argument("--send", action="store_true", help="send the transaction")
    made["check"].add_argument("--hub", type=parse_address, required=True)
    made["cancel"].add_argument("--by", type=parse_address, required=True, help="the canceller")
    made["cancel"].add_argument("operations", nargs="+", type=parse_bytes32, help="as check lists them")
    made["replace"].add_argument("role", choices=sorted(REPLACEABLE))
    made["replace"].add_argument("old", type=parse_address)
    made["replace"].add_argument("new", type=parse_address)


def run(options: argparse.Namespace) -> None:
    """The command ``owner``."""
    ACTIONS[options.action](options)
