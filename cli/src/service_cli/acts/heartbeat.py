"""A Guardian's sign of life; needs only the chain, and continues the transaction of an interrupted run."""

from typing import Final

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.types import Address

from service_cli.acts.claim_events import SignOfLife
from service_cli.acts.pipeline import Plan, carry_out
from service_cli.chain.journal import Journal
from service_cli.chain.receipts import Receipt
from service_cli.chain.session import Session, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.chain.transactions import ContractCall, TransactionStep
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("transaction")
_CALL: Final = ContractCall("heartbeat", [], "record a sign of life")
_OLD_SECONDS: Final = 3_600
"""After this long a sign of life that an earlier run sent is not the one that this run is to give."""


def heartbeat(settings: Settings) -> SignOfLife:
    """The command ``guardian:heartbeat``."""
    session = Session.open(settings, local_signer(settings, GUARDIAN_KEY))
    with session.journal("heartbeat", session.account) as journal:
        # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
        return carry_out(session, Plan(_CALL, None, _STEP, lambda found: _recorded(session, found, journal)), journal)


def _recorded(session: Session[LocalSigner], receipt: Receipt, journal: Journal) -> SignOfLife:
    """Report it; one of an earlier run that is old is followed by another one."""
    chain = session.chain
    with chain_errors():
        mined = header_at(chain.rpc, receipt.block_number).time
    if chain.latest().time - mined <= _OLD_SECONDS:
        return _alive(session.account, receipt, journal)
    say(f"an earlier run's sign of life was mined in block {receipt.block_number}: recording another one")
    journal.forget(*_STEP.entries)
    return carry_out(session, Plan(_CALL, None, _STEP, lambda found: _alive(session.account, found, journal)), journal)


def _alive(guardian: Address, receipt: Receipt, journal: Journal) -> SignOfLife:
    done = emit(SignOfLife(guardian, receipt.tx_hash, receipt.block_number))
    journal.forget(*_STEP.entries)  # once it is told: a run that is killed before sends no second one
    return done
