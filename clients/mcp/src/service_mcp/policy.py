"""What this server may sign without a person: a file that the user whose agent calls it cannot write.

An agent with a shell of the same user reads what that user reads and writes what that user writes. So a policy counts
only where another user owns it and every directory above it; for root there is no such file, and a server of root's
signs nothing by itself. Only a policy for the local network is taken from anywhere: nothing on it is worth anything,
and a signature for it is none elsewhere. What was spent is kept in a file of its own under a lock, so that two servers
and a killed one stay below the same caps.
"""

import fcntl
import json
import os
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Literal

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.shapes import to_json_as
from bounty_protocol.types import ZERO_ADDRESS, Address, ChainId
from bounty_protocol.wire.reading import read
from service_cli.client import Refused
from service_cli.config.settings import Settings
from service_cli.disk import open_regular, private_file, replace_private, state_directory

Role = Literal["solver", "poster", "guardian"]
ROLES: Final[tuple[Role, ...]] = ("solver", "poster", "guardian")
DAY_SECONDS: Final = 86_400
MOST_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Policy:
    """Amounts of tokens in base units, gas in wei."""

    chain_id: ChainId
    hub_address: Address
    token_address: Address
    roles: tuple[Role, ...]
    most_spent_per_action: int
    most_spent_per_day: int
    least_award: int
    most_gas_per_action: int
    most_actions_per_day: int
    allow_secret_files: bool = False

    @staticmethod
    def read(path: Path) -> "Policy":
        """Read the policy; refuse one that this process's user could change, or that says something unknown."""
        try:
            with open_regular(path) as file:
                values = tomllib.loads(file.read(MOST_BYTES).decode())
            if unknown := set(values) - {field.name for field in fields(Policy)}:
                raise ValueError(f"it has {', '.join(sorted(unknown))}, which is none of its names")
            found = read(Policy, values)
            if not found.roles or any(isinstance(value, int) and value < 0 for value in values.values()):
                raise ValueError("it has a role, and no number below zero")
        except (OSError, ValueError) as error:
            raise _malformed(f"The policy {path} cannot be used: {str(error) or type(error).__name__}.") from None
        if found.chain_id != LOCAL_CHAIN_ID:
            require_foreign(path)
        return found


NOTHING: Final = Policy(ChainId(0), ZERO_ADDRESS, ZERO_ADDRESS, (), 0, 0, 0, 0, 0)
"""Without a policy nothing is signed here."""


def require_here(policy: Policy, settings: Settings) -> None:
    """Refuse a policy of another network, Hub or token: it permits nothing here, opening and delivering included."""
    here = (settings.chain_id, settings.hub_address(), settings.escrow_token())
    if (policy.chain_id, policy.hub_address, policy.token_address) != here:
        message = f"The policy is for another chain, Hub or token than {', '.join(map(str, here))}."
        next_action = "Start the server with the policy of this network, or without one."
        raise Refused("policy_of_another", message, next_action=next_action)


def require_foreign(path: Path) -> None:
    """Refuse a file that this user can write, replace, or make writable; root can do that with any."""
    user = os.geteuid()
    if user == 0:
        raise _unsafe("root can write every policy")
    try:
        places = [path.absolute(), *path.absolute().parents, *path.resolve(strict=True).parents, path.resolve()]
        for place in places:
            status = place.lstat()
            if status.st_uid == user or (os.access(place, os.W_OK) and not place.is_symlink()):
                raise _unsafe(f"the user of this server can write {place}")
    except OSError:
        raise _malformed(f"The policy {path} cannot be read.") from None


def _unsafe(why: str) -> Refused:
    message = f"No policy is taken: {why}, and so can an agent that runs as this user."
    return Refused(
        "policy_unsafe", message, next_action="Run the server as a user of its own; docs/agents.md has the recipe."
    )


def _malformed(message: str) -> Refused:
    return Refused("policy_malformed", message, next_action="docs/agents.md shows a whole policy.")


