"""Settling a bounty whose time is up, which anyone may do: the call, for an account that somebody else acts for."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.hub_events import BountyFinalized
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.chain.prepared import PreparedAct, done_already, prepare
from service_cli.chain.receipts import ExpectedEvent, Receipt, bounty_topic, earliest_block
from service_cli.chain.session import ChainClient
from service_cli.chain.transactions import HubCall
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused


@dataclass(frozen=True, slots=True)
class SettledBounty:
    """A bounty's end and where it is. ``ended`` has the outcome, its reason, and the amounts in smallest units."""

    tx_hash: Bytes32
    block_number: BlockNumber
    ended: BountyFinalized


def prepare_settlement(settings: Settings, bounty_id: BountyId, account: Address) -> PreparedAct[SettledBounty]:
    """The call that ends the bounty by what is recorded; none where it has ended, by this or by a Verdict.

    Refused as the Hub would: before the judging deadline, and without Submissions before the submission deadline.
    """
    chain = ChainClient.checked(settings)
    bounty, proof = chain.bounty(bounty_id), ExpectedEvent(BountyFinalized, [bounty_topic(bounty_id)])
    if bounty.outcome is not None:
        found = proof.newest(chain, earliest_block(chain, chain.latest().number))
        if found is None:
            message = f"Bounty {bounty_id} has ended, and the endpoint's log does not show where."
            raise CommandRefused("bounty_final", message, next_action=_SHOWN.format(bounty_id))
        return done_already(chain, account, _settled(chain, found))
    return prepare(chain, account, [HubCall("settle", [bounty_id], f"settle bounty {bounty_id}")], proof, _settled)


_SHOWN: Final = "See service-cli bounty:show {}."


def _settled(_chain: ChainClient, receipt: Receipt) -> SettledBounty:
    (ended,) = [event for event in receipt.events if isinstance(event, BountyFinalized)]
    return SettledBounty(receipt.tx_hash, receipt.block_number, ended)
