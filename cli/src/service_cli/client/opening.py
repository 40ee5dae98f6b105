"""Opening sealed work: a Guardian's Submission after the reveal point, and the Poster's winning work.

Promises: files are written only below the given directory, and only when everything was authentic and nothing in it
names another bounty or Solver; content keys and one-time keys live in this process only.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from service_common.chain.hub import BountyView
from service_common.crypto import sealed_box
from service_common.crypto.artifact import open_artifact
from service_common.crypto.beacon_info import BeaconInfo
from service_common.crypto.binding import expected_binding
from service_common.crypto.capsule import IdentityFile, open_capsule
from service_common.crypto.x25519 import Identity, parse_keyring
from service_common.types import Address, BountyId, Bytes32

from service_cli.client.agreement import check_detail
from service_cli.client.api import ApiClient, api_of
from service_cli.client.beacon import beacon_of, round_signature
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.handed_over import HandedOver
from service_cli.client.journal import note_done, opened_name
from service_cli.client.malformed import explained
from service_cli.client.read_model import wait_finalized
from service_cli.client.signer import LocalSigner, local_signer
from service_cli.client.submissions import Submission, check_envelope, fetch_ciphertext, fetch_submission
from service_cli.outcome import Failed, Refused
from service_cli.output import event, say, warn
from service_cli.pages import require_new
from service_cli.progress import Progress
from service_cli.settings import Settings

AWARDED = 1
_UNBOUND: Final = (
    "this work was sealed in an older format, which does not name its bounty and Solver inside: these bytes alone do "
    "not show that this Solver made them; compare them with the other Submissions"
)


def guardian_open(
    settings: Settings,
    bounty_id: BountyId,
    solver: Address,
    commitment: Bytes32,
    output_dir: Path,
    source: Path | None = None,
    keep_identity: Path | None = None,
) -> None:
    """The command ``guardian:open``; what ``source`` holds of a Submission's files is taken from there."""
    require_new(output_dir)
    if keep_identity is not None and keep_identity.exists():
        raise Refused("file_exists", f"{keep_identity} exists already.", next_action="Name a file that is new.")
    if source is not None:
        submission, identity = open_from_folder(settings, source, bounty_id, solver, commitment)
    else:
        signer = local_signer(settings.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY")
        submission, identity = open_as_guardian(settings, signer, bounty_id, solver, commitment)
    event("guardian_open.submission_verified", submission.names())
    if keep_identity is not None:
        _hand_over(IdentityFile(identity, submission.envelope.binding), keep_identity)
    _write(submission, identity, output_dir, "guardian_open.artifact_opened")
    with suppress(Failed):  # the work is open; that it is not remembered is no failure
        note_done(settings.chain_id, settings.hub_address(), *opened_name(str(bounty_id), solver, commitment))


def _hand_over(content_key: IdentityFile, path: Path) -> None:
    """The content key in a file of its own; whoever holds it can read the work, and nothing else."""
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content_key.to_bytes())
    except OSError as error:
        message = f"The content key could not be written to {path}: {error.strerror}."
        raise Refused("file_not_written", message, next_action="Name a file that can be written.") from None
    say(f"the content key of this Submission is in {path}; as identity.txt in a folder it opens with --from")


def open_as_guardian(
    settings: Settings, signer: LocalSigner, bounty_id: BountyId, solver: Address, commitment: Bytes32
) -> tuple[Submission, Identity]:
    """The checked Submission and its content key, by this Guardian's encryption key."""
    keyring = _keyring(settings)
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    _require_recorded(chain, bounty_id, solver, commitment)
    info = beacon_of(settings)
    api = api_of(settings, chain)
    submission = fetch_submission(api, signer, bounty_id, (solver, commitment))
    check_envelope(chain, submission, bounty, info)
    return submission, _unlock(settings, submission, info, keyring, len(chain.pinned_roster(bounty).members))


def open_from_folder(
    settings: Settings, folder: Path, bounty_id: BountyId, solver: Address, commitment: Bytes32
) -> tuple[Submission, Identity]:
    """The same with whatever a folder holds of it: ``envelope.json``, ``ciphertext.age``, and ``identity.txt`` where
    another Guardian handed the content key over. Only what is missing is read from the API."""
    found = HandedOver(folder)
    keyring = () if found.identity.exists() else _keyring(settings)
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    _require_recorded(chain, bounty_id, solver, commitment)
    info = beacon_of(settings)
    submission = found.submission(
        bounty_id, (solver, commitment), lambda: _fetched(settings, chain, bounty_id, (solver, commitment))
    )
    check_envelope(chain, submission, bounty, info)
    if keyring:
        return submission, _unlock(settings, submission, info, keyring, len(chain.pinned_roster(bounty).members))
    return submission, found.content_key(submission.envelope)


