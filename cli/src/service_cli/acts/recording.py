"""A sealed Submission's place on chain: which one it may replace, and the call that records it.

Each Solver has one active Submission in a bounty. What is recorded is never taken for granted: it is read from every
endpoint, and a transaction counts only with its event.
"""

from contextlib import suppress
from typing import Final

from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.domain.lifecycle.hub_events import SubmissionRecorded
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, Bytes32, to_bytes

from service_cli.acts.pipeline import Plan, was_given
from service_cli.acts.submit_events import SubmittedWork, UnsentSubmission
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.journal import Journal
from service_cli.chain.outside import GIVEN
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.sender import require_after
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner
from service_cli.chain.transactions import ContractCall, Prospect, TransactionStep
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import watching
from service_cli.ui.output import emit, say, warn
from service_cli.work.sealing import MADE, PREPARED, SEALED, SEALED_AT, Work, drop_former

_PUT_IT_THERE: Final = "To replace it with this one, add --replace."


def submit_call(work: Work, envelope: Envelope) -> ContractCall:
    """Return the call that records a Submission."""
    commitment = envelope.commitment()
    return ContractCall(
        "submit",
        [work.bounty_id, to_bytes(commitment), to_bytes(envelope.guardian_roster_hash)],
        f"record Submission {commitment} in bounty {work.bounty_id}",
    )


def unsent_submission(chain: ChainClient, call: ContractCall) -> UnsentSubmission:
    """Return the call in the form for an external wallet."""
    arguments = tuple("0x" + one.hex() if isinstance(one, bytes) else str(one) for one in call.arguments)
    return UnsentSubmission(chain.chain_id, chain.hub.address, "0", call.data, call.function, arguments)


def active(work: Work) -> Bytes32:
    """Return the commitment that the Hub records for this Solver, according to every endpoint; zero if none."""
    return agreed(work.chain, Fact.DONE, lambda each: each.hub.submission(work.bounty_id, work.solver))


def require_place(
    work: Work, former: Bytes32, mine: Envelope | None, journal: Journal, *, replace: bool, in_place_of: Bytes32 | None
) -> Bytes32 | None:
    """Refuse to replace a Submission from another machine without being asked to, or any but ``in_place_of`` if that is
    given; return the replaced one, if any.

    ``former`` is the active one, zero if none; ``mine`` is what an earlier run sealed of the same files. That run may
    have been interrupted at any point, so what it was to replace is still recorded until its own transaction is mined.
    """
    commitment = mine.commitment() if mine else None
    if former == commitment:
        return None
    if former == ZERO_BYTES32:
        kept = journal.get(SEALED)
        is_sent = mine is None and kept is not None and _step(kept.commitment()).was_attempted(journal)
        sent = kept.commitment() if kept is not None and is_sent else None
        _require_expected(work, sent, in_place_of)
        return sent
    if commitment is not None and _step(commitment).was_attempted(journal):
        if _in_log(work, commitment, journal) is None or active(work) == commitment:
            return None  # signed in an earlier run, and still on its way or mined by now
        if not replace:
            raise _exists(work, former, f"is recorded, and replaced {commitment}, which was made here")
        journal.forget(*_step(commitment).entries)  # recorded once, and replaced since
    elif not replace and not made_here(former, journal):
        raise _exists(work, former, "is recorded, and was not made here")
    _require_expected(work, former, in_place_of)
    return former


def _require_expected(work: Work, former: Bytes32 | None, in_place_of: Bytes32 | None) -> None:
    """Refuse to replace a Submission other than the one that was decided on; zero is none."""
    if in_place_of is not None and former not in {None, in_place_of}:
        message = f"Your Submission {former} to bounty {work.bounty_id} was recorded or sent after this was decided."
        raise CommandRefused("submission_exists", message, next_action="Decide again which of them should count.")


def made_here(former: Bytes32, journal: Journal) -> bool:
    """Return whether this machine made the Submission."""
    kept = journal.get(SEALED)
    known = {journal.get(PREPARED), kept.commitment() if kept is not None else None, *(journal.get(MADE) or ())}
    return former in known or _step(former).was_attempted(journal)


def _exists(work: Work, former: Bytes32, what: str) -> CommandRefused:
    message = (
        f"Your Submission {former} to bounty {work.bounty_id} {what}. The same files sealed on another machine make "
        "a different Submission, and a replacement counts from its own, later block."
    )
    return CommandRefused("submission_exists", message, next_action=_PUT_IT_THERE)


