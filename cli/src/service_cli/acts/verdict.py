"""``guardian:verdict``: reasons from a file, published, and the same Verdict recorded on chain.

The document is stored, read back by its commitment and compared byte for byte before the transaction that anchors it is
signed, so no Verdict on chain points at reasons nobody can read. With ``--unpublished`` it is in a file of this machine
before that, and published by the next run without the option.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click
from bounty_protocol.chain.blocks import block_before, header_at
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.output import new_file
from bounty_protocol.domain.challenge import ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.hub_events import VerdictRecorded
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, render_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import (
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BountyId,
    Bytes32,
    UnixSeconds,
    Wei,
    to_bytes,
)

from service_cli.acts.recordable import (
    Named,
    VerdictOptions,
    await_pending,
    confirm_opened,
    confirm_reasons,
    refuse_second,
    require_active,
    require_judging,
    require_pinned,
    require_recordable,
)
from service_cli.acts.verdict_events import AnchoredVerdict, PublishedVerdict, ReadBackVerdict
from service_cli.api import ApiClient, api_of, bounty_detail, is_page_withheld, withheld_page, withheld_verdict
from service_cli.api_session import ApiSession
from service_cli.chain.agreement import Vouched, agreed
from service_cli.chain.journal import (
    VERDICT_RECORDED,
    VERDICT_SIGNED,
    Journal,
    JournalEntry,
    journals_below,
    was_opened,
)
from service_cli.chain.outside import GIVEN, ExternalSigner, Given
from service_cli.chain.prepared import PreparedAct, ProgramSigner, done_already, prepare
from service_cli.chain.receipts import RECENT_SECONDS, ExpectedEvent, Receipt, account_topic, bounty_topic
from service_cli.chain.sender import require_after, send
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import GUARDIAN_KEY, LocalSigner, Signer, local_signer
from service_cli.chain.transactions import (
    HubCall,
    Transaction,
    TransactionStep,
    calls_before_sending,
    gas_cost,
    require_affordable,
    simulate,
)
from service_cli.chain.witness_table import Fact
from service_cli.config.keys import check_document
from service_cli.config.settings import Settings
from service_cli.disk import sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import for_guardian, watching
from service_cli.queries.numbers import named_by_place
from service_cli.queries.state import Pair, terms_of, terms_without_api
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import printable
from service_cli.work.opening import SubmissionChoice
from service_cli.work.reasons import doubt_of, template, text_of

Meant = Vouched[Pair] | None
"""The same before it is judged, with who vouches that it is the one that is meant."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A Guardian's Verdict as events name it."""

    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    named: Named
    report_commitment: Bytes32

    def names(self) -> tuple[BountyId, Address, VerdictKind, Address | None, Bytes32 | None, Bytes32]:
        """How events name it."""
        solver, submission = self.named or (None, None)
        return self.bounty_id, self.guardian, self.kind, solver, submission, self.report_commitment

    def anchored(self, receipt: Receipt) -> AnchoredVerdict:
        """It as the Hub recorded it, and where."""
        return AnchoredVerdict(*self.names(), receipt.tx_hash, receipt.block_number)

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


_STEP: Final = TransactionStep(VERDICT_SIGNED)
RECORDED: Final = JournalEntry.of(VERDICT_RECORDED, AnchoredVerdict)
_EARLIER_SECONDS: Final = 3_600
"""How far before its reported block a Verdict is looked for: a reorg may have moved it."""
UNPUBLISHED: Final = JournalEntry.of("unpublished", str)
"""The file that holds the document of a Verdict that no service was given."""


def record_verdict(
    settings: Settings, bounty_id: BountyId, kind: VerdictKind, meant: Meant, body: bytes, options: VerdictOptions
) -> AnchoredVerdict:
    """The command ``guardian:verdict`` with the reasons as ``body``."""
    session = ApiSession.open(settings, local_signer(settings, GUARDIAN_KEY))
    return record(session, bounty_id, kind, meant, body, options)


@dataclass(frozen=True, slots=True)
class VerdictPreview:
    """A Verdict that could be recorded now. ``gas_cost`` is the most that recording it may cost, in wei;
    ``is_unopened`` where this machine has not opened the work that it awards; ``doubt`` is what lets the reasons look
    like a mistake."""

    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    judging_deadline: UnixSeconds
    gas_cost: Wei
    is_unopened: bool
    doubt: str | None


