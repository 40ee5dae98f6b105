"""``solver:submit --put-back``: the sealed bytes of a recorded Submission, uploaded again from a kept copy.

From any machine and at any time: the storage has a place for exactly the bytes whose digest is in the envelope that
hashes to the commitment on chain, so nothing else can be put there.
"""

from pathlib import Path

from bounty_protocol.domain.commitments import submission_commitment
from bounty_protocol.domain.envelope import MAX_ENVELOPE_BYTES, Envelope, parse_envelope
from bounty_protocol.types import ZERO_BYTES32, BountyId, Bytes32

from service_cli.chain.signer import Signer
from service_cli.config.settings import Settings
from service_cli.disk import open_regular
from service_cli.errors import CommandRefused
from service_cli.shell.output import say
from service_cli.solver.recording import active
from service_cli.solver.sealing import CIPHERTEXT, ENVELOPE
from service_cli.solver.submission import open_work
from service_cli.solver.upload import upload_late
from service_cli.storage import digest_of
from service_cli.submissions import KEPT

_SOURCES = (
    "Name the folder with the envelope.json and ciphertext.age of that Submission, or a directory of service-cli keep."
)


def put_back(settings: Settings, signer: Signer, bounty_id: BountyId, directory: Path) -> None:
    """Offer the storage what ``directory`` has of this Solver's recorded Submission, once all of it is right."""
    work = open_work(settings, signer, bounty_id)
    recorded = active(work)
    if recorded == ZERO_BYTES32:
        message = f"The Hub has no Submission of {work.solver} to bounty {bounty_id}, so there is nothing to put back."
        raise CommandRefused("submission_not_recorded", message, next_action="Use the account that submitted it.")
    folder, envelope = _kept(directory, recorded)
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


def _kept(directory: Path, recorded: Bytes32) -> tuple[Path, Envelope]:
    """The folder whose envelope is the recorded one: this one, or one of a kept bounty."""
    for path in (directory, *sorted((directory / KEPT).glob("*"))):
        try:
            with open_regular(path / ENVELOPE) as file:
                content = file.read(MAX_ENVELOPE_BYTES + 1)
        except OSError:
            continue
        if submission_commitment(content) == recorded:
            return path, parse_envelope(content)
    message = f"{directory} has no envelope that hashes to your recorded Submission {recorded}."
    raise CommandRefused("envelope_mismatch", message, next_action=_SOURCES)
