"""``guardian:verdict``: a written Verdict published, and the same Verdict recorded on chain.

The document is stored, read back by its commitment and compared byte for byte before the transaction that anchors it is
signed, so no Verdict on chain points at reasons nobody can read.
"""

from dataclasses import dataclass, replace
from typing import Final

from service_common.domain.commitments import report_commitment
from service_common.domain.hub_events import VerdictRecorded
from service_common.domain.lifecycle import VerdictKind
from service_common.domain.verdict import WrittenVerdict, render_verdict
from service_common.types import (
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    parse_address,
    parse_bounty_id,
    parse_bytes32,
    to_bytes,
)

from service_cli.bounty.facts import check_detail, wait_finalized
from service_cli.chain.about import about_sent
from service_cli.chain.journal import JournalEntry, opened_name, was_done
from service_cli.chain.receipts import ExpectedEvent, account_topic, bounty_topic
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep, gas_cost, require_balance, simulate
from service_cli.config.keys import check_document
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.json_values import object_of, text_of, whole_of
from service_cli.shell.output import event, remark, warn
from service_cli.shell.text import moment

Named = tuple[Address, Bytes32] | None
"""The Solver and Submission that an awarded Verdict names."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A Guardian's Verdict as events name it."""

    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    named: Named
    report_commitment: Bytes32

    def to_json(self) -> dict[str, object]:
        return {
            "bounty_id": str(self.bounty_id),
            "guardian": self.guardian,
            "kind": self.kind.value,
            "solver": self.named[0] if self.named else None,
            "submission_commitment": self.named[1] if self.named else None,
            "report_commitment": self.report_commitment,
        }

    def call(self) -> HubCall:
        """The call that records it."""
        solver, submission = self.named or (ZERO_ADDRESS, ZERO_BYTES32)
        summary = f"record the Verdict {self.kind.value} on bounty {self.bounty_id}"
        if self.named:
            summary += f" for Submission {submission} of {solver}"
        arguments = [self.bounty_id, self.kind.number, solver, to_bytes(submission), to_bytes(self.report_commitment)]
        return HubCall("recordVerdict", arguments, summary)

    def expected(self) -> ExpectedEvent[VerdictRecorded]:
        """The event that shows it recorded."""
        topics = [bounty_topic(self.bounty_id), account_topic(self.guardian)]
        return ExpectedEvent(VerdictRecorded, topics, lambda one: one.report_commitment == self.report_commitment)


@dataclass(frozen=True, slots=True)
class AnchoredVerdict:
    """A Verdict that the Hub recorded, and where."""

    verdict: Verdict
    tx_hash: Bytes32
    block_number: BlockNumber

    def to_json(self) -> dict[str, object]:
        return self.verdict.to_json() | {"tx_hash": self.tx_hash, "block_number": self.block_number}

    @staticmethod
    def from_json(value: object) -> "AnchoredVerdict":
        fields = object_of(value)
        solver, submission = fields["solver"], fields["submission_commitment"]
        named = None if solver is None else (parse_address(text_of(solver)), parse_bytes32(text_of(submission)))
        verdict = Verdict(
            parse_bounty_id(text_of(fields["bounty_id"])),
            parse_address(text_of(fields["guardian"])),
            VerdictKind(text_of(fields["kind"])),
            named,
            parse_bytes32(text_of(fields["report_commitment"])),
        )
        tx_hash, block = parse_bytes32(text_of(fields["tx_hash"])), BlockNumber(whole_of(fields["block_number"]))
        return AnchoredVerdict(verdict, tx_hash, block)


_STEP: Final = TransactionStep("verdict_transaction")
RECORDED: Final = JournalEntry("recorded", AnchoredVerdict.to_json, AnchoredVerdict.from_json)


