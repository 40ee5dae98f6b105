"""A Guardian's two plain transactions: a sign of life, and the fee of a bounty that ended.

Both need only the chain. Run again after an interruption, each continues its own transaction.
"""

from typing import Final

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.hub_events import GuardianFeeClaimed, GuardianHeartbeat
from bounty_protocol.types import Address, BountyId

from service_cli.chain.about import about_sent
from service_cli.chain.finality import once_final
from service_cli.chain.journal import Journal
from service_cli.chain.prepared import PreparedAct, done_already, newest_settled, prepare, simulate_together, unsent
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, account_of, local_signer
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep
from service_cli.claimant.payments import claimed_before, paid
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.guardian.fee_events import AwaitedFee, ClaimedFee, SignOfLife
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("transaction")


_KEY: Final = "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"
_HEARTBEAT: Final = HubCall("heartbeat", [], "record a sign of life")
_OLD_SECONDS: Final = 3_600
"""After this long a sign of life that an earlier run sent is not the one that this run is to give."""


def heartbeat(settings: Settings) -> SignOfLife:
    """The command ``guardian:heartbeat``."""
    session = Session.open(settings, local_signer(settings, _KEY))
    # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
    with session.journal("heartbeat", session.account) as journal:
        receipt = _beat(session, journal)
        if _is_old(session.chain, receipt):
            say(f"an earlier run's sign of life was mined in block {receipt.block_number}: recording another one")
            journal.forget(*_STEP.entries)
            receipt = _beat(session, journal)
        recorded = _alive(session.chain, session.account, receipt)
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
    account = account_of(settings, _KEY) if guardian is None else guardian
    since = chain.latest().number
    simulate_together(chain, account, [_HEARTBEAT])
    proof = ExpectedEvent(GuardianHeartbeat, [account_topic(account)])

    def find(later: ChainClient) -> SignOfLife | None:
        found = newest_settled(later, proof, since)
        return None if found is None or found.block_number <= since else _alive(later, account, found)

    return unsent(chain, account, [_HEARTBEAT], since, find)


def _alive(chain: ChainClient, guardian: Address, receipt: Receipt) -> SignOfLife:
    recorded = SignOfLife(guardian, receipt.tx_hash, receipt.block_number)
    return emit(recorded, about_sent(chain, guardian, receipt.tx_hash))


def claim_fee(settings: Settings, bounty_id: BountyId) -> ClaimedFee:
    """The command ``guardian:claim-fee``."""
    session = Session.open(settings, local_signer(settings, _KEY))
    chain, guardian = session.chain, session.account
    _await_end(chain, bounty_id, guardian)
    with session.journal("claimfee", str(bounty_id), guardian) as journal:
        if not _STEP.was_attempted(journal):
            _require_due(chain, bounty_id, guardian)
        transaction = Transaction(_fee_call(bounty_id), paid(GuardianFeeClaimed, bounty_id, guardian))
        receipt = send(session, transaction, journal, _STEP)
        journal.forget(*_STEP.entries)
    return _claimed(chain, bounty_id, guardian, receipt)


def prepare_fee(settings: Settings, bounty_id: BountyId, guardian: Address | None) -> PreparedAct[ClaimedFee]:
    """The call of ``claim_fee``; none where the share was paid before."""
    chain = ChainClient.checked(settings)
    account = account_of(settings, _KEY) if guardian is None else guardian
    _await_end(chain, bounty_id, account)
    try:
        _require_due(chain, bounty_id, account)
    except CommandRefused as refused:
        found = claimed_before(chain, GuardianFeeClaimed, bounty_id, account)
        if refused.code != "fee_already_claimed" or found is None:
            raise
        return done_already(chain, account, _claimed(chain, bounty_id, account, found))
    proof = paid(GuardianFeeClaimed, bounty_id, account)
    return prepare(
        chain, account, [_fee_call(bounty_id)], proof, lambda later, found: _claimed(later, bounty_id, account, found)
    )


def _fee_call(bounty_id: BountyId) -> HubCall:
    return HubCall("claimGuardianFee", [bounty_id], f"claim the Guardian fee of bounty {bounty_id}")


def _claimed(chain: ChainClient, bounty_id: BountyId, guardian: Address, receipt: Receipt) -> ClaimedFee:
    amount = next((found.amount for found in receipt.events if isinstance(found, GuardianFeeClaimed)), None)
    claimed = ClaimedFee(bounty_id, guardian, amount, receipt.tx_hash, receipt.block_number)
    return emit(claimed, about_sent(chain, guardian, receipt.tx_hash))


def _await_end(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    """Wait for the outcome to be final; refuse who has no seat."""

    def check(bounty: BountyView) -> None:
        if bounty.outcome is None:
            message = f"Bounty {bounty_id} is still open, so no share of its fee can be claimed yet."
            next_action = f"Wait for its end: service-cli bounty:watch {bounty_id}."
            raise CommandRefused("bounty_open", message, next_action=next_action)
        if guardian not in chain.pinned_roster(bounty).accounts:
            message = f"{guardian} is not on the roster that bounty {bounty_id} pinned."
            raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")

    once_final(chain, bounty_id, AwaitedFee, check)


def _require_due(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    with chain_errors():
        (due,) = chain.hub.read("claimable", bounty_id, guardian)
    if due == 0:
        if (found := claimed_before(chain, GuardianFeeClaimed, bounty_id, guardian)) is not None:
            place = f"transaction {found.tx_hash}, block {found.block_number}"
            message = f"The share of {guardian} in bounty {bounty_id} was claimed before: {place}."
            raise CommandRefused("fee_already_claimed", message, next_action="Nothing is left to do.")
        with chain_errors():
            judged = chain.hub.verdict(bounty_id, guardian).kind is not None
        why = "its share was claimed before, or is nothing" if judged else "the Hub holds no Verdict of it"
        message = f"Nothing is due to {guardian} from bounty {bounty_id}: {why}."
        raise CommandRefused("nothing_due", message, next_action="Nothing is left to do.")
