"""Submissions that the contract records: where their bytes are, whether they are the committed ones, what opens them.

The envelope must hash to the commitment on chain and fit the bounty, roster and reveal point of the contract; the
ciphertext must have the committed length and digest. The API is only one place where bytes come from. Files are written
only below the given directory, and only when everything was authentic and nothing in it names another bounty or Solver.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import Final, TypeVar

from bounty_protocol.crypto.artifact import open_artifact
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import Failure, OutputFailed, SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.domain.envelope.checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.domain.envelope.document import Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.submissions import SubmissionContent

from service_cli.api import ApiClient
from service_cli.chain.events import OpenedFiles
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import Signer
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.state import BountyState
from service_cli.ui.output import Progress, emit, warn
from service_cli.ui.text import printable
from service_cli.work.downloads import download_file
from service_cli.work.storage import download, storage_url

F = TypeVar("F", bound=OpenedFiles)


_NOT_SERVED: Final = "submission_not_found"
_MALFORMED: Final = "The Submission itself is malformed: say so in the Verdict."


@dataclass(frozen=True, slots=True)
class Submission:
    """A Submission on chain, and what is behind it."""

    bounty_id: BountyId
    solver: Address
    commitment: Bytes32
    envelope: Envelope
    source: str | Path
    """Where the ciphertext is: the storage's address, or a file of this machine."""

    def names(self) -> tuple[BountyId, Address, Bytes32]:
        """Return its fields in events."""
        return self.bounty_id, self.solver, self.commitment


def fetch_submission(api: ApiClient, signer: Signer, bounty_id: BountyId, pair: tuple[Address, Bytes32]) -> Submission:
    """Read the envelope behind the commitment with a signed request, and check it against the commitment."""
    commitment = pair[1]
    try:
        answer = api.signed(
            signer,
            "GET",
            f"/api/bounties/{bounty_id}/submissions/{commitment}/content",
            summary=f"read Submission {commitment} of bounty {bounty_id}",
        ).read(SubmissionContent)
    except CommandRefused as refusal:
        if refusal.code != _NOT_SERVED:
            raise
        message = (
            "The chain records this Submission, but the service serves no bytes for it: none were uploaded, or its "
            "commitment is a copy of another Solver's."
        )
        next_action = "Ask its Solver for the folder with envelope.json and ciphertext.age, and name it with --from."
        raise CommandRefused(_NOT_SERVED, message, next_action=next_action) from refusal
    source = partial(storage_url, answer.download_url, api.base_url)
    return checked_submission(answer.envelope.encode(), bounty_id, pair, source)


def checked_submission(
    content: bytes, bounty_id: BountyId, pair: tuple[Address, Bytes32], source: Callable[[], str | Path]
) -> Submission:
    """Return the envelope in these bytes, if they are the committed ones and form an envelope."""
    solver, commitment = pair
    if submission_commitment(content) != commitment:
        message = "The envelope does not hash to the commitment on chain."
        raise CommandRefused(
            "envelope_mismatch", message, next_action="Get the envelope from the Solver or another source."
        )
    try:
        envelope = parse_envelope(content)
    except ServiceError as error:
        raise CommandRefused(
            "envelope_malformed", error.message, issues=error.issues, next_action=_MALFORMED
        ) from error
    return Submission(bounty_id, solver, commitment, envelope, source())


def check_envelope(chain: ChainClient, submission: Submission, state: BountyState, info: BeaconInfo | None) -> None:
    """Refuse an envelope that does not belong to this bounty, Solver, pinned roster and, by the beacon, reveal point.

    Without a beacon the reveal point is as the envelope states it: the Poster, who has the key, needs none. False facts
    about the bounty or the beacon are refused before a fault of the Solver is reported.
    """
    expected = ExpectedEnvelope(
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=submission.bounty_id,
        solver_address=submission.solver,
        spec_commitment=state.bounty.spec_commitment,
        roster=state.roster,
        reveal_policy=info.reveal_policy(state.bounty.reveal_at) if info else submission.envelope.reveal_policy,
    )
    if issues := envelope_differences(submission.envelope, expected):
        message = f"The envelope does not fit the bounty it was submitted to, according to {chain.named}."
        next_action = (
            "Compare the bounty with another RPC endpoint and, if it is set, SERVICE_BEACON_CHAIN_HASH with another "
            f"Guardian. If both are right: {_MALFORMED}"
        )
        raise CommandRefused("envelope_refused", message, issues=issues, next_action=next_action)


