"""A Guardian's sign of life; needs only the chain, and continues the transaction of an interrupted run."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.domain.hub_events import GuardianHeartbeat
from bounty_protocol.types import Address, BlockNumber

from service_cli.acts.fee_events import SignOfLife
from service_cli.acts.pipeline import Plan, carry_out, prepare
from service_cli.chain.journal import Journal
from service_cli.chain.prepared import PreparedAct, ProgramSigner
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, account_of, local_signer
from service_cli.chain.transactions import HubCall, TransactionStep
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("transaction")
_CALLS: Final = (HubCall("heartbeat", [], "record a sign of life"),)
_OLD_SECONDS: Final = 3_600
"""After this long a sign of life that an earlier run sent is not the one that this run is to give."""


def heartbeat(settings: Settings) -> SignOfLife:
    """The command ``guardian:heartbeat``."""
    session = Session.open(settings, local_signer(settings, GUARDIAN_KEY))
    with session.journal("heartbeat", session.account) as journal:
        # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
        return carry_out(session, Plan(_CALLS, None, _STEP, lambda *of: _recorded(session, *of)), journal)


def _recorded(session: Session[LocalSigner], receipt: Receipt, journal: Journal) -> SignOfLife:
    """Report it; one of an earlier run that is old is followed by another one."""
    chain = session.chain
    with chain_errors():
        mined = header_at(chain.rpc, receipt.block_number).time
    if chain.latest().time - mined <= _OLD_SECONDS:
        return _alive(session.account, receipt, journal)
    say(f"an earlier run's sign of life was mined in block {receipt.block_number}: recording another one")
    journal.forget(*_STEP.entries)
    return carry_out(session, Plan(_CALLS, None, _STEP, lambda *of: _alive(session.account, *of)), journal)


def prepare_heartbeat(settings: Settings, guardian: Address | None) -> PreparedAct[SignOfLife]:
    """The call of ``heartbeat``; any sign of life in a later block is its result."""
    account = account_of(settings, GUARDIAN_KEY) if guardian is None else guardian
    session = Session.open(settings, ProgramSigner(account, None))
    later = _LaterHeartbeat(account, session.chain.latest().number)
    with session.journal("heartbeat", account) as journal:
        return prepare(session, Plan(_CALLS, later, _STEP, lambda *of: _alive(account, *of)), journal)


@dataclass(frozen=True, slots=True)
class _LaterHeartbeat:
    """A sign of life in a block after this one, whoever sent it."""

    guardian: Address
    block: BlockNumber

    def newest(self, chain: ChainClient, start: BlockNumber) -> Receipt | None:
        found = ExpectedEvent(GuardianHeartbeat, [account_topic(self.guardian)]).newest(chain, start)
        return found if found is not None and found.block_number > self.block else None

    def proven_by(self, receipt: Receipt) -> bool:
        return receipt.block_number > self.block


def _alive(guardian: Address, receipt: Receipt, journal: Journal) -> SignOfLife:
    done = emit(SignOfLife(guardian, receipt.tx_hash, receipt.block_number))
    journal.forget(*_STEP.entries)  # once it is told: a run that is killed before sends no second one
    return done