def recording(
    work: Work, envelope: Envelope, journal: Journal, *, replace: bool = False, in_place_of: Bytes32 | None = None
) -> Plan[SubmittedWork]:
    """Plan the call that records the Submission, or report that it is recorded already; refuse if it may not replace
    the other one.
    """
    call, commitment, step = submit_call(work, envelope), envelope.commitment(), _step(envelope.commitment())
    recorded = active(work)  # read once: a reorg must not change the branch midway
    former = require_place(work, recorded, envelope, journal, replace=replace, in_place_of=in_place_of)
    if former is not None:
        warn(
            f"this replaces your Submission {former} to bounty {work.bounty_id}: the old one no longer counts, and "
            "the new one counts from its own block"
        )
    proof = _recorded(work, commitment)
    found, is_recorded = None, recorded == commitment
    if is_recorded:
        say(f"Submission {commitment} is recorded already")
    if isinstance(work.session.signer, LocalSigner) and step.was_attempted(journal):
        pass  # an earlier run's transaction is looked for as it was signed
    elif is_recorded:
        if (found := _in_log(work, commitment, journal)) is None:
            message = f"The Hub records your Submission {commitment}, but the endpoint's log does not show where."
            next_action = "Run the command again, or use another RPC endpoint."
            raise CommandFailed("transaction_unknown", message, next_action=next_action)
    elif isinstance(work.session.signer, LocalSigner):
        others = [_step(one).last_nonce(journal) for one in journal.get(MADE) or () if one != commitment]
        require_after(work.session, others, "another Submission of yours")
    else:
        _require_unsent(work, call, proof, commitment, journal)

    def result(receipt: Receipt) -> SubmittedWork:
        names = (work.bounty_id, work.solver, commitment, envelope.guardian_roster_hash)
        done = emit(SubmittedWork(receipt.tx_hash, receipt.block_number, *names), watching(work.bounty_id))
        drop_replaced(work, journal)
        return done

    return Plan(call, proof, step, result, found, unsent_submission(work.chain, call))


def _require_unsent(
    work: Work, call: ContractCall, proof: ExpectedEvent[SubmissionRecorded], commitment: Bytes32, journal: Journal
) -> None:
    """Check the call that a wallet was given: one that was recorded and replaced since is given again."""
    given = journal.get(GIVEN)
    is_given = was_given(journal, call)
    if given is not None and is_given and proof.newest(work.chain, given.from_block) is not None:
        if active(work) == commitment:
            return
        journal.forget(GIVEN)
        is_given = False
    Prospect.read(work.chain, work.solver, call)
    if is_given:
        say("this call was shown before: if you sent it, wait; sending it twice moves your Submission to a later place")


def drop_replaced(work: Work, journal: Journal) -> None:
    """Remove the bytes of Submissions that every endpoint shows as replaced. No command fails because of this: a later
    run does what cannot be done now.
    """
    with suppress(ServiceError):
        if journal.get(MADE):
            drop_former(journal, active(work))


def may_be_recorded(work: Work, envelope: Envelope, journal: Journal) -> bool:
    """Return whether the Hub records it or may still do so: it was sent from here, or given to a wallet."""
    commitment = envelope.commitment()
    is_out = _step(commitment).was_attempted(journal) or was_given(journal, submit_call(work, envelope))
    return is_out or active(work) == commitment


def _in_log(work: Work, commitment: Bytes32, journal: Journal) -> Receipt | None:
    """Return the newest transaction that recorded it, since it was sealed."""
    sealed_at = journal.get(SEALED_AT)
    start = first_block(work.chain) if sealed_at is None else sealed_at
    return None if start is None else _recorded(work, commitment).newest(work.chain, start)


def _recorded(work: Work, commitment: Bytes32) -> ExpectedEvent[SubmissionRecorded]:
    """Return the event that shows this Submission recorded."""
    return ExpectedEvent(SubmissionRecorded, [bounty_topic(work.bounty_id), account_topic(work.solver), commitment])


def _step(commitment: Bytes32) -> TransactionStep:
    """Return the step of one Submission: an earlier one may still be pending."""
    return TransactionStep(f"submit_{commitment}")
