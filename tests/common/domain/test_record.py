"""The VerificationRecord."""

import json
from dataclasses import replace
from typing import Any

import pytest
from service_common.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from service_common.domain.record import (
    FinalBounty,
    RecordedVerdict,
    SettlementTransaction,
    Winner,
    derive_record,
    supports,
)
from service_common.errors import ServiceError
from service_common.types import BlockNumber, TokenAmount

from tests.vectors.samples import BOUNTY_ID, CHAIN_ID, GUARDIANS, HUB, POSTER, PROTOCOL, ROSTER, SOLVER, account, word

AWARDED = FinalBounty(
    chain_id=CHAIN_ID,
    hub_address=HUB,
    bounty_id=BOUNTY_ID,
    poster_address=POSTER,
    escrow_amount=TokenAmount(1000),
    spec_commitment=word("spec"),
    protocol_fee=TokenAmount(10),
    guardian_fee=TokenAmount(100),
    protocol_fee_recipient=PROTOCOL,
    outcome=Outcome.AWARDED,
    settlement_reason=SettlementReason.JUDGED,
    winner=Winner(SOLVER, word("submission")),
    roster=ROSTER,
)
SILENT = replace(
    AWARDED,
    outcome=Outcome.NO_VALID_SUBMISSION,
    settlement_reason=SettlementReason.GUARDIANS_SILENT,
    winner=None,
)
FOR = RecordedVerdict(GUARDIANS[0], VerdictKind.AWARDED, SOLVER, word("submission"), word("report 0"))
ALSO_FOR = replace(FOR, guardian_address=GUARDIANS[2], report_commitment=word("report 2"))
AGAINST = RecordedVerdict(GUARDIANS[1], VerdictKind.NO_VALID_SUBMISSION, None, None, word("report 1"))
SETTLED = SettlementTransaction(word("tx"), BlockNumber(99), word("block"))


def _record(bounty: FinalBounty, *verdicts: RecordedVerdict) -> Any:
    return json.loads(derive_record(bounty, verdicts, SETTLED, word("logs")).canonical_bytes())


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
    assert [(row["kind"], row["amount"]) for row in record["amounts"]] == [
        ("winner_award", "890"),
        ("poster_refund", "1"),
        ("guardian_fee", "33"),
        ("guardian_fee", "33"),
        ("guardian_fee", "33"),
        ("protocol_fee", "10"),
    ]
    assert record["settlement"] == {"tx_hash": word("tx"), "block_number": 99, "block_hash": word("block")}


def test_record__silent_guardians__kind_null_and_all_to_the_poster() -> None:
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
    one = derive_record(AWARDED, [FOR, AGAINST, ALSO_FOR], SETTLED, word("logs")).canonical_bytes()
    two = derive_record(AWARDED, [ALSO_FOR, FOR, AGAINST], SETTLED, word("logs")).canonical_bytes()
    assert one == two


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (FOR, True),
        (replace(FOR, solver_address=POSTER), False),
        (replace(FOR, submission_commitment=word("another")), False),
        (AGAINST, False),
        (None, False),
    ],
)
def test_supported_result__of_an_award__only_the_exact_submission(verdict: RecordedVerdict, expected: bool) -> None:
    assert supports(verdict, AWARDED) is expected


def test_supported_result__of_no_valid_submission__the_kind_decides() -> None:
    assert supports(AGAINST, SILENT) is True
    assert supports(FOR, SILENT) is False


@pytest.mark.parametrize(
    ("bounty", "verdicts"),
    [
        (AWARDED, [FOR, FOR]),
        (AWARDED, [replace(FOR, guardian_address=account("stranger"))]),
        (replace(AWARDED, winner=None), [FOR]),
        (replace(SILENT, winner=AWARDED.winner), []),
        (replace(AWARDED, settlement_reason=SettlementReason.GUARDIANS_SILENT), [FOR]),
        (replace(AWARDED, guardian_fee=TokenAmount(990)), [FOR]),
    ],
    ids=["two-of-one", "stranger", "no-winner", "winner-of-nothing", "silent-award", "fees-above-escrow"],
)
def test_record__state_that_contradicts_itself__not_derived(
    bounty: FinalBounty, verdicts: list[RecordedVerdict]
) -> None:
    with pytest.raises(ServiceError) as refusal:
        derive_record(bounty, verdicts, SETTLED, word("logs"))
    assert refusal.value.code == "derivation_failed"


def test_record__a_roster_that_is_not_the_pinned_one__not_derived() -> None:
    lying = replace(AWARDED, roster=replace(ROSTER, quorum=1))
    with pytest.raises(ServiceError):
        derive_record(lying, [FOR], SETTLED, word("logs"))
