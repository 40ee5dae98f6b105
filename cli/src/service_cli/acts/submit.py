"""``solver:submit``: from a directory to a recorded Submission; with ``--check``, what that would seal and cost.

What is sealed stays in the journal (``work/sealing.py``). Only ciphertext leaves this machine. The API's locator,
commitment and transaction must equal what is derived here, and what an earlier run uploaded is uploaded again only
where the storage does not hold it any more; without the API the same commitment is recorded
(``recording``). With ``--check`` nothing is sealed, signed or sent.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.types import ZERO_BYTES32, BountyId, Bytes32, UnixSeconds, to_bytes
from bounty_protocol.wire.submissions import UploadTarget

from service_cli.acts.pipeline import Plan, send_or_give
from service_cli.acts.recording import (
    active,
    drop_replaced,
    made_here,
    may_be_recorded,
    recording,
    require_place,
    submit_call,
    unsent_submission,
)
from service_cli.acts.submit_events import (
    CheckedEnvelope,
    KeptSubmission,
    SubmissionPreview,
    SubmittedWork,
    UploadedCiphertext,
)
from service_cli.api import ApiClient
from service_cli.chain.journal import Journal
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.times import warn_of_late_chain
from service_cli.chain.transactions import ContractCall, Prospect, advise_wallet
from service_cli.config.environment import FURTHER_VARIABLE
from service_cli.config.keys import secrets_among
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.state import (
    check_page,
    read_state,
    require_agreement,
    require_closed,
    require_reveal_point,
    require_same,
)
from service_cli.ui.consent import require_consent
from service_cli.ui.output import Progress, emit, say, warn
from service_cli.ui.text import argument, moment, size, wei
from service_cli.work.events import SealableFile
from service_cli.work.sealing import (
    CIPHERTEXT,
    CONTENT,
    PREPARED,
    SEALED,
    UPLOADED,
    Work,
    fingerprint,
    fits,
    seal,
    sealed_before,
    set_aside,
)
from service_cli.work.selection import (
    IGNORE_FILE,
    Selection,
    named,
    printable_path,
    report_left_out,
    select,
)
from service_cli.work.storage import read_target, upload

_DISAGREES = "Nothing was sent to the chain. Check the configuration; report it if it persists."


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """The Solver's options."""

    accept_differences: bool = False
    """Submit although the page states other terms than the chain."""
    without_api: bool = False
    """Record on chain alone."""
    replace: bool = False
    """Take the place of the Submission that is recorded."""
    include_suspicious: bool = False
    """Seal files that look like secrets without a question."""
    in_place_of: Bytes32 | None = None
    """The one Submission of the account that this may replace, zero for none."""


def submit(
    settings: Settings, signer: Signer, bounty_id: BountyId, directory: Path, options: SubmitOptions = SubmitOptions()
) -> SubmittedWork | None:
    """Run the command ``solver:submit``; None if an external wallet must still send the call."""
    work = open_work(settings, signer, bounty_id)
    api = None if options.without_api else work.session.api
    with work.journal() as journal:
        drop_replaced(work, journal)  # recorded since the last run, as by a wallet
        if not work.state.is_accepting:
            return _finish_late(work, api, directory, journal)
        plan = _prepare(work, api, directory, options, journal)
        until = moment(work.state.bounty.submission_deadline, work.state.now)
        ask = f"send this transaction from your wallet before {until}; nothing is recorded until you do"
        return send_or_give(work.session, plan, journal, ask)


def open_work(settings: Settings, signer: Signer, bounty_id: BountyId) -> Work:
    """Read the bounty on the checked chain, for the Solver who submits to it."""
    session = Session(ChainClient(settings), signer)
    return Work(session, read_state(session.chain, bounty_id))


