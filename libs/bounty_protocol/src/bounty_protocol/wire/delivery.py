"""Delivery of the winning work: what the delivery service takes and answers, and the api forwards."""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.values import PublicKey

MAX_DELIVERY_BYTES: Final = 4 * 1024
"""Bytes of a request's body."""


@dataclass(frozen=True, slots=True)
class DeliveryKey:
    """The deployment's current delivery key."""

    delivery_public_key: Bytes32
    key_id: Annotated[str, Note("0x and 16 hex digits.")]
    algorithm: str


@dataclass(frozen=True, slots=True)
class StatusQuery:
    """Which Submission is meant."""

    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """Whether a wrapped key of exactly one Submission is held."""

    exists: bool


@dataclass(frozen=True, slots=True)
class WrapRequest:
    """A Guardian's wrap: the pair it is for, and the content key sealed to the delivery key."""

    solver_address: Address
    submission_commitment: Bytes32
    wrapped_key: Annotated[str, Note("Base64 of 80 bytes.")]


@dataclass(frozen=True, slots=True)
class RetrieveRequest:
    """The Poster's fresh key."""

    poster_ephemeral_public_key: PublicKey


@dataclass(frozen=True, slots=True)
class RetrievedKey:
    """The winning content key, sealed to the Poster's fresh key."""

    solver_address: Address
    submission_commitment: Bytes32
    wrapped_key: Annotated[str, Note("Base64 of 80 bytes.")]
