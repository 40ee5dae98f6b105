"""``guardian:open``: a Submission opened after the reveal point, with bytes from the API or from a folder.

Where bytes come from does not matter: the envelope must hash to the commitment on chain, a content key must be the one
that the envelope commits to, and the ciphertext is checked on opening. Content keys live in this process only; with
``--pass-to`` one leaves it sealed to another Guardian's key of the pinned roster.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from service_common.chain.hub import BountyView
from service_common.crypto import age
from service_common.crypto.beacon_info import BeaconInfo
from service_common.crypto.binding import ExpectedBinding, expected_binding
from service_common.crypto.capsule import (
    MAX_IDENTITY_FILE,
    IdentityFile,
    check_identity,
    open_capsule,
    parse_identity_file,
)
from service_common.crypto.failures import SealedDataError
from service_common.crypto.x25519 import Identity, parse_keyring
from service_common.domain.envelope import MAX_ENVELOPE_BYTES, Envelope
from service_common.types import Address, BountyId, Bytes32

from service_cli.chain.journal import note_done, opened_name
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer, mention_plain_key
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.forgetting import OpenedWork
from service_cli.shell.arguments import require_new
from service_cli.shell.output import event, remark, warn
from service_cli.submissions import (
    Submission,
    beacon_of,
    check_envelope,
    checked_submission,
    fetch_submission,
    round_signature,
    sealed_data_errors,
    write_artifact,
)

ACCOUNT_KEY: Final = "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"
_MAX_PASSED: Final = MAX_IDENTITY_FILE + 1_024
"""With what an age file of one recipient adds."""
_NAMES: Final = "envelope.json, ciphertext.age, identity.age"


@dataclass(frozen=True, slots=True)
class Folder:
    """What another person passed on of a Submission: envelope, ciphertext, content key, or only some of them.

    Files of another kind, links to nowhere and oversized ones are refused by name.
    """

    path: Path

    @property
    def envelope(self) -> Path:
        return self.path / "envelope.json"

    @property
    def ciphertext(self) -> Path:
        return self.path / "ciphertext.age"

    @property
    def identity(self) -> Path:
        return self.path / "identity.age"

    def submission(
        self, bounty_id: BountyId, pair: tuple[Address, Bytes32], fetch: Callable[[], Submission]
    ) -> Submission:
        """The Submission; ``fetch`` reads it only where envelope or ciphertext is not here."""
        if not any(path.exists() for path in (self.envelope, self.ciphertext, self.identity)):
            message = f"{self.path} holds none of {_NAMES}."
            raise CommandRefused("file_unreadable", message, next_action="Give the files these names.")
        if self.ciphertext.exists():
            _read(self.ciphertext, 1)
        if not self.envelope.exists():
            fetched = fetch()
            return replace(fetched, source=self.ciphertext) if self.ciphertext.exists() else fetched
        content = _read(self.envelope, MAX_ENVELOPE_BYTES + 1)
        found = checked_submission(content, bounty_id, pair, lambda: self.ciphertext)
        return found if self.ciphertext.exists() else replace(found, source=fetch().source)

    def content_key(self, envelope: Envelope, keyring: tuple[Identity, ...]) -> Identity:
        """The content key as another Guardian passed it on, sealed to a key of this keyring alone.

        Nobody vouches for its comments: that they name nobody proves nothing, and the archive is still to be checked.
        """
        try:
            text = age.decrypt_bytes(_read(self.identity, _MAX_PASSED + 1), keyring, recipients=1)
            found = parse_identity_file(text)
            ExpectedBinding(envelope.binding, required=False).check(found.binding, "the identity file")
            return check_identity(found.identity, envelope.content_public_key)
        except SealedDataError as error:
            message = f"The key passed on does not open this Submission: {error.message}."
            next_action = "Ask the other Guardian again, with your account after --pass-to, or open with your own key."
            raise CommandRefused("identity_mismatch", message, next_action=next_action) from None


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        raise CommandRefused("file_unreadable", f"{path} cannot be read.", next_action="Check its rights.") from None


@dataclass(frozen=True, slots=True)
class PassOn:
    """To which Guardian of the pinned roster the content key is passed on, in which new file."""

    guardian: Address
    file: Path

    def recipient(self, chain: ChainClient, bounty_id: BountyId) -> Bytes32:
        """That Guardian's encryption key in the pinned roster; ``not_guardian`` for anybody else."""
        if os.path.lexists(self.file):
            raise CommandRefused("file_exists", f"{self.file} exists already.", next_action="Name a file that is new.")
        if not os.access(self.file.absolute().parent, os.W_OK | os.X_OK):
            message = f"{self.file} cannot be made in {self.file.absolute().parent}."
            raise CommandRefused("file_not_written", message, next_action="Name a file that can be written.")
        for member in chain.pinned_roster(chain.bounty(bounty_id)).members:
            if member.guardian_address == self.guardian:
                return member.encryption_public_key
        message = f"{self.guardian} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Name the account of one of its Guardians.")


