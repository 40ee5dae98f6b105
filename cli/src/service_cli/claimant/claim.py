"""Claiming an award or a refund; needs only the chain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.hub_events import AwardClaimed, RefundClaimed
from bounty_protocol.types import Address, BountyId, TokenAmount

from service_cli.chain.about import about_chain, about_sent
from service_cli.chain.finality import once_final
from service_cli.chain.journal import JournalEntry, open_journal
from service_cli.chain.outside import GIVEN, ExternalSigner, done_by_wallet, note_given
from service_cli.chain.prepared import PreparedAct, done_already, prepare
from service_cli.chain.receipts import Receipt
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, account_of, local_signer
from service_cli.chain.token import base_units, shown_amount
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep, advise_wallet, gas_cost, simulate
from service_cli.claimant.events import AwaitedClaim, PaidClaim, PreparedClaim, UnsentClaim
from service_cli.claimant.payments import Payment, claimed_before, paid
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.ui.output import emit, say

_STEP: Final = TransactionStep("claim_transaction")
FUNCTION: Final = JournalEntry.of("function", str)


@dataclass(frozen=True, slots=True)
class Entitlement:
    """The one call that pays this account now, and how much."""

    call: HubCall
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class ClaimPreview:
    """The amounts that ``claim`` would pull now, and the most that the gas may cost, in wei."""

    bounty_id: BountyId
    claimant: Address
    function_name: str
    amount: TokenAmount
    gas: int
    gas_cost: int


def preview_claim(settings: Settings, bounty_id: BountyId, account: Address | None) -> ClaimPreview:
    """The call that pays ``account``, without it the key's account; refused where nothing is due. Signs nothing."""
    chain = ChainClient.checked(settings)
    if account is None:
        account = claiming_signer(settings, lambda accounts: _party(chain, bounty_id, accounts)).address
    due = find_entitlement(chain.bounty(bounty_id), bounty_id, account, lambda amount: shown_amount(chain, amount))
    simulate(chain, account, due.call)
    cost = gas_cost(chain, account, due.call)
    return ClaimPreview(bounty_id, account, due.call.function, due.amount, cost.gas, cost.wei)


def prepare_claim(settings: Settings, bounty_id: BountyId, account: Address | None) -> PreparedAct[PaidClaim]:
    """The call of ``claim`` for ``account``, without it the key's account; none where it was paid before."""
    chain = ChainClient.checked(settings)
    if account is None:
        account = claiming_signer(settings, lambda accounts: _party(chain, bounty_id, accounts)).address
    claimant = account
    try:
        call = _prepare(chain, bounty_id, claimant)
    except CommandRefused as refused:
        kinds = [kind for kind, *codes in _PAID.values() if refused.code in codes]
        if not kinds or (found := claimed_before(chain, kinds[0], bounty_id, claimant)) is None:
            raise
        return done_already(chain, claimant, _paid_claim(found))
    kind = AwardClaimed if call.function == "claim" else RefundClaimed
    return prepare(
        chain,
        claimant,
        [call],
        paid(kind, bounty_id, claimant),
        lambda later, receipt: _print_claimed(later, claimant, receipt, _amount(receipt)),
    )


