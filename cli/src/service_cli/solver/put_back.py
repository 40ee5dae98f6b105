"""``solver:submit --put-back``: the sealed bytes of a recorded Submission, uploaded again from a kept copy.

From any machine and at any time: the storage has a place for exactly the bytes whose digest is in the envelope that
hashes to the commitment on chain, so nothing else can be put there.
"""

import errno
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from bounty_protocol.domain.commitments import submission_commitment
from bounty_protocol.domain.envelope import MAX_ENVELOPE_BYTES, Envelope, parse_envelope
from bounty_protocol.types import ZERO_BYTES32, BountyId, Bytes32

from service_cli.chain.signer import Signer
from service_cli.config.settings import Settings
from service_cli.disk import open_regular
from service_cli.errors import CommandRefused
from service_cli.shell.output import say
from service_cli.solver.recording import active
from service_cli.solver.sealing import CIPHERTEXT, ENVELOPE, Work
from service_cli.solver.submission import open_work
from service_cli.solver.upload import upload_late
from service_cli.storage import digest_of
from service_cli.submissions import KEPT

_SOURCES: Final = (
    "Name the folder with the envelope.json and ciphertext.age of that Submission, the file that the bounty's page "
    "saved, or a directory of service-cli keep."
)
_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_MOST_ENTRIES: Final = 1_000
"""Of a saved file, which has two."""


def put_back(settings: Settings, signer: Signer, bounty_id: BountyId, copy: Path) -> None:
    """Offer the storage what ``copy`` has of this Solver's recorded Submission, once all of it is right."""
    work = open_work(settings, signer, bounty_id)
    recorded = active(work)
    if recorded == ZERO_BYTES32:
        message = f"The Hub has no Submission of {work.solver} to bounty {bounty_id}, so there is nothing to put back."
        raise CommandRefused("submission_not_recorded", message, next_action="Use the account that submitted it.")
    with _unpacked(copy) as directory:
        folder, envelope = _kept(directory, copy, recorded)
        _upload(work, folder, envelope, recorded)


def _upload(work: Work, folder: Path, envelope: Envelope, recorded: Bytes32) -> None:
    wanted = envelope.ciphertext
    try:
        found = digest_of(folder / CIPHERTEXT)
    except OSError:
        message = f"{folder / CIPHERTEXT} cannot be read."
        raise CommandRefused("file_unreadable", message, next_action=_SOURCES) from None
    if found != (wanted.byte_length, wanted.sha256):
        message = f"{folder / CIPHERTEXT} is not the ciphertext of your Submission {recorded}."
        raise CommandRefused("storage_mismatch", message, next_action=_SOURCES)
    say(f"your Submission {recorded} is recorded, and {folder} has its sealed bytes")
    upload_late(work, work.session.api, envelope, folder / CIPHERTEXT)


@contextmanager
def _unpacked(copy: Path) -> Iterator[Path]:
    """A directory as it is; of a tar archive, one with what its folders hold, for as long as this lasts."""
    if not copy.is_file():
        yield copy
        return
    with TemporaryDirectory(prefix="put-back-") as name:
        directory = Path(name)
        try:
            with tarfile.open(copy, "r:") as archive:
                folders: dict[PurePosixPath, Path] = {}
                for member in islice(archive, _MOST_ENTRIES):
                    above = PurePosixPath(member.name).parent
                    _unpack(archive, member, folders.setdefault(above, directory / KEPT / str(len(folders))))
        except (tarfile.TarError, OSError) as error:
            if getattr(error, "errno", None) in _NO_ROOM:
                message = f"{copy} cannot be unpacked below {directory.parent}, where no room is left."
                next_action = "Make room there, or name a folder with room in TMPDIR."
                raise CommandRefused("file_unwritable", message, next_action=next_action) from error
            message = f"{copy} cannot be read as the tar archive that a bounty's page saves."
            raise CommandRefused("file_unreadable", message, next_action=_SOURCES) from error
        yield directory


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    """One of the two files, under its own name and no other; what is sparse may be longer than the archive."""
    name = PurePosixPath(member.name).name
    is_plain = member.type in {tarfile.REGTYPE, tarfile.AREGTYPE} and not member.issparse()
    if name not in {ENVELOPE, CIPHERTEXT} or not is_plain:
        return
    content = archive.extractfile(member)
    if content is not None:
        directory.mkdir(parents=True, exist_ok=True)
        with content, (directory / name).open("wb") as file:
            shutil.copyfileobj(content, file)


def _kept(directory: Path, copy: Path, recorded: Bytes32) -> tuple[Path, Envelope]:
    """The folder whose envelope is the recorded one: this one, or one of a kept bounty."""
    for path in (directory, *sorted((directory / KEPT).glob("*"))):
        try:
            with open_regular(path / ENVELOPE) as file:
                content = file.read(MAX_ENVELOPE_BYTES + 1)
        except OSError:
            continue
        if submission_commitment(content) == recorded:
            return path, parse_envelope(content)
    message = f"{copy} has no envelope that hashes to your recorded Submission {recorded}."
    raise CommandRefused("envelope_mismatch", message, next_action=_SOURCES)
