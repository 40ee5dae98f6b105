"""From a directory to a recorded Submission.

Promises: bounty, roster and reveal point come from the contract; the sealed bytes and the envelope stay in the journal
(never the content identity), so that a run after an interruption continues with the same commitment; only ciphertext
leaves this machine; the API's locator, commitment and transaction must equal what is derived here.
"""

from dataclasses import dataclass
from pathlib import Path

from service_common.chain.events import SubmissionRecorded
from service_common.chain.hub import BountyView
from service_common.crypto.artifact import seal_directory
from service_common.crypto.capsule import seal_capsule
from service_common.crypto.x25519 import Identity
from service_common.domain.envelope import Envelope, build_envelope, parse_envelope
from service_common.domain.lifecycle import BountyStatus, Schedule
from service_common.domain.roster import Roster
from service_common.types import BlockNumber, BountyId, Bytes32, to_bytes

from service_cli.client.agreement import check_detail, check_page, require_agreement
from service_cli.client.api import ApiClient
from service_cli.client.beacon import beacon_of
from service_cli.client.calls import HubCall, prepared_transaction, simulate
from service_cli.client.chain import ChainClient
from service_cli.client.facts import Receipt, account_topic, bounty_topic, find_event
from service_cli.client.journal import Journal, open_journal
from service_cli.client.read_model import wait_finalized
from service_cli.client.sender import send
from service_cli.client.signer import LocalSigner, Signer
from service_cli.client.transfer import read_target, upload
from service_cli.client.trees import fingerprint
from service_cli.outcome import Refused
from service_cli.output import Progress, event, say
from service_cli.settings import Settings
from service_cli.words import moment

_DISAGREES = "Nothing was sent to the chain. Check the configuration; report it if it persists."


@dataclass(frozen=True, slots=True)
class Work:
    """One Solver's Submission to one bounty, as far as the chain determines it."""

    settings: Settings
    chain: ChainClient
    api: ApiClient
    signer: Signer
    bounty_id: BountyId
    bounty: BountyView
    roster: Roster

    @property
    def path(self) -> str:
        """The API's path of this Solver's Submissions."""
        return f"/api/bounties/{self.bounty_id}/submissions/{self.signer.address}"


def submit(
    settings: Settings, signer: Signer, bounty_id: BountyId, directory: Path, *, accept_differences: bool
) -> None:
    """The command ``solver:submit``."""
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    _require_accepting(chain, bounty)
    api = ApiClient(settings.api_base_url(), chain)
    work = Work(settings, chain, api, signer, bounty_id, bounty, chain.pinned_roster(bounty))
    _require_permitted(work)
    _check_terms(work, accept_differences)
    with open_journal(chain.chain_id, chain.hub.address, "submit", str(bounty_id), signer.address) as journal:
        envelope = _seal(work, directory, journal)
        _upload(work, envelope, journal)
        _prepare(work, envelope)
        _record(work, envelope, journal)


def _require_accepting(chain: ChainClient, bounty: BountyView) -> None:
    schedule = Schedule(bounty.submission_deadline, bounty.reveal_at, bounty.judging_deadline)
    status = BountyStatus.OPEN if bounty.outcome == 0 else BountyStatus.FINAL
    if not schedule.accepting(status, chain.latest().time):
        message = "The bounty does not accept Submissions any more."
        raise Refused("bounty_not_accepting", message, next_action="Look for bounties that accept Submissions.")


def _require_permitted(work: Work) -> None:
    """Ask the Hub, with a placeholder, whether this account may submit at all: before anything is sealed or signed."""
    placeholder = HubCall("submit", [work.bounty_id, b"\1" * 32, to_bytes(work.roster.guardian_roster_hash)], "")
    simulate(work.chain, work.signer.address, placeholder)


def _check_terms(work: Work, accept_differences: bool) -> None:
    """The page must state the chain's own terms: anyone can create a bounty with any commitment."""
    detail = wait_finalized(work.api, work.bounty_id, "the chain has finalized the bounty's creation")
    check_detail(work.chain, work.bounty_id, work.bounty, detail)
    if not accept_differences:
        check_page(work.bounty, detail)


def _seal(work: Work, directory: Path, journal: Journal) -> Envelope:
    """The sealed bytes of an earlier run over the same files, else newly sealed ones."""
    content = fingerprint(directory)
    file = journal.folder / "ciphertext.age"
    if journal.text("content") == content and (kept := journal.text("envelope")) and file.exists():
        say("continuing with the bytes sealed before")
        return parse_envelope(kept.encode())
    journal.forget("content", "envelope")
    file.unlink(missing_ok=True)
    until = moment(work.bounty.reveal_at, work.chain.latest().time)
    say(f"sealing {directory} for {len(work.roster.members)} Guardians until {until}")
    identity = Identity.generate()
    with Progress("sealing") as progress:
        sealed = seal_directory(directory, identity.public_key, file, progress=progress)
    info = beacon_of(work.settings)
    policy = info.reveal_policy(work.bounty.reveal_at)
    envelope = build_envelope(
        chain_id=work.chain.chain_id,
        hub_address=work.chain.hub.address,
        bounty_id=work.bounty_id,
        solver_address=work.signer.address,
        spec_commitment=work.bounty.spec_commitment,
        guardian_roster_hash=work.roster.guardian_roster_hash,
        recipients_commitment=work.roster.recipients_commitment,
        reveal_policy=policy,
        content_public_key=identity.public_key,
        key_capsule=seal_capsule(identity, work.roster.encryption_public_keys, policy.round, info),
        ciphertext_sha256=sealed.sha256,
        ciphertext_byte_length=sealed.byte_length,
    )
    journal.note("envelope", envelope.canonical_bytes().decode())
    journal.note("content", content)
    return envelope


def _upload(work: Work, envelope: Envelope, journal: Journal) -> None:
    ciphertext = envelope.ciphertext
    body = f'{{"ciphertext_sha256":"{ciphertext.sha256}","ciphertext_byte_length":{ciphertext.byte_length}}}'.encode()
    target = work.api.signed(
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
    upload(read_target(target, work.settings.api_base_url()), journal.folder / "ciphertext.age")
    event(
        "submit.ciphertext_uploaded",
        {"bounty_id": str(work.bounty_id), "solver": work.signer.address, "byte_length": ciphertext.byte_length},
    )


def _prepare(work: Work, envelope: Envelope) -> None:
    body = envelope.canonical_bytes()
    answer = work.api.signed(
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
        return
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
