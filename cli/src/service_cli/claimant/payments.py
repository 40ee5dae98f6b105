"""What the Hub paid: its event of a payment to one account, and the transaction that made it."""

from bounty_protocol.domain.hub_events import AwardClaimed, GuardianFeeClaimed, ProtocolFeeClaimed, RefundClaimed
from bounty_protocol.types import Address, BountyId

from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed

Payment = type[AwardClaimed] | type[RefundClaimed] | type[GuardianFeeClaimed] | type[ProtocolFeeClaimed]


def paid(
    kind: Payment, bounty_id: BountyId, account: Address
) -> ExpectedEvent[AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed]:
    """The event that shows a payment of this bounty to this account."""
    return ExpectedEvent(kind, [bounty_topic(bounty_id), account_topic(account)])


def claimed_before(chain: ChainClient, kind: Payment, bounty_id: BountyId, account: Address) -> Receipt | None:
    """The transaction that paid this account; None where the Hub's log has none, or cannot be read from its begin."""
    if (start := first_block(chain)) is None:
        return None
    try:
        return paid(kind, bounty_id, account).newest(chain, start)
    except CommandFailed:  # what the Hub owes is known; only the place of an old payment is not
        return None
