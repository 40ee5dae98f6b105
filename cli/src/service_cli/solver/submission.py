"""``solver:submit``: from a directory to a recorded Submission.

What is sealed stays in the journal (``sealing``). Only ciphertext leaves this machine. The API's locator, commitment
and transaction must equal what is derived here (``upload``); without the API the same commitment is recorded
(``recording``).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service_common.chain.hub import BountyView
from service_common.domain.envelope import VERSION, Envelope
from service_common.domain.lifecycle import BountyStatus, Schedule
from service_common.types import ZERO_BYTES32, BountyId, to_bytes

from service_cli.api import ApiClient
from service_cli.bounty.detail import check_detail, check_page, wait_finalized
from service_cli.chain.journal import Journal
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.transactions import HubCall, simulate
from service_cli.config.keys import check_directory
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import event, say
from service_cli.shell.text import moment
from service_cli.solver.recording import active, may_be_recorded, record, require_place
from service_cli.solver.sealing import (
    CONTENT,
    PREPARED,
    SEALED,
    UPLOADED,
    Work,
    fingerprint,
    seal,
    sealed_before,
    set_aside,
)
from service_cli.solver.upload import upload_and_prepare, upload_late


def submit(
    settings: Settings,
    signer: Signer,
    bounty_id: BountyId,
    directory: Path,
    *,
    accept_differences: bool,
    without_api: bool = False,
    replace: bool = False,
) -> None:
    """The command ``solver:submit``."""
    session = Session.open(settings, signer)
    bounty = session.chain.bounty(bounty_id)
    work = Work(session, bounty_id, bounty, session.chain.pinned_roster(bounty))
    api = None if without_api else session.api
    if not _is_accepting(session.chain, bounty):
        _finish_late(work, api, directory)
        return
    check_directory(settings.environment, directory, open_key_files=isinstance(signer, LocalSigner))
    _require_permitted(work)
    with work.journal() as journal:
        content = fingerprint(directory)
        earlier = sealed_before(journal, content)
        if earlier is not None and earlier.version != VERSION and not may_be_recorded(work, earlier, journal):
            journal.forget(CONTENT)  # an earlier release sealed it, unbound: it is sealed again
            earlier = None
        require_place(work, earlier, journal, replace=replace)
        if earlier is not None and _is_settled(work, earlier, journal, without_api=without_api):
            record(work, earlier, journal, replace=replace)
            return
        if api is not None:
            with _hint_without_api():
                _check_terms(work, api, accept_differences)
        envelope = seal(work, directory, content, journal)
        if api is not None:
            with _hint_without_api():
                upload_and_prepare(work, api, envelope, journal)
        else:
            _print_kept(work, envelope, journal)
        record(work, envelope, journal, replace=replace)


def _is_settled(work: Work, envelope: Envelope, journal: Journal, *, without_api: bool) -> bool:
    """Whether a wallet outside has nothing left to sign: recorded, uploaded and prepared."""
    if isinstance(work.session.signer, LocalSigner) or without_api:
        return False
    commitment = envelope.commitment()
    return journal.get(PREPARED) == commitment == active(work)


@contextmanager
def _hint_without_api() -> Iterator[None]:
    """Where the API or the storage stays away, a Submission can be recorded without them."""
    try:
        yield
    except CommandFailed as failure:
        if not failure.code.startswith(("api_", "storage_", "service_", "bounty_projection")):
            raise
        next_action = f"{failure.next_action} If the deadline is near, --without-api records it on chain alone."
        raise CommandFailed(failure.code, failure.message, issues=failure.issues, next_action=next_action) from failure


def _is_accepting(chain: ChainClient, bounty: BountyView) -> bool:
    schedule = Schedule(bounty.submission_deadline, bounty.reveal_at, bounty.judging_deadline)
    status = BountyStatus.OPEN if bounty.outcome is None else BountyStatus.FINAL
    return schedule.accepting(status, chain.latest().time)


def _finish_late(work: Work, api: ApiClient | None, directory: Path) -> None:
    """After the deadline: what an earlier run over these files recorded is shown, and its bytes are uploaded where they
    are missing. Other files are refused: they came too late."""
    with work.journal() as journal:
        envelope = journal.get(SEALED)
        recorded = active(work)
        since = f"since {moment(work.bounty.submission_deadline, work.chain.latest().time)}"
        if envelope is None or recorded == ZERO_BYTES32:
            message = f"The bounty accepts no Submissions {since}."
            raise CommandRefused(
                "bounty_not_accepting", message, next_action="Look for bounties that accept Submissions."
            )
        if envelope.commitment() != recorded or journal.get(CONTENT) != fingerprint(directory):
            message = f"The bounty accepts no Submissions {since}. Recorded is your Submission {recorded}: other files."
            folder = journal.folder if envelope.commitment() == recorded else set_aside(journal, recorded)
            where = f" The sealed bytes of what is recorded are in {folder}." if folder.exists() else ""
            raise CommandRefused("bounty_not_accepting", message, next_action=f"Nothing can be changed.{where}")
        say(f"the bounty accepts no Submissions {since}; your Submission {recorded} is recorded")
        record(work, envelope, journal, replace=False)
        if api is None:
            _print_kept(work, envelope, journal)
            return
        upload_late(work, api, envelope, journal)


def _require_permitted(work: Work) -> None:
    """Ask the Hub, with a placeholder, whether this account may submit at all: before anything is sealed or signed."""
    placeholder = HubCall("submit", [work.bounty_id, b"\1" * 32, to_bytes(work.roster.guardian_roster_hash)], "")
    simulate(work.chain, work.solver, placeholder)


def _check_terms(work: Work, api: ApiClient, accept_differences: bool) -> None:
    """The page must state the chain's own terms: anyone can create a bounty with any commitment."""
    detail = wait_finalized(api, work.bounty_id, "the chain has finalized the bounty's creation")
    check_detail(work.chain, work.bounty_id, work.bounty, detail)
    if not accept_differences:
        check_page(work.bounty, detail)


def _print_kept(work: Work, envelope: Envelope, journal: Journal) -> None:
    """Where the sealed bytes are: both files in one folder, as ``guardian:open --from`` takes them."""
    names = {
        "bounty_id": str(work.bounty_id),
        "solver": work.solver,
        "submission_commitment": envelope.commitment(),
    }
    event("submit.sealed_kept", names | {"directory": str(journal.folder)})
    if journal.get(UPLOADED) != envelope.ciphertext.sha256:
        say("these bytes are not uploaded, and the page's terms are not compared with the chain's")
        say("run it again without --without-api before the deadline, or pass that folder on to the Guardians")
