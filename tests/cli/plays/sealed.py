"""What is sealed in a Submission, and who can open it when: with the keys and the beacon of the true deployment."""

import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bounty_protocol.crypto.artifact import open_artifact
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import open_capsule
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.timelock import read_timelock
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.domain.envelope.document import Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId

from tests.cli.plays.world import World
from tests.cli.submitted import files_below
from tests.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Sealed:
    """Both files of a Submission."""

    envelope: Envelope
    ciphertext: bytes

    def opened(self, identity: Identity) -> dict[str, bytes] | None:
        """The files, with a content key; None where it does not fit."""
        described = self.envelope.ciphertext
        with tempfile.TemporaryDirectory() as folder, suppress(SealedDataError):
            file, out = Path(folder) / "ciphertext", Path(folder) / "out"
            file.write_bytes(self.ciphertext)
            sizes = {"sha256": described.sha256, "byte_length": described.byte_length}
            open_artifact(file, identity, out, **sizes, expected=self.envelope.binding)  # type: ignore[arg-type]
            return files_below(out)
        return None


def find_sealed(world: World, home: Terminal, commitment: str) -> Sealed | None:
    """From the API, or from the folder that a Solver can pass on."""
    if (content := world.api.envelopes.get(commitment)) is not None:
        place = json.loads(content)["ciphertext"]["storage_locator"]
        if (uploaded := world.api.objects.get(place)) is not None:
            return Sealed(parse_envelope(content), uploaded)
    for file in home.home.rglob("envelope.json"):
        content, ciphertext = file.read_bytes(), file.parent / "ciphertext.age"
        if submission_commitment(content) == commitment and ciphertext.exists():
            with suppress(ServiceError):
                return Sealed(parse_envelope(content), ciphertext.read_bytes())
    return None


def content_key(world: World, envelope: Envelope, keyring: list[Identity]) -> Identity | None:
    """The content key as these keys open it, once the round is out that the envelope is locked to."""
    ledger = world.ledger
    with suppress(SealedDataError):
        number = read_timelock(envelope.key_capsule).round
        return open_capsule(
            envelope.key_capsule,
            beacon=Beacon(number, ledger.beacon.signature(number)),
            info=ledger.beacon.info,
            keyring=keyring,
            roster_size=len(ledger.people.guardians),
            content_public_key=envelope.content_public_key,
            expected=envelope.binding,
        )
    return None


def guardians_key(world: World) -> Identity:
    """A true Guardian's encryption key."""
    identity = world.ledger.people.guardians[0].identity
    assert identity is not None
    return identity


def work_for_guardians(world: World, sealed: Sealed) -> dict[str, bytes] | None:
    """What the true Guardians find when they open it at the true reveal point; None where they cannot."""
    view = world.api.hub.bounty(BountyId(sealed.envelope.bounty_id))
    if view is None or sealed.envelope.reveal_policy != world.ledger.beacon.info.reveal_policy(view.reveal_at):
        return None
    key = content_key(world, sealed.envelope, [guardians_key(world)])
    return None if key is None else sealed.opened(key)
