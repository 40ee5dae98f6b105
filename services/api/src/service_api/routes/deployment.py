"""``GET /api/deployment``."""

from collections.abc import Callable

from bounty_protocol.auth.verify import FRESHNESS_SECONDS
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.deployment import Deployment, HubLimits, TokenDescription
from flask import Response
from service_common.db.hub_reads import read_current_roster, read_fee_policy
from service_common.web.authentication import public, read_query
from service_common.web.operations import Routes, described
from service_common.web.versions import REVALIDATE, Version, json_version, text_version, versioned

from service_api.dependencies import Dependencies, dependencies
from service_api.places import place_at
from service_api.usecases.client_settings import client_settings
from service_api.usecases.rendering import fees_of
from service_api.usecases.upload_targets import MAX_CIPHERTEXT_BYTES

routes = Routes("deployment", __name__, url_prefix="/api/deployment", description="This deployment")


@routes.route("", methods=["GET"])
@routes.response(200, Deployment, versioned=True)
@described("bounty_projection_unavailable", "bounty_chain_state_unavailable")
@public
def get_deployment() -> Response:
    """The facts of this deployment that a client needs."""
    read_query(allowed=frozenset())
    return _answer(lambda: json_version(to_json(_describe(dependencies()))))


@routes.route("/client.env", methods=["GET"])
@routes.response(200, content_type="text/plain", versioned=True)
@described("bounty_chain_state_unavailable")
@public
def get_client_settings() -> Response:
    """The client's settings for this deployment, to be saved as ``.env`` in a directory of its own.

    Chain, Hub, token, API, subgraph, reveal delay and beacon belong together, so they come as one file. It names no RPC
    endpoint: by that the client checks all the others."""
    read_query(allowed=frozenset())
    return _answer(lambda: text_version(client_settings(dependencies()), "text/plain", REVALIDATE))


def _answer(make: Callable[[], Version]) -> Response:
    """What is asked for once is asked by one read at a time: everybody's threads are the same."""
    deps = dependencies()
    if deps.is_described:
        return versioned(make)
    message = "The chain or the beacon has not described itself yet."
    refusal = ServiceError("bounty_chain_state_unavailable", message, retry_after=2)
    with place_at(deps.describe_place, refusal, patience=1.0):
        return versioned(make)


def _describe(deps: Dependencies) -> Deployment:
    """The answer: the Hub's limits and current terms, and how this deployment is set up."""
    chain, hub = deps.config.chain, deps.hub
    with deps.facts.open() as facts:
        head = facts.head
        fees, roster = read_fee_policy(facts.connection), read_current_roster(facts.connection, head.block_time)
    return Deployment(
        chain_id=chain.chain_id,
        hub_address=chain.hub_address,
        escrow_token=TokenDescription(hub.token.address, hub.token.symbol, hub.token.decimals),
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
