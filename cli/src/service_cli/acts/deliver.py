"""``guardian:deliver-key``: the winning work's content key, wrapped to the deployment's delivery key.

Only the finalized winner's key, as every endpoint has it at its finalized block and the API shows it, and only to the
key that the Hub publishes on chain: a swapped delivery key in the API's answer is refused before anything is opened.
"""

from bounty_protocol.crypto import sealed_box
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import ZERO_BYTES32, BountyId, Bytes32
from bounty_protocol.wire.delivery import DeliveryKey

from service_cli.acts.verdict_events import DeliveredKey
from service_cli.api import ApiClient
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import local_signer
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import watching
from service_cli.queries.state import final_winner, read_state
from service_cli.queries.submissions import Pair
from service_cli.ui.output import emit
from service_cli.work.opening import SealedBounty, keyring_of


def deliver_key(settings: Settings, bounty_id: BountyId, named: Pair | None) -> DeliveredKey:
    """Run the command ``guardian:deliver-key``; unless the winner is ``named``, use the one that the contract names."""
    chain = ChainClient(settings)
    state = read_state(chain, bounty_id)
    bounty = state.bounty
    if bounty.outcome is None:
        message = f"Bounty {bounty_id} is not decided yet."
        raise CommandRefused("not_the_winner", message, next_action=f"Wait until it is final: {watching(bounty_id)}.")
    if bounty.outcome is not Outcome.AWARDED:
        message = f"Bounty {bounty_id} ended without a winner, so there is no key to deliver."
        raise CommandRefused("not_the_winner", message, next_action="Nothing is left to do for it.")
    if named not in (None, (bounty.winner, bounty.winning_submission)):
        message = "The contract does not name this Submission as the winner."
        raise CommandRefused("not_the_winner", message, next_action="Deliver only the finalized winner's key.")
    session = Session(chain, local_signer(settings, GUARDIAN_KEY))
    api = session.api
    solver, commitment = final_winner(chain, state, api)
    asked = chain.ask(chain.hub.call("deliveryKey"), chain.hub.call("getSubmission", bounty_id, solver))
    delivery_key = _delivery_key(api, chain, asked)
    submission, identity = SealedBounty(chain, state, keyring_of(settings), api).open((solver, commitment), asked)
    wrapped = sealed_box.wrap(identity, delivery_key)
    answer = api.signed(
        session.signer,
        "POST",
        f"/api/bounties/{bounty_id}/delivery/wrap",
        body=(
            f'{{"solver_address":"{solver}","submission_commitment":"{commitment}","wrapped_key":"{wrapped}"}}'
        ).encode(),
        media_type="application/json",
        summary=f"deliver the winning key of bounty {bounty_id}, sealed to the delivery key {delivery_key}",
    )
    return emit(DeliveredKey(*submission.names(), answer.status == 201))


def _delivery_key(api: ApiClient, chain: ChainClient, asked: ChainClient) -> Bytes32:
    """Return the key in effect on chain according to every endpoint; the API must serve the same one."""
    published = agreed(asked, Fact.DELIVERY_KEY, lambda each: each.hub.delivery_key())
    if published == ZERO_BYTES32:
        message = "The Hub has no delivery key: none was published, or it was withdrawn."
        next_action = "Run the command again once the operator's next key is in effect: service-cli doctor shows when."
        raise CommandRefused("delivery_key_missing", message, next_action=next_action)
    served = api.get("/api/deployment/delivery-key").read(DeliveryKey).delivery_public_key
    if served == published:
        return published
    finalized = chain.final_block()
    former = chain.hub.delivery_key(finalized)
    if served == former:  # the service follows the chain a few blocks behind
        message = "A new delivery key has just taken effect, and the API does not show it yet."
        raise CommandFailed("delivery_key_changing", message, next_action="Run the command again in a minute.")
    message = "The API's delivery key is not the one in effect on chain."
    raise CommandRefused("delivery_key_mismatch", message, next_action="Do not deliver; report it to the operator.")