def preview_verdict(
    settings: Settings, bounty_id: BountyId, meant: Meant, body: bytes, guardian: Address | None = None
) -> VerdictPreview:
    """The Verdict that ``record_verdict`` would record, by ``guardian`` or the account of the key.

    Refused as that would refuse it. Signs and publishes nothing.
    """
    signer: Signer = local_signer(settings, GUARDIAN_KEY) if guardian is None else ExternalSigner(guardian)
    session = ApiSession.open(settings, signer)
    chain, named = session.chain, None if meant is None else meant.value
    kind = kind_of(meant)
    check_document(settings.environment, body, "The Verdict's body")
    require_recordable(session, bounty_id, named, replace=False)
    document = render_verdict(_written(session, bounty_id, kind, named, body))
    verdict = Verdict(bounty_id, session.account, kind, named, report_commitment(document))
    simulate(chain, session.account, verdict.call())
    return VerdictPreview(
        *verdict.names(),
        judging_deadline=chain.bounty(bounty_id).judging_deadline,
        gas_cost=gas_cost(chain, session.account, verdict.call()).wei,
        is_unopened=named is not None and not was_opened(chain.chain_id, chain.hub.address, bounty_id, *named),
        doubt=doubt_of(body.decode()),
    )


def record(
    session: ApiSession[LocalSigner],
    bounty_id: BountyId,
    kind: VerdictKind,
    meant: Meant,
    body: bytes,
    options: VerdictOptions,
) -> AnchoredVerdict:
    """Publish these reasons and record the Verdict, once; then show how the Guardians stand.

    What an earlier run reported is looked for again: a reorg may have taken it out, or an endpoint invented it.
    """
    verdict, document = _meant_document(session, bounty_id, kind, meant, body)
    with _journal(session, verdict) as journal:
        if (done := _recorded_or_published(session, journal, verdict, document, body, options)) is None:
            transaction = Transaction(
                verdict.call(), verdict.expected(), check_anew=partial(_require_alone, session, verdict, options)
            )
            receipt = send(session, transaction, journal, _STEP)
            done = verdict.anchored(receipt)
        journal.note(RECORDED, done)
    return _finish(session.chain, verdict, done)


def prepare_verdict(
    settings: Settings, signer: ProgramSigner, bounty_id: BountyId, meant: Meant, body: bytes, options: VerdictOptions
) -> PreparedAct[AnchoredVerdict]:
    """The call of ``record_verdict``, once the reasons are published; none where it is this Guardian's Verdict."""
    session, kind = ApiSession.open(settings, signer), kind_of(meant)
    verdict, document = _meant_document(session, bounty_id, kind, meant, body)
    with _journal(session, verdict) as journal:
        done = _recorded_or_published(session, journal, verdict, document, body, options)
        if done is not None:
            return done_already(session.chain, session.account, _finish(session.chain, verdict, done))

    def read(later: ChainClient, receipt: Receipt) -> AnchoredVerdict:
        anchored = verdict.anchored(receipt)
        with _journal(session, verdict) as journal:
            journal.note(RECORDED, anchored)
        return _finish(later, verdict, anchored)

    prepared = prepare(session.chain, session.account, [verdict.call()], verdict.expected(), read)
    with _journal(session, verdict) as journal:
        journal.note(GIVEN, Given(prepared.calls[0].data, prepared.from_block))
    return prepared


def kind_of(meant: Meant) -> VerdictKind:
    """An award of what is meant; of nothing, that no Submission is valid."""
    return VerdictKind.NO_VALID_SUBMISSION if meant is None else VerdictKind.AWARDED


def _meant_document(
    session: ApiSession[Signer], bounty_id: BountyId, kind: VerdictKind, meant: Meant, body: bytes
) -> tuple[Verdict, bytes]:
    """The Verdict and the document that it anchors."""
    named = None if meant is None else meant.value
    check_document(session.settings.environment, body, "The Verdict's body")
    document = render_verdict(_written(session, bounty_id, kind, named, body))
    return Verdict(bounty_id, session.account, kind, named, report_commitment(document)), document


def _journal(session: ApiSession[Signer], verdict: Verdict) -> AbstractContextManager[Journal]:
    return session.journal("verdict", str(verdict.bounty_id), session.account, verdict.report_commitment)


