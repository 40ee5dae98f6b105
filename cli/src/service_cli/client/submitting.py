"""From a directory to a recorded Submission.

Promises: what is sealed stays in the journal (see ``sealing``); only ciphertext leaves this machine; the API's locator,
commitment and transaction must equal what is derived here; without the API the same commitment is recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service_common.chain.events import SubmissionRecorded
from service_common.chain.hub import BountyView
from service_common.domain.envelope import Envelope, parse_envelope
from service_common.domain.lifecycle import BountyStatus, Schedule
from service_common.types import ZERO_BYTES32, Address, BlockNumber, BountyId, Bytes32, ChainId, to_bytes

from service_cli.client.agreement import check_detail, check_page, require_agreement
from service_cli.client.api import ApiClient
from service_cli.client.calls import HubCall, prepared_transaction, simulate
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.facts import Receipt, account_topic, bounty_topic, find_event
from service_cli.client.journal import Journal, open_journal
from service_cli.client.leaks import check_directory
from service_cli.client.read_model import wait_finalized
from service_cli.client.sealing import CIPHERTEXT, Work, seal
from service_cli.client.sender import send
from service_cli.client.signer import LocalSigner, Signer
from service_cli.client.transfer import read_target, upload
from service_cli.client.trees import fingerprint
from service_cli.outcome import Failed, Refused
from service_cli.output import event, say
from service_cli.settings import Settings
from service_cli.words import moment

_DISAGREES = "Nothing was sent to the chain. Check the configuration; report it if it persists."


def submit(
    settings: Settings,
    signer: Signer,
    bounty_id: BountyId,
    directory: Path,
    *,
    accept_differences: bool,
    without_api: bool = False,
) -> None:
    """The command ``solver:submit``."""
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    work = Work(settings, chain, signer, bounty_id, bounty, chain.pinned_roster(bounty))
    api = None if without_api else ApiClient(settings.api_base_url(), chain)
    if not _accepting(chain, bounty):
        _finish_late(work, api, directory)
        return
    check_directory(settings.environment, directory, open_key_files=isinstance(signer, LocalSigner))
    _require_permitted(work)
    if api is not None:
        with _way_out():
            _check_terms(work, api, accept_differences)
    with open_journal(*_names(work)) as journal:
        envelope = seal(work, directory, journal)
        if api is not None:
            with _way_out():
                _hand_in(work, api, envelope, journal)
        else:
            _keep(work, envelope, journal)
        _record(work, envelope, journal)


@contextmanager
def _way_out() -> Iterator[None]:
    """Where the API or the storage stays away, a Submission can be recorded without them."""
    try:
        yield
    except Failed as failure:
        if not failure.code.startswith(("api_", "storage_", "service_", "bounty_projection")):
            raise
        next_action = f"{failure.next_action} If the deadline is near, --without-api records it on chain alone."
        raise Failed(failure.code, failure.message, issues=failure.issues, next_action=next_action) from failure


def _accepting(chain: ChainClient, bounty: BountyView) -> bool:
    schedule = Schedule(bounty.submission_deadline, bounty.reveal_at, bounty.judging_deadline)
    status = BountyStatus.OPEN if bounty.outcome == 0 else BountyStatus.FINAL
    return schedule.accepting(status, chain.latest().time)


def _finish_late(work: Work, api: ApiClient | None, directory: Path) -> None:
    """After the deadline: what an earlier run over these files recorded is told, and its bytes are uploaded where they
    are missing. Other files are refused: they came too late."""
    with open_journal(*_names(work)) as journal:
        kept = journal.text("envelope")
        envelope = parse_envelope(kept.encode()) if kept is not None else None
        with chain_errors():
            recorded = work.chain.hub.submission(work.bounty_id, work.signer.address)
        since = f"since {moment(work.bounty.submission_deadline, work.chain.latest().time)}"
        if envelope is None or envelope.commitment() != recorded:
            message = f"The bounty accepts no Submissions {since}."
            raise Refused("bounty_not_accepting", message, next_action="Look for bounties that accept Submissions.")
        if journal.text("content") != fingerprint(directory):
            message = f"The bounty accepts no Submissions {since}. Recorded is your Submission {recorded}: other files."
            next_action = f"Nothing can be changed. The sealed bytes of what is recorded are in {journal.folder}."
            raise Refused("bounty_not_accepting", message, next_action=next_action)
        say(f"the bounty accepts no Submissions {since}; your Submission {recorded} is recorded")
        if isinstance(work.signer, LocalSigner):
            _record(work, envelope, journal)
        if api is None:
            _keep(work, envelope, journal)
            return
        try:
            _upload(work, api, envelope, journal)
        except Refused as refusal:
            message = f"Your Submission is recorded, and the service does not take its bytes: {refusal.message}"
            next_action = f"Hand the folder {journal.folder} to a Guardian, who opens it with guardian:open --from."
            raise Refused(refusal.code, message, issues=refusal.issues, next_action=next_action) from refusal


def _names(work: Work) -> tuple[ChainId, Address, str, str, str]:
    """What the journal is called."""
    return work.chain.chain_id, work.chain.hub.address, "submit", str(work.bounty_id), work.signer.address


def _require_permitted(work: Work) -> None:
    """Ask the Hub, with a placeholder, whether this account may submit at all: before anything is sealed or signed."""
    placeholder = HubCall("submit", [work.bounty_id, b"\1" * 32, to_bytes(work.roster.guardian_roster_hash)], "")
    simulate(work.chain, work.signer.address, placeholder)


def _check_terms(work: Work, api: ApiClient, accept_differences: bool) -> None:
    """The page must state the chain's own terms: anyone can create a bounty with any commitment."""
    detail = wait_finalized(api, work.bounty_id, "the chain has finalized the bounty's creation")
    check_detail(work.chain, work.bounty_id, work.bounty, detail)
    if not accept_differences:
        check_page(work.bounty, detail)


