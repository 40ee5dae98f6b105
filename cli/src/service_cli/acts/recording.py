"""Recording a sealed Submission on chain: once, and never by accident in another one's place.

The Hub is read before anything is sent or shown to a wallet; what it records already is shown with the transaction that
did it, by whichever wallet. A replacement counts from its own, later block: changed files replace what this machine
recorded, which is reported; what this machine knows nothing of is replaced only with ``--replace``.
"""

from contextlib import suppress

from bounty_protocol.domain.envelope import Envelope
from bounty_protocol.domain.hub_events import SubmissionRecorded
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, Bytes32, to_bytes

from service_cli.acts.submit_events import SubmittedWork, UnsentSubmission
from service_cli.api_session import ApiSession
from service_cli.chain.agreement import agreed
from service_cli.chain.journal import Journal, journal_in
from service_cli.chain.outside import GIVEN, ExternalSigner, done_by_wallet, note_given
from service_cli.chain.prepared import PreparedAct, ProgramSigner, prepare
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.sender import require_after, send
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep, simulate
from service_cli.chain.witness_table import Fact
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import watching
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import moment
from service_cli.work.sealing import MADE, PREPARED, SEALED, SEALED_AT, SHOWN, SPARE, Work, drop_spare


def submit_call(work: Work, envelope: Envelope) -> HubCall:
    """The call that records a Submission."""
    commitment = envelope.commitment()
    return HubCall(
        "submit",
        [work.bounty_id, to_bytes(commitment), to_bytes(envelope.guardian_roster_hash)],
        f"record Submission {commitment} in bounty {work.bounty_id}",
    )


def active(work: Work) -> Bytes32:
    """The commitment that the Hub records of this Solver, by every endpoint; zero when none."""

    def read(chain: ChainClient) -> Bytes32:
        with chain_errors():
            return chain.hub.submission(work.bounty_id, work.solver)

    return agreed(work.chain, Fact.DONE, read)


def require_place(
    work: Work, mine: Envelope | None, journal: Journal, *, replace: bool, in_place_of: Bytes32 | None = None
) -> Bytes32 | None:
    """Refuse to take the place of another Submission unasked, and of any but ``in_place_of`` where that is given; the
    one that is replaced, if any.

    ``mine`` is what an earlier run sealed of the same files. It may have been interrupted at any point, so what it was
    to replace is still recorded until its own transaction is mined.
    """
    former, commitment = active(work), mine.commitment() if mine else None
    if former == commitment:
        return None
    if former == ZERO_BYTES32:
        sent = _on_its_way(journal) if mine is None else None
        _require_expected(work, sent, in_place_of)
        return sent
    if commitment is not None and _step(commitment).was_attempted(journal):
        if _in_log(work, commitment, journal) is None or active(work) == commitment:
            return None  # signed in an earlier run, and still on its way or mined by now
        if not replace:
            raise _exists(work, former, f"is recorded, and was put in the place of {commitment}, which was made here")
        journal.forget(*_step(commitment).entries)  # recorded once, and replaced since
    elif not replace and not _made_here(former, journal):
        raise _exists(work, former, "is recorded, and was not made here")
    _require_expected(work, former, in_place_of)
    return former


def _require_expected(work: Work, former: Bytes32 | None, in_place_of: Bytes32 | None) -> None:
    """Refuse to replace what was not to be replaced when that was decided; zero is nothing."""
    if in_place_of is not None and former not in {None, in_place_of}:
        message = f"Your Submission {former} to bounty {work.bounty_id} is recorded, or sent, since this was decided."
        raise CommandRefused("submission_exists", message, next_action="Decide anew which of them is to count.")


def _made_here(former: Bytes32, journal: Journal) -> bool:
    """Whether this machine made it."""
    kept = journal.get(SEALED)
    known = {journal.get(PREPARED), kept.commitment() if kept is not None else None, *(journal.get(MADE) or ())}
    return former in known or _step(former).was_attempted(journal)


def record(
    work: Work, envelope: Envelope, journal: Journal, *, replace: bool, in_place_of: Bytes32 | None = None
) -> SubmittedWork | PreparedAct[SubmittedWork] | None:
    """Show what is recorded already, or send the call, or prepare it for a program, or show it to a wallet."""
    call, commitment = submit_call(work, envelope), envelope.commitment()
    former = require_place(work, envelope, journal, replace=replace, in_place_of=in_place_of)
    if former is not None:
        warn(
            f"this replaces your Submission {former} to bounty {work.bounty_id}: that one no longer counts, and this "
            "one counts from its own block"
        )
    step = _step(commitment)
    signer, recorded = (
        work.session.signer,
        active(work) == commitment,
    )  # read once: a reorg must not change the branch midway
    if recorded:
        say(f"Submission {commitment} is recorded already")
    if isinstance(signer, LocalSigner) and (step.was_attempted(journal) or not recorded):
        session = ApiSession(work.chain, signer)
        if not step.was_attempted(journal):
            others = [_step(one).last_nonce(journal) for one in journal.get(MADE) or () if one != commitment]
            require_after(session, others, "another Submission of yours")
        receipt = send(session, Transaction(call, _recorded(work, commitment)), journal, step)
    elif recorded:
        receipt = _found(work, commitment, journal)
    elif isinstance(signer, ProgramSigner):
        return _for_program(work, envelope, call, journal)
    elif isinstance(signer, ExternalSigner) and (given := _by_wallet(work, call, commitment, journal)):
        receipt = given
    else:
        return None
    done = _print_recorded(work, envelope, receipt)
    drop_replaced(work, journal)
    return done