def _recorded_or_published(
    session: ApiSession[Signer],
    journal: Journal,
    verdict: Verdict,
    document: bytes,
    body: bytes,
    options: VerdictOptions,
) -> AnchoredVerdict | None:
    """The Verdict where the chain has it; else everything before its transaction is done, by this run or before."""
    chain, bounty_id = session.chain, verdict.bounty_id
    reported = journal.get(RECORDED)
    if (done := _standing(chain, verdict, reported)) is not None:
        _hand_out(session, journal, verdict, document, options, is_signed=True)
        return done
    if reported is not None:
        require_judging(chain, bounty_id)
        _leave(chain, journal, verdict, reported, replace=options.replace)
    if options.replace:
        _warn_of_given(session, verdict)
    if _STEP.was_attempted(journal):
        if not options.replace:
            _refuse_beside_another(session, verdict)
        _hand_out(session, journal, verdict, document, options, is_signed=True)
        return None
    if (done := _done_meanwhile(session, verdict, options)) is not None:
        _hand_out(session, journal, verdict, document, options, is_signed=True)
        return done
    with chain.prefetched(*calls_before_sending(chain, session.account, verdict.call())):
        simulate(chain, session.account, verdict.call())
        if isinstance(session.signer, LocalSigner):
            require_affordable(chain, session.account, verdict.call())
    confirm_opened(session, bounty_id, verdict.named, options)
    confirm_reasons(body.decode())
    _hand_out(session, journal, verdict, document, options, is_signed=False)
    return _done_meanwhile(session, verdict, options)  # a person may have thought for an hour before the answer


def _done_meanwhile(session: ApiSession[Signer], verdict: Verdict, options: VerdictOptions) -> AnchoredVerdict | None:
    """This very Verdict, where a wallet that an earlier run gave it to has recorded it; else it is to be signed."""
    try:
        _require_alone(session, verdict, options)
    except CommandRefused as refused:
        if refused.code != "verdict_already_recorded" or (done := _standing(session.chain, verdict, None)) is None:
            raise
        return done
    return None


def _require_alone(session: ApiSession[Signer], verdict: Verdict, options: VerdictOptions) -> None:
    """Refuse to sign what counts no more, or would take the place of another Verdict without that being wanted."""
    require_judging(session.chain, verdict.bounty_id)
    if not options.replace:
        _refuse_beside_another(session, verdict)
        refuse_second(session.chain, verdict.bounty_id, session.account)
        if await_pending(session):
            refuse_second(session.chain, verdict.bounty_id, session.account)
    require_after(session, _earlier_nonces(session, verdict), "another Verdict of yours")


def _hand_out(
    session: ApiSession[Signer],
    journal: Journal,
    verdict: Verdict,
    document: bytes,
    options: VerdictOptions,
    *,
    is_signed: bool,
) -> None:
    """The document where others get it: with the service, or in the file of ``--unpublished``.

    Of a Verdict that was signed before it is published only where the service does not have it.
    """
    if options.unpublished is not None:
        _tell_who_vouches(session.chain, verdict.bounty_id)
        _keep_unpublished(options.unpublished, document)
        journal.note(UNPUBLISHED, str(options.unpublished.absolute()))
    elif not is_signed or journal.get(UNPUBLISHED) is not None or not _is_published(session.api, verdict):
        _publish(session, verdict, document)
        journal.forget(UNPUBLISHED)


def _tell_who_vouches(chain: ChainClient, bounty_id: BountyId) -> None:
    """Without an API the bounty is what the endpoints say, in one voice."""
    terms_without_api(chain, bounty_id)
    sources = [each.named for each in chain.everywhere]
    alone = " alone" if len(sources) == 1 else ""
    warn(f"warning: no API is asked: what bounty {bounty_id} is, is the word of {' and '.join(sources)}{alone}")


def _is_published(api: ApiClient, verdict: Verdict) -> bool:
    """Whether the service has the document; one that does not answer is no reason to sign anything again."""
    try:
        api.get(f"/api/written-verdicts/{verdict.report_commitment}", patient=False)
    except CommandRefused as refused:
        return refused.code != "written_verdict_not_found"
    except CommandFailed:
        pass
    return True


def _earlier_nonces(session: ApiSession[Signer], verdict: Verdict) -> Iterator[int | None]:
    """The last nonces of this Guardian's other Verdicts on the bounty that were signed on this machine."""
    chain, names = session.chain, ("verdict", str(verdict.bounty_id), session.account)
    for *_, report in journals_below(chain.chain_id, chain.hub.address, *names):
        if report != verdict.report_commitment:
            with session.journal(*names, report) as journal:
                yield _STEP.last_nonce(journal)


