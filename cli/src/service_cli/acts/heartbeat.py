"""A Guardian's sign of life; needs only the chain, and continues the transaction of an interrupted run."""

from typing import Final

from service_cli.acts.claim_events import SignOfLife
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import local_signer
from service_cli.chain.transactions import ContractCall, Transaction, TransactionStep
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("transaction")
_CALL: Final = ContractCall("heartbeat", [], "record a heartbeat")
_OLD_SECONDS: Final = 3_600
"""After this long a sign of life that an earlier run sent is not the one that this run is to give."""


def heartbeat(settings: Settings) -> SignOfLife:
    """Run the command ``guardian:heartbeat``."""
    session = Session(ChainClient(settings), local_signer(settings, GUARDIAN_KEY))
    chain = session.chain
    with session.journal("heartbeat", session.account) as journal:
        # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
        receipt = send(session, Transaction(_CALL, expects=None), journal, _STEP)
        if chain.latest().time - chain.header(receipt.block_number).time > _OLD_SECONDS:
            say(f"an earlier run's heartbeat was mined in block {receipt.block_number}: recording a new one")
            journal.forget(*_STEP.entries)
            receipt = send(session, Transaction(_CALL, expects=None), journal, _STEP)
        done = emit(SignOfLife(session.account, receipt.tx_hash, receipt.block_number))
        journal.forget(*_STEP.entries)  # once it is told: a run that is killed before sends no second one
        return done
