"""This deployment's facts that a client needs: the Hub's limits and current terms, and how the deployment is set up."""

from bounty_protocol.auth.verify import FRESHNESS_SECONDS
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.wire.deployment import Deployment, HubLimits
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_current_roster, read_fee_policy

from service_api.bounties.rendering import fees_of
from service_api.deployment.constants import Constants
from service_api.submissions.upload_targets import MAX_CIPHERTEXT_BYTES


def show_deployment(facts: HubFacts, constants: Constants, public_host: str) -> Deployment:
    """Return the body of ``GET /api/deployment``."""
    hub, head = constants.hub, facts.head
    fees, roster = read_fee_policy(facts.connection), read_current_roster(facts.connection, head.block_time)
    return Deployment(
        chain_id=head.chain_id,
        hub_address=head.hub_address,
        escrow_token=constants.token(),
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
        beacon=constants.beacon,
        public_host=public_host,
    )
