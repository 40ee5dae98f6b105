"""A Guardian's sign of life; needs only the chain, and continues the transaction of an interrupted run."""

from typing import Final

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.domain.hub_events import GuardianHeartbeat
from bounty_protocol.types import Address

from service_cli.acts.fee_events import SignOfLife
from service_cli.chain.journal import Journal
from service_cli.chain.prepared import PreparedAct, newest_settled, simulate_together, unsent
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import GUARDIAN_KEY, LocalSigner, account_of, local_signer
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep
from service_cli.config.settings import Settings
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("transaction")
_HEARTBEAT: Final = HubCall("heartbeat", [], "record a sign of life")
_OLD_SECONDS: Final = 3_600
"""After this long a sign of life that an earlier run sent is not the one that this run is to give."""


def heartbeat(settings: Settings) -> SignOfLife:
    """The command ``guardian:heartbeat``."""
    session = Session.open(settings, local_signer(settings, GUARDIAN_KEY))
    # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
    with session.journal("heartbeat", session.account) as journal:
        receipt = _beat(session, journal)
        if _is_old(session.chain, receipt):
            say(f"an earlier run's sign of life was mined in block {receipt.block_number}: recording another one")
            journal.forget(*_STEP.entries)
            receipt = _beat(session, journal)
        recorded = _alive(session.account, receipt)
        journal.forget(*_STEP.entries)  # once it is told: a run that is killed before sends no second one
    return recorded


def _beat(session: Session[LocalSigner], journal: Journal) -> Receipt:
    """One transaction, or what became of the one that an earlier run signed."""
    return send(session, Transaction(_HEARTBEAT, expects=None), journal, _STEP)


def _is_old(chain: ChainClient, receipt: Receipt) -> bool:
    with chain_errors():
        mined = header_at(chain.rpc, receipt.block_number).time
    return chain.latest().time - mined > _OLD_SECONDS


def prepare_heartbeat(settings: Settings, guardian: Address | None) -> PreparedAct[SignOfLife]:
    """The call of ``heartbeat``; any sign of life in a later block is its result."""
    chain = ChainClient.checked(settings)
    account = account_of(settings, GUARDIAN_KEY) if guardian is None else guardian
    since = chain.latest().number
    simulate_together(chain, account, [_HEARTBEAT])
    proof = ExpectedEvent(GuardianHeartbeat, [account_topic(account)])

    def find(later: ChainClient) -> SignOfLife | None:
        found = newest_settled(later, proof, since)
        return None if found is None or found.block_number <= since else _alive(account, found)

    return unsent(chain, account, [_HEARTBEAT], since, find)


def _alive(guardian: Address, receipt: Receipt) -> SignOfLife:
    return emit(SignOfLife(guardian, receipt.tx_hash, receipt.block_number))
