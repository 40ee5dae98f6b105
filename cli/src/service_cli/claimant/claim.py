"""Pulling an award or a refund; needs only the chain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from service_common.chain.events import AwardClaimed, GuardianFeeClaimed, RefundClaimed
from service_common.chain.hub import BountyView
from service_common.types import Address, BlockNumber, BountyId, TokenAmount

from service_cli.chain.finality import once_final
from service_cli.chain.journal import open_journal
from service_cli.chain.receipts import Receipt, account_topic, bounty_topic, find_event, first_block
from service_cli.chain.sender import send, was_attempted
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import local_signer
from service_cli.chain.token import in_words
from service_cli.chain.transactions import HubCall, simulate
from service_cli.config.settings import Settings
from service_cli.errors import Failed, Refused
from service_cli.shell.output import event, say

_SEND = "claim_transaction"


@dataclass(frozen=True, slots=True)
class Entitlement:
    """The one call that pays this account now, and how much."""

    call: HubCall
    amount: TokenAmount


def claim(settings: Settings, bounty_id: BountyId, external: Address | None) -> None:
    """The command ``claim``."""
    if external is not None:
        chain = _checked_chain(settings)
        _show(chain, _prepare(chain, bounty_id, external))
        return
    signer = local_signer(settings.environment, "SERVICE_CLAIMANT_PRIVATE_KEY")
    chain = _checked_chain(settings)
    with open_journal(chain.chain_id, chain.hub.address, "claim", str(bounty_id), signer.address) as journal:
        function = journal.text("function")
        if function is None or not was_attempted(journal, _SEND):
            call = _prepare(chain, bounty_id, signer.address)
            journal.note("function", call.function)
        else:  # an earlier run was interrupted after it signed; its transaction is found again or sent again
            call = _call(function, bounty_id, "continue the claim that was interrupted")

        def fact(start: BlockNumber) -> Receipt | None:
            return _claimed(chain, call.function, bounty_id, signer.address, start)

        receipt = send(chain, signer, call, journal, _SEND, fact)
        amount = _amount(receipt)
        journal.forget("function", _SEND, f"{_SEND}_given_up")
    event(
        "claim.claimed",
        {"tx_hash": receipt.tx_hash, "block_number": receipt.block_number, "claimable_amount": str(amount)},
    )


def _claimed(
    chain: ChainClient, function: str, bounty_id: BountyId, claimant: Address, start: BlockNumber
) -> Receipt | None:
    """The transaction that paid this account, found in the Hub's log."""
    kind = AwardClaimed if function == "claim" else RefundClaimed
    return find_event(chain, kind, start, lambda _: True, [bounty_topic(bounty_id), account_topic(claimant)])


def _amount(receipt: Receipt) -> TokenAmount:
    for found in receipt.events:
        if isinstance(found, AwardClaimed | RefundClaimed):
            return found.amount
    message = f"Transaction {receipt.tx_hash} paid nothing out."
    raise Refused("claim_mismatch", message, next_action="Look at the transaction on chain.")


def _checked_chain(settings: Settings) -> ChainClient:
    chain = ChainClient(settings)
    chain.check_deployment()
    return chain


def _prepare(chain: ChainClient, bounty_id: BountyId, claimant: Address) -> HubCall:
    """Decide from final contract state what is claimed, simulate it, and say so."""
    try:
        bounty = once_final(chain, bounty_id, "claim", lambda seen: find_entitlement(seen, bounty_id, claimant))
        entitlement = find_entitlement(bounty, bounty_id, claimant, lambda due: in_words(chain, due))
    except Refused as refused:
        raise _told(chain, bounty_id, claimant, refused) from None
    simulate(chain, claimant, entitlement.call)
    event(
        "claim.prepared",
        {
            "bounty_id": str(bounty_id),
            "claimant": claimant,
            "function_name": entitlement.call.function,
            "claimable_amount": str(entitlement.amount),
        },
    )
    return entitlement.call


_PAID: Final[Mapping[str, tuple[type[AwardClaimed | RefundClaimed], str, str]]] = {
    "award_already_claimed": (AwardClaimed, "award_already_claimed", "award"),
    "nothing_queued": (RefundClaimed, "refund_already_claimed", "refund"),
}


def _told(chain: ChainClient, bounty_id: BountyId, claimant: Address, refused: Refused) -> Refused:
    """The same refusal, or where the Hub's log holds the payment, which transaction it was."""
    if refused.code not in _PAID:
        return refused
    kind, code, what = _PAID[refused.code]
    found = claimed_before(chain, kind, bounty_id, claimant)
    if found is None:
        return refused
    paid = in_words(chain, _amount(found))
    message = f"The {what} of {paid} was claimed before: transaction {found.tx_hash}, block {found.block_number}."
    return Refused(code, message, next_action="Nothing is left to do.")


def claimed_before(
    chain: ChainClient,
    kind: type[AwardClaimed | RefundClaimed | GuardianFeeClaimed],
    bounty_id: BountyId,
    account: Address,
) -> Receipt | None:
    """The transaction that paid this account; None where the Hub's log has none, or cannot be read from its begin."""
    if (start := first_block(chain)) is None:
        return None
    topics = [bounty_topic(bounty_id), account_topic(account)]
    try:
        return find_event(chain, kind, start, lambda _: True, topics)
    except Failed:  # what the Hub owes is known; only the place of an old payment is not
        return None


def _show(chain: ChainClient, call: HubCall) -> None:
    event(
        "claim.transaction_prepared",
        {
            "chain_id": chain.chain_id,
            "to": chain.hub.address,
            "value": "0",
            "data": call.data,
            "function_name": call.function,
        },
    )
    say("send this transaction from your wallet: until then nothing is paid")


def _call(function: str, bounty_id: BountyId, words: str) -> HubCall:
    return HubCall(function, [bounty_id, b"", b""] if function == "claim" else [bounty_id], words)


def _base_units(due: int) -> str:
    return f"{due} base units"


def find_entitlement(
    bounty: BountyView, bounty_id: BountyId, claimant: Address, told: Callable[[int], str] = _base_units
) -> Entitlement:
    """What the contract owes this account, or why nothing; ``told`` puts the amount in words."""
    if bounty.outcome == 0:
        raise Refused("bounty_open", "The bounty is still open.", next_action="Wait until it is final.")
    if claimant == bounty.winner and bounty.award_claimed:
        raise Refused("award_already_claimed", "The award was already pulled.", next_action="Nothing is left to do.")
    if claimant == bounty.winner:
        words = f"claim the award of {told(bounty.award_due)} of bounty {bounty_id}"
        return Entitlement(_call("claim", bounty_id, words), bounty.award_due)
    if claimant != bounty.poster:
        message = f"{claimant} is neither the winner nor the Poster of bounty {bounty_id}."
        raise Refused("not_entitled", message, next_action="Use the winner's or the Poster's account.")
    if bounty.refund_due == 0:
        message = "Nothing is queued for the Poster of this bounty, and no claim of it is found."
        raise Refused("nothing_queued", message, next_action="Nothing is left to do.")
    words = f"claim the refund of {told(bounty.refund_due)} of bounty {bounty_id}"
    return Entitlement(_call("claimRefund", bounty_id, words), bounty.refund_due)
