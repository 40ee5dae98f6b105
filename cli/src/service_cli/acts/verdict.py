"""``guardian:verdict``: reasons from a file, published, and the same Verdict recorded on chain.

The document is stored, read back by its commitment and compared byte for byte before the transaction that anchors it is
signed, so no Verdict on chain points at reasons nobody can read. With ``--unpublished`` it is in a file of this machine
before that, and published by the next run without the option.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bounty_protocol.chain.blocks import block_before, header_at, header_call
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.output import new_file
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.domain.lifecycle.hub_events import VerdictRecorded
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, render_verdict
from bounty_protocol.types import ZERO_ADDRESS, ZERO_BYTES32, Address, BountyId, Bytes32, Wei, to_bytes

from service_cli.acts.pipeline import Plan, carry_out
from service_cli.acts.verdict_checks import (
    VerdictOptions,
    confirm_opened,
    refuse_second,
    require_active,
    require_judging,
    text_of,
)
from service_cli.acts.verdict_events import AnchoredVerdict, PublishedVerdict
from service_cli.api import ApiClient
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.journal import (
    VERDICT_RECORDED,
    VERDICT_SIGNED,
    Journal,
    JournalEntry,
)
from service_cli.chain.outside import ExternalSigner
from service_cli.chain.receipts import RECENT_SECONDS, ExpectedEvent, Receipt, account_topic, bounty_topic
from service_cli.chain.sender import require_after
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import Signer, local_signer
from service_cli.chain.transactions import ContractCall, Prospect, TransactionStep
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.keys import check_document
from service_cli.config.settings import Settings
from service_cli.disk import sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import for_guardian, watching
from service_cli.queries.state import BountyState, read_again, read_state, require_same, require_seat
from service_cli.queries.submissions import Choice, Pair, chosen_here
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import printable

_STEP: Final = TransactionStep(VERDICT_SIGNED)
RECORDED: Final = JournalEntry(VERDICT_RECORDED, AnchoredVerdict)
UNPUBLISHED: Final = JournalEntry("unpublished", str)
"""The file that holds the document of a Verdict that no service was given."""
_EARLIER_SECONDS: Final = 3_600
"""How far before its reported block a Verdict is looked for: a reorg may have moved it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A Guardian's Verdict on a bounty as it was read, and the document that it anchors."""

    state: BountyState
    guardian: Address
    named: Pair | None
    """The Solver and Submission of an award."""
    document: bytes

    @property
    def bounty_id(self) -> BountyId:
        return self.state.bounty_id

    @property
    def kind(self) -> VerdictKind:
        return VerdictKind.NO_VALID_SUBMISSION if self.named is None else VerdictKind.AWARDED

    @property
    def report_commitment(self) -> Bytes32:
        return report_commitment(self.document)

    @property
    def pair(self) -> Pair:
        """The pair that the Hub records for it."""
        return self.named or (ZERO_ADDRESS, ZERO_BYTES32)

    def names(self) -> tuple[BountyId, Address, VerdictKind, Address | None, Bytes32 | None, Bytes32]:
        """Return its names in events."""
        solver, submission = self.named or (None, None)
        return self.bounty_id, self.guardian, self.kind, solver, submission, self.report_commitment

    def call(self) -> ContractCall:
        """Return the call that records it."""
        (solver, submission), summary = self.pair, f"record the Verdict {self.kind.value} on bounty {self.bounty_id}"
        if self.named:
            summary += f" for Submission {submission} of {solver}"
        arguments = [self.bounty_id, self.kind.number, solver, to_bytes(submission), to_bytes(self.report_commitment)]
        return ContractCall("recordVerdict", arguments, summary)

    def expected(self) -> ExpectedEvent[VerdictRecorded]:
        """Return the event that shows it recorded."""
        own = self.by_this_guardian()
        return replace(own, matches=lambda one: one.report_commitment == self.report_commitment)

    def by_this_guardian(self) -> ExpectedEvent[VerdictRecorded]:
        """Return the event that shows any Verdict of this Guardian recorded."""
        return ExpectedEvent(VerdictRecorded, [bounty_topic(self.bounty_id), account_topic(self.guardian)])