@dataclass(frozen=True, slots=True)
class Spending:
    """What one plan spends in all, or with the transaction of this ``nonce`` for gas; ``award``: of what is sealed."""

    plan_id: str
    role: Role
    tokens: int
    gas: int
    nonce: int | None = None
    award: int | None = None


@dataclass(frozen=True, slots=True)
class _Spent:
    plan_id: str
    at: int
    tokens: int
    gas: tuple[tuple[int, int], ...]
    """Nonces, and the most that a transaction with that one may cost: of those that share one, the chain takes one."""


def require(policy: Policy, spending: Spending) -> None:
    """Refuse what ``charge`` would refuse by now; count nothing."""
    with _ledger() as (_, spent):
        _counted(policy, spent, spending, int(time.time()))


def charge(policy: Policy, spending: Spending, now: int | None = None) -> None:
    """Count a plan as of now, before each signature; refuse what the policy does not permit.

    However often it is signed it spends its tokens once: what counts is its last signature, not the day on which it was
    begun. Each further transaction may cost gas of its own: an earlier one may still be mined, whatever a node said. A
    day after its last signature a plan is another action of another day, and so is its gas: else one whose transaction
    never came to a block could never be carried out.
    """
    with _ledger() as (file, spent):
        counted = _counted(policy, spent, spending, int(time.time()) if now is None else now)
        replace_private(file, json.dumps(to_json_as(tuple[_Spent, ...], counted)))


def _counted(policy: Policy, spent: tuple[_Spent, ...], spending: Spending, at: int) -> tuple[_Spent, ...]:
    """Return all that is spent, with this."""
    if spending.role not in policy.roles:
        raise _exceeded(f"the policy has no role {spending.role}")
    if spending.award is not None and spending.award < policy.least_award:
        raise _exceeded(f"an award is at least {policy.least_award} base units, and this one is {spending.award}")
    others = [each for each in spent if each.plan_id != spending.plan_id]
    today = [each for each in others if each.at > at - DAY_SECONDS]
    before = [each for each in spent if each.plan_id == spending.plan_id and each.at > at - DAY_SECONDS]
    gas = {nonce: cost for each in before for nonce, cost in each.gas}
    if spending.nonce is not None:
        gas[spending.nonce] = max(spending.gas, gas.get(spending.nonce, 0))
    for cap, used, what in (
        (policy.most_spent_per_action, spending.tokens, "base units spent by an action"),
        (policy.most_spent_per_day, sum(each.tokens for each in today) + spending.tokens, "base units spent in a day"),
        (policy.most_actions_per_day, len(today) + 1, "actions in a day"),
        (policy.most_gas_per_action, max(spending.gas, sum(gas.values())), "wei of gas for an action in a day"),
    ):
        if used > cap:
            raise _exceeded(f"the policy permits {cap} {what}, and with this it may be {used}")
    return (*others, _Spent(spending.plan_id, at, spending.tokens, tuple(gas.items())))


@contextmanager
def _ledger() -> Iterator[tuple[Path, tuple[_Spent, ...]]]:
    """Hold the file of what was spent; no other server reads or writes it meanwhile."""
    folder = state_directory() / "mcp"
    with private_file(folder, "spending.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file, spent = folder / "spending.json", tuple[_Spent, ...]()
        try:
            with open_regular(file) as opened:
                spent = read(tuple[_Spent, ...], json.loads(opened.read()))
        except FileNotFoundError:
            pass
        except (OSError, ValueError):  # what was spent is not known: nothing more is
            raise Refused(
                "spending_unreadable", f"{file} cannot be read.", next_action="Look at the chain, then move it away."
            ) from None
        yield file, spent


def _exceeded(why: str) -> Refused:
    next_action = "Ask the person who set the policy, or have it approved in a wallet."
    return Refused("policy_exceeded", f"Nothing was signed: {why}.", next_action=next_action)