def _refuse_beside_another(session: ApiSession[Signer], verdict: Verdict) -> None:
    """Refuse another Verdict while one that was signed or given out may still be recorded: the last one counts."""
    for report, is_given in _unseen_others(session, verdict):
        done = "given out" if is_given else "signed"
        message = f"Another Verdict of yours, with the reasons {report}, was {done} before and may still be recorded."
        next_action = "Wait until it is recorded, or replace it on purpose with --replace: of two, the last one counts."
        raise CommandRefused("verdict_already_recorded", message, next_action=next_action)


def _warn_of_given(session: ApiSession[Signer], verdict: Verdict) -> None:
    """A Verdict that a wallet has may come after the one that is to take its place."""
    for report, is_given in _unseen_others(session, verdict):
        if is_given:  # what was signed here has a nonce, which is looked at
            warn(
                f"warning: another Verdict of yours, with the reasons {report}, was given to a wallet before. "
                "If it is recorded after this one, it counts instead: watch for it (service-cli "
                f"bounty:watch {verdict.bounty_id}), and run this command again then"
            )


def _unseen_others(session: ApiSession[Signer], verdict: Verdict) -> Iterator[tuple[str, bool]]:
    """The reasons of this machine's other Verdicts that it has not seen recorded, and whether each was given out."""
    chain, names = session.chain, ("verdict", str(verdict.bounty_id), session.account)
    for *_, report in journals_below(chain.chain_id, chain.hub.address, *names):
        if report == verdict.report_commitment:
            continue
        with session.journal(*names, report) as journal:
            is_given, is_signed = journal.get(GIVEN) is not None, _STEP.was_attempted(journal)
            is_seen = journal.get(RECORDED) is not None
        if (is_given or is_signed) and not is_seen:
            yield report, is_given


def _finish(chain: ChainClient, verdict: Verdict, done: AnchoredVerdict) -> AnchoredVerdict:
    """Report the recorded Verdict, and where the Hub holds a later one of this Guardian by now, that."""
    try:
        bounty, newest = chain.bounty(verdict.bounty_id), _newest(chain, verdict, done)
    except CommandFailed:  # it is recorded; an endpoint that is silent now changes nothing about that
        return emit(done, watching(verdict.bounty_id))
    emit(done, for_guardian(verdict.bounty_id, bounty, has_judged=True))
    if newest is not None and newest.tx_hash != done.tx_hash and newest.block_number >= done.block_number:
        back = "" if bounty.outcome is not None else "; to put this one back, run the command again with --replace"
        warn(f"warning: the Hub holds another Verdict of yours by now, and that one counts{back}")
    return done


def _standing(chain: ChainClient, verdict: Verdict, reported: AnchoredVerdict | None) -> AnchoredVerdict | None:
    """This Verdict as the chain has it, where it is this Guardian's last one: by every endpoint's Hub and log."""
    named = verdict.named or (ZERO_ADDRESS, ZERO_BYTES32)

    def read(each: ChainClient) -> Receipt | None:
        with chain_errors():
            recorded = each.hub.verdict(verdict.bounty_id, verdict.guardian)
        if (recorded.kind, recorded.solver, recorded.submission_commitment) != (verdict.kind, *named):
            return None
        newest = _newest(each, verdict, reported)
        return newest if newest is not None and verdict.expected().proven_by(newest) else None

    receipt = agreed(chain, Fact.DONE, read)
    return None if receipt is None else verdict.anchored(receipt)


def _newest(chain: ChainClient, verdict: Verdict, reported: AnchoredVerdict | None) -> Receipt | None:
    """The log of this Guardian's last Verdict, looked for from about where one was reported; else in the last day."""
    head = chain.latest()
    with chain_errors():
        if reported is None:
            start = block_before(chain.rpc, head, RECENT_SECONDS)
        else:
            at = header_at(chain.rpc, min(head.number, reported.block_number))
            start = block_before(chain.rpc, at, _EARLIER_SECONDS)
    topics = [bounty_topic(verdict.bounty_id), account_topic(verdict.guardian)]
    return ExpectedEvent(VerdictRecorded, topics).newest(chain, start.number)


