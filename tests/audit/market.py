"""Bounties with every ending, played on a local stack by the client and by raw transactions."""

import secrets
import time
from dataclasses import dataclass
from typing import Any

import urllib3
from demo.bounty import Cast, Funded, Submitted
from local_stack.contract import Wallet, wait_for

from tests.waiting import wait_until

SUBMISSION_SECONDS = 120
UNLUCKY_SECONDS = 40
"""The judging window of bounties whose Guardians do not agree."""
LONG_SECONDS = 3_000
UNFINAL_BLOCKS = 10
"""Of a chain of 0.2 s that is final after 2 s: a reorg may replace as many."""


@dataclass(frozen=True, slots=True)
class Market:
    """The bounties by how they ended."""

    cast: Cast
    awarded: Funded
    refunded: Funded
    empty: Funded
    silent: Funded
    split: Funded
    stuck: Funded
    """Its time is up and nobody settled it."""
    open: Funded
    works: tuple[Submitted, ...]


def played(cast: Cast) -> Market:
    """The whole market, about five minutes in real time."""
    hub, anvil = cast.stack.hub.hub, cast.stack.anvil
    stranger = Wallet()
    anvil.fund(stranger.address)

    def fund(title: str, judging: int = LONG_SECONDS, submission: int = SUBMISSION_SECONDS) -> Funded:
        return cast.fund(submission_seconds=submission, judging_seconds=judging, title=title)

    awarded = fund("Awarded", submission=2 * SUBMISSION_SECONDS)
    works = tuple(cast.submit(awarded, solver) for solver in ("solver-1", "solver-2"))
    replace_by_hand(cast, stranger, awarded)
    refunded = fund("Refunded")
    weak = cast.submit(refunded, "solver-2")
    silent = fund("Silent", UNLUCKY_SECONDS)
    split = fund("Split", UNLUCKY_SECONDS)
    stuck = fund("Stuck", UNLUCKY_SECONDS)
    for bounty in (silent, split, stuck):
        replace_by_hand(cast, stranger, bounty)
    empty = fund("Empty", submission=60)
    lost_to_a_reorg(cast)
    hub.transact(cast.stack.people.owner.wallet, "setFeePolicy", 33, 777, cast.stack.people.fee_recipient.address)
    wait_until(lambda: read(cast, "/api/deployment")["fee_policy"]["protocol_fee_bps"] == 33)
    kept = fund("Open", submission=LONG_SECONDS)
    cast.submit(kept, "solver-1")
    publish(cast)

    cast.wait_for(split.reveal_at)
    for awards in (True, True, False, False):
        judge_by_hand(cast, split, "guardian-3", stranger.address if awards else None)
    cast.wait_for(max(awarded.reveal_at, refunded.reveal_at))
    judge(cast, awarded, refunded, works[0])
    cast.wait_for(max(each.judging_deadline for each in (silent, split, stuck)))
    for bounty in (empty, silent, split):
        hub.transact(stranger, "settle", int(bounty.bounty_id))
    claim(cast, awarded, refunded)
    cast.stack.hub.token.transact(cast.stack.people.poster.wallet, "transfer", hub.address, 5)
    cast.stack.people.poster.wallet.forget_nonce()
    cast.wait_for(cast.chain_time() + 5)  # all of it is final
    return Market(cast, awarded, refunded, empty, silent, split, stuck, kept, (*works, weak))


def replace_by_hand(cast: Cast, wallet: Wallet, bounty: Funded) -> None:
    """A stranger records a Submission by a transaction alone, and then another in its place."""
    hub = cast.stack.hub.hub
    for _ in range(2):
        work = secrets.token_bytes(32)
        hub.transact(wallet, "submit", int(bounty.bounty_id), work, bytes.fromhex(cast.stack.hub.roster_hash[2:]))


def judge_by_hand(cast: Cast, bounty: Funded, guardian: str, solver: str | None) -> None:
    """A Guardian's Verdict whose document nobody ever sees: an award, or that nothing is valid."""
    hub, wallet, number = cast.stack.hub.hub, wallet_of(cast, guardian), int(bounty.bounty_id)
    named = (1, solver, hub.call("getSubmission", number, solver)) if solver else (2, "0x" + "0" * 40, bytes(32))
    hub.transact(wallet, "recordVerdict", number, *named, secrets.token_bytes(32))
    wallet.forget_nonce()


