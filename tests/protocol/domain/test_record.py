"""The VerificationRecord."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.hub_events import BountyCreated, BountyFinalized, Logged, Origin, VerdictRecorded
from bounty_protocol.domain.lifecycle.record import VerificationRecord, derive_record, supports
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import (
    ZERO_ADDRESS,
    ZERO_BYTES32,
    BlockNumber,
    Bytes32,
    RosterVersion,
    TokenAmount,
    UnixSeconds,
)

from tests.vectors.samples import BOUNTY_ID, CHAIN_ID, GUARDIANS, HUB, POSTER, PROTOCOL, ROSTER, SOLVER, account, word

CREATED = BountyCreated(
    bounty_id=BOUNTY_ID,
    poster=POSTER,
    spec_commitment=word("spec"),
    guardian_roster_hash=ROSTER.guardian_roster_hash,
    roster_version=RosterVersion(ROSTER.version),
    escrow_amount=TokenAmount(1000),
    submission_deadline=UnixSeconds(10),
    reveal_at=UnixSeconds(20),
    judging_deadline=UnixSeconds(30),
    protocol_fee=TokenAmount(10),
    guardian_fee=TokenAmount(100),
    protocol_fee_recipient=PROTOCOL,
    authorization_nonce=word("nonce"),
)
AWARD = BountyFinalized(
    bounty_id=BOUNTY_ID,
    outcome=Outcome.AWARDED,
    reason=SettlementReason.JUDGED,
    winner=SOLVER,
    submission_commitment=word("submission"),
    award=TokenAmount(890),
    refund=TokenAmount(1),
    protocol_fee=TokenAmount(10),
    guardian_fee_each=TokenAmount(33),
    guardian_fee_count=3,
)
SILENCE = replace(
    AWARD,
    outcome=Outcome.NO_VALID_SUBMISSION,
    reason=SettlementReason.GUARDIANS_SILENT,
    winner=ZERO_ADDRESS,
    submission_commitment=ZERO_BYTES32,
    award=TokenAmount(0),
    refund=TokenAmount(1_000),
    protocol_fee=TokenAmount(0),
    guardian_fee_count=0,
)
UNDECIDED = replace(SILENCE, reason=SettlementReason.QUORUM_NOT_REACHED, refund=TokenAmount(934), guardian_fee_count=2)
FOR = VerdictRecorded(
    BOUNTY_ID, GUARDIANS[0], VerdictKind.AWARDED, SOLVER, word("submission"), report_commitment=word("report 0")
)
ALSO_FOR = replace(FOR, guardian=GUARDIANS[2], report_commitment=word("report 2"))
AGAINST = VerdictRecorded(
    BOUNTY_ID, GUARDIANS[1], VerdictKind.NO_VALID_SUBMISSION, ZERO_ADDRESS, ZERO_BYTES32, word("report 1")
)


def ended(ending: BountyFinalized, created: BountyCreated = CREATED) -> Bounty:
    return Bounty(Logged(created, origin(1)), Logged(ending, origin(99)))


def origin(number: int) -> Origin:
    return Origin(BlockNumber(number), word("block"), 0, word("tx"), UnixSeconds(number))


AWARDED, SILENT = ended(AWARD), ended(SILENCE)


def derived(bounty: Bounty, verdicts: Sequence[VerdictRecorded], roster: Roster = ROSTER) -> VerificationRecord:
    return derive_record(CHAIN_ID, HUB, bounty, roster, verdicts, word("logs"))


def _record(bounty: Bounty, *verdicts: VerdictRecorded) -> Any:
    return json.loads(derived(bounty, verdicts).canonical_bytes())


@pytest.mark.spec(69, 73, 74, 75, 76, 77, 78)
def test_record__awarded__every_key_of_the_design() -> None:
    record = _record(AWARDED, ALSO_FOR, FOR, AGAINST)
    assert set(record) == {
        "version",
        "chain_id",
        "hub_address",
        "bounty_id",
        "status",
        "outcome",
        "settlement_reason",
        "winner",
        "spec_commitment",
        "guardian_roster_hash",
        "verdicts",
        "amounts",
        "settlement",
        "log_digest",
    }
    assert (record["version"], record["status"], record["bounty_id"]) == (1, "final", "7")
    assert record["winner"] == {"solver_address": SOLVER, "submission_commitment": word("submission")}
    assert [verdict["guardian_address"] for verdict in record["verdicts"]] == list(GUARDIANS)
    assert [verdict["supported_result"] for verdict in record["verdicts"]] == [True, False, True]
    by_guardian = {each.guardian: each.report_commitment for each in (ALSO_FOR, FOR, AGAINST)}
    assert {each["guardian_address"]: each["report_commitment"] for each in record["verdicts"]} == by_guardian
    assert [(row["kind"], row["amount"]) for row in record["amounts"]] == [
        ("winner_award", "890"),
        ("poster_refund", "1"),
        ("guardian_fee", "33"),
        ("guardian_fee", "33"),
        ("guardian_fee", "33"),
        ("protocol_fee", "10"),
    ]
    assert record["settlement"] == {"tx_hash": word("tx"), "block_number": 99, "block_hash": word("block")}


@pytest.mark.spec(69, 78, 95)
def test_record_of_silent_guardians_pays_the_poster() -> None:
    record = _record(SILENT)
    assert record["winner"] is None
    assert record["verdicts"][0] == {
        "guardian_address": GUARDIANS[0],
        "kind": None,
        "solver_address": None,
        "submission_commitment": None,
        "report_commitment": None,
        "supported_result": False,
    }
    assert record["amounts"] == [{"recipient": POSTER, "amount": "1000", "kind": "poster_refund"}]


def test_record__verdicts_in_any_order__the_same_bytes() -> None:
    one = derived(AWARDED, [FOR, AGAINST, ALSO_FOR]).canonical_bytes()
    two = derived(AWARDED, [ALSO_FOR, FOR, AGAINST]).canonical_bytes()
    assert one == two


@pytest.mark.spec(74)
@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (FOR, True),
        (replace(FOR, solver=POSTER), False),
        (replace(FOR, submission_commitment=word("another")), False),
        (AGAINST, False),
    ],
)
def test_supported_is_the_exact_submission(verdict: VerdictRecorded, expected: bool) -> None:
    assert supports(verdict, AWARD) is expected


def test_verdicts_of_an_undecided_bounty_are_recorded() -> None:
    assert not any(verdict["supported_result"] for verdict in _record(SILENT)["verdicts"])
    undecided = _record(ended(UNDECIDED), FOR, AGAINST)
    assert [verdict["supported_result"] for verdict in undecided["verdicts"]] == [False, True, False]
    assert undecided["status"] == "final"


@pytest.mark.parametrize(
    ("bounty", "verdicts"),
    [
        (AWARDED, [FOR, FOR]),
        (AWARDED, [FOR, AGAINST]),
        (AWARDED, [replace(FOR, solver=POSTER), replace(ALSO_FOR, solver=POSTER), AGAINST]),
        (SILENT, [AGAINST]),
        (ended(UNDECIDED), []),
        (ended(UNDECIDED), [FOR, ALSO_FOR]),
        (ended(replace(UNDECIDED, reason=SettlementReason.JUDGED)), [FOR, AGAINST]),
        (ended(replace(UNDECIDED, refund=TokenAmount(935))), [FOR, AGAINST]),
        (ended(replace(AWARD, award=TokenAmount(891))), [FOR, AGAINST, ALSO_FOR]),
        (ended(replace(AWARD, guardian_fee_each=TokenAmount(34))), [FOR, AGAINST, ALSO_FOR]),
        (AWARDED, [replace(FOR, guardian=account("stranger"))]),
        (ended(replace(AWARD, winner=ZERO_ADDRESS)), [FOR]),
        (ended(replace(SILENCE, winner=SOLVER)), []),
        (ended(replace(AWARD, reason=SettlementReason.GUARDIANS_SILENT)), [FOR]),
        (ended(AWARD, replace(CREATED, guardian_fee=TokenAmount(990))), [FOR]),
        (replace(AWARDED, finalized=None), [FOR]),
    ],
    ids=[
        *("two-of-one", "below quorum", "for another", "not silent", "not one Verdict", "a quorum", "judged by none"),
        *("refund", "award", "share"),
        *("stranger", "no-winner", "winner-of-nothing", "silent-award", "fees-above-escrow", "open"),
    ],
)  # fmt: skip
def test_contradicting_state_has_no_record(bounty: Bounty, verdicts: list[VerdictRecorded]) -> None:
    with pytest.raises(ServiceError) as refusal:
        derived(bounty, verdicts)
    assert refusal.value.code == "derivation_failed"


@pytest.mark.parametrize(
    ("roster", "pinned"),
    [(replace(ROSTER, quorum=1), ROSTER.guardian_roster_hash), (ROSTER, word("another roster"))],
    ids=["altered", "not-the-pinned-one"],
)
def test_other_roster_has_no_record(roster: Roster, pinned: Bytes32) -> None:
    with pytest.raises(ServiceError) as refusal:
        derived(ended(AWARD, replace(CREATED, guardian_roster_hash=pinned)), [FOR], roster)
    assert refusal.value.code == "guardian_roster_mismatch"
