"""A Hub's log made by hand, for rules that need no chain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service_audit.events import HubLog, LogPlace
from service_audit.rules import World, roster_hash

HUB, TOKEN, OWNER = ("0x" + digit * 40 for digit in "abc")
POSTER, SOLVER, OTHER, RECIPIENT = ("0x" + digit * 40 for digit in "5678")
GUARDIANS = tuple("0x" + digit * 40 for digit in "123")
KEYS = tuple("0x" + digit * 64 for digit in "123")
CHAIN = 31_337
WORK, PAGE, REPORT = ("0x" + digit * 64 for digit in "def")
BEGIN, DEADLINE, REVEAL, END = 1_000, 1_100, 1_105, 1_200
ZERO, NOTHING = "0x" + "0" * 40, "0x" + "0" * 64
ESCROW, PROTOCOL_FEE, GUARDIAN_FEE, SHARE = 1_000_370_000, 25_009_250, 30_011_100, 10_003_700
"""The example of docs/hub.md."""


@dataclass
class Written:
    """Events one after the other, each in a block and a transaction of its own unless one is named."""

    logs: list[HubLog] = field(default_factory=list)

    def add(self, name: str, time: int, fields: Mapping[str, Any], tx_hash: str = "") -> "Written":
        number = len(self.logs) + 1
        place = LogPlace(number, f"0x{number:064x}", 0, tx_hash or f"0x{number:064x}", time)
        self.logs.append(HubLog(name, fields, place))
        return self

    def deployed(self) -> "Written":
        config = [TOKEN, OWNER, 5, 1, 10_000, 5, 10_000, 1_000_000, 1, 250, 300, RECIPIENT]
        self.add("Deployed", BEGIN - 10, {"config": config})
        self.add("OwnershipTransferred", BEGIN - 10, {"previous_owner": ZERO, "new_owner": OWNER})
        fees = {"protocol_fee_bps": 250, "guardian_fee_bps": 300, "recipient": RECIPIENT}
        self.add("FeePolicyChanged", BEGIN - 10, fees)
        hashed = roster_hash(CHAIN, HUB, 1, GUARDIANS, KEYS, 2)
        roster = {"version": 1, "guardian_roster_hash": hashed, "accounts": list(GUARDIANS)}
        roster |= {"encryption_keys": list(KEYS), "quorum": 2, "effective_from": BEGIN - 9}
        return self.add("RosterPublished", BEGIN - 9, roster)

    def created(self, **changed: Any) -> "Written":
        fields = {
            "bounty_id": 1, "poster": POSTER, "spec_commitment": PAGE, "roster_version": 1,
            "guardian_roster_hash": roster_hash(CHAIN, HUB, 1, GUARDIANS, KEYS, 2), "escrow_amount": ESCROW,
            "submission_deadline": DEADLINE, "reveal_at": REVEAL, "judging_deadline": END,
            "protocol_fee": PROTOCOL_FEE, "guardian_fee": GUARDIAN_FEE, "protocol_fee_recipient": RECIPIENT,
            "authorization_nonce": NOTHING,
        }  # fmt: skip
        return self.add("BountyCreated", BEGIN, {**fields, **changed})

    def submitted(self, solver: str = SOLVER, time: int = BEGIN + 1) -> "Written":
        fields = {"bounty_id": 1, "solver": solver, "submission_commitment": WORK}
        return self.add("SubmissionRecorded", time, fields)

    def judged(self, guardian: int, time: int = REVEAL, *, awarded: bool = True, tx_hash: str = "") -> "Written":
        kind, solver, work = (1, SOLVER, WORK) if awarded else (2, ZERO, NOTHING)
        fields = {"bounty_id": 1, "guardian": GUARDIANS[guardian], "kind": kind, "solver": solver}
        fields |= {"submission_commitment": work, "report_commitment": REPORT}
        return self.add("VerdictRecorded", time, fields, tx_hash)

    def ended(self, time: int = REVEAL, tx_hash: str = "", **changed: Any) -> "Written":
        """As an award by two Verdicts ends."""
        fields = {
            "bounty_id": 1, "outcome": 1, "reason": 1, "winner": SOLVER, "submission_commitment": WORK,
            "award": 945_349_650, "refund": 10_003_700, "protocol_fee": PROTOCOL_FEE, "guardian_fee_each": SHARE,
            "guardian_fee_count": 2,
        }  # fmt: skip
        return self.add("BountyFinalized", time, {**fields, **changed}, tx_hash)

    def replay(self) -> World:
        world = World(CHAIN, HUB)
        for log in self.logs:
            world.apply(log)
        return world

    def broken(self) -> set[str]:
        """The requirements that these events break."""
        world = self.replay()
        return {each.requirement for each in (*world.breaches, *world.undecided())}