def _keep(work: Work, envelope: Envelope, journal: Journal) -> None:
    """Both files are in one folder, as ``guardian:open --from`` takes them."""
    names = {
        "bounty_id": str(work.bounty_id),
        "solver": work.signer.address,
        "submission_commitment": envelope.commitment(),
    }
    event("submit.sealed_kept", names | {"directory": str(journal.folder)})
    if journal.text("uploaded") != envelope.ciphertext.sha256:
        say("these bytes are not uploaded, and the page's terms are not compared with the chain's")
        say("run it again without --without-api before the deadline, or hand that folder to the Guardians")


def _hand_in(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
    """Upload and prepare. What an earlier run uploaded is not asked for again; what is no more there is sent again."""
    digest = envelope.ciphertext.sha256
    for last in (False, True):
        if journal.text("uploaded") != digest:
            _upload(work, api, envelope, journal)
            journal.note("uploaded", digest)
        try:
            _prepare(work, api, envelope)
        except Refused as refusal:
            if last or "ciphertext" not in {issue.path for issue in refusal.issues}:
                raise
            journal.forget("uploaded")
            say("the storage does not hold the sealed bytes; uploading them again")
        else:
            return


def _upload(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
    ciphertext = envelope.ciphertext
    body = f'{{"ciphertext_sha256":"{ciphertext.sha256}","ciphertext_byte_length":{ciphertext.byte_length}}}'.encode()
    target = api.signed(
        work.signer,
        "POST",
        f"{work.path}/artifact-upload-url",
        body=body,
        media_type="application/json",
        words=f"get an upload URL for {ciphertext.byte_length} sealed bytes of bounty {work.bounty_id}",
    ).json()
    if target.get("storage_locator") != ciphertext.storage_locator:
        message = "The API names another storage place than the one derived here."
        raise Refused("locator_mismatch", message, next_action=_DISAGREES)
    upload(read_target(target, work.settings.api_base_url()), journal.folder / CIPHERTEXT)
    event(
        "submit.ciphertext_uploaded",
        {"bounty_id": str(work.bounty_id), "solver": work.signer.address, "byte_length": ciphertext.byte_length},
    )


def _prepare(work: Work, api: ApiClient, envelope: Envelope) -> None:
    body = envelope.canonical_bytes()
    answer = api.signed(
        work.signer,
        "POST",
        f"{work.path}/prepare",
        body=body,
        media_type="application/json",
        words=f"prepare Submission {envelope.commitment()} for bounty {work.bounty_id}",
    ).json()
    expected = {
        "submission_commitment": envelope.commitment(),
        "guardian_roster_hash": envelope.guardian_roster_hash,
        "transaction": prepared_transaction(work.chain, _call(work, envelope)),
    }
    require_agreement(answer, expected, "preparation_mismatch", _DISAGREES)
    event(
        "submit.submission_prepared",
        {
            "mode": envelope.mode,
            "bounty_id": str(work.bounty_id),
            "solver": work.signer.address,
            "submission_commitment": envelope.commitment(),
            "guardian_roster_hash": envelope.guardian_roster_hash,
            "byte_length": len(body),
        },
    )


def _record(work: Work, envelope: Envelope, journal: Journal) -> None:
    call, commitment = _call(work, envelope), envelope.commitment()
    if not isinstance(work.signer, LocalSigner):
        simulate(work.chain, work.signer.address, call)
        event("submit.transaction_prepared", prepared_transaction(work.chain, call))
        until = moment(work.bounty.submission_deadline, work.chain.latest().time)
        say(f"send this transaction from your wallet before {until}: until then nothing is recorded")
        return
    with chain_errors():
        former = work.chain.hub.submission(work.bounty_id, work.signer.address)
    if former not in {ZERO_BYTES32, commitment}:
        say(f"this replaces your Submission {former} to bounty {work.bounty_id}")
    step = f"submit_{commitment}"  # a step of its own for each Submission: an earlier one may still be on its way
    receipt = send(work.chain, work.signer, call, journal, step, lambda start: _recorded(work, commitment, start))
    event(
        "submit.submission_recorded",
        {
            "tx_hash": receipt.tx_hash,
            "block_number": receipt.block_number,
            "bounty_id": str(work.bounty_id),
            "solver": work.signer.address,
            "submission_commitment": commitment,
            "guardian_roster_hash": envelope.guardian_roster_hash,
        },
    )


def _recorded(work: Work, commitment: Bytes32, start: BlockNumber) -> Receipt | None:
    """The transaction that recorded this Submission, found in the Hub's log."""
    topics = [bounty_topic(work.bounty_id), account_topic(work.signer.address), commitment]
    return find_event(work.chain, SubmissionRecorded, start, lambda _: True, topics)


def _call(work: Work, envelope: Envelope) -> HubCall:
    commitment = envelope.commitment()
    return HubCall(
        "submit",
        [work.bounty_id, to_bytes(commitment), to_bytes(envelope.guardian_roster_hash)],
        f"record Submission {commitment} in bounty {work.bounty_id}",
    )