def claim(
    settings: Settings, bounty_id: BountyId, external: ExternalSigner | None, account: Address | None = None
) -> PaidClaim | None:
    """The command ``claim``; with ``external`` the call is only given to that wallet, and None until that is mined.

    With ``account`` no other one's key signs, whatever the chain says is due to whom.
    """
    if external is not None:
        return _claim_by_wallet(ChainClient.checked(settings), bounty_id, external)

    def choose(accounts: Sequence[Address]) -> Address:
        if account is not None and account in accounts:
            return account
        return _party(ChainClient.checked(settings), bounty_id, accounts)

    signer = claiming_signer(settings, choose)
    if account is not None and signer.address != account:
        message = f"The key that would sign is of {signer.address}, and not of {account}. Nothing was signed."
        raise CommandRefused("key_of_another", message, next_action="Claim with the key of that account.")
    session = Session.open(settings, signer)
    with session.journal("claim", str(bounty_id), session.account) as journal:
        function = journal.get(FUNCTION)
        if function is None or not _STEP.was_attempted(journal):
            call = _prepare(session.chain, bounty_id, session.account)
            journal.note(FUNCTION, call.function)
        else:  # an earlier run was interrupted after it signed; its transaction is found again or sent again
            call = _call(function, bounty_id, "continue the claim that was interrupted")
        kind = AwardClaimed if call.function == "claim" else RefundClaimed
        receipt = send(session, Transaction(call, paid(kind, bounty_id, session.account)), journal, _STEP)
        amount = _amount(receipt)
        journal.forget(FUNCTION, *_STEP.entries)
    return _print_claimed(session.chain, session.account, receipt, amount)


CLAIMANT_KEY: Final = "SERVICE_CLAIMANT_PRIVATE_KEY"
_OTHER_KEYS: Final = (
    "SERVICE_POSTER_PRIVATE_KEY",
    "SERVICE_SOLVER_PRIVATE_KEY",
    "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY",
)


def claiming_signer(settings: Settings, choose: Callable[[Sequence[Address]], Address]) -> LocalSigner:
    """The Claimant's key, or where it is not set another role's; ``choose`` decides between several accounts."""
    names = [name for name in _OTHER_KEYS if settings.environment.source(name) is not None]
    if settings.environment.source(CLAIMANT_KEY) is not None or not names:
        return local_signer(settings, CLAIMANT_KEY)
    if len(names) == 1:
        return local_signer(settings, names[0])
    accounts = {account_of(settings, name): name for name in names}
    return local_signer(settings, accounts[next(iter(accounts)) if len(accounts) == 1 else choose(list(accounts))])


def _party(chain: ChainClient, bounty_id: BountyId, accounts: Sequence[Address]) -> Address:
    """The winner until the award is claimed, then the Poster; where nothing is due, one who hears why."""
    bounty = chain.bounty(bounty_id)

    def rank(account: Address) -> tuple[bool, ...]:
        won, posted = account == bounty.winner, account == bounty.poster
        return won and not bounty.award_claimed, posted and bounty.refund_due > 0, won, posted

    return max(accounts, key=rank)


def _claim_by_wallet(chain: ChainClient, bounty_id: BountyId, wallet: ExternalSigner) -> PaidClaim | None:
    """Look first for a call that an earlier run gave to the wallet: it may have been paid since."""
    account = wallet.address
    with open_journal(chain.chain_id, chain.hub.address, "claim", str(bounty_id), account) as journal:
        given, receipt = journal.get(GIVEN), None
        if given is not None:
            is_award = given.data == _call("claim", bounty_id, "").data
            kind: Payment = AwardClaimed if is_award else RefundClaimed
            receipt = done_by_wallet(chain, paid(kind, bounty_id, account), journal)
        if receipt is None:
            call = _prepare(chain, bounty_id, account)
            advise_wallet(chain, account, call)
            note_given(chain, call, journal)
            show_transaction(chain, call)
            return None
        amount = _amount(receipt)
        journal.forget(GIVEN)
    return _print_claimed(chain, account, receipt, amount)


def _print_claimed(chain: ChainClient, account: Address, receipt: Receipt, amount: TokenAmount) -> PaidClaim:
    return emit(PaidClaim(receipt.tx_hash, receipt.block_number, amount), about_sent(chain, account, receipt.tx_hash))


def _paid_claim(receipt: Receipt) -> PaidClaim:
    """A payment of before."""
    return PaidClaim(receipt.tx_hash, receipt.block_number, _amount(receipt))


