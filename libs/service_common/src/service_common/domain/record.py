"""The VerificationRecord: a summary of a final bounty's chain state, derived the same way by everyone.

A pure function of typed final state; its canonical JSON is byte-stable, so two derivations can be compared as bytes. It
is evidence only and grants nothing. State that contradicts itself raises ``derivation_failed``: a roster that is not
the pinned one, a Verdict from outside it or two from one Guardian, an award without a winner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from service_common.domain.canonical_json import canonical_bytes
from service_common.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from service_common.domain.money import AmountDue, amounts_due, settlement
from service_common.domain.roster import Roster
from service_common.errors import ServiceError
from service_common.shapes import to_json
from service_common.types import Address, BlockNumber, BountyId, Bytes32, ChainId, TokenAmount

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Winner:
    """The awarded Submission."""

    solver_address: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class FinalBounty:
    """The chain facts of a final bounty that the record needs."""

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    poster_address: Address
    escrow_amount: TokenAmount
    spec_commitment: Bytes32
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    protocol_fee_recipient: Address
    outcome: Outcome
    settlement_reason: SettlementReason
    winner: Winner | None
    roster: Roster


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A Guardian's latest Verdict as the Hub recorded it; solver and Submission only for an award."""

    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


class VerdictAsRecorded(Protocol):
    """A Guardian's Verdict in the Hub's own fields, as its event and its indexed row carry them."""

    @property
    def guardian(self) -> Address: ...
    @property
    def kind(self) -> int: ...
    @property
    def solver(self) -> Address: ...
    @property
    def submission_commitment(self) -> Bytes32: ...
    @property
    def report_commitment(self) -> Bytes32: ...


def recorded_verdict(verdict: VerdictAsRecorded) -> RecordedVerdict:
    """A Verdict of the Hub's log as the record shows it; ``ValueError`` for one of no kind."""
    kind = VerdictKind.of_number(verdict.kind)
    if kind is None:
        raise ValueError("a recorded Verdict of no kind")
    awarded = kind is VerdictKind.AWARDED
    return RecordedVerdict(
        guardian_address=verdict.guardian,
        kind=kind,
        solver_address=verdict.solver if awarded else None,
        submission_commitment=verdict.submission_commitment if awarded else None,
        report_commitment=verdict.report_commitment,
    )


@dataclass(frozen=True, slots=True)
class SettlementTransaction:
    """The transaction that made the bounty final."""

    tx_hash: Bytes32
    block_number: BlockNumber
    block_hash: Bytes32


@dataclass(frozen=True, slots=True)
class RosterVerdict:
    """What one Guardian of the roster recorded at last; null where that is nothing."""

    guardian_address: Address
    kind: VerdictKind | None
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32 | None
    supported_result: bool


@dataclass(frozen=True, slots=True)
class VerificationRecord:
    """The record, in its public shape; verdicts in roster order."""

    version: int
    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    status: Literal["final"]
    outcome: Outcome
    settlement_reason: SettlementReason
    winner: Winner | None
    spec_commitment: Bytes32
    guardian_roster_hash: Bytes32
    verdicts: tuple[RosterVerdict, ...]
    amounts: tuple[AmountDue, ...]
    settlement: SettlementTransaction
    log_digest: Bytes32

    def to_json(self) -> dict[str, object]:
        """The JSON object."""
        return to_json(self)

    def canonical_bytes(self) -> bytes:
        """The bytes two derivations agree on."""
        return canonical_bytes(self.to_json())


def derive_record(
    bounty: FinalBounty,
    latest_verdicts: Sequence[RecordedVerdict],
    settled_by: SettlementTransaction,
    log_digest: Bytes32,
) -> VerificationRecord:
    """Derive the record, or raise ``derivation_failed`` where the state contradicts itself."""
    bounty.roster.verify(bounty.chain_id, bounty.hub_address)
    by_guardian = {verdict.guardian_address: verdict for verdict in latest_verdicts}
    if len(by_guardian) != len(latest_verdicts):
        raise _contradiction("two latest Verdicts of one Guardian")
    if not set(by_guardian) <= set(bounty.roster.accounts):
        raise _contradiction("a Verdict from an account that is not on the pinned roster")
    if (bounty.winner is not None) != (bounty.outcome is Outcome.AWARDED):
        raise _contradiction("an award names a winner, and nothing else does")
    if bounty.outcome is Outcome.AWARDED and bounty.settlement_reason is not SettlementReason.JUDGED:
        raise _contradiction("only the Guardians' judgement awards a bounty")
    verdicts = tuple(by_guardian.get(account) for account in bounty.roster.accounts)
    return VerificationRecord(
        version=VERSION,
        chain_id=bounty.chain_id,
        hub_address=bounty.hub_address,
        bounty_id=bounty.bounty_id,
        status="final",
        outcome=bounty.outcome,
        settlement_reason=bounty.settlement_reason,
        winner=bounty.winner,
        spec_commitment=bounty.spec_commitment,
        guardian_roster_hash=bounty.roster.guardian_roster_hash,
        verdicts=tuple(
            _of_member(account, verdict, bounty)
            for account, verdict in zip(bounty.roster.accounts, verdicts, strict=True)
        ),
        amounts=_amounts(bounty, verdicts),
        settlement=settled_by,
        log_digest=log_digest,
    )


def supports(verdict: RecordedVerdict | None, bounty: FinalBounty) -> bool:
    """True exactly when the Verdict names the final outcome: kind, Solver and Submission."""
    if verdict is None or verdict.kind.value != bounty.outcome.value:
        return False
    if bounty.winner is None:
        return True
    named = (verdict.solver_address, verdict.submission_commitment)
    return named == (bounty.winner.solver_address, bounty.winner.submission_commitment)


def _amounts(bounty: FinalBounty, verdicts: tuple[RecordedVerdict | None, ...]) -> tuple[AmountDue, ...]:
    guardians = [verdict.guardian_address for verdict in verdicts if verdict is not None]
    try:
        figures = settlement(
            bounty.outcome,
            escrow_amount=bounty.escrow_amount,
            protocol_fee=bounty.protocol_fee,
            guardian_fee=bounty.guardian_fee,
            roster_size=len(bounty.roster.members),
            verdict_count=len(guardians),
        )
        return amounts_due(
            figures,
            winner=bounty.winner.solver_address if bounty.winner else None,
            poster=bounty.poster_address,
            guardians_with_verdict=guardians,
            protocol_fee_recipient=bounty.protocol_fee_recipient,
        )
    except ValueError as error:
        raise _contradiction(str(error)) from None


def _of_member(account: Address, verdict: RecordedVerdict | None, bounty: FinalBounty) -> RosterVerdict:
    if verdict is None:
        return RosterVerdict(account, None, None, None, None, supported_result=False)
    return RosterVerdict(
        guardian_address=account,
        kind=verdict.kind,
        solver_address=verdict.solver_address,
        submission_commitment=verdict.submission_commitment,
        report_commitment=verdict.report_commitment,
        supported_result=supports(verdict, bounty),
    )


def _contradiction(what: str) -> ServiceError:
    message = f"the final state contradicts itself: {what}"
    return ServiceError("derivation_failed", message, next_action="Re-read the bounty from the chain.")