@contextmanager
def fetched_ciphertext(submission: Submission) -> Iterator[Path | BufferedIOBase]:
    """Open the ciphertext: a local one is checked while it is opened, a downloaded one before.

    A download that is interrupted is kept, and continued by the next run.
    """
    if isinstance(submission.source, Path):
        yield submission.source
        return
    envelope = submission.envelope
    name = "-".join(map(str, (envelope.chain_id, envelope.hub_address, *submission.names())))
    with download_file(name, envelope.ciphertext.byte_length) as file:
        download(submission.source, file, envelope.ciphertext.byte_length, envelope.ciphertext.sha256)
        with open(file.fileno(), "rb", closefd=False) as ciphertext:
            ciphertext.seek(0)
            yield ciphertext


_THE_SOLVERS: Final = frozenset({
    Failure.AGE_MALFORMED, Failure.AGE_RECIPIENTS_REFUSED, Failure.AGE_NO_MATCHING_KEY, Failure.AGE_TAMPERED,
    Failure.AGE_TRUNCATED, Failure.AGE_TRAILING_DATA, Failure.TIMELOCK_MALFORMED, Failure.TIMELOCK_WRONG_CHAIN,
    Failure.TIMELOCK_WRONG_ROUND, Failure.TIMELOCK_TAMPERED, Failure.CAPSULE_MALFORMED,
    Failure.CAPSULE_WRONG_RECIPIENTS, Failure.CAPSULE_WRONG_IDENTITY, Failure.BINDING_MISSING,
    Failure.SEALED_FOR_ANOTHER, Failure.ARCHIVE_REFUSED, Failure.ARCHIVE_MALFORMED,
})  # fmt: skip
"""What only the Solver can have caused, since the chain has the hash of every byte behind it."""
_EVIDENCE: Final = (
    "All of it hashes to the commitment on chain, so only the Solver can have caused this: it is evidence for a "
    "Verdict. Compare with another Guardian, and quote it."
)


@contextmanager
def sealed_data_errors() -> Iterator[None]:
    """Turn a refusal of the sealed data itself into a sentence that fits a Verdict.

    Only what the Solver alone can have caused is called malformed, since every byte of it hashes to the commitment on
    chain; a bad download, a key that does not fit or a silent beacon keep their own message. A full disk is a
    failure: it keeps what was downloaded and ends the run.
    """
    try:
        yield
    except OutputFailed as error:
        next_action = "Free some space or check its permissions, then run the command again: it continues here."
        raise CommandFailed(error.code, f"This machine {error.message}.", next_action=next_action) from None
    except SealedDataError as error:
        if error.failure not in _THE_SOLVERS:
            raise
        message = f"The Submission is malformed: {error.message}."
        raise CommandRefused(error.code, message, next_action=_EVIDENCE) from None


_NAMED: Final = 3
"""Names that a sentence has."""


def write_artifact(
    submission: Submission,
    identity: Identity,
    output_dir: Path,
    kind: type[F],
    *,
    original_names: bool,
    ready: Callable[[Path], None] = lambda _directory: None,
    following: str | None = None,
) -> F:
    """Fetch and open the work in ``output_dir``, and print it as an event of this ``kind``.

    ``ready`` is called with the complete directory before it is renamed.
    """
    ciphertext = submission.envelope.ciphertext
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    with fetched_ciphertext(submission) as file, sealed_data_errors(), Progress("opening") as progress:
        opened = open_artifact(
            file,
            identity,
            output_dir,
            sha256=ciphertext.sha256,
            byte_length=ciphertext.byte_length,
            expected=submission.envelope.binding,
            progress=progress,
            original_names=original_names,
            ready=ready,
        )
    counts = (opened.file_count, opened.byte_length)
    done = emit(kind(*submission.names(), str(output_dir), *counts, len(opened.inert)), following)
    if opened.inert:
        named = ", ".join(printable(path, 80) for path in opened.inert[:_NAMED])
        more = f" and {len(opened.inert) - _NAMED} more" if len(opened.inert) > _NAMED else ""
        warn(
            f"tools would act on some of its names, so they were written as inert_…_: {named}{more}; "
            "--original-names keeps them"
        )
    return done
