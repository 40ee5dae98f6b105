"""Why a sealed file does not open, in messages that a Guardian can put into a Verdict.

Every refusal of this package is a ``SealedDataError`` whose ``code`` names the failure class and whose message states
what is wrong with which part; it never holds a library's message or a secret. The classes are those of the bad-file
vectors in ``tests/vectors``.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from bounty_protocol.errors import Issue, ServiceError


class Failure(StrEnum):
    """The kind of failure; the value is the error's code."""

    KEY_INVALID = "key_invalid"
    AGE_MALFORMED = "age_malformed"
    AGE_RECIPIENTS_REFUSED = "age_recipients_refused"
    AGE_NO_MATCHING_KEY = "age_no_matching_key"
    AGE_TAMPERED = "age_tampered"
    AGE_TRUNCATED = "age_truncated"
    AGE_TRAILING_DATA = "age_trailing_data"
    TIMELOCK_MALFORMED = "timelock_malformed"
    TIMELOCK_WRONG_CHAIN = "timelock_wrong_chain"
    TIMELOCK_WRONG_ROUND = "timelock_wrong_round"
    TIMELOCK_TAMPERED = "timelock_tampered"
    BEACON_INVALID = "beacon_invalid"
    BEACON_UNAVAILABLE = "beacon_unavailable"
    CAPSULE_MALFORMED = "capsule_malformed"
    CAPSULE_WRONG_RECIPIENTS = "capsule_wrong_recipients"
    CAPSULE_NOT_FOR_THIS_KEY = "capsule_not_for_this_key"
    CAPSULE_WRONG_IDENTITY = "capsule_wrong_identity"
    BINDING_MISSING = "binding_missing"
    SEALED_FOR_ANOTHER = "sealed_for_another"
    ARCHIVE_REFUSED = "archive_refused"
    ARCHIVE_MALFORMED = "archive_malformed"
    OUTPUT_REFUSED = "output_refused"
    CIPHERTEXT_MISMATCH = "ciphertext_mismatch"
    DELIVERY_WRAP_INVALID = "delivery_wrap_invalid"


_EVIDENCE: Final = (
    "The sealed data is at fault, not this machine: describe it in the Verdict. "
    "Ask first whether another Guardian could open it."
)
_REFETCH: Final = (
    "Fetch the bytes again, from another source if this happens again; compare their digest with the envelope."
)

_NEXT_ACTION: Final[dict[Failure, str]] = {
    Failure.KEY_INVALID: "Use a key in the form AGE-SECRET-KEY-1... or age1..., as age-keygen prints it.",
    Failure.AGE_TRUNCATED: _REFETCH,
    Failure.CIPHERTEXT_MISMATCH: _REFETCH,
    Failure.BEACON_INVALID: "Ask other relays for the round; a beacon signature is the same everywhere.",
    Failure.BEACON_UNAVAILABLE: "Try again, or name other relays in SERVICE_BEACON_URLS.",
    Failure.CAPSULE_NOT_FOR_THIS_KEY: (
        "Add retired encryption keys to the keyring and try again. If only one Guardian's stanza fails, that is no "
        "reason to reject a Submission: leave it to the Guardians who can open it."
    ),
    Failure.ARCHIVE_REFUSED: "Change the directory as the message describes and seal it again.",
    Failure.OUTPUT_REFUSED: "Choose an output directory that does not exist yet, with space for the files.",
    Failure.DELIVERY_WRAP_INVALID: "Ask a Guardian of the roster to run guardian:deliver-key again.",
}


class SealedDataError(ServiceError):
    """A sealed file, key, beacon or archive that is refused."""

    def __init__(self, failure: Failure, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(failure.value, message, issues=issues, next_action=_NEXT_ACTION.get(failure, _EVIDENCE))
        self.failure = failure


class OutputFailed(SealedDataError):
    """A machine that cannot take any output, as with a full disk: the sealed data has no part in it."""

    def __init__(self, message: str) -> None:
        super().__init__(Failure.OUTPUT_REFUSED, message)
