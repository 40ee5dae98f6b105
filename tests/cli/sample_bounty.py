"""One bounty as the API answers it: made up, and the same in every run."""

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.lifecycle.bounty import Winner
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.domain.lifecycle.states import BountyStatus
from bounty_protocol.shapes import to_json
from bounty_protocol.types import (
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    TokenAmount,
    UnixSeconds,
)
from bounty_protocol.wire.bounties import ActiveSubmission, Block, BountyDetail, BountyItem, ChallengeTerms, Facts
from bounty_protocol.wire.values import Finality

NOW = 1_800_000_000
"""2027-01-15 08:00:00 UTC: when the page is funded."""
DEADLINE, REVEAL, JUDGING = NOW + 3 * 86_400, NOW + 3 * 86_400 + 2_700, NOW + 6 * 86_400 + 2_700


def account(number: int) -> Address:
    return Address("0x" + f"{number:02x}" * 20)


def digest(number: int) -> Bytes32:
    return Bytes32("0x" + f"{number:02x}" * 32)


POSTER, SOLVER, HUB = account(0xA1), account(0xB2), account(0xC3)
GUARDIANS = (account(0xD1), account(0xD2), account(0xD3))
SUBMISSION, REPORT = digest(0x51), digest(0x61)
CHALLENGE = f"""---
version: 1
title: A hinge that lasts
summary: A printable hinge that opens a hundred thousand times.
escrow_amount: 25000000
submission_deadline: {DEADLINE}
judging_window_seconds: 259200
acceptance_criteria:
  - The model prints without supports.
  - It opens a hundred thousand times in the test rig.
deliverables:
  - hinge.stl and the parameters it was made with
---
# What is asked

A hinge for a **box of 2 kg**, see [the test rig](https://example.org/rig).

1. Print it in PLA.
2. Run `rig.py --cycles 100000`.
"""
COMMITMENT = spec_commitment(CHALLENGE.encode())
FACTS = Facts(
    status=BountyStatus.OPEN,
    accepting=True,
    judgeable=False,
    poster_address=POSTER,
    escrow_amount=TokenAmount(25_000_000),
    spec_commitment=COMMITMENT,
    submission_deadline=UnixSeconds(DEADLINE),
    reveal_at=UnixSeconds(REVEAL),
    judging_deadline=UnixSeconds(JUDGING),
    guardian_roster_hash=digest(0x71),
    protocol_fee=TokenAmount(250_000),
    guardian_fee=TokenAmount(750_000),
    outcome=None,
    settlement_reason=None,
    winner=None,
)
ROSTER = Roster(
    1,
    digest(0x71),
    2,
    tuple(RosterMember(one, digest(0x81), UnixSeconds(NOW - 86_400)) for one in GUARDIANS),
)
BLOCK = Block(BlockNumber(1_000), digest(0x91))


def item() -> BountyItem:
    return BountyItem(BountyId(1), FACTS, 1, Finality.FINALIZED, BLOCK, "A hinge that lasts", "A printable hinge.")


def detail() -> BountyDetail:
    submitted = ActiveSubmission(SOLVER, SUBMISSION, UnixSeconds(NOW + 3_600), BlockNumber(1_001), digest(0x92))
    return BountyDetail(
        bounty_id=BountyId(1),
        chain_id=ChainId(84532),
        hub_address=HUB,
        facts=FACTS,
        guardian_roster=ROSTER,
        active_submissions=(submitted,),
        active_submission_count=1,
        challenge=CHALLENGE,
        challenge_terms=ChallengeTerms(matches=True, differences=()),
        finality=Finality.FINALIZED,
        block=BLOCK,
    )


def record() -> dict[str, object]:
    verdicts = [
        {
            "guardian_address": guardian,
            "kind": kind,
            "solver_address": SOLVER if kind else None,
            "submission_commitment": SUBMISSION if kind else None,
            "report_commitment": REPORT if kind else None,
            "supported_result": kind is not None,
        }
        for guardian, kind in zip(GUARDIANS, ("awarded", "awarded", None), strict=True)
    ]
    amounts = [
        {"recipient": SOLVER, "amount": "24000000", "kind": "winner_award"},
        {"recipient": POSTER, "amount": "250000", "kind": "poster_refund"},
        *[{"recipient": one, "amount": "250000", "kind": "guardian_fee"} for one in GUARDIANS[:2]],
        {"recipient": account(0xE1), "amount": "250000", "kind": "protocol_fee"},
    ]
    return {
        "version": 1,
        "chain_id": 31337,
        "hub_address": HUB,
        "bounty_id": "1",
        "status": "final",
        "spec_commitment": COMMITMENT,
        "guardian_roster_hash": digest(0x71),
        "outcome": "awarded",
        "settlement_reason": "judged",
        "winner": to_json(Winner(SOLVER, SUBMISSION)),
        "verdicts": verdicts,
        "amounts": amounts,
        "settlement": {"tx_hash": digest(0x25), "block_number": 2_000, "block_hash": digest(0x26)},
        "log_digest": digest(0x27),
    }
