"""Handing the winning work's content key over to the deployment's delivery key.

Promises: only the finalized winner's key, by the chain's own word at its finalized block, and only to the key that the
Hub publishes on chain: a swapped delivery key in the API's answer is refused before anything is opened.
"""

from service_common.crypto import sealed_box
from service_common.types import ZERO_BYTES32, Address, BountyId, Bytes32

from service_cli.api import ApiClient, api_of
from service_cli.bounty.detail import check_detail, wait_finalized
from service_cli.chain.session import AWARDED, ChainClient, chain_errors
from service_cli.chain.signer import local_signer
from service_cli.config.settings import Settings
from service_cli.errors import Failed, Refused
from service_cli.guardian.opening import open_as_guardian
from service_cli.shell.output import event


def deliver_key(settings: Settings, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> None:
    """The command ``guardian:deliver-key``."""
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    if bounty.outcome != AWARDED or (bounty.winner, bounty.winning_submission) != (solver, commitment):
        message = "The contract does not name this Submission as the winner."
        raise Refused("not_the_winner", message, next_action="Deliver only the finalized winner's key.")
    api = api_of(settings, chain)
    check_detail(chain, bounty_id, bounty, wait_finalized(api, bounty_id))
    _require_final(chain, bounty_id, (solver, commitment))
    delivery_key = _delivery_key(api, chain)
    signer = local_signer(settings.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY")
    submission, identity = open_as_guardian(settings, signer, bounty_id, solver, commitment)
    wrapped = sealed_box.wrap(identity, delivery_key)
    answer = api.signed(
        signer,
        "POST",
        f"/api/bounties/{bounty_id}/delivery/wrap",
        body=(
            f'{{"solver_address":"{solver}","submission_commitment":"{commitment}","wrapped_key":"{wrapped}"}}'
        ).encode(),
        media_type="application/json",
        words=f"hand over the winning key of bounty {bounty_id}, sealed to the delivery key {delivery_key}",
    )
    event("guardian_deliver_key.stored", submission.names() | {"created": answer.status == 201})


def _require_final(chain: ChainClient, bounty_id: BountyId, winner: tuple[Address, Bytes32]) -> None:
    """The award stands in the finalized block; the API's word is not enough to hand a key over."""
    finalized = chain.finalized().number
    with chain_errors():
        view = chain.hub.bounty(bounty_id, finalized)
    if view is None or view.outcome != AWARDED:
        message = "The award is not in a block that the chain has finalized; it could still be undone."
        raise Failed("not_finalized", message, next_action="Run the command again when the block is finalized.")
    if (view.winner, view.winning_submission) != winner:
        message = "The contract does not name this Submission as the finalized winner."
        raise Refused("not_the_winner", message, next_action="Deliver only the finalized winner's key.")


def _delivery_key(api: ApiClient, chain: ChainClient) -> Bytes32:
    """The key on chain, which the API must serve, too."""
    with chain_errors():
        published = chain.hub.delivery_key()
    if published == ZERO_BYTES32:
        message = "The Hub publishes no delivery key yet."
        raise Refused("delivery_key_missing", message, next_action="Ask the operator to publish it on chain.")
    if api.get("/api/deployment/delivery-key").json().get("delivery_public_key") != published:
        message = "The API's delivery key is not the one that the Hub publishes on chain."
        raise Refused("delivery_key_mismatch", message, next_action="Do not deliver; report it to the operator.")
    return published