def record_verdict(
    settings: Settings, bounty_id: BountyId, choice: Choice | None, body: bytes, options: VerdictOptions
) -> AnchoredVerdict:
    """Run the command ``guardian:verdict``: publish these reasons and record the Verdict, once.

    ``choice`` is the Submission it awards; None means that no Submission is valid. What an earlier run reported is
    checked again: a reorg may have removed it, or an endpoint invented it.
    """
    session = Session(ChainClient(settings), local_signer(settings, GUARDIAN_KEY))
    verdict = _written(session, bounty_id, choice, body)
    with _journal(session, verdict, verdict.report_commitment) as journal:
        return carry_out(session, _prepare(session, verdict, options, journal), journal)


@dataclass(frozen=True, slots=True)
class VerdictPreview:
    """A Verdict that could be recorded now. ``gas_cost`` is the most that recording it may cost, in wei;
    ``is_unopened`` where this machine has not opened the work that it awards."""

    solver: Address | None
    report_commitment: Bytes32
    gas_cost: Wei
    is_unopened: bool


def preview_verdict(
    settings: Settings, bounty_id: BountyId, choice: Choice | None, body: bytes, guardian: Address | None = None
) -> VerdictPreview:
    """Preview the Verdict that ``record_verdict`` would record, by ``guardian`` or the account of the key.

    Refuse what ``record_verdict`` would refuse. Signs and publishes nothing.
    """
    signer: Signer = local_signer(settings, GUARDIAN_KEY) if guardian is None else ExternalSigner(guardian)
    session = Session(ChainClient(settings), signer)
    chain, account = session.chain, session.account
    verdict = _written(session, bounty_id, choice, body)
    require_judging(chain, verdict.state)
    refuse_second(chain, bounty_id, account)
    gas_cost = Prospect.read(chain, account, verdict.call()).cost()
    named = verdict.named
    return VerdictPreview(
        solver=named[0] if named else None,
        report_commitment=verdict.report_commitment,
        gas_cost=gas_cost.wei,
        is_unopened=named is not None and not chain.records.was_opened(bounty_id, *named),
    )


def _written(session: Session[Signer], bounty_id: BountyId, choice: Choice | None, body: bytes) -> Verdict:
    """Return the Verdict with the document that this Guardian signs; refuse what the Hub would refuse."""
    chain = session.chain
    check_document(session.settings.environment, body, "The Verdict's body")
    state, named = read_state(chain, bounty_id), None
    require_seat(state.roster, bounty_id, session.account)
    if choice is not None:
        named = chosen_here(chain, bounty_id, choice)
        require_active(chain, bounty_id, named)
    written = WrittenVerdict(
        kind=VerdictKind.NO_VALID_SUBMISSION if named is None else VerdictKind.AWARDED,
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=bounty_id,
        guardian_address=session.account,
        solver_address=named[0] if named else None,
        submission_commitment=named[1] if named else None,
        body=text_of(body),
    )
    return Verdict(state, session.account, named, render_verdict(written))


def _prepare(
    session: Session[Signer], verdict: Verdict, options: VerdictOptions, journal: Journal
) -> Plan[AnchoredVerdict]:
    """Do all that comes before its transaction, the publishing of the document included, unless an earlier run did it;
    return the plan of the call that records it.
    """
    chain = session.chain

    def result(receipt: Receipt) -> AnchoredVerdict:
        done = AnchoredVerdict(*verdict.names(), receipt.tx_hash, receipt.block_number)
        journal.note(RECORDED, done)
        return _show(chain, verdict, done)

    plan = Plan(
        verdict.call(),
        verdict.expected(),
        _STEP,
        result,
        check_anew=lambda: _require_alone(session, verdict, read_again(chain, verdict.state), options),
    )
    reported = journal.get(RECORDED)
    if (found := _on_record(chain, verdict, reported)) is not None:
        _hand_out(session, verdict, options, journal, is_signed=True)
        return replace(plan, found=found)
    if reported is not None:
        require_judging(chain, verdict.state)
        _leave(chain, journal, verdict, reported, replace=options.replace)
    if _STEP.was_attempted(journal):
        if not options.replace:
            _refuse_beside_another(session, verdict)
        _hand_out(session, verdict, options, journal, is_signed=True)
        return plan
    _require_alone(session, verdict, verdict.state, options)
    Prospect.read(chain, session.account, verdict.call()).require_affordable()
    confirm_opened(session, verdict.bounty_id, verdict.named, options)
    later = replace(verdict, state=read_again(chain, verdict.state))  # a person may have thought for an hour
    _hand_out(session, later, options, journal, is_signed=False)
    _require_alone(session, later, read_again(chain, later.state), options)
    return plan