def judge(cast: Cast, awarded: Funded, refunded: Funded, work: Submitted) -> None:
    """A changed mind and an award; and nothing valid."""
    cast.reject(awarded, "guardian-1", "Nothing holds.\n")
    guardian = cast.person("guardian-1")
    (guardian.home / "again.md").write_text("It holds after all.\n")
    named = ("awarded", work.solver, work.commitment, str(guardian.home / "again.md"))
    guardian.run("guardian:verdict", awarded.bounty_id, *named, "--unopened", "--replace")
    cast.award(awarded, "guardian-2", work, "All criteria hold.\n", opened=False)
    for name in ("guardian-2", "guardian-3"):
        cast.reject(refunded, name, "The second criterion fails.\n")


def claim(cast: Cast, awarded: Funded, refunded: Funded) -> None:
    """Every kind of claim, one of them a list in one transaction."""
    hub = cast.stack.hub.hub
    cast.person("solver-1").run("claim", awarded.bounty_id)
    cast.person("guardian-1").run("guardian:claim-fee", awarded.bounty_id)
    cast.person("poster").run("claim", refunded.bounty_id)
    hub.transact(cast.stack.people.fee_recipient.wallet, "claimProtocolFee", int(awarded.bounty_id))
    both = [(3, int(each.bounty_id)) for each in (awarded, refunded)]
    hub.transact(wallet_of(cast, "guardian-2"), "claimMany", both, gas=400_000)


def publish(cast: Cast) -> None:
    """A sign of life, the next roster, and a delivery key that is withdrawn before it counts."""
    hub, owner = cast.stack.hub.hub, cast.stack.people.owner.wallet
    hub.transact(wallet_of(cast, "guardian-3"), "heartbeat")
    wallet_of(cast, "guardian-3").forget_nonce()
    version = hub.call("getRoster", hub.call("currentRosterVersion"))
    hub.transact(owner, "publishRoster", list(version[2]), list(version[3]), 3, gas=1_000_000)
    key = bytes.fromhex(cast.stack.people.guardians[0].identity.public_key[2:])  # type: ignore[union-attr]
    with cast.stack.anvil.no_blocks():  # both in one block: the key in force goes on
        hub.send(owner, "publishDeliveryKey", key)
        last = hub.send(owner, "withdrawDeliveryKey", key)
        cast.stack.anvil.mine()
    wait_for(hub.w3, last, abi=hub.abi)


def lost_to_a_reorg(cast: Cast) -> None:
    """A sign of life that the index shows, and that a reorg takes away for good."""
    hub, wallet = cast.stack.hub.hub, wallet_of(cast, "guardian-2")
    for _ in range(20):
        receipt = hub.transact(wallet, "heartbeat")
        number = receipt["blockNumber"]
        wait_until(lambda number=number: indexed(cast, number))  # type: ignore[misc]
        with cast.stack.anvil.no_blocks():
            depth = cast.stack.anvil.w3.eth.block_number - number + 1
            if depth <= UNFINAL_BLOCKS:
                cast.stack.anvil.rpc.call("anvil_reorg", depth, [])
        wallet.forget_nonce()
        if retracted(cast):
            return
    raise AssertionError("no reorg took an event that the index had")


def indexed(cast: Cast, number: int) -> bool:
    return bool(read(cast, "/api/status")["position"]["block_number"] >= number)


def retracted(cast: Cast) -> bool:
    """Whether the changes have a retraction within some seconds."""
    ends = time.monotonic() + 4
    while time.monotonic() < ends:
        if any(item["kind"] == "retraction" for item in read(cast, "/api/changes?limit=500")["items"]):
            return True
        time.sleep(0.2)
    return False


def read(cast: Cast, path: str) -> dict[str, Any]:
    found: dict[str, Any] = urllib3.request("GET", cast.stack.api_base_url + path, timeout=10.0).json()
    return found


def wallet_of(cast: Cast, name: str) -> Wallet:
    """Someone's account; what the client sent with it meanwhile is looked up again."""
    wallet: Wallet = cast.stack.people.by_name()[name].wallet
    wallet.forget_nonce()
    return wallet