def _prepare(
    work: Work, api: ApiClient | None, directory: Path, options: SubmitOptions, journal: Journal
) -> Plan[SubmittedWork]:
    """Seal the directory, or continue with what an earlier run sealed from it, and upload it; return the plan of its
    recording.
    """
    warn_of_late_chain(work.chain, work.state.bounty.submission_deadline, "Your Submission")
    selection = select(directory)
    suspicious = _find_secrets(work, selection)
    content = fingerprint(selection)
    earlier = sealed_before(journal, content)
    if earlier is None or not may_be_recorded(work, earlier, journal):  # its transaction was paid, or is sent
        _require_permitted(work)
    recorded = active(work)
    former = require_place(work, recorded, earlier, journal, replace=options.replace, in_place_of=options.in_place_of)
    if (
        earlier is not None
        and not isinstance(work.session.signer, LocalSigner)
        and api is not None
        and journal.get(PREPARED) == earlier.commitment() == recorded
    ):  # recorded, uploaded and prepared: a wallet outside has nothing left to sign
        return recording(work, api, earlier, journal, replace=options.replace, in_place_of=options.in_place_of)
    is_decided = options.replace or options.in_place_of is not None
    if former is not None and earlier is None and not is_decided:  # what was sealed was decided on before that
        _confirm_replacing(work, former, journal)
    with _hint_without_api():
        now = _require_vouched_for(work, api, options)
    if earlier is not None and not fits(earlier, work.state):
        say("the bytes sealed before are for other terms than the bounty's; sealing the files again")
        journal.forget(CONTENT)
        earlier = None
        require_place(work, active(work), None, journal, replace=options.replace, in_place_of=options.in_place_of)
    if earlier is None:
        report_left_out(selection)
        if suspicious:  # before anybody else can read them
            message = (
                f"These files look like secrets, and the Guardians and the Poster would read them: {named(suspicious)}."
            )
            next_action = (
                f"Remove them, or name them in {IGNORE_FILE}; to seal them with the rest, add --include-suspicious."
            )
            refusal = CommandRefused("secrets_not_confirmed", f"{message} Nothing was sealed.", next_action=next_action)
            require_consent(message, "seal them with the rest", refusal, is_given=options.include_suspicious)
    _tell_who_vouches(work, api)
    envelope = seal(work, selection, content, journal, now)
    if api is None:
        _print_kept(work, envelope, journal)
    else:
        with _hint_without_api():
            _upload_and_prepare(work, api, envelope, journal)
    with _hint_without_api():
        return recording(work, api, envelope, journal, replace=options.replace, in_place_of=options.in_place_of)


def _find_secrets(work: Work, selection: Selection) -> tuple[str, ...]:
    """List what looks like secrets; refuse a key of this run."""
    with Progress("looking for keys") as progress:
        return secrets_among(
            work.session.settings.environment,
            selection.directory,
            {entry.path: entry.size for entry in selection.entries},
            open_key_files=isinstance(work.session.signer, LocalSigner),
            progress=progress,
        )


def _confirm_replacing(work: Work, former: Bytes32, journal: Journal) -> None:
    """Ask before the account's own work stops counting, unless an option decided."""
    where = "made on this machine" if made_here(former, journal) else "sent"
    message = (
        f"Your Submission {former} to bounty {work.bounty_id}, {where}, would be replaced: it would no longer count, "
        "and these files would count from their own, later block."
    )
    next_action = "To replace it with these files, add --replace; to keep it, name the directory it was made from."
    refusal = CommandRefused("submission_exists", f"{message} Nothing was sealed.", next_action=next_action)
    require_consent(message, "replace it", refusal)


@contextmanager
def _hint_without_api() -> Iterator[None]:
    """If the API or the storage is unavailable, say that a Submission can be recorded without them."""
    try:
        yield
    except CommandFailed as failure:
        if not failure.code.startswith(("api_", "storage_", "service_", "index_", "bounty_projection")):
            raise
        next_action = f"{failure.next_action} If the deadline is near, use --without-api to record it on chain only."
        raise CommandFailed(failure.code, failure.message, issues=failure.issues, next_action=next_action) from failure


def _finish_late(work: Work, api: ApiClient | None, directory: Path, journal: Journal) -> SubmittedWork | None:
    """After the deadline, show what an earlier run recorded for these files, and upload its bytes if they are missing.
    Refuse other files: they came too late.
    """
    envelope, recorded = journal.get(SEALED), active(work)
    since = f"since {moment(work.state.bounty.submission_deadline, work.state.now)}"
    if recorded == ZERO_BYTES32:
        message = f"The bounty has accepted no Submissions {since}."
        raise CommandRefused("bounty_not_accepting", message, next_action="Look for bounties that accept Submissions.")
    is_newest = envelope is not None and envelope.commitment() == recorded
    if envelope is None or not is_newest or not _are_those_sealed(journal, directory):
        message = (
            f"The bounty has accepted no Submissions {since}. Your recorded Submission {recorded} has other files."
        )
        folder = journal.folder if is_newest else set_aside(journal, recorded)
        copy = str(folder) if folder.exists() else "the folder to which its sealed bytes were moved"
        next_action = f"Nothing can be changed. If the storage lost the recorded work, give a Guardian {copy}."
        raise CommandRefused("bounty_not_accepting", message, next_action=next_action)
    say(f"the bounty has accepted no Submissions {since}; your Submission {recorded} is recorded")
    plan = recording(work, api, envelope, journal)
    done = send_or_give(work.session, plan, journal, "")
    if api is None:
        _print_kept(work, envelope, journal)
    else:
        _upload_late(work, api, envelope, journal.folder / CIPHERTEXT)
    return done


