"""Reading a Submission that the contract records: envelope, ciphertext, and every check between them.

Promises: the envelope's bytes hash to the commitment on chain and fit the bounty, roster and reveal point of the
contract; the ciphertext has the committed length and digest. The API is only where the bytes come from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service_common.chain.hub import BountyView
from service_common.crypto.beacon_info import BeaconInfo
from service_common.domain.commitments import submission_commitment
from service_common.domain.envelope import Envelope, parse_envelope
from service_common.domain.envelope_checks import ExpectedEnvelope, envelope_differences
from service_common.errors import ServiceError
from service_common.types import Address, BountyId, Bytes32

from service_cli.client.api import ApiClient
from service_cli.client.chain import ChainClient
from service_cli.client.signer import Signer
from service_cli.client.transfer import download, storage_url
from service_cli.outcome import Refused

_EVIDENCE = "The Submission itself is malformed; say so in the Verdict."


@dataclass(frozen=True, slots=True)
class Submission:
    """A Submission on chain, and what stands behind it."""

    bounty_id: BountyId
    solver: Address
    commitment: Bytes32
    envelope: Envelope
    source: str | Path
    """Where the ciphertext is: the storage's address, or a file of this machine."""

    def names(self) -> dict[str, object]:
        """How events name it."""
        return {
            "bounty_id": str(self.bounty_id),
            "solver": self.solver,
            "submission_commitment": self.commitment,
        }


def fetch_submission(api: ApiClient, signer: Signer, bounty_id: BountyId, pair: tuple[Address, Bytes32]) -> Submission:
    """The envelope behind the commitment, read with a signed request and checked against the commitment."""
    commitment = pair[1]
    try:
        answer = api.signed(
            signer,
            "GET",
            f"/api/bounties/{bounty_id}/submissions/{commitment}/content",
            words=f"read Submission {commitment} of bounty {bounty_id}",
        ).json()
    except Refused as refusal:
        if refusal.code != "submission_not_found":
            raise
        message = (
            "The chain records this Submission, but the service serves no bytes for it: none were handed in, or its "
            "commitment is a copy of another Solver's."
        )
        next_action = "Ask its Solver for the folder with envelope.json and ciphertext.age, and name it with --from."
        raise Refused(refusal.code, message, next_action=next_action) from refusal
    content = str(answer.get("envelope")).encode()
    return checked_submission(content, bounty_id, pair, lambda: storage_url(answer.get("download_url"), api.base_url))


def checked_submission(
    content: bytes, bounty_id: BountyId, pair: tuple[Address, Bytes32], source: Callable[[], str | Path]
) -> Submission:
    """The envelope of these bytes, if they are the committed ones and an envelope at all."""
    solver, commitment = pair
    if submission_commitment(content) != commitment:
        message = "The envelope does not hash to the commitment on chain."
        raise Refused("envelope_mismatch", message, next_action="Get the envelope from the Solver or another source.")
    try:
        envelope = parse_envelope(content)
    except ServiceError as error:
        raise Refused("envelope_malformed", error.message, issues=error.issues, next_action=_EVIDENCE) from error
    return Submission(bounty_id, solver, commitment, envelope, source())


def check_envelope(chain: ChainClient, submission: Submission, bounty: BountyView, info: BeaconInfo) -> None:
    """Refuse an envelope that does not belong to this bounty, Solver, roster and reveal point."""
    expected = ExpectedEnvelope(
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=submission.bounty_id,
        solver_address=submission.solver,
        spec_commitment=bounty.spec_commitment,
        roster=chain.pinned_roster(bounty),
        reveal_policy=info.reveal_policy(bounty.reveal_at),
    )
    if issues := envelope_differences(submission.envelope, expected):
        message = "The envelope does not fit the bounty it was submitted to."
        raise Refused("envelope_refused", message, issues=issues, next_action=_EVIDENCE)


def fetch_ciphertext(submission: Submission, folder: Path) -> Path:
    """Download the ciphertext into ``folder``, unless it is here; its digest is checked on opening."""
    if isinstance(submission.source, Path):
        return submission.source
    file = folder / "ciphertext.age"
    download(submission.source, file, submission.envelope.ciphertext.byte_length)
    return file
