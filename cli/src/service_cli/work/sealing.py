"""A directory sealed for one bounty's roster, once: bytes and envelope are kept, the content identity never is.

Bounty, roster and reveal point come from the contract, read once and compared before. A run over the same
files continues with the same sealed bytes and so with the same commitment. A changed directory is sealed again, and so
is what was sealed under other terms than the bounty has: those were an endpoint's word.
"""

import hashlib
import os
import shutil
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.archive_read import writing_failed
from bounty_protocol.crypto.artifact import seal_directory
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.failures import OutputFailed
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope, build_envelope, parse_envelope
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, UnixSeconds

from service_cli.chain.beacon import beacon_of
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import Signer
from service_cli.disk import open_regular, sync_file
from service_cli.errors import CommandFailed
from service_cli.queries.state import BountyState
from service_cli.ui.output import Progress, say
from service_cli.ui.text import counted, moment, size
from service_cli.work.selection import Selection, named


def fingerprint(selection: Selection) -> str:
    """Hash names, modes and contents of everything that is sealed."""
    directory = selection.directory
    digest = hashlib.sha256(str(directory.resolve()).encode("utf-8", "surrogateescape"))
    for entry in sorted(selection.entries, key=lambda one: directory / one.path):
        path = directory / entry.path
        line = f"{Path(entry.path)}\0{path.lstat().st_mode}\0"
        if not entry.directory:
            content = hashlib.sha256()
            with suppress(OSError), open_regular(path) as file:  # sealing it reports why
                while chunk := file.read(_CHUNK):
                    content.update(chunk)
            line += f"{content.hexdigest()}\0"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


_CHUNK: Final = 1024 * 1024
CIPHERTEXT: Final = "ciphertext.age"
ENVELOPE: Final = "envelope.json"

CONTENT: Final = JournalEntry("content", str)
"""The fingerprint of the files that were sealed."""
SEALED: Final = JournalEntry("envelope", Envelope)
SEALED_AT: Final = JournalEntry("sealed_at_block", BlockNumber)
"""The newest block before it was sealed; what records it is later."""
UPLOADED: Final = JournalEntry("uploaded", str)
"""The digest of the ciphertext that the storage took."""
PREPARED: Final = JournalEntry("prepared", str)
"""The commitment that the API prepared a transaction for."""
MADE: Final = JournalEntry("made_here", tuple[Bytes32, ...])
"""The commitments of everything that was sealed here before the newest, in the order in which it was."""


@dataclass(frozen=True, slots=True)
class Work:
    """One Solver's Submission to one bounty, as far as the chain determines it."""

    session: Session[Signer]
    state: BountyState

    @property
    def bounty_id(self) -> BountyId:
        return self.state.bounty_id

    @property
    def chain(self) -> ChainClient:
        return self.session.chain

    @property
    def solver(self) -> Address:
        return self.session.account

    @property
    def path(self) -> str:
        """The API's path of this Solver's Submissions."""
        return f"/api/bounties/{self.bounty_id}/submissions/{self.solver}"

    def journal(self) -> AbstractContextManager[Journal]:
        """Open the journal of this Solver's Submissions to the bounty."""
        return self.session.journal("submit", str(self.bounty_id), self.solver)


def sealed_before(journal: Journal, content: str) -> Envelope | None:
    """Return the sealed work of an earlier run of the same files, read as strictly as a stranger's; ``content`` is
    their fingerprint.
    """
    kept = journal.get(SEALED)
    if kept is None or journal.get(CONTENT) != content or not (journal.folder / CIPHERTEXT).exists():
        return None
    return parse_envelope(kept.canonical_bytes())


def fits(envelope: Envelope, state: BountyState) -> bool:
    """Return whether the earlier sealed work is for this page, roster and reveal point."""
    sealed_for = (
        envelope.spec_commitment,
        envelope.guardian_roster_hash,
        envelope.recipients_commitment,
        envelope.reveal_policy.reveal_at,
    )
    bounty, roster = state.bounty, state.roster
    return sealed_for == (
        bounty.spec_commitment,
        roster.guardian_roster_hash,
        roster.recipients_commitment,
        bounty.reveal_at,
    )


