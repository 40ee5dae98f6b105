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
from enum import Enum
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.failures import OutputFailed
from bounty_protocol.domain.binding import Binding
from bounty_protocol.domain.envelope import Envelope, build_envelope, parse_envelope
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32
from bounty_protocol.wire.reading import read

from service_cli.api_session import ApiSession
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import Signer
from service_cli.chain.times import latest_moment
from service_cli.disk import sync_file
from service_cli.errors import CommandFailed
from service_cli.queries.state import BountyState
from service_cli.ui.output import Progress, say
from service_cli.ui.text import moment
from service_cli.work.selection import Selection, summary


class FileTimes(Enum):
    """Which times of files a fingerprint has."""

    SYSTEM = "modified and changed"
    """Also when the system saw its last change, which nobody sets: not even a build that is made to be repeated."""
    MODIFIED = "modified"
    """As they are also after a backup, or a change of rights."""


def fingerprint(selection: Selection, times: FileTimes = FileTimes.SYSTEM) -> str:
    """Names, sizes and times of everything that is sealed, hashed; contents are not read."""
    directory = selection.directory
    digest = hashlib.sha256(str(directory.resolve()).encode("utf-8", "surrogateescape"))
    for entry in sorted(selection.entries, key=lambda one: directory / one.path):
        status = (directory / entry.path).lstat()
        line = f"{Path(entry.path)}\0{status.st_mode}\0"
        if not entry.directory:
            line += f"{status.st_size}\0{status.st_mtime_ns}\0"
            if times is FileTimes.SYSTEM:
                line += f"{status.st_ctime_ns}\0"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def looks_like_sealed(journal: Journal, selection: Selection) -> bool:
    """Whether these files have the names, sizes and modification times of those that were sealed."""
    return journal.get(LOOKS) == fingerprint(selection, FileTimes.MODIFIED)


CIPHERTEXT: Final = "ciphertext.age"
ENVELOPE: Final = "envelope.json"

CONTENT: Final = JournalEntry.of("content", str)
"""The fingerprint of the files that were sealed."""
LOOKS: Final = JournalEntry.of("looks", str)
"""Their fingerprint without the times that the system keeps."""
SEALED: Final = JournalEntry(
    "envelope", lambda one: one.canonical_bytes().decode(), lambda text: parse_envelope(read(str, text).encode())
)
SEALED_AT: Final = JournalEntry.of("sealed_at_block", BlockNumber)
"""The newest block when it was sealed; what records it is later."""
UPLOADED: Final = JournalEntry.of("uploaded", str)
"""The digest of the ciphertext that the storage took."""
PREPARED: Final = JournalEntry.of("prepared", str)
"""The commitment that the API prepared a transaction for."""
MADE: Final = JournalEntry.of("made_here", tuple[Bytes32, ...])
"""The commitments of everything that was sealed here before the newest, in the order in which it was."""

SPARE: Final = JournalEntry.of("spare", tuple[Bytes32, ...])
"""Those of them whose bytes the service said that it holds; a copy stays until something newer is recorded."""


@dataclass(frozen=True, slots=True)
class Work:
    """One Solver's Submission to one bounty, as far as the chain determines it."""

    session: ApiSession[Signer]
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
        """The journal of this Solver's Submissions to the bounty."""
        return self.session.journal("submit", str(self.bounty_id), self.solver)


def sealed_before(journal: Journal, content: str) -> Envelope | None:
    """The sealed work of an earlier run of the same files; ``content`` is their fingerprint."""
    if journal.get(CONTENT) == content and (kept := journal.get(SEALED)) is not None:
        return kept if (journal.folder / CIPHERTEXT).exists() else None
    return None


def fits(envelope: Envelope, state: BountyState) -> bool:
    """Whether what was sealed before was sealed for this page and roster, and until this reveal point."""
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