# --- beside other Verdicts


def _require_alone(session: Session[Signer], verdict: Verdict, state: BountyState, options: VerdictOptions) -> None:
    """Refuse to sign a Verdict that no longer counts, or that would replace another one unintentionally."""
    chain, account = session.chain, session.account
    require_judging(chain, state)
    if not options.replace:
        _refuse_beside_another(session, verdict)
        refuse_second(chain, verdict.bounty_id, account)
    nonces = []
    for other in _others(session, verdict):
        with _journal(session, verdict, other) as journal:
            nonces.append(_STEP.last_nonce(journal))
    require_after(session, nonces, "another Verdict of yours")


def _journal(session: Session[Signer], verdict: Verdict, report: Bytes32 | str) -> AbstractContextManager[Journal]:
    return session.journal("verdict", str(verdict.bounty_id), session.account, report)


def _others(session: Session[Signer], verdict: Verdict) -> Iterator[str]:
    """Yield the reasons of this Guardian's other Verdicts on the bounty that this machine knows of."""
    for *_, report in session.chain.records.below("verdict", str(verdict.bounty_id), session.account):
        if report != verdict.report_commitment:
            yield report


def _refuse_beside_another(session: Session[Signer], verdict: Verdict) -> None:
    """Refuse another Verdict while one that was signed here may still be recorded: the last one counts."""
    for report in _others(session, verdict):
        with _journal(session, verdict, report) as journal:
            if not _STEP.was_attempted(journal) or journal.get(RECORDED) is not None:
                continue
        message = f"You signed another Verdict, with the reasons {report}, which may still be recorded."
        next_action = "Wait until it is recorded, or replace it with --replace: of two Verdicts, the last one counts."
        raise CommandRefused("verdict_already_recorded", message, next_action=next_action)


def _leave(chain: ChainClient, journal: Journal, verdict: Verdict, reported: AnchoredVerdict, *, replace: bool) -> None:
    """Start again with a Verdict that is gone from the chain, and with a replaced one only on request."""
    if _newest(chain, verdict, reported) is None:
        say("the chain does not have this Verdict, which an earlier run reported as recorded: recording it again")
        journal.forget(RECORDED)
        return
    if not replace:
        message = "This Verdict was recorded, and you replaced it later."
        raise CommandRefused("verdict_replaced", message, next_action="To restore this one, add --replace.")
    journal.forget(RECORDED, *_STEP.entries)


# --- on record


def _on_record(chain: ChainClient, verdict: Verdict, reported: AnchoredVerdict | None) -> Receipt | None:
    """Return the transaction that recorded it, if it is this Guardian's last Verdict by every endpoint's Hub and
    log.
    """

    def read(each: ChainClient) -> Receipt | None:
        recorded = each.hub.verdict(verdict.bounty_id, verdict.guardian)
        if (recorded.kind, recorded.solver, recorded.submission_commitment) != (verdict.kind, *verdict.pair):
            return None
        newest = _newest(each, verdict, reported)
        return newest if newest is not None and verdict.expected().proven_by(newest) else None

    return agreed(chain, Fact.DONE, read)


def _newest(chain: ChainClient, verdict: Verdict, reported: AnchoredVerdict | None) -> Receipt | None:
    """Find the log of this Guardian's last Verdict, from about where one was reported; else in the last day."""
    head = chain.latest()
    with chain_errors():
        if reported is None:
            start = block_before(chain.rpc, head, RECENT_SECONDS)
        else:
            at = header_at(chain.rpc, min(head.number, reported.block_number))
            start = block_before(chain.rpc, at, _EARLIER_SECONDS)
    return verdict.by_this_guardian().newest(chain, start.number)


