"""A folder with what somebody handed over of a Submission: envelope, ciphertext, content key, or only some of them.

Promises: where the bytes came from is no matter: the envelope must hash to the commitment on chain, the content key
must be the one that the envelope commits to, and the ciphertext is checked on opening. Files of another kind, links to
nowhere and oversized ones are refused by name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from service_common.crypto.binding import ExpectedBinding
from service_common.crypto.capsule import MAX_IDENTITY_FILE, check_identity, parse_identity_file
from service_common.crypto.failures import SealedDataError
from service_common.crypto.x25519 import Identity
from service_common.domain.envelope import MAX_ENVELOPE_BYTES, Envelope
from service_common.types import Address, BountyId, Bytes32

from service_cli.client.submissions import Submission, checked_submission
from service_cli.outcome import Refused

_NAMES: Final = "envelope.json, ciphertext.age, identity.txt"


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The folder."""

    folder: Path

    @property
    def envelope(self) -> Path:
        return self.folder / "envelope.json"

    @property
    def ciphertext(self) -> Path:
        return self.folder / "ciphertext.age"

    @property
    def identity(self) -> Path:
        return self.folder / "identity.txt"

    def submission(
        self, bounty_id: BountyId, pair: tuple[Address, Bytes32], fetch: Callable[[], Submission]
    ) -> Submission:
        """The Submission; ``fetch`` is asked for it only where envelope or ciphertext is not here."""
        if not any(path.exists() for path in (self.envelope, self.ciphertext, self.identity)):
            message = f"{self.folder} holds none of {_NAMES}."
            raise Refused("file_unreadable", message, next_action="Give the files these names.")
        if self.ciphertext.exists():
            _read(self.ciphertext, 1)
        if not self.envelope.exists():
            fetched = fetch()
            return replace(fetched, source=self.ciphertext) if self.ciphertext.exists() else fetched
        content = _read(self.envelope, MAX_ENVELOPE_BYTES + 1)
        found = checked_submission(content, bounty_id, pair, lambda: self.ciphertext)
        return found if self.ciphertext.exists() else replace(found, source=fetch().source)

    def content_key(self, envelope: Envelope) -> Identity:
        """The content key as another Guardian wrote it, as age-keygen writes one.

        Nobody vouches for its comments: that they name nobody proves nothing, and the archive is still to be checked.
        """
        try:
            found = parse_identity_file(_read(self.identity, MAX_IDENTITY_FILE + 1))
            ExpectedBinding(envelope.binding, required=False).check(found.binding, "the identity file")
            return check_identity(found.identity, envelope.content_public_key)
        except SealedDataError as error:
            message = f"The identity handed over does not open this Submission: {error.message}."
            next_action = "Ask the other Guardian again, or open with your own key."
            raise Refused("identity_mismatch", message, next_action=next_action) from None


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        raise Refused("file_unreadable", f"{path} cannot be read.", next_action="Check its rights.") from None
