"""Publishing a challenge page."""

from dataclasses import dataclass
from typing import Annotated

from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.errors import Issue
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, Bytes32, ChainId
from bounty_protocol.wire.deployment import CurrentFees
from bounty_protocol.wire.values import AbiArguments, TypedData


@dataclass(frozen=True, slots=True)
class PublicationQuery:
    """Who publishes."""

    poster_address: Address


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call of the Hub, for the Poster's wallet to send."""

    function_name: Annotated[str, Note("The Hub's function.")]
    args: AbiArguments


@dataclass(frozen=True, slots=True)
class ReviewReference:
    """The readiness review that found the page ready."""

    review_id: str
    rubric_version: str
    rubric_hash: Bytes32


@dataclass(frozen=True, slots=True)
class PreparedPublication:
    """The call that creates the bounty of a stored page, in one of two ways."""

    spec_commitment: Bytes32
    byte_length: int
    chain_id: ChainId
    hub_address: Address
    escrow_token_address: Address
    poster_address: Address
    create_bounty: PreparedCall
    create_bounty_with_authorization: PreparedCall
    authorization_typed_data: TypedData
    fee_policy: CurrentFees
    guardian_roster: Roster
    review: ReviewReference


@dataclass(frozen=True, slots=True)
class PageFindings:
    """The rules' issues with a page, and by which rubric and rules. Without an issue no rule objects; a review may."""

    rubric_version: str
    rubric_hash: Bytes32
    rules_version: str
    issues: tuple[Issue, ...]
