"""This deployment's facts that a client needs: the Hub's limits and current terms, and how the deployment is set up."""

from collections.abc import Iterator
from contextlib import contextmanager

from bounty_protocol.auth.verify import FRESHNESS_SECONDS
from bounty_protocol.chain.hub_constants import EscrowToken
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import ServiceError
from bounty_protocol.wire.deployment import Deployment, HubLimits, TokenDescription
from service_common.db.hub_reads import read_current_roster, read_fee_policy

from service_api.bounties.rendering import fees_of
from service_api.dependencies import Dependencies
from service_api.places import place_at
from service_api.submissions.upload_targets import MAX_CIPHERTEXT_BYTES


@contextmanager
def reading_once(deps: Dependencies, *constants: str) -> Iterator[None]:
    """Have constants of the deployment read by one request at a time: everybody's threads are the same."""
    if deps.has_read(*constants):
        yield
        return
    message = "The chain or the beacon has not described itself yet."
    with place_at(deps.describe_place, ServiceError("bounty_chain_state_unavailable", message, retry_after=2), 1.0):
        yield


def show_token(deps: Dependencies) -> TokenDescription:
    """Return the escrow token, as the Hub names it."""
    with reading_once(deps, "hub"):
        return _described(deps.hub.token)


def _described(token: EscrowToken) -> TokenDescription:
    return TokenDescription(token.address, token.symbol, token.decimals)


def show_deployment(deps: Dependencies) -> Deployment:
    """Return the body of ``GET /api/deployment``."""
    chain, hub = deps.config.chain, deps.hub
    with deps.facts.open() as facts:
        head = facts.head
        fees, roster = read_fee_policy(facts.connection), read_current_roster(facts.connection, head.block_time)
    return Deployment(
        chain_id=chain.chain_id,
        hub_address=chain.hub_address,
        escrow_token=_described(hub.token),
        fee_policy=fees_of(fees) if fees else None,
        guardian_roster=roster,
        limits=HubLimits(
            min_escrow_amount=hub.min_escrow,
            min_judging_window_seconds=hub.min_judging_window,
            max_judging_window_seconds=hub.max_judging_window,
            min_submission_window_seconds=hub.min_submission_window,
            max_submission_window_seconds=hub.max_submission_window,
            max_challenge_bytes=MAX_DOCUMENT_BYTES,
            max_ciphertext_bytes=MAX_CIPHERTEXT_BYTES,
        ),
        reveal_delay_seconds=hub.reveal_delay,
        block_time_seconds=head.seconds_per_block,
        freshness_window_seconds=FRESHNESS_SECONDS,
        beacon=deps.beacon,
        public_host=deps.config.web.public_host,
    )
