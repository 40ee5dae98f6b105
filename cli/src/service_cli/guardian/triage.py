"""``guardian:open --look``: each Submission by its envelope and the first bytes of its ciphertext.

Accounts cost nothing, so one bounty may get many Submissions that hold nothing. Their envelopes are small, and most of
what keeps one from being opened shows in the envelope or in the header of the ciphertext. Nothing is written, and no
work is downloaded.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from bounty_protocol.crypto import age
from bounty_protocol.crypto.age_header import MAX_HEADER_BYTES
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope import Envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.accounts import AccountRecord

from service_cli.api_session import ApiSession
from service_cli.bounty.facts import RecordedSubmission
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.errors import OF_ONE, CommandFailed, CommandRefused
from service_cli.guardian.events import LookedAtBounty, SeenSubmission
from service_cli.guardian.opening import ACCOUNT_KEY, OF_ALL, ListedSubmissions, SealedBounty, keyring_of
from service_cli.shell.output import emit
from service_cli.storage import first_bytes
from service_cli.submissions import Submission, fetch_contents, fetch_submission, submission_of

_HEAD_BYTES: Final = MAX_HEADER_BYTES + 64
"""The longest header, and the nonce after it."""
_AT_ONCE: Final = 20
"""Submissions asked for by one request: the addresses of their ciphertexts are good for two minutes at least."""
_OF_ONE: Final = OF_ONE | {"storage_refused", "storage_mismatch"}
"""Failures that say nothing of the other Submissions."""


def look_at_submissions(settings: Settings, bounty_id: BountyId) -> LookedAtBounty:
    """One event for each Submission of the bounty, then how many would open."""
    session = ApiSession.open(settings, local_signer(settings, ACCOUNT_KEY))
    listed = ListedSubmissions.read(settings, bounty_id, with_api=True)
    look = _Look(session, keyring_of(settings), SealedBounty.read(session.chain, bounty_id, session.api))
    seen = list(look.at_all(listed.submissions))
    openable = [each for each in seen if each.code is None]
    sizes = [each.byte_length or 0 for each in openable]
    return emit(LookedAtBounty(bounty_id, len(seen), len(openable), len(seen) - len(openable), sum(sizes)))


@dataclass(slots=True)
class _Look:
    """One run."""

    session: ApiSession[LocalSigner]
    keyring: tuple[Identity, ...]
    sealed: SealedBounty
    first_with: dict[Bytes32, int] = field(default_factory=dict)
    """The number of the first Submission with a ciphertext, or with a commitment."""
    records: dict[Address, AccountRecord | None] = field(default_factory=dict)

    def at_all(self, submissions: Sequence[RecordedSubmission]) -> Iterator[SeenSubmission]:
        """Each Submission in turn; an API or storage that does not answer ends the run."""
        asked = self.session.api, self.session.signer, self.sealed.bounty_id
        for start in range(0, len(submissions), _AT_ONCE):
            some = submissions[start : start + _AT_ONCE]
            contents = fetch_contents(*asked, (one.commitment for one in some))
            for one in some:
                fetch = partial(submission_of, *asked, (one.solver, one.commitment), contents[one.commitment])
                yield self._at(one, len(submissions), fetch)

    def _at(self, one: RecordedSubmission, count: int, fetch: Callable[[], Submission]) -> SeenSubmission:
        envelope: Envelope | None = None
        code = message = None
        try:
            submission = fetch()
            envelope = submission.envelope
            self._try_to_open(submission)
        except ServiceError as error:
            if error.code in OF_ALL or (isinstance(error, CommandFailed) and error.code not in _OF_ONE):
                raise
            code, message = error.code, error.message
        record = self._record(one.solver)
        return emit(
            SeenSubmission(
                self.sealed.bounty_id,
                one.solver,
                one.commitment,
                one.number,
                count,
                one.block_number,
                None if envelope is None else envelope.ciphertext.byte_length,
                self._same_as(one, envelope),
                None if record is None else record.solver.submitted,
                None if record is None else record.solver.won,
                code,
                message,
            )
        )

    def _try_to_open(self, submission: Submission) -> None:
        """Everything that opening does before the work itself is read."""
        self.sealed.require_recorded(submission.solver, submission.commitment)
        self.sealed.check(submission)
        identity = self.sealed.unlock(submission, self.keyring)
        try:
            age.decrypt(io.BytesIO(self._head(submission)), [identity], recipients=1)
        except SealedDataError as error:  # nobody has hashed these bytes: the storage may have caused it
            message = (
                f"The first bytes of its ciphertext do not open: {error.message}. Open it to know who caused that."
            )
            raise CommandRefused("begin_not_opened", message, next_action="Open it.") from None

    def _head(self, submission: Submission) -> bytes:
        """The first bytes of the ciphertext, by a new address where its own ended while others were looked at."""
        try:
            return _first_bytes(submission)
        except ServiceError as error:
            if error.code != "storage_refused":
                raise
        bounty_id, solver, commitment = submission.names()
        fresh = fetch_submission(self.session.api, self.session.signer, bounty_id, (solver, commitment))
        return _first_bytes(fresh)

    def _same_as(self, one: RecordedSubmission, envelope: Envelope | None) -> int | None:
        """The number of an earlier Submission with the same bytes."""
        found = None
        for name in (one.commitment, None if envelope is None else envelope.ciphertext.sha256):
            if name is not None and (first := self.first_with.setdefault(name, one.number)) != one.number:
                found = first
        return found

    def _record(self, solver: Address) -> AccountRecord | None:
        """By the API, which may count wrongly and decides nothing; None where it has none."""
        if solver not in self.records:
            try:
                self.records[solver] = self.session.api.get(f"/api/accounts/{solver}").read(AccountRecord)
            except ServiceError:
                self.records[solver] = None
        return self.records[solver]


def _first_bytes(submission: Submission) -> bytes:
    byte_length = submission.envelope.ciphertext.byte_length
    return first_bytes(str(submission.source), min(_HEAD_BYTES, byte_length), byte_length)