def _leave(chain: ChainClient, journal: Journal, verdict: Verdict, reported: AnchoredVerdict, *, replace: bool) -> None:
    """Begin again with a Verdict that is not there any more; one that was replaced only where that is wanted."""
    if _newest(chain, verdict, reported) is None:
        say("the chain does not have this Verdict, which an earlier run reported as recorded: recording it again")
        journal.forget(RECORDED)
        return
    if not replace:
        message = "This Verdict was recorded, and you put another one in its place later."
        raise CommandRefused("verdict_replaced", message, next_action="To put this one back, add --replace.")
    journal.forget(RECORDED, *_STEP.entries)


def _written(
    session: ApiSession[Signer], bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes
) -> WrittenVerdict:
    """The document this Guardian signs."""
    chain = session.chain
    require_pinned(session, bounty_id)
    require_active(chain, bounty_id, named)
    return WrittenVerdict(
        kind=kind,
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=bounty_id,
        guardian_address=session.account,
        solver_address=named[0] if named else None,
        submission_commitment=named[1] if named else None,
        body=text_of(body),
    )


def _publish(session: ApiSession[Signer], verdict: Verdict, document: bytes) -> None:
    """Store the document, and read it back by its commitment."""
    api, bounty_id = session.api, verdict.bounty_id
    terms_of(session.chain, bounty_id, api)
    path = f"/api/written-verdicts/{verdict.report_commitment}"
    api.signed(
        session.signer,
        "POST",
        path,
        body=document,
        media_type="text/markdown",
        summary=f"publish the written Verdict {verdict.report_commitment} of bounty {bounty_id}",
    )
    emit(PublishedVerdict(*verdict.names()))
    if _read_back(session, path) != document:
        message = "The written Verdict reads back differently from what was sent."
        raise CommandRefused("verdict_mismatch", message, next_action="Nothing was recorded on chain; report it.")
    emit(ReadBackVerdict(*verdict.names()))


def _read_back(session: ApiSession[Signer], path: str) -> bytes:
    """The document as anyone reads it; where the operator withholds it, as its Guardian does."""
    try:
        return session.api.get(path).body
    except CommandRefused as refused:
        if refused.code != "written_verdict_withheld":
            raise
        warn(f"warning: {printable(refused.message, 1_000)} Your Verdict counts all the same")
    return withheld_verdict(session.api, session.signer, path, "read your written Verdict back")


def _keep_unpublished(path: Path, document: bytes) -> None:
    """The document in a new file, or in the one that an earlier run wrote."""
    try:
        with new_file(path) as file:
            file.write(document)
            os.fsync(file.fileno())
        sync_folder(path.absolute().parent)
    except SealedDataError as error:
        if path.is_file() and path.read_bytes() == document:
            return
        message = f"The Verdict's document cannot be written to {path}: {error.message}."
        next_action = "Name a file that is new, after --unpublished."
        raise CommandRefused("file_exists", message, next_action=next_action) from None
    warn(
        f"nobody else has your reasons yet: give {path} to anyone who asks; once a service answers, the same command "
        "without --unpublished publishes them"
    )


def named_by(
    settings: Settings, bounty_id: BountyId, choice: SubmissionChoice, *, with_api: bool = True
) -> Vouched[Pair]:
    """The Solver and Submission that a number or the begin of a commitment names."""
    api = api_of(settings) if with_api else None
    return named_by_place(ChainClient.checked(settings), api, bounty_id, choice.of)


def print_template(settings: Settings, bounty_id: BountyId, kind: VerdictKind, meant: Meant) -> None:
    """``guardian:verdict --template``: the template on stdout, as text."""
    named = None if meant is None else meant.value
    chain = ChainClient.checked(settings)
    page = _page(api_of(settings), None, chain.bounty(bounty_id), bounty_id)
    click.echo(template(bounty_id, kind, named, page), nl=False)


def _page(api: ApiClient, signer: Signer | None, bounty: BountyView, bounty_id: BountyId) -> ChallengePage | None:
    """The bounty's own page, or None with the reason said."""
    try:
        detail = bounty_detail(api, bounty_id).json()
        page = detail.get("challenge")
        if is_withheld := is_page_withheld(detail):
            page = None if signer is None else withheld_page(api, signer, bounty_id).decode()
        if isinstance(page, str) and spec_commitment(page.encode()) == bounty.spec_commitment:
            return parse_challenge(page.encode())
        reason = "the API has no page that hashes to the bounty's commitment"
        if is_withheld:
            reason = "the operator withholds the page; without --template it is read with your signature"
    except ServiceError as error:
        reason = error.message
    warn(f"the template has no criteria: {reason}")
    return None