def seal(work: Work, selection: Selection, content: str, journal: Journal) -> Envelope:
    """The sealed bytes of an earlier run over the same files, else newly sealed ones; both files are in the folder."""
    if (kept := sealed_before(journal, content)) is not None and fits(kept, work.state):
        say("continuing with the bytes sealed before")
        return kept
    _set_aside(journal)
    file = journal.folder / CIPHERTEXT
    file.unlink(missing_ok=True)
    journal.note(SEALED_AT, work.chain.latest().number)
    until = moment(work.state.bounty.reveal_at, latest_moment(work.chain))  # a node alone could make it look far away
    guardians = len(work.state.roster.members)
    say(f"sealing {selection.directory} for {guardians} Guardians until {until}: {summary(selection)}")
    looks = fingerprint(selection, FileTimes.MODIFIED)  # before, as ``content`` is
    try:
        envelope = _sealed(work, selection, file)
        _put_on_disk(envelope, journal.folder)  # before a journal that survives says that they are there
    except OutputFailed as error:
        raise _no_room(error, journal) from error
    journal.note(SEALED, envelope)
    journal.note(LOOKS, looks)
    journal.note(CONTENT, content)
    return envelope


def _set_aside(journal: Journal) -> None:
    """Make room for new sealed bytes; a kill in between loses neither the former commitment nor its only bytes.

    The Hub may record the former one until the new one is mined, or for good, so its commitment is remembered before
    anything is dropped. Its bytes are kept in a folder of that name: the storage could lose them yet.
    """
    if (kept := journal.get(SEALED)) is not None:
        commitment = kept.commitment()
        journal.note(MADE, _with(journal.get(MADE), commitment))
        if is_held(journal, kept):
            journal.note(SPARE, _with(journal.get(SPARE), commitment))
        _move(journal.folder, set_aside(journal, commitment))
    journal.forget(CONTENT, SEALED)


def _with(former: tuple[Bytes32, ...] | None, newest: Bytes32) -> tuple[Bytes32, ...]:
    return (*(one for one in former or () if one != newest), newest)


def drop_spare(journal: Journal, recorded: Bytes32) -> None:
    """Remove the spare copies that are older than the recorded Submission; none where that was not made here."""
    kept, made, spare = journal.get(SEALED), journal.get(MADE) or (), journal.get(SPARE) or ()
    if kept is not None:
        made = _with(made, kept.commitment())
    older = set(made[: made.index(recorded)]) if recorded in made else set()
    for commitment in older.intersection(spare):
        shutil.rmtree(set_aside(journal, commitment), ignore_errors=True)
    journal.note(SPARE, tuple(one for one in spare if one not in older))


def is_held(journal: Journal, envelope: Envelope) -> bool:
    """Whether the service has said that the storage holds these bytes: it prepares no other envelope."""
    return journal.get(PREPARED) == envelope.commitment()


def set_aside(journal: Journal, commitment: Bytes32) -> Path:
    """Where the bytes of a former Submission are; of one that the service holds, until a newer one is recorded."""
    return journal.folder / commitment


def _move(folder: Path, target: Path) -> None:
    target.mkdir(mode=0o700, exist_ok=True)
    for name in (ENVELOPE, CIPHERTEXT):  # what an earlier run moved before it was killed is not there any more
        with suppress(FileNotFoundError):
            (folder / name).replace(target / name)


def _put_on_disk(envelope: Envelope, folder: Path) -> None:
    """The ciphertext that is in the folder, and the envelope beside it, so that it can be passed on as it is."""
    try:
        sync_file(folder / CIPHERTEXT)
        with open(folder / ENVELOPE, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(envelope.canonical_bytes())
        sync_file(folder / ENVELOPE)
    except OSError as error:
        from bounty_protocol.crypto.archive_read import writing_failed

        raise writing_failed(error) from error


def _no_room(error: OutputFailed, journal: Journal) -> CommandFailed:
    """Names what need not be on this disk: copies of what the service holds."""
    next_action = f"Make room in {journal.folder} or check its rights, then run the command again."
    folders = [folder for one in journal.get(SPARE) or () if (folder := set_aside(journal, one)).exists()]
    if folders:
        named = ", ".join(map(str, folders))
        next_action += f" Copies of Submissions that the service holds can be moved to another disk: {named}."
    return CommandFailed(error.code, f"This machine {error.message}.", next_action=next_action)


def _sealed(work: Work, selection: Selection, file: Path) -> Envelope:
    from bounty_protocol.crypto.artifact import seal_directory
    from bounty_protocol.crypto.capsule import seal_capsule
    from bounty_protocol.crypto.x25519 import Identity

    from service_cli.chain.beacon import beacon_of

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
