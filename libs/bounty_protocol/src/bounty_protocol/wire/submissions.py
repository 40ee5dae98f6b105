"""Sealed Submissions: uploading, preparing, reading; and written Verdicts."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, Bytes32, ChainId, TokenAmount
from bounty_protocol.wire.errors import ErrorBody
from bounty_protocol.wire.values import AbiArguments, Timestamp

MAX_CONTENTS: Final = 50
"""Submissions in one ``ContentsRequest``."""


@dataclass(frozen=True, slots=True)
class UploadTargetRequest:
    """The description of the upload to come."""

    ciphertext_sha256: Bytes32
    ciphertext_byte_length: Annotated[int, Note(minimum=1)]


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """Where to upload it, once."""

    upload_url: Annotated[str, Note("One-time; expires.")]
    upload_method: Literal["PUT"]
    upload_headers: dict[str, str]
    expires_at: Timestamp
    storage_locator: Annotated[str, Note("Compare it with the one you derive.")]


@dataclass(frozen=True, slots=True)
class SubmitTransaction:
    """The transaction that the Solver's wallet sends."""

    chain_id: ChainId
    to: Address
    value: TokenAmount
    data: Annotated[str, Note("0x-hex.")]
    function_name: str
    args: AbiArguments


@dataclass(frozen=True, slots=True)
class PreparedSubmission:
    """A stored envelope's commitment, and the call that records it."""

    submission_commitment: Bytes32
    guardian_roster_hash: Bytes32
    transaction: SubmitTransaction


@dataclass(frozen=True, slots=True)
class SubmissionContent:
    """A Submission's envelope, and where its ciphertext is read for a while."""

    envelope: Annotated[str, Note("Canonical JSON; its keccak256 is the commitment.")]
    submission_commitment: Bytes32
    solver_address: Address
    active: bool
    download_url: Annotated[str, Note("Short-lived; ciphertext only.")]
    expires_at: Timestamp


@dataclass(frozen=True, slots=True)
class ContentsRequest:
    """The Submissions of one bounty to read."""

    submission_commitments: Annotated[tuple[Bytes32, ...], Note(f"From one to {MAX_CONTENTS}, each once.")]


@dataclass(frozen=True, slots=True)
class ContentOrError:
    """One Submission of many: its content, or why it is refused."""

    submission_commitment: Bytes32
    content: SubmissionContent | None
    error: Annotated[ErrorBody | None, Note("The answer that reading this one alone would give.")] = None
    retry_after: Annotated[int | None, Note("Seconds to wait before requesting this one again.")] = None


@dataclass(frozen=True, slots=True)
class SubmissionContents:
    """The Submissions of a ``ContentsRequest``, in its order."""

    items: tuple[ContentOrError, ...]


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A written Verdict that is held."""

    report_commitment: Bytes32
    byte_length: int
