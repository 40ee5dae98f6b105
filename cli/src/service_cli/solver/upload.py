"""Handing sealed bytes and their envelope to the service.

Promises: only ciphertext leaves this machine; the API's locator, commitment and transaction must equal what is derived
here; what an earlier run uploaded is uploaded again only where it is no more there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from service_common.domain.envelope import Envelope
from service_common.types import Address

from service_cli.api import ApiClient
from service_cli.bounty.detail import require_agreement
from service_cli.chain.journal import Journal
from service_cli.chain.signer import Signer
from service_cli.chain.transactions import prepared_transaction
from service_cli.errors import Refused
from service_cli.shell.output import event, say
from service_cli.solver.recording import submit_call
from service_cli.solver.sealing import CIPHERTEXT, Work
from service_cli.storage import read_target, upload

_DISAGREES = "Nothing was sent to the chain. Check the configuration; report it if it persists."


def hand_in(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
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
            journal.forget("uploaded", "prepared")
            say("the storage does not hold the sealed bytes; uploading them again")
        else:
            journal.note("prepared", envelope.commitment())
            return


def upload_late(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> None:
    """Only the storage itself can tell a Solver whether it has the bytes: by taking them, or not."""
    signer = _Noting(work.signer)
    try:
        if not _upload(replace(work, signer=signer), api, envelope, journal):
            say("the storage holds the sealed bytes already")
    except Refused as refusal:
        if not signer.signed:
            message = f"Your Submission is recorded. The service was not asked for its bytes: {refusal.message}"
            next_action = f"{refusal.next_action} Nothing else is left to do."
            raise Refused(refusal.code, message, issues=refusal.issues, next_action=next_action) from refusal
        message = f"Your Submission is recorded, and the service does not take its bytes: {refusal.message}"
        next_action = f"Hand the folder {journal.folder} to a Guardian, who opens it with guardian:open --from."
        raise Refused(refusal.code, message, issues=refusal.issues, next_action=next_action) from refusal


@dataclass(slots=True)
class _Noting:
    """A signer that knows whether it has signed."""

    inner: Signer
    signed: bool = False

    @property
    def address(self) -> Address:
        return self.inner.address

    def sign_typed_data(self, typed_data: Mapping[str, object], words: str) -> bytes:
        signature = self.inner.sign_typed_data(typed_data, words)
        self.signed = True
        return signature


def _upload(work: Work, api: ApiClient, envelope: Envelope, journal: Journal) -> bool:
    """Whether the storage took the bytes; False where it has them already."""
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
    if not upload(read_target(target, work.settings.api_base_url()), journal.folder / CIPHERTEXT):
        return False
    event(
        "submit.ciphertext_uploaded",
        {"bounty_id": str(work.bounty_id), "solver": work.signer.address, "byte_length": ciphertext.byte_length},
    )
    return True


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
        "transaction": prepared_transaction(work.chain, submit_call(work, envelope)),
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