def _fetched(settings: Settings, chain: ChainClient, bounty_id: BountyId, pair: tuple[Address, Bytes32]) -> Submission:
    """The Submission as the API has it, read with this Guardian's signature."""
    signer = local_signer(settings.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY")
    return fetch_submission(api_of(settings, chain), signer, bounty_id, pair)


def _unlock(
    settings: Settings, submission: Submission, info: BeaconInfo, keyring: tuple[Identity, ...], roster_size: int
) -> Identity:
    """The content key, from both locks of the capsule."""
    envelope = submission.envelope
    signature = round_signature(settings, info, envelope.reveal_policy.round)
    with explained():
        return open_capsule(
            envelope.key_capsule,
            beacon=signature,
            info=info,
            keyring=keyring,
            roster_size=roster_size,
            content_public_key=envelope.content_public_key,
            expected=expected_binding(envelope),
        )


def open_winning_submission(settings: Settings, bounty_id: BountyId, output_dir: Path | None) -> None:
    """The command ``poster:open-winning-submission``."""
    signer = local_signer(settings.environment, "SERVICE_POSTER_PRIVATE_KEY")
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    if bounty.outcome != AWARDED:
        raise _not_awarded(bounty_id, final=bounty.outcome != 0)
    if bounty.poster != signer.address:
        message = f"{signer.address} is not the Poster of bounty {bounty_id}."
        raise Refused("not_the_poster", message, next_action="Use the funding Poster's account.")
    target = output_dir or Path("winning-submission") / str(bounty_id) / bounty.winning_submission
    require_new(target)
    api = api_of(settings, chain)
    check_detail(chain, bounty_id, bounty, wait_finalized(api, bounty_id))
    winner = (bounty.winner, bounty.winning_submission)
    fresh = Identity.generate()
    try:
        wrapped_key = _retrieve(api, signer, bounty_id, winner, fresh)
    except Refused as refused:
        raise _explained(chain, bounty, bounty_id, refused) from None
    submission = fetch_submission(api, signer, bounty_id, winner)
    check_envelope(chain, submission, bounty, beacon_of(settings))
    identity = sealed_box.unwrap(wrapped_key, [fresh], submission.envelope.content_public_key)
    event("open_winning_submission.key_retrieved", submission.names())
    _write(submission, identity, target, "open_winning_submission.artifact_opened")


def _not_awarded(bounty_id: BountyId, *, final: bool) -> Refused:
    if final:
        message = f"Bounty {bounty_id} ended without a winner: there is no winning work."
        return Refused("not_awarded", message, next_action=f"Claim the refund: service-cli claim {bounty_id}.")
    message = f"Bounty {bounty_id} is not awarded yet; there is no winning work to open."
    return Refused("not_awarded", message, next_action=f"Wait for its end: service-cli bounty:watch {bounty_id}.")


def _explained(chain: ChainClient, bounty: BountyView, bounty_id: BountyId, refused: Refused) -> Refused:
    """Where no key was handed over yet: who can do it, and how."""
    if refused.code != "winning_solution_key_not_found":
        return refused
    guardians = ", ".join(chain.pinned_roster(bounty).accounts)
    message = f"No Guardian has handed the winning key over yet. Each Guardian of this bounty can: {guardians}."
    command = f"service-cli guardian:deliver-key {bounty_id} {bounty.winner} {bounty.winning_submission}"
    return Refused(refused.code, message, next_action=f"Ask one of them to run {command}, then run this again.")


def _retrieve(
    api: ApiClient, signer: LocalSigner, bounty_id: BountyId, winner: tuple[Address, Bytes32], fresh: Identity
) -> str:
    """The content key sealed to a fresh key; the answer must name the contract's winner."""
    answer = api.signed(
        signer,
        "POST",
        f"/api/bounties/{bounty_id}/delivery/retrieve",
        body=f'{{"poster_ephemeral_public_key":"{fresh.public_key}"}}'.encode(),
        media_type="application/json",
        words=f"retrieve the winning key of bounty {bounty_id}, sealed to a one-time key",
    ).json()
    if (answer.get("solver_address"), answer.get("submission_commitment")) != winner:
        message = "The API delivers another Submission than the winner on chain."
        raise Refused("winner_mismatch", message, next_action="Do not use the answer; report it to the operator.")
    return str(answer.get("wrapped_key"))


def _write(submission: Submission, identity: Identity, output_dir: Path, name: str) -> None:
    ciphertext = submission.envelope.ciphertext
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="service-cli-") as folder:
        file = fetch_ciphertext(submission, Path(folder))
        with explained(), Progress("opening") as progress:
            opened = open_artifact(
                file,
                identity,
                output_dir,
                sha256=ciphertext.sha256,
                byte_length=ciphertext.byte_length,
                expected=expected_binding(submission.envelope),
                progress=progress,
            )
    bound = opened.binding is not None
    fields = {"output_dir": str(output_dir), "file_count": opened.file_count, "byte_length": opened.byte_length}
    event(name, submission.names() | fields | {"bound": bound})
    say(f"opened {opened.file_count} files in {output_dir}")
    if not bound:
        warn(_UNBOUND)


def _require_recorded(chain: ChainClient, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> None:
    with chain_errors():
        recorded = chain.hub.submission(bounty_id, solver)
    if recorded != commitment:
        message = "The contract does not record this Submission as that Solver's current one."
        raise Refused("submission_not_recorded", message, next_action="guardian:judgeable lists the current ones.")


def _keyring(settings: Settings) -> tuple[Identity, ...]:
    text = settings.environment.secret("SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    if text is None:
        message = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON is not set."
        raise Refused("key_missing", message, next_action="Set it to a JSON array of AGE-SECRET-KEY-1… strings.")
    return parse_keyring(text)