def guardian_open(
    settings: Settings,
    bounty_id: BountyId,
    solver: Address,
    commitment: Bytes32,
    output_dir: Path,
    source: Path | None = None,
    pass_on: PassOn | None = None,
    *,
    quiet_end: bool = False,
) -> None:
    """One Submission; what ``source`` holds of its files is taken from there.

    ``quiet_end`` leaves out the sentence on where the files stay, for a caller that opens several.
    """
    require_new(output_dir)
    recipient = None if pass_on is None else pass_on.recipient(ChainClient.checked(settings), bounty_id)
    if source is not None:
        submission, identity = open_from_folder(settings, Folder(source), bounty_id, (solver, commitment))
    else:
        signer, keyring = local_signer(settings, ACCOUNT_KEY), keyring_of(settings)
        session = Session.open(settings, signer)
        submission, identity = open_as_guardian(session, keyring, bounty_id, (solver, commitment))
    event("guardian_open.submission_verified", submission.names())
    opened = OpenedWork(settings.chain_id, settings.hub_address(), bounty_id, solver, commitment)
    if pass_on is not None and recipient is not None:
        _pass_on(IdentityFile(identity, submission.envelope.binding), recipient, pass_on, submission)
        opened.remember(pass_on.file)
    opened.remember(output_dir)  # before it is there: a run that is killed may leave it behind
    write_artifact(submission, identity, output_dir, "guardian_open.artifact_opened")
    opened.remember(output_dir)
    with suppress(CommandFailed):  # the work is open; that it is not remembered is no failure
        note_done(settings.chain_id, settings.hub_address(), *opened_name(str(bounty_id), solver, commitment))
    if not quiet_end:
        remark(f"its plain files stay there; once the bounty has ended: service-cli guardian:forget {bounty_id}")


def open_as_guardian(
    session: Session[LocalSigner], keyring: tuple[Identity, ...], bounty_id: BountyId, pair: tuple[Address, Bytes32]
) -> tuple[Submission, Identity]:
    """The checked Submission and its content key, by this Guardian's encryption keys."""
    opening = _Opening.begin(session.chain, bounty_id, pair)
    submission = fetch_submission(session.api, session.signer, bounty_id, pair)
    opening.check(submission)
    return submission, opening.unlock(submission, keyring)


def open_from_folder(
    settings: Settings, folder: Folder, bounty_id: BountyId, pair: tuple[Address, Bytes32]
) -> tuple[Submission, Identity]:
    """The same with what a folder holds of it; only what is missing is read from the API, with a signed request."""

    def fetch() -> Submission:
        session = Session(opening.chain, local_signer(settings, ACCOUNT_KEY))
        return fetch_submission(session.api, session.signer, bounty_id, pair)

    keyring = keyring_of(settings)
    if (folder.path / "identity.txt").exists():
        warn(
            "identity.txt is not read any more: ask for the key with --pass-to, sealed to you, and name it identity.age"
        )
    opening = _Opening.begin(ChainClient.checked(settings), bounty_id, pair)
    submission = folder.submission(bounty_id, pair, fetch)
    opening.check(submission)
    if folder.identity.exists():
        return submission, folder.content_key(submission.envelope, keyring)
    return submission, opening.unlock(submission, keyring)


def keyring_of(settings: Settings) -> tuple[Identity, ...]:
    """This Guardian's encryption keys, newest first."""
    source = settings.environment.source("SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    if source is None:
        message = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON is not set."
        raise CommandRefused("key_missing", message, next_action="Set it to a JSON array of AGE-SECRET-KEY-1… strings.")
    mention_plain_key(settings, source)
    return parse_keyring(settings.environment.read_source(source).strip())


@dataclass(frozen=True, slots=True)
class _Opening:
    """A Submission that the contract records, with what its envelope is checked against."""

    chain: ChainClient
    bounty: BountyView
    info: BeaconInfo

    @staticmethod
    def begin(chain: ChainClient, bounty_id: BountyId, pair: tuple[Address, Bytes32]) -> "_Opening":
        bounty, (solver, commitment) = chain.bounty(bounty_id), pair
        with chain_errors():
            recorded = chain.hub.submission(bounty_id, solver)
        if recorded != commitment:
            message = "The contract does not record this Submission as that Solver's current one."
            raise CommandRefused(
                "submission_not_recorded", message, next_action="guardian:judgeable lists the current ones."
            )
        return _Opening(chain, bounty, beacon_of(chain.settings))

    def check(self, submission: Submission) -> None:
        check_envelope(self.chain, submission, self.bounty, self.info)

    def unlock(self, submission: Submission, keyring: tuple[Identity, ...]) -> Identity:
        """The content key, from both locks of the capsule."""
        envelope = submission.envelope
        roster_size = len(self.chain.pinned_roster(self.bounty).members)
        signature = round_signature(self.chain.settings, self.info, envelope.reveal_policy.round)
        with sealed_data_errors():
            return open_capsule(
                envelope.key_capsule,
                beacon=signature,
                info=self.info,
                keyring=keyring,
                roster_size=roster_size,
                content_public_key=envelope.content_public_key,
                expected=expected_binding(envelope),
            )


def _pass_on(content_key: IdentityFile, recipient: Bytes32, to: PassOn, submission: Submission) -> None:
    """The content key in an age file that only the other Guardian opens; raw it never leaves this process."""
    sealed = age.encrypt_bytes(content_key.to_bytes(), [recipient])
    try:
        with open(to.file, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(sealed)
    except OSError as error:
        message = f"The content key could not be written to {to.file}: {error.strerror}."
        raise CommandRefused("file_not_written", message, next_action="Name a file that can be written.") from None
    event("guardian_open.key_passed", submission.names() | {"guardian": to.guardian, "path": str(to.file)})
    remark(f"only {to.guardian} can open {to.file}: as identity.age in a folder, with guardian:open --from")
