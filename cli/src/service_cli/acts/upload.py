"""Uploading sealed bytes and preparing their envelope with the service.

Only ciphertext leaves this machine. The API's locator, commitment and transaction must equal what is derived here. What
an earlier run uploaded is uploaded again only where the storage does not hold it any more.
"""

from pathlib import Path

from bounty_protocol.domain.envelope import Envelope
from bounty_protocol.wire.submissions import UploadTarget

from service_cli.acts.recording import submit_call, unsent_submission
from service_cli.acts.submit_events import CheckedEnvelope, UploadedCiphertext
from service_cli.api import ApiClient
from service_cli.chain.journal import Journal
from service_cli.errors import CommandRefused
from service_cli.queries.state import require_agreement, require_closed
from service_cli.ui.output import emit, say
from service_cli.ui.text import size
from service_cli.work.sealing import CIPHERTEXT, PREPARED, UPLOADED, Work
from service_cli.work.storage import read_target, upload

_DISAGREES = "Nothing was sent to the chain. Check the configuration; report it if it persists."


def upload_and_prepare(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
    """Upload and prepare, once. After a kill in between, work that the journal shows as uploaded is only prepared."""
    digest = envelope.ciphertext.sha256
    for last in (False, True):
        if journal.get(UPLOADED) != digest:
            _upload(work, api, envelope, journal.folder / CIPHERTEXT)
            journal.note(UPLOADED, digest)
        try:
            _prepare(work, api, envelope)
        except CommandRefused as refusal:
            if last or "ciphertext" not in {issue.path for issue in refusal.issues}:
                raise
            journal.forget(UPLOADED, PREPARED)
            say("the storage does not hold the sealed bytes; uploading them again")
        else:
            journal.note(PREPARED, envelope.commitment())
            return


def upload_late(work: Work, api: ApiClient, envelope: Envelope, ciphertext: Path) -> None:
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


def _prepare(work: Work, api: ApiClient, envelope: Envelope) -> None:
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