def _are_those_sealed(journal: Journal, directory: Path) -> bool:
    """Return whether these are the files in the journal; files that cannot be sealed are not."""
    try:
        return fingerprint(select(directory)) == journal.get(CONTENT)
    except SealedDataError:
        return False


def _require_permitted(work: Work) -> None:
    """Ask the Hub whether this account may submit, and whether it can pay, before anything is sealed or signed."""
    prospect = _prospect(work)
    if isinstance(work.session.signer, LocalSigner):
        prospect.require_affordable()
    else:
        advise_wallet(prospect)


def _prospect(work: Work) -> Prospect:
    """Ask about the call without its commitment, which nobody knows before something is sealed."""
    arguments = [work.bounty_id, b"\1" * 32, to_bytes(work.state.roster.guardian_roster_hash)]
    return Prospect.read(work.chain, work.solver, ContractCall("submit", arguments, ""))


def _require_vouched_for(work: Work, api: ApiClient | None, options: SubmitOptions) -> UnixSeconds:
    """Refuse to seal for a bounty that the API shows otherwise, for a page that states other terms, and until a wrong
    reveal point; return the latest time that anyone gives. Without the API, the Solver decided to rest on the
    endpoints.
    """
    if api is not None:
        detail = require_same(work.chain, work.state, api, "the chain has finalized the bounty's creation")
        if not options.accept_differences:
            check_page(work.state.bounty, detail)
    return require_reveal_point(work.chain, work.state.bounty)


def _tell_who_vouches(work: Work, api: ApiClient | None) -> None:
    """Name the sources that could read the work early, if they all lied together about the Guardians' keys."""
    sources = [each.named for each in work.chain.everywhere]
    if api is not None:
        sources.append(f"the{api.peer.named.removeprefix('The')}")
    alone = len(sources) == 1
    together = sources[0] if alone else f"{', '.join(sources[:-1])} and {sources[-1]}"
    message = f"this run trusts {together} for the Guardians' keys and the opening time"
    if alone:
        warn(f"warning: {message}: its operator alone could have substituted keys of their own")
    else:
        say(f"{message}: anyone who runs all of them could read the work early; add endpoints with {FURTHER_VARIABLE}")


def _print_kept(work: Work, envelope: Envelope, journal: Journal) -> None:
    """Print where the sealed bytes are: both files in one folder, as ``guardian:open --from`` takes them."""
    emit(KeptSubmission(work.bounty_id, work.solver, envelope.commitment(), str(journal.folder)))
    if journal.get(PREPARED) != envelope.commitment():  # the service prepares only what the storage holds
        say("run the command again without --without-api before the deadline, or send that folder to the Guardians")


