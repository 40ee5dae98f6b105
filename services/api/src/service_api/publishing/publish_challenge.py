"""Publishing a challenge: frontmatter, readiness review, exact bytes stored, prepared arguments returned.

The bytes stored and committed to are the bytes signed. The terms in the answer are derived from them and from the Hub's
current fees and roster, and the client re-derives all of it before anything is signed for the Hub. The identical signed
request is answered 409 once its page has come as far as a review; a fresh signature joins the same review without a new
charge. A page that is refused before leaves nothing behind.
"""

import secrets
from dataclasses import dataclass

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.chain.eip3009 import AUTHORIZATION_SECONDS, authorization_typed_data
from bounty_protocol.chain.hub_constants import term_issues
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.lifecycle.hub_events import FeePolicyChanged
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.money.abi_hashes import authorization_nonce
from bounty_protocol.domain.money.amounts import fee_amount
from bounty_protocol.domain.money.terms import Terms
from bounty_protocol.errors import ServiceError
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Address, UnixSeconds, bytes32
from bounty_protocol.wire.publication import PreparedCall, PreparedPublication, ReviewReference
from bounty_protocol.wire.values import AbiArguments, TypedData
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import writing
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import read_announced_roster, read_current_roster, read_fee_policy
from service_common.reviews import ReviewJob, review_id
from sqlalchemy import Engine, exists, select
from sqlalchemy.dialects.postgresql import insert

from service_api.bounties.rendering import fees_of
from service_api.config import ApiConfig
from service_api.deployment.constants import Constants
from service_api.publishing.reviews import Reviews
from service_api.publishing.stored_pages import is_kept, store_page
from service_api.storage.room import Pending, PendingRoom


@dataclass(frozen=True, slots=True)
class Offer:
    """The Hub's offer to a bounty created now."""

    fees: FeePolicyChanged
    roster: Roster
    now: UnixSeconds
    roster_until: UnixSeconds | None
    """When an announced roster takes this one's place."""
    has_bounty: bool
    """Whether the Poster has one whose creation is final."""


def require_publications(config: ApiConfig) -> None:
    """Raise ``invalid_bounty_challenge`` if the operator has set that this deployment takes no new bounties."""
    if not config.takes_publications:
        raise ServiceError(
            "invalid_bounty_challenge",
            "This deployment accepts no new bounties.",
            next_action="Check and publish the page at another deployment.",
        )


@dataclass(frozen=True, slots=True)
class Publishing:
    """What publishing a page needs."""

    source: FactSource
    constants: Constants
    room: PendingRoom
    reviews: Reviews

    def publish(self, request: VerifiedRequest, poster: Address) -> PreparedPublication:
        """Return the answer of ``prepare-publication``."""
        page, hub, engine = request.body, self.constants.hub, self.source.engine
        challenge = parse_challenge(page)
        offer = _offer(self.source, poster)
        if issues := term_issues(challenge, hub, offer.now, shown_time):  # the Hub would revert on these terms
            message = "The page's terms do not fit this deployment."
            raise ServiceError("invalid_bounty_challenge", message, issues=issues)
        commitment = spec_commitment(page)
        if not is_kept(engine, commitment):
            self.room.require(Pending.PAGES, poster)
        _process_once(engine, request)
        review = ReviewJob(
            review_id=review_id(poster, commitment, current_rubric().hash),
            poster=poster,
            page=page,
            has_bounty=offer.has_bounty,
            now=offer.now,
            reveal_delay=hub.reveal_delay,
            token_symbol=hub.token.symbol,
            token_decimals=hub.token.decimals,
        )
        finished = self.reviews.require_ready(review)
        store_page(engine, commitment, page, challenge)
        terms = Terms(
            spec_commitment=commitment,
            expected_roster_hash=offer.roster.guardian_roster_hash,
            escrow_amount=challenge.escrow_amount,
            submission_deadline=challenge.submission_deadline,
            judging_window=challenge.judging_window_seconds,
            max_protocol_fee=fee_amount(challenge.escrow_amount, offer.fees.protocol_fee_bps),
            max_guardian_fee=fee_amount(challenge.escrow_amount, offer.fees.guardian_fee_bps),
            salt=bytes32(secrets.token_bytes(32)),
        )
        return self._prepared(poster, terms, offer, finished, len(page))

    def _prepared(
        self, poster: Address, terms: Terms, offer: Offer, finished: ReviewReference, byte_length: int
    ) -> PreparedPublication:
        chain, token = self.source, self.constants.hub.token
        valid_before = UnixSeconds(offer.now + AUTHORIZATION_SECONDS)
        if offer.roster_until is not None:  # from then on the Hub refuses terms that name this roster
            valid_before = min(valid_before, offer.roster_until)
        # The last argument is the signature over authorization_typed_data, which only the wallet can make.
        with_authorization: list[object] = [terms.to_args(), poster, "0", str(valid_before), None]
        typed_data = authorization_typed_data(
            token,
            chain.chain_id,
            owner=poster,
            payee=chain.hub_address,
            value=terms.escrow_amount,
            valid_after=UnixSeconds(0),
            valid_before=valid_before,
            nonce=authorization_nonce(chain.chain_id, chain.hub_address, poster, terms),
        )
        return PreparedPublication(
            spec_commitment=terms.spec_commitment,
            byte_length=byte_length,
            chain_id=chain.chain_id,
            hub_address=chain.hub_address,
            escrow_token_address=token.address,
            poster_address=poster,
            create_bounty=PreparedCall("createBounty", AbiArguments([terms.to_args()])),
            create_bounty_with_authorization=PreparedCall(
                "createBountyWithAuthorization", AbiArguments(with_authorization)
            ),
            authorization_typed_data=TypedData(typed_data),
            fee_policy=fees_of(offer.fees),
            guardian_roster=offer.roster,
            review=finished,
        )


def _process_once(engine: Engine, request: VerifiedRequest) -> None:
    """Refuse an approval that was processed before. Its row survives the loss of Redis."""
    values = {"approval_digest": request.approval_digest, "block_number": request.block_number}
    row = insert(t.processed_approvals).values(values).on_conflict_do_nothing()
    with writing(engine) as connection:
        first = connection.execute(row.returning(t.processed_approvals.c.block_number)).first()
    if first is None:
        raise ServiceError("publication_review_unavailable", "This exact signed request was already processed.")


def _offer(source: FactSource, poster: Address) -> Offer:
    with source.open() as facts:
        now = facts.head.block_time
        fees, roster = read_fee_policy(facts.connection), read_current_roster(facts.connection, now)
        announced = read_announced_roster(facts.connection, now)
        b = h.bounties.c
        funded = exists().where(b.poster == poster, b.block_number <= facts.head.finalized_number)
        has_bounty = bool(facts.connection.execute(select(funded)).scalar_one())
    if fees is None or roster is None:
        raise ServiceError("bounty_projection_unavailable", "The Hub's roster and fees are not indexed yet.")
    return Offer(fees, roster, now, None if announced is None else announced.effective_from, has_bounty)


def shown_time(at: int) -> str:
    """Format a time in a page's terms for people, however far away it is."""
    try:
        return iso_utc(at)
    except (ValueError, OverflowError, OSError):
        return f"{at} seconds after 1970"
