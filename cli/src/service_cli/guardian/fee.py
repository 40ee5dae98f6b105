"""A Guardian's two plain transactions: a sign of life, and the fee of a bounty that closed.

Promises: needs only the chain; run again after an interruption, each continues its own transaction.
"""

from service_common.chain.events import GuardianFeeClaimed, GuardianHeartbeat
from service_common.chain.hub import BountyView
from service_common.types import Address, BlockNumber, BountyId

from service_cli.chain.finality import once_final
from service_cli.chain.journal import open_journal
from service_cli.chain.receipts import Receipt, account_topic, bounty_topic, find_event
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import local_signer
from service_cli.chain.transactions import HubCall
from service_cli.claimant.claim import claimed_before
from service_cli.config.settings import Settings
from service_cli.errors import Refused
from service_cli.shell.output import event

_KEY = "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"
_SEND = "transaction"


def heartbeat(settings: Settings) -> None:
    """The command ``guardian:heartbeat``."""
    signer = local_signer(settings.environment, _KEY)
    chain = ChainClient(settings)
    chain.check_deployment()

    def fact(start: BlockNumber) -> Receipt | None:
        return find_event(chain, GuardianHeartbeat, start, lambda _: True, [account_topic(signer.address)])

    with open_journal(chain.chain_id, chain.hub.address, "heartbeat", signer.address) as journal:
        receipt = send(chain, signer, HubCall("heartbeat", [], "record a sign of life"), journal, _SEND, fact)
        journal.forget(_SEND, f"{_SEND}_given_up")
    recorded = {"guardian": signer.address, "tx_hash": receipt.tx_hash, "block_number": receipt.block_number}
    event("guardian_heartbeat.recorded", recorded)


def claim_fee(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``guardian:claim-fee``."""
    signer = local_signer(settings.environment, _KEY)
    chain = ChainClient(settings)
    chain.check_deployment()

    def check(bounty: BountyView) -> None:
        if bounty.outcome == 0:
            raise Refused("bounty_open", "The bounty is still open.", next_action="Wait until it is final.")
        if signer.address not in chain.pinned_roster(bounty).accounts:
            message = f"{signer.address} is not on the roster that bounty {bounty_id} pinned."
            raise Refused("not_guardian", message, next_action="Use a pinned Guardian's account.")

    once_final(chain, bounty_id, "guardian_claim_fee", check)
    topics = [bounty_topic(bounty_id), account_topic(signer.address)]

    def fact(start: BlockNumber) -> Receipt | None:
        return find_event(chain, GuardianFeeClaimed, start, lambda _: True, topics)

    with open_journal(chain.chain_id, chain.hub.address, "claimfee", str(bounty_id), signer.address) as journal:
        if journal.get(_SEND) is None:
            _require_due(chain, bounty_id, signer.address)
        call = HubCall("claimGuardianFee", [bounty_id], f"claim the Guardian fee of bounty {bounty_id}")
        receipt = send(chain, signer, call, journal, _SEND, fact)
        journal.forget(_SEND, f"{_SEND}_given_up")
    amount = next((found.amount for found in receipt.events if isinstance(found, GuardianFeeClaimed)), None)
    event(
        "guardian_claim_fee.claimed",
        {
            "bounty_id": str(bounty_id),
            "guardian": signer.address,
            "amount": None if amount is None else str(amount),
            "tx_hash": receipt.tx_hash,
            "block_number": receipt.block_number,
        },
    )


def _require_due(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    with chain_errors():
        (due,) = chain.hub.read("claimable", bounty_id, guardian)
    if due == 0:
        if (found := claimed_before(chain, GuardianFeeClaimed, bounty_id, guardian)) is not None:
            place = f"transaction {found.tx_hash}, block {found.block_number}"
            message = f"The share of {guardian} in bounty {bounty_id} was claimed before: {place}."
            raise Refused("fee_already_claimed", message, next_action="Nothing is left to do.")
        with chain_errors():
            judged = chain.hub.verdict(bounty_id, guardian).kind != 0
        why = "its share was claimed before, or is nothing" if judged else "the Hub holds no Verdict of it"
        message = f"Nothing is due to {guardian} from bounty {bounty_id}: {why}."
        raise Refused("nothing_due", message, next_action="Nothing is left to do.")