def _upload_and_prepare(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
    """Upload and prepare, once. After a kill in between, work that the journal shows as uploaded is only prepared."""
    digest = envelope.ciphertext.sha256
    for last in (False, True):
        if journal.get(UPLOADED) != digest:
            _upload(work, api, envelope, journal.folder / CIPHERTEXT)
            journal.note(UPLOADED, digest)
        try:
            _prepare_envelope(work, api, envelope)
        except CommandRefused as refusal:
            if last or "ciphertext" not in {issue.path for issue in refusal.issues}:
                raise
            journal.forget(UPLOADED, PREPARED)
            say("the storage does not hold the sealed bytes; uploading them again")
        else:
            journal.note(PREPARED, envelope.commitment())
            return


def _upload_late(work: Work, api: ApiClient, envelope: Envelope, ciphertext: Path) -> None:
    """Upload the bytes if the storage does not have them, which only the storage knows."""
    try:
        if not _upload(work, api, envelope, ciphertext):
            say("the storage holds the sealed bytes already")
    except CommandRefused as refusal:
        message = f"Your Submission is recorded. Its bytes were not uploaded: {refusal.message}"
        next_action = f"Send the folder {ciphertext.parent} to a Guardian, who opens it with guardian:open --from."
        raise CommandRefused(refusal.code, message, issues=refusal.issues, next_action=next_action) from refusal


def _upload(work: Work, api: ApiClient, envelope: Envelope, file: Path) -> bool:
    """Upload; return whether the storage accepted the bytes, False if it has them already."""
    ciphertext = envelope.ciphertext
    body = f'{{"ciphertext_sha256":"{ciphertext.sha256}","ciphertext_byte_length":{ciphertext.byte_length}}}'.encode()
    target = api.signed(
        work.session.signer,
        "POST",
        f"{work.path}/artifact-upload-url",
        body=body,
        media_type="application/json",
        summary=f"get an upload URL for {ciphertext.byte_length} sealed bytes of bounty {work.bounty_id}",
    ).read(UploadTarget)
    if target.storage_locator != ciphertext.storage_locator:
        message = "The API's storage locator differs from the one derived here."
        raise CommandRefused("locator_mismatch", message, next_action=_DISAGREES)
    if not upload(read_target(target, work.session.settings.api_base_url()), file):
        return False
    emit(UploadedCiphertext(work.bounty_id, work.solver, ciphertext.byte_length))
    return True


def _prepare_envelope(work: Work, api: ApiClient, envelope: Envelope) -> None:
    require_closed(work.chain, envelope.reveal_policy.reveal_at)
    body = envelope.canonical_bytes()
    say(f"the service is reading and checking the {size(envelope.ciphertext.byte_length)} that were uploaded")
    answer = api.signed(
        work.session.signer,
        "POST",
        f"{work.path}/prepare",
        body=body,
        media_type="application/json",
        summary=f"prepare Submission {envelope.commitment()} for bounty {work.bounty_id}",
    ).json()
    expected = {
        "submission_commitment": envelope.commitment(),
        "guardian_roster_hash": envelope.guardian_roster_hash,
        "transaction": unsent_submission(work.chain, submit_call(work, envelope)).json(),
    }
    require_agreement(answer, expected, "preparation_mismatch", _DISAGREES)
    names = (work.bounty_id, work.solver, envelope.commitment(), envelope.guardian_roster_hash)
    emit(CheckedEnvelope(envelope.mode, *names, len(body)))


def check_submission(
    settings: Settings, signer: Signer, bounty_id: BountyId, directory: Path, options: SubmitOptions
) -> SubmissionPreview:
    """Run the command ``solver:submit --check``; refuse what ``solver:submit`` would refuse, except for secrets."""
    work = open_work(settings, signer, bounty_id)
    bounty = work.state.bounty
    if not work.state.is_accepting:
        message = f"The bounty has accepted no Submissions since {moment(bounty.submission_deadline, work.state.now)}."
        raise CommandRefused("bounty_not_accepting", message, next_action="Look for bounties that accept Submissions.")
    selection = select(directory)
    report_left_out(selection)
    for entry in selection.files:
        emit(SealableFile(entry.path, entry.size))
    secrets, prospect = _find_secrets(work, selection), _prospect(work)
    cost, balance = prospect.cost(), prospect.asked.balance(work.solver)
    former, api = active(work), None if options.without_api else work.session.api
    _require_vouched_for(work, api, options)
    warnings = list[str]()
    if secrets:
        warnings.append(
            f"these files look like secrets, and the Guardians and the Poster would read them: {named(secrets)}"
        )
    if balance < cost.wei:
        warnings.append(f"{work.solver} holds {wei(balance)}, less than the gas may cost")
    if cost.wei > work.chain.agreed_cost and isinstance(signer, LocalSigner):
        warnings.append(f"recording it may cost {wei(cost.wei)}, which you must confirm or allow with --max-cost")
    if former != ZERO_BYTES32:
        warnings.append(
            f"files other than those recorded would replace your Submission {former}, and count from their own block"
        )
    found = SubmissionPreview(
        bounty_id=bounty_id,
        solver=work.solver,
        file_count=len(selection.files),
        byte_length=selection.byte_length,
        left_out_count=len(selection.left_out),
        secret_files=tuple(map(printable_path, secrets)),
        gas=cost.gas,
        gas_cost=cost.wei,
        balance=balance,
        submission_deadline=bounty.submission_deadline,
        reveal_at=bounty.reveal_at,
        award=bounty.award,
        replaces=None if former == ZERO_BYTES32 else former,
        warnings=tuple(warnings),
    )
    option = " --without-api" if options.without_api else ""
    emit(found, f"service-cli solver:submit{option} {bounty_id} {argument(str(directory), 'DIRECTORY')}")
    _tell_who_vouches(work, api)
    return found
