"""A sealed Submission's place on chain: which one it may replace, and the call that records it.

Each Solver has one active Submission in a bounty. What is recorded is never taken for granted: it is read from every
endpoint, and a transaction counts only with its event. A second transaction would move the Submission to a later place,
so ``_still_counts`` decides whether there is one.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.domain.lifecycle.hub_events import SubmissionRecorded
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, BlockNumber, Bytes32, to_bytes

from service_cli.acts.pipeline import Plan, was_given
from service_cli.acts.submit_events import SubmittedWork, UnsentSubmission
from service_cli.api import ApiClient
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.outside import GIVEN
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.sender import keep_looking, require_after
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner
from service_cli.chain.times import latest_moment
from service_cli.chain.transactions import ContractCall, Prospect, TransactionStep
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import watching
from service_cli.ui.consent import require_consent
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import moment
from service_cli.work.sealing import MADE, PREPARED, SEALED, SEALED_AT, Work, drop_former

_PUT_IT_THERE: Final = "To replace it with this one, add --replace."
_LAST_SECONDS: Final = 600
"""Before the deadline: a person decides then, and nothing is waited for."""
_POLL_SECONDS: Final = 1.0
_ACTIVE_QUERY: Final = (
    "query Active($bounty: String!, $solver: String!) {"
    " submissions(where: {bounty_id: $bounty, solver_address: $solver}, first: 1) { submission_commitment } }"
)


@dataclass(frozen=True, slots=True)
class _ActiveRow:
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class _ActiveRows:
    submissions: tuple[_ActiveRow, ...]


@dataclass(frozen=True, slots=True)
class RecordedPlace:
    """The block in which the event of a Submission was seen."""

    submission_commitment: Bytes32
    block_number: BlockNumber
    block_hash: Bytes32


_PLACE: Final = JournalEntry("recorded_place", RecordedPlace)


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
        sent = kept.commitment() if mine is None and kept is not None and _was_out(kept.commitment(), journal) else None
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
    work: Work,
    api: ApiClient | None,
    envelope: Envelope,
    journal: Journal,
    *,
    replace: bool = False,
    in_place_of: Bytes32 | None = None,
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
    found, is_local = None, isinstance(work.session.signer, LocalSigner)
    if recorded == commitment:
        say(f"Submission {commitment} is recorded already")
    if is_local and step.was_attempted(journal):
        pass  # an earlier run's transaction is looked for as it was signed
    elif recorded == commitment or _still_counts(work, api, call, commitment, journal, replace=replace):
        if (found := _in_log(work, commitment, journal)) is None:
            message = f"The Hub records your Submission {commitment}, but the endpoint's log does not show where."
            next_action = "Run the command again, or use another RPC endpoint."
            raise CommandFailed("transaction_unknown", message, next_action=next_action)
    elif is_local:
        others = [_step(one).last_nonce(journal) for one in journal.get(MADE) or () if one != commitment]
        require_after(work.session, others, "another Submission of yours")
    else:
        _require_unsent(work, call, proof, commitment, journal)

    def check_anew() -> None:
        if _still_counts(work, api, call, commitment, journal, replace=replace):
            message = f"Your Submission {commitment} is recorded; the endpoint did not show it for a while."
            raise CommandFailed("transaction_unknown", message, next_action="Run the command again: it shows where.")

    def result(receipt: Receipt) -> SubmittedWork:
        journal.note(_PLACE, RecordedPlace(commitment, receipt.block_number, receipt.block_hash))
        names = (work.bounty_id, work.solver, commitment, envelope.guardian_roster_hash)
        done = emit(SubmittedWork(receipt.tx_hash, receipt.block_number, *names), watching(work.bounty_id))
        drop_replaced(work, journal)
        return done

    return Plan(call, proof, step, result, found, unsent_submission(work.chain, call), check_anew)


def _still_counts(
    work: Work, api: ApiClient | None, call: ContractCall, commitment: Bytes32, journal: Journal, *, replace: bool
) -> bool:
    """Return whether a Submission that was sent before still counts, once that is plain; else ask the person.

    1. What was never signed or given to a wallet does not count.
    2. It counts if every endpoint shows it as active.
    3. It may count while an endpoint has the block of its event, or while the API lists it as active: a reorg that
       dropped it put another block there everywhere, and the API follows the chain within seconds.
    4. Otherwise it is gone, and may be recorded anew.

    What stays open for three minutes, or is open near the deadline, the person decides.
    """
    if not _was_out(commitment, journal) and not was_given(journal, call):
        return False
    place, deadline = _place(journal, commitment), work.state.bounty.submission_deadline

    def look() -> bool | None:
        if active(work) == commitment:
            return True
        return False if _holder(work, api, commitment, place) is None else None

    if (counts := look()) is not None:
        return counts
    is_near = deadline - (now := latest_moment(work.chain)) <= _LAST_SECONDS
    if not is_near:
        say(f"not all sources show Submission {commitment}, which was sent before; waiting up to three minutes")
        counts, _ = keep_looking(look, "nothing is sent meanwhile", _POLL_SECONDS)
    if counts is not None or (holder := _holder(work, api, commitment, place)) is None:
        return bool(counts)
    message = (
        f"{holder}, but {work.chain.named} does not show it as active. Recorded again, it counts only from a later "
        f"block. Not recorded again before {moment(deadline, now)}, it does not count if it is lost."
    )
    later = "" if is_near else "Run the command again in a few minutes, or use another RPC endpoint. "
    next_action = f"{later}To record it again although it may still count, add --replace."
    refusal = CommandRefused("submission_exists", f"{message} Nothing was sent.", next_action=next_action)
    require_consent(message, "record it again", refusal, is_given=replace)
    return False


def _holder(work: Work, api: ApiClient | None, commitment: Bytes32, place: RecordedPlace | None) -> str | None:
    """Return the clause that names a source with a Submission that no endpoint shows as active; None if none has it."""
    if place is not None:
        for each in work.chain.everywhere:
            if each.header(place.block_number).hash == place.block_hash:
                named = f"T{each.named.removeprefix('t')}"
                return f"{named} has block {place.block_number}, which recorded your Submission {commitment}"
    if api is None:
        return None
    rows = api.query(_ActiveRows, _ACTIVE_QUERY, {"bounty": str(work.bounty_id), "solver": work.solver}, "/subgraph")
    is_listed = any(row.submission_commitment == commitment for row in rows.submissions)
    return f"{api.peer.named} lists your Submission {commitment}" if is_listed else None


def _was_out(commitment: Bytes32, journal: Journal) -> bool:
    """Return whether an earlier run signed the recording of this Submission, or saw it recorded."""
    step = _step(commitment)
    return journal.has(step.attempt.name, step.given_up.name) or _place(journal, commitment) is not None


def _place(journal: Journal, commitment: Bytes32) -> RecordedPlace | None:
    """Return where an earlier run saw this Submission recorded; None if it saw that of none or another one."""
    place = journal.get(_PLACE)
    return place if place is not None and place.submission_commitment == commitment else None


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
