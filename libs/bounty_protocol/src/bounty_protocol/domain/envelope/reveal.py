"""Reveal points and beacon rounds (docs/formats.md).

``round_at`` is the first round whose time is at or after the reveal point, so a capsule never opens before it. drand
counts rounds from 1 and round 1 is due at genesis. ``check_reveal_policy`` only lists what disagrees with the chain's
deadline and the deployment's beacon; what to do about it is the caller's decision.
"""

from dataclasses import dataclass

from bounty_protocol.errors import Issue
from bounty_protocol.types import Bytes32, UnixSeconds


@dataclass(frozen=True, slots=True)
class RevealPolicy:
    """Which beacon signature opens a capsule, and from when."""

    beacon_chain_hash: Bytes32
    round: int
    reveal_at: UnixSeconds


def round_at(reveal_at: int, genesis_time: int, period_seconds: int) -> int:
    """Return ceil((reveal_at - genesis) / period) + 1, and 1 for reveal points before genesis."""
    return max(-((genesis_time - reveal_at) // period_seconds) + 1, 1)


def time_of_round(number: int, genesis_time: int, period_seconds: int) -> UnixSeconds:
    """Return the second from which the round's signature may exist."""
    return UnixSeconds(genesis_time + (number - 1) * period_seconds)


def reveal_policy(reveal_at: UnixSeconds, chain_hash: Bytes32, genesis_time: int, period_seconds: int) -> RevealPolicy:
    """Return the policy an envelope for a bounty with this reveal point must carry."""
    return RevealPolicy(chain_hash, round_at(reveal_at, genesis_time, period_seconds), reveal_at)


def check_reveal_policy(policy: RevealPolicy, expected: RevealPolicy) -> list[Issue]:
    """List the differences from the policy that the bounty's reveal point and the deployment's beacon require."""
    issues = []
    if policy.beacon_chain_hash != expected.beacon_chain_hash:
        issues.append(Issue("reveal_policy.beacon_chain_hash", "is not the beacon of this deployment"))
    if policy.reveal_at != expected.reveal_at:
        message = f"must be the bounty's reveal point {expected.reveal_at}"
        issues.append(Issue("reveal_policy.reveal_at", message))
    if policy.round != expected.round:
        message = f"must be {expected.round}, the first round at or after the reveal point"
        issues.append(Issue("reveal_policy.round", message))
    return issues