def record_verdict(
    settings: Settings, bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes, *, replace: bool
) -> None:
    """The command ``guardian:verdict`` with the reasons as ``body``."""
    session = Session.open(settings, local_signer(settings, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"))
    record(session, bounty_id, kind, named, body, replace=replace)


def record(
    session: Session[LocalSigner], bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes, *, replace: bool
) -> None:
    """Publish these reasons and record the Verdict, once; then show how the Guardians stand."""
    chain = session.chain
    check_document(session.settings.environment, body, "The Verdict's body")
    document = render_verdict(_written(session, bounty_id, kind, named, body))
    verdict = Verdict(bounty_id, session.account, kind, named, report_commitment(document))
    with session.journal("verdict", str(bounty_id), session.account, verdict.report_commitment) as journal:
        if (done := journal.get(RECORDED)) is not None:
            if _still_counts(chain, done):
                _finish(session, done)
                return
            _require_judging(chain, bounty_id)
            if not replace:
                message = "This Verdict was recorded, and you put another one in its place later."
                raise CommandRefused("verdict_replaced", message, next_action="To put this one back, add --replace.")
            journal.forget(RECORDED, *_STEP.entries)
        if not _STEP.was_attempted(journal):
            _require_judging(chain, bounty_id)
            _warn_unopened(chain, bounty_id, named)
            if not replace:
                _refuse_second(chain, bounty_id, session.account)
            simulate(chain, session.account, verdict.call())
            require_balance(chain, session.account, gas_cost(chain, session.account, verdict.call()))
            _publish(session, verdict, document)
        receipt = send(session, Transaction(verdict.call(), verdict.expected()), journal, _STEP)
        done = AnchoredVerdict(verdict, receipt.tx_hash, receipt.block_number)
        journal.note(RECORDED, done)
    _finish(session, done)


def require_recordable(session: Session[LocalSigner], bounty_id: BountyId, named: Named, *, replace: bool) -> None:
    """Refuse, before any reasons are written, what would be refused with them."""
    _require_pinned(session, bounty_id)
    _require_active(session.chain, bounty_id, named)
    _require_judging(session.chain, bounty_id)
    if not replace:
        _refuse_second(session.chain, bounty_id, session.account)


def _finish(session: Session[LocalSigner], done: AnchoredVerdict) -> None:
    """How many Guardians recorded the same, which is for people to know and decides nothing here; then the Verdict."""
    chain, verdict = session.chain, done.verdict
    about = about_sent(chain, session.account, done.tx_hash, verdict.bounty_id)
    try:
        bounty = chain.bounty(verdict.bounty_id)
        roster = chain.pinned_roster(bounty)
        with chain_errors():
            found = [chain.hub.verdict(verdict.bounty_id, account) for account in roster.accounts]
    except CommandFailed:  # it is recorded; an endpoint that is silent now changes nothing about that
        event("guardian_verdict.recorded", done.to_json(), about)
        return
    outcome = (verdict.kind, *(verdict.named or (ZERO_ADDRESS, ZERO_BYTES32)))
    same = [one for one in found if (one.kind, one.solver, one.submission_commitment) == outcome]
    final = bounty.outcome is not None
    counts = {"agreeing": len(same), "recorded": bounty.verdict_count, "quorum": roster.quorum, "final": final}
    event("guardian_verdict.standing", {"bounty_id": str(verdict.bounty_id), **counts})
    without_terms = (lambda: replace(about(), terms=None)) if final else about  # nobody judges it any more
    event("guardian_verdict.recorded", done.to_json(), without_terms)
    ending = "the bounty is final" if final else "the bounty stays open until that many agree, or its time is up"
    remark(f"{len(same)} of {len(roster.members)} Guardians recorded this, {roster.quorum} have to: {ending}")


def _still_counts(chain: ChainClient, done: AnchoredVerdict) -> bool:
    """Whether no later Verdict of this Guardian took the place of the one recorded before."""
    verdict = done.verdict
    topics = [bounty_topic(verdict.bounty_id), account_topic(verdict.guardian)]
    later = [one.report_commitment for _, one in ExpectedEvent(VerdictRecorded, topics).found(chain, done.block_number)]
    return not later or later[-1] == verdict.report_commitment


def _require_judging(chain: ChainClient, bounty_id: BountyId) -> None:
    """The Hub would refuse, too; here the moment is one that people read."""
    bounty, now = chain.bounty(bounty_id), chain.latest().time
    if bounty.outcome is not None:
        message = f"Bounty {bounty_id} is final: no Verdict counts any more."
        next_action = f"See service-cli bounty:show {bounty_id}; guardian:claim-fee pays a recorded Verdict."
        raise CommandRefused("bounty_final", message, next_action=next_action)
    if now < bounty.reveal_at:
        message = f"Judging starts at the reveal point, {moment(bounty.reveal_at, now)}."
        raise CommandRefused("judging_not_started", message, next_action="Wait until then and try again.")


def _warn_unopened(chain: ChainClient, bounty_id: BountyId, named: Named) -> None:
    """A Guardian may have opened it elsewhere; by mistake it should award nothing that it never saw."""
    if named is None:
        return
    if not was_done(chain.chain_id, chain.hub.address, *opened_name(str(bounty_id), *named)):
        warn(f"warning: Submission {named[1]} of {named[0]} was not opened on this machine; you are about to award it")


def _refuse_second(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    """A Guardian may replace its Verdict, but not by accident."""
    with chain_errors():
        recorded = chain.hub.verdict(bounty_id, guardian)
    if recorded.kind is not None:
        message = f"The Hub already holds a Verdict of {guardian} on bounty {bounty_id}: {recorded.kind.value}."
        raise CommandRefused(
            "verdict_already_recorded", message, next_action="To put this one in its place, add --replace."
        )


def _require_pinned(session: Session[LocalSigner], bounty_id: BountyId) -> None:
    """Accounts outside the pinned roster are refused before anything is sent."""
    chain = session.chain
    if session.account not in chain.pinned_roster(chain.bounty(bounty_id)).accounts:
        message = f"{session.account} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")


def _require_active(chain: ChainClient, bounty_id: BountyId, named: Named) -> None:
    if named is None:
        return
    with chain_errors():
        active = chain.hub.submission(bounty_id, named[0])
    if active != named[1]:
        message = "The named Submission is not that Solver's active one."
        raise CommandRefused("submission_not_active", message, next_action="guardian:judgeable lists the current ones.")


def _written(
    session: Session[LocalSigner], bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes
) -> WrittenVerdict:
    """The document this Guardian signs."""
    chain = session.chain
    _require_pinned(session, bounty_id)
    _require_active(chain, bounty_id, named)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        message = "The Verdict's body is not UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save the file as UTF-8.") from None
    return WrittenVerdict(
        kind=kind,
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=bounty_id,
        guardian_address=session.account,
        solver_address=named[0] if named else None,
        submission_commitment=named[1] if named else None,
        body=text,
    )


def _publish(session: Session[LocalSigner], verdict: Verdict, document: bytes) -> None:
    """Store the document, and read it back by its commitment."""
    api, bounty_id = session.api, verdict.bounty_id
    check_detail(session.chain, bounty_id, session.chain.bounty(bounty_id), wait_finalized(api, bounty_id))
    path = f"/api/written-verdicts/{verdict.report_commitment}"
    api.signed(
        session.signer,
        "POST",
        path,
        body=document,
        media_type="text/markdown",
        summary=f"publish the written Verdict {verdict.report_commitment} of bounty {bounty_id}",
    )
    event("guardian_verdict.published", verdict.to_json())
    if api.get(path).body != document:
        message = "The written Verdict reads back differently from what was sent."
        raise CommandRefused("verdict_mismatch", message, next_action="Nothing was recorded on chain; report it.")
    event("guardian_verdict.read_back", verdict.to_json())
