"""A Hub for the people of a test, with short terms."""

from bounty_protocol.crypto.x25519 import Identity
from local_stack.accounts import People
from local_stack.anvil import AnvilServer
from local_stack.hub import LocalHub, LocalHubTerms, RosterEntry, deploy_hub

TERMS = LocalHubTerms(reveal_delay=60, min_submission_window=10, min_judging_window=60, publication_delay=100)


def deploy_for(node: AnvilServer, people: People, delivery: Identity) -> LocalHub:
    """Deploy token and Hub; everybody has tokens."""
    return deploy_hub(
        node,
        owner=people.owner.wallet,
        fee_recipient=people.fee_recipient.wallet,
        guardians=[RosterEntry(g.wallet, g.identity.public_key) for g in people.guardians if g.identity],
        delivery_public_key=delivery.public_key,
        holders=[person.wallet for person in people.everyone()],
        terms=TERMS,
    )