def seal(work: Work, selection: Selection, content: str, journal: Journal, now: UnixSeconds) -> Envelope:
    """Return the sealed bytes of an earlier run over the same files, else newly sealed ones; both files are in the
    folder. ``now`` is the latest time that anyone gives: a node alone could make the reveal point look far away.
    """
    if (kept := sealed_before(journal, content)) is not None and fits(kept, work.state):
        say("continuing with the bytes sealed before")
        return kept
    _set_aside(journal)
    file = journal.folder / CIPHERTEXT
    file.unlink(missing_ok=True)
    journal.note(SEALED_AT, work.state.head.number)
    until = moment(work.state.bounty.reveal_at, now)
    guardians = len(work.state.roster.members)
    files = f"{counted(len(selection.files), 'file')}, {size(selection.byte_length)}"
    names = named(one.path for one in selection.files)
    say(f"sealing {selection.directory} for {guardians} Guardians until {until}: {files} ({names})")
    try:
        envelope = _sealed(work, selection, file)
        _put_on_disk(envelope, journal.folder)  # before a journal that survives says that they are there
    except OutputFailed as error:
        next_action = f"Free some space in {journal.folder} or check its permissions, then run the command again."
        raise CommandFailed(error.code, f"This machine {error.message}.", next_action=next_action) from error
    journal.note(SEALED, envelope)
    journal.note(CONTENT, content)
    return envelope


def _set_aside(journal: Journal) -> None:
    """Make room for new sealed bytes; a kill in between loses neither the earlier commitment nor its only bytes.

    The Hub may record the earlier one until the new one is mined, or permanently, so its commitment is remembered
    before anything is dropped. Its bytes are kept in a folder of that name, since the storage could still lose them.
    """
    if (kept := journal.get(SEALED)) is not None:
        commitment = kept.commitment()
        journal.note(MADE, (*(one for one in journal.get(MADE) or () if one != commitment), commitment))
        target = set_aside(journal, commitment)
        target.mkdir(mode=0o700, exist_ok=True)
        for name in (ENVELOPE, CIPHERTEXT):  # what an earlier run moved before it was killed is not there any more
            with suppress(FileNotFoundError):
                (journal.folder / name).replace(target / name)
    journal.forget(CONTENT, SEALED)


def drop_former(journal: Journal, recorded: Bytes32) -> None:
    """Remove the sealed bytes that are older than the recorded Submission; none if that was not made here."""
    made = [*(journal.get(MADE) or ()), *([kept.commitment()] if (kept := journal.get(SEALED)) is not None else [])]
    for commitment in made[: made.index(recorded)] if recorded in made else ():
        shutil.rmtree(set_aside(journal, commitment), ignore_errors=True)


def set_aside(journal: Journal, commitment: Bytes32) -> Path:
    """Return where the bytes of an earlier Submission are kept until a newer one is recorded."""
    return journal.folder / commitment


def _put_on_disk(envelope: Envelope, folder: Path) -> None:
    """Write the ciphertext and the envelope to the folder on disk, so that the folder can be sent to somebody
    unchanged.
    """
    try:
        sync_file(folder / CIPHERTEXT)
        with open(folder / ENVELOPE, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(envelope.canonical_bytes())
        sync_file(folder / ENVELOPE)
    except OSError as error:
        raise writing_failed(error) from error


def _sealed(work: Work, selection: Selection, file: Path) -> Envelope:
    bounty, roster, identity = work.state.bounty, work.state.roster, Identity.generate()
    binding = Binding(work.chain.chain_id, work.chain.hub.address, work.bounty_id, work.solver)
    with Progress("sealing") as progress:
        sealed = seal_directory(
            selection.directory, identity.public_key, binding, file, entries=selection.entries, progress=progress
        )
    info = beacon_of(work.session.settings)
    policy = info.reveal_policy(bounty.reveal_at)
    return build_envelope(
        binding=binding,
        spec_commitment=bounty.spec_commitment,
        guardian_roster_hash=roster.guardian_roster_hash,
        recipients_commitment=roster.recipients_commitment,
        reveal_policy=policy,
        content_public_key=identity.public_key,
        key_capsule=seal_capsule(identity, binding, roster.encryption_public_keys, policy.round, info),
        ciphertext_sha256=sealed.sha256,
        ciphertext_byte_length=sealed.byte_length,
    )
