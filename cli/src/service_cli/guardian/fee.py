"""A Guardian's two plain transactions: a sign of life, and the fee of a bounty that ended.

Both need only the chain. Run again after an interruption, each continues its own transaction.
"""

from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.hub_events import GuardianFeeClaimed
from bounty_protocol.types import Address, BountyId

from service_cli.chain.about import about_sent
from service_cli.chain.finality import once_final
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import local_signer
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep
from service_cli.claimant.claim import claimed_before, paid
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.guardian.events import AwaitedFee, ClaimedFee, SignOfLife
from service_cli.shell.output import emit

_STEP: Final = TransactionStep("transaction")


def heartbeat(settings: Settings) -> SignOfLife:
    """The command ``guardian:heartbeat``."""
    session = Session.open(settings, local_signer(settings, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"))
    # No event proves it: that of an earlier sign of life, in the block before this one is signed, is the same.
    transaction = Transaction(HubCall("heartbeat", [], "record a sign of life"), expects=None)
    with session.journal("heartbeat", session.account) as journal:
        receipt = send(session, transaction, journal, _STEP)
        journal.forget(*_STEP.entries)
    recorded = SignOfLife(session.account, receipt.tx_hash, receipt.block_number)
    return emit(recorded, about_sent(session.chain, session.account, receipt.tx_hash))


def claim_fee(settings: Settings, bounty_id: BountyId) -> ClaimedFee:
    """The command ``guardian:claim-fee``."""
    session = Session.open(settings, local_signer(settings, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"))
    chain, guardian = session.chain, session.account

    def check(bounty: BountyView) -> None:
        if bounty.outcome is None:
            message = f"Bounty {bounty_id} is still open, so no share of its fee can be claimed yet."
            next_action = f"Wait for its end: service-cli bounty:watch {bounty_id}."
            raise CommandRefused("bounty_open", message, next_action=next_action)
        if guardian not in chain.pinned_roster(bounty).accounts:
            message = f"{guardian} is not on the roster that bounty {bounty_id} pinned."
            raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")

    once_final(chain, bounty_id, AwaitedFee, check)
    with session.journal("claimfee", str(bounty_id), guardian) as journal:
        if not _STEP.was_attempted(journal):
            _require_due(chain, bounty_id, guardian)
        call = HubCall("claimGuardianFee", [bounty_id], f"claim the Guardian fee of bounty {bounty_id}")
        receipt = send(session, Transaction(call, paid(GuardianFeeClaimed, bounty_id, guardian)), journal, _STEP)
        journal.forget(*_STEP.entries)
    amount = next((found.amount for found in receipt.events if isinstance(found, GuardianFeeClaimed)), None)
    claimed = ClaimedFee(bounty_id, guardian, amount, receipt.tx_hash, receipt.block_number)
    return emit(claimed, about_sent(chain, guardian, receipt.tx_hash))


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