def _show(chain: ChainClient, verdict: Verdict, done: AnchoredVerdict) -> AnchoredVerdict:
    """Report the recorded Verdict, and a later one of this Guardian if the Hub holds one."""
    try:
        asked = chain.ask(chain.hub.call("getBounty", verdict.bounty_id), header_call("latest"))
        bounty, now = asked.bounty(verdict.bounty_id), chain.at(asked.latest().number)
        newest = verdict.by_this_guardian().newest(now, done.block_number)
    except CommandFailed:  # it is recorded; an endpoint that is silent now changes nothing about that
        return emit(done, watching(verdict.bounty_id))
    emit(done, for_guardian(verdict.bounty_id, bounty, has_judged=True))
    if newest is not None and newest.tx_hash != done.tx_hash and newest.block_number >= done.block_number:
        back = "" if bounty.outcome is not None else "; to restore this one, run the command again with --replace"
        warn(f"warning: the Hub now holds another Verdict of yours, and that one counts{back}")
    return done


# --- its document


def _hand_out(
    session: Session[Signer], verdict: Verdict, options: VerdictOptions, journal: Journal, *, is_signed: bool
) -> None:
    """Publish the document through the service, or write it to the file of ``--unpublished``.

    The document of a Verdict that was signed before is published only if the service does not have it.
    """
    if options.unpublished is not None:
        sources = [each.named for each in session.chain.everywhere]
        alone = " alone" if len(sources) == 1 else ""
        what = f"no API is used: this run trusts for bounty {verdict.bounty_id}"
        warn(f"warning: {what} {' and '.join(sources)}{alone}")
        _keep_unpublished(options.unpublished, verdict.document)
        journal.note(UNPUBLISHED, str(options.unpublished.absolute()))
    elif not is_signed or journal.get(UNPUBLISHED) is not None or not _is_published(session.api, verdict):
        _publish(session, verdict)
        journal.forget(UNPUBLISHED)


def _is_published(api: ApiClient, verdict: Verdict) -> bool:
    """Return whether the service has the document; if the service does not answer, that is no reason to sign again."""
    try:
        api.get(f"/api/written-verdicts/{verdict.report_commitment}", patient=False)
    except CommandRefused as refused:
        return refused.code != "written_verdict_not_found"
    except CommandFailed:
        pass
    return True


def _publish(session: Session[Signer], verdict: Verdict) -> None:
    """Store the document, and read it back by its commitment as anyone can; as its Guardian if the operator withholds
    it.
    """
    api, path = session.api, f"/api/written-verdicts/{verdict.report_commitment}"
    require_same(session.chain, verdict.state, api)
    api.signed(
        session.signer,
        "POST",
        path,
        body=verdict.document,
        media_type="text/markdown",
        summary=f"publish the written Verdict {verdict.report_commitment} of bounty {verdict.bounty_id}",
    )
    try:
        stored = api.get(path).body
    except CommandRefused as refused:
        if refused.code != "written_verdict_withheld":
            raise
        warn(f"warning: {printable(refused.message, 1_000)} Your Verdict still counts")
        summary = "read your written Verdict back"
        stored = api.signed(session.signer, "GET", f"{path}/document", summary=summary).body
    if stored != verdict.document:
        message = "The written Verdict reads back differently from what was sent."
        raise CommandRefused("verdict_mismatch", message, next_action="Nothing was recorded on chain; report it.")
    emit(PublishedVerdict(*verdict.names()))


def _keep_unpublished(path: Path, document: bytes) -> None:
    """Write the document to a new file, or find it in the one that an earlier run wrote."""
    try:
        with new_file(path) as file:
            file.write(document)
            os.fsync(file.fileno())
        sync_folder(path.absolute().parent)
    except SealedDataError as error:
        if path.is_file() and path.read_bytes() == document:
            return
        message = f"The Verdict's document cannot be written to {path}: {error.message}."
        next_action = "After --unpublished, name a file that does not exist yet."
        raise CommandRefused("file_exists", message, next_action=next_action) from None
    warn(
        f"nobody else has your reasons yet: give {path} to anyone who asks; once a service is available, run the "
        "same command without --unpublished to publish them"
    )
