"""The Guardian roster pinned to a bounty (``guardian_roster`` of the API, rosters of the Hub).

``verify`` recomputes the hash from the members, so an accepted roster is the one that the chain pinned. Rosters whose
members do not hash to the value they carry, or to the pinned one, are ``guardian_roster_mismatch``.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.domain.money.abi_hashes import guardian_roster_hash, recipients_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, Bytes32, UnixSeconds

MAX_MEMBERS: Final = 15
_LYING = "Do not use this roster: take the members from the Hub's getRoster and compare."


@dataclass(frozen=True, slots=True)
class RosterMember:
    """One Guardian: the account that signs and the X25519 key that decrypts."""

    guardian_address: Address
    encryption_public_key: Bytes32
    last_active_at: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class Roster:
    """One published version, members in the Hub's order (accounts ascending)."""

    version: Annotated[int, Note("Counts from 1.")]
    guardian_roster_hash: Bytes32
    quorum: Annotated[int, Note("Verdicts that decide.")]
    members: tuple[RosterMember, ...]

    @property
    def accounts(self) -> tuple[Address, ...]:
        """The Guardians' accounts in roster order."""
        return tuple(member.guardian_address for member in self.members)

    @property
    def encryption_public_keys(self) -> tuple[Bytes32, ...]:
        """The Guardians' X25519 keys in roster order."""
        return tuple(member.encryption_public_key for member in self.members)

    @property
    def recipients_commitment(self) -> Bytes32:
        """The fields that an envelope sealed for this roster must carry."""
        return recipients_commitment(self.guardian_roster_hash, self.encryption_public_keys)

    def member(self, guardian: Address) -> RosterMember | None:
        """Return the member with this account, if any."""
        return next((member for member in self.members if member.guardian_address == guardian), None)

    def compute_hash(self, chain_id: int, hub: Address) -> Bytes32:
        """Return the hash that this version, these members and this quorum have on that Hub."""
        return guardian_roster_hash(
            chain_id,
            hub,
            version=self.version,
            accounts=self.accounts,
            encryption_public_keys=self.encryption_public_keys,
            quorum=self.quorum,
        )

    def verify(self, chain_id: int, hub: Address, pinned: Bytes32 | None = None) -> None:
        """Raise ``guardian_roster_mismatch`` unless the members hash to the carried (and the pinned) value."""
        computed = self.compute_hash(chain_id, hub)
        if computed != self.guardian_roster_hash:
            message = "the roster's members do not match the roster hash sent with them"
            raise ServiceError("guardian_roster_mismatch", message, next_action=_LYING)
        if pinned is not None and computed != pinned:
            message = "the roster is not the one that the bounty pinned on chain"
            raise ServiceError("guardian_roster_mismatch", message, next_action=_LYING)
