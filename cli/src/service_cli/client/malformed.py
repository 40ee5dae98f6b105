"""A Submission that does not open: what is wrong with it, in words that fit a Verdict.

Promises: called malformed only what the Solver alone can have caused, since every byte behind it hashes to the
commitment on chain; a bad download, a key that does not fit, a full disk or a silent beacon keep their own words.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from service_common.crypto.failures import Failure, SealedDataError

from service_cli.outcome import Refused

_THE_SOLVERS: Final = {
    Failure.AGE_MALFORMED: "its artifact is not an age file as docs/formats.md describes it",
    Failure.AGE_RECIPIENTS_REFUSED: "its artifact is not sealed to exactly one X25519 key",
    Failure.AGE_NO_MATCHING_KEY: "its artifact is not sealed to the content key that its envelope names",
    Failure.AGE_TAMPERED: "its artifact was damaged before the Solver committed to it",
    Failure.AGE_TRUNCATED: "its artifact was cut short before the Solver committed to it",
    Failure.AGE_TRAILING_DATA: "its artifact goes on after its end",
    Failure.TIMELOCK_MALFORMED: "its key capsule is not a timelock file",
    Failure.TIMELOCK_WRONG_CHAIN: "its key capsule is locked to another beacon",
    Failure.TIMELOCK_WRONG_ROUND: "its key capsule is locked to another round",
    Failure.TIMELOCK_TAMPERED: "its key capsule was damaged before the Solver committed to it",
    Failure.CAPSULE_MALFORMED: "what its key capsule holds is not one sealed content key",
    Failure.CAPSULE_WRONG_RECIPIENTS: "its key capsule is not sealed to this bounty's roster",
    Failure.CAPSULE_WRONG_IDENTITY: "its key capsule holds another key than its envelope names",
    Failure.BINDING_MISSING: "what it sealed does not name its bounty and Solver, as its envelope's version requires",
    Failure.SEALED_FOR_ANOTHER: "what it sealed names another bounty or another Solver than its envelope",
    Failure.ARCHIVE_REFUSED: "its archive holds what may not be in one",
    Failure.ARCHIVE_MALFORMED: "its archive is not a tar file that can be read",
}
_EVIDENCE: Final = (
    "All of it hashes to the commitment on chain, so the Solver alone can have caused it: this is evidence for a "
    "Verdict. Compare with another Guardian, and quote it."
)


@contextmanager
def explained() -> Iterator[None]:
    """Turn a refusal of the sealed data itself into evidence."""
    try:
        yield
    except SealedDataError as error:
        words = _THE_SOLVERS.get(error.failure)
        if words is None:
            raise
        message = f"The Submission is malformed: {words} ({error.message})."
        raise Refused(error.code, message, next_action=_EVIDENCE) from None