def find_entitlement(
    bounty: BountyView, bounty_id: BountyId, claimant: Address, shown: Callable[[int], str] = base_units
) -> Entitlement:
    """The amount that the contract owes this account, or why nothing; ``shown`` puts the amount in text."""
    if bounty.outcome is None:
        message = f"Bounty {bounty_id} is still open, so nothing can be claimed yet."
        raise CommandRefused(
            "bounty_open", message, next_action=f"Wait for its end: service-cli bounty:watch {bounty_id}."
        )
    if claimant == bounty.winner and bounty.award_claimed:
        raise CommandRefused(
            "award_already_claimed", "The award was claimed already.", next_action="Nothing is left to do."
        )
    if claimant == bounty.winner:
        summary = f"claim the award of {shown(bounty.award_due)} of bounty {bounty_id}"
        return Entitlement(_call("claim", bounty_id, summary), bounty.award_due)
    if claimant != bounty.poster:
        message = f"{claimant} is neither the winner nor the Poster of bounty {bounty_id}."
        raise CommandRefused("not_entitled", message, next_action="Use the winner's or the Poster's account.")
    if bounty.refund_due == 0:
        message = f"Bounty {bounty_id} holds nothing for its Poster, and no earlier claim is found."
        raise CommandRefused("nothing_queued", message, next_action="Nothing is left to do.")
    summary = f"claim the refund of {shown(bounty.refund_due)} of bounty {bounty_id}"
    return Entitlement(_call("claimRefund", bounty_id, summary), bounty.refund_due)


def _amount(receipt: Receipt) -> TokenAmount:
    for found in receipt.events:
        if isinstance(found, AwardClaimed | RefundClaimed):
            return found.amount
    message = f"Transaction {receipt.tx_hash} paid nothing out."
    raise CommandRefused("claim_mismatch", message, next_action="Look at the transaction on chain.")


def _prepare(chain: ChainClient, bounty_id: BountyId, claimant: Address) -> HubCall:
    """Decide from final contract state what is claimed, simulate it, and show it."""
    try:
        bounty = once_final(chain, bounty_id, AwaitedClaim, lambda seen: find_entitlement(seen, bounty_id, claimant))
        entitlement = find_entitlement(bounty, bounty_id, claimant, lambda due: shown_amount(chain, due))
    except CommandRefused as refused:
        raise _with_payment(chain, bounty_id, claimant, refused) from None
    simulate(chain, claimant, entitlement.call)
    prepared = PreparedClaim(bounty_id, claimant, entitlement.call.function, entitlement.amount)
    emit(prepared, about_chain(chain))
    return entitlement.call


_PAID: Final[Mapping[str, tuple[type[AwardClaimed] | type[RefundClaimed], str, str]]] = {
    "award_already_claimed": (AwardClaimed, "award_already_claimed", "award"),
    "nothing_queued": (RefundClaimed, "refund_already_claimed", "refund"),
}
"""By the code of a refusal: the event that would explain it, and the code and name that it then has."""


def _with_payment(
    chain: ChainClient, bounty_id: BountyId, claimant: Address, refused: CommandRefused
) -> CommandRefused:
    """The same refusal, or where the Hub's log has the payment, which transaction it was."""
    if refused.code not in _PAID:
        return refused
    kind, code, what = _PAID[refused.code]
    found = claimed_before(chain, kind, bounty_id, claimant)
    if found is None:
        return refused
    amount = shown_amount(chain, _amount(found))
    message = f"The {what} of {amount} was claimed before: transaction {found.tx_hash}, block {found.block_number}."
    return CommandRefused(code, message, next_action="Nothing is left to do.")


def show_transaction(chain: ChainClient, call: HubCall) -> None:
    """A simulated call, for a wallet to send."""
    emit(UnsentClaim(chain.chain_id, chain.hub.address, "0", call.data, call.function))
    say("send this transaction from your wallet: until then nothing is paid")


def _call(function: str, bounty_id: BountyId, summary: str) -> HubCall:
    return HubCall(function, [bounty_id, b"", b""] if function == "claim" else [bounty_id], summary)