def drop_replaced(work: Work, journal: Journal) -> None:
    """Remove the spare copies of what every endpoint shows replaced. No command fails for it: what cannot be done now
    is left to a later run."""
    with suppress(ServiceError):
        if journal.get(SPARE):
            drop_spare(journal, active(work))


def _for_program(work: Work, envelope: Envelope, call: HubCall, journal: Journal) -> PreparedAct[SubmittedWork]:
    """The call, remembered as one that may be sent."""

    def read(_: ChainClient, receipt: Receipt) -> SubmittedWork:
        done = _print_recorded(work, envelope, receipt)
        with suppress(ServiceError), journal_in(journal.folder) as later:
            drop_replaced(work, later)
        return done

    act = prepare(work.chain, work.solver, [call], _recorded(work, envelope.commitment()), read)
    if journal.get(SHOWN) == call.data:
        say("it was prepared before: if it was sent, wait; sent twice, it moves the Submission to a later place")
    journal.note(SHOWN, call.data)
    return act


def _by_wallet(work: Work, call: HubCall, commitment: Bytes32, journal: Journal) -> Receipt | None:
    """Show the wallet's call, the same each time, until it is mined."""
    proof = _recorded(work, commitment)
    given = journal.get(GIVEN)
    if given is not None and given.data == call.data:
        receipt = done_by_wallet(work.chain, proof, journal)
        if receipt is not None and active(work) == commitment:
            return receipt
        if receipt is not None:
            journal.forget(GIVEN)  # recorded once, and replaced since
    simulate(work.chain, work.solver, call)
    was_shown = journal.get(SHOWN) == call.data
    journal.note(SHOWN, call.data)
    note_given(work.chain, call, journal)
    emit(unsent(work.chain, call))
    until = moment(work.bounty.submission_deadline, work.chain.latest().time)
    say(f"send this transaction from your wallet before {until}: until then nothing is recorded")
    if was_shown:
        say("it was shown before: if you sent it, wait; sent twice, it moves your Submission to a later place")
    return None


def _print_recorded(work: Work, envelope: Envelope, receipt: Receipt) -> SubmittedWork:
    names = (work.bounty_id, work.solver, envelope.commitment(), envelope.guardian_roster_hash)
    recorded = SubmittedWork(receipt.tx_hash, receipt.block_number, *names)
    return emit(recorded, watching(work.bounty_id))


def unsent(chain: ChainClient, call: HubCall) -> UnsentSubmission:
    """The call as a wallet outside takes it."""
    arguments = tuple("0x" + one.hex() if isinstance(one, bytes) else str(one) for one in call.arguments)
    return UnsentSubmission(chain.chain_id, chain.hub.address, "0", call.data, call.function, arguments)


def _found(work: Work, commitment: Bytes32, journal: Journal) -> Receipt:
    if (receipt := _in_log(work, commitment, journal)) is None:
        message = f"The Hub records your Submission {commitment}, but the endpoint's log does not show where."
        raise CommandFailed("transaction_unknown", message, next_action="Run it again, or use another RPC endpoint.")
    return receipt


def may_be_recorded(work: Work, envelope: Envelope, journal: Journal) -> bool:
    """Whether the Hub records it, or may do so yet: it was sent from here, or shown to a wallet."""
    call, commitment = submit_call(work, envelope), envelope.commitment()
    return active(work) == commitment or _step(commitment).was_attempted(journal) or journal.get(SHOWN) == call.data


def _in_log(work: Work, commitment: Bytes32, journal: Journal) -> Receipt | None:
    """The newest transaction that recorded it, since it was sealed."""
    sealed_at = journal.get(SEALED_AT)
    start = first_block(work.chain) if sealed_at is None else sealed_at
    return None if start is None else _recorded(work, commitment).newest(work.chain, start)


def _recorded(work: Work, commitment: Bytes32) -> ExpectedEvent[SubmissionRecorded]:
    """The event that shows this Submission recorded."""
    return ExpectedEvent(SubmissionRecorded, [bounty_topic(work.bounty_id), account_topic(work.solver), commitment])


def _on_its_way(journal: Journal) -> Bytes32 | None:
    """The commitment of other files whose transaction was signed and is not given up."""
    if (kept := journal.get(SEALED)) is None:
        return None
    return kept.commitment() if _step(kept.commitment()).was_attempted(journal) else None


def _step(commitment: Bytes32) -> TransactionStep:
    """Each Submission has a step of its own: an earlier one may still be on its way."""
    return TransactionStep(f"submit_{commitment}")


def _exists(work: Work, former: Bytes32, what: str) -> CommandRefused:
    message = (
        f"Your Submission {former} to bounty {work.bounty_id} {what}. The same files sealed on another machine are "
        "another Submission, and a replacement counts from its own, later block."
    )
    return CommandRefused("submission_exists", message, next_action="To put this one in its place, add --replace.")
