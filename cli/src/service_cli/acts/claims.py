"""Claims: a bounty's award, refund or Guardian's share, or everything that the Hub owes an account.

What is due is read from the Hub alone, and of an outcome that the chain has finalized; the Hub marks each amount as
paid, so nothing is paid twice. What a transaction claims is in the journal before it is signed or shown to a wallet, so
a run after a kill finds first what became of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Final, TypeVar

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.lifecycle.hub_events import (
    AwardClaimed,
    GuardianFeeClaimed,
    ProtocolFeeClaimed,
    RefundClaimed,
)
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import Address, BountyId, TokenAmount

from service_cli.acts.claim_events import AwaitedClaim, AwaitedFee, ClaimedFee, PaidClaim, PreparedClaim, UnsentClaim
from service_cli.acts.pipeline import Plan, send_or_give
from service_cli.chain.finality import once_final
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.outside import GIVEN, ExternalSigner
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, receipt_of
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, Signer, account_of, local_signer
from service_cli.chain.transactions import ContractCall, Prospect, TransactionStep, advise_wallet
from service_cli.config.environment import CLAIMANT_KEY, GUARDIAN_KEY, POSTER_KEY, SOLVER_KEY
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.next_steps import STATUS, watching
from service_cli.queries.state import require_seat
from service_cli.ui.output import emit

R = TypeVar("R")
_KEYS: Final = (CLAIMANT_KEY, POSTER_KEY, SOLVER_KEY, GUARDIAN_KEY)
_NOTHING_LEFT: Final = "Nothing is left to do."

Payment = AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed
PaymentKind = type[AwardClaimed] | type[RefundClaimed] | type[GuardianFeeClaimed] | type[ProtocolFeeClaimed]


@dataclass(frozen=True, slots=True)
class _Form:
    """How one kind of amount is named and claimed: its event, its own function of the Hub, its number in claimMany."""

    named: str
    event: PaymentKind
    function: str
    number: int


FORMS: Final[Mapping[AmountKind, _Form]] = {
    AmountKind.WINNER_AWARD: _Form("award", AwardClaimed, "claim", 1),
    AmountKind.POSTER_REFUND: _Form("refund", RefundClaimed, "claimRefund", 2),
    AmountKind.GUARDIAN_FEE: _Form("Guardian's share", GuardianFeeClaimed, "claimGuardianFee", 3),
    AmountKind.PROTOCOL_FEE: _Form("protocol fee", ProtocolFeeClaimed, "claimProtocolFee", 4),
}


@dataclass(frozen=True, slots=True)
class ClaimablePart:
    """One amount that an account can pull, and from which bounty."""

    bounty_id: BountyId
    kind: AmountKind
    amount: TokenAmount

    @property
    def named(self) -> str:
        return f"{FORMS[self.kind].named} of bounty {self.bounty_id}"

    def call(self) -> ContractCall:
        """Return the call that claims only this part. Payout data and proof are empty: the Hub takes no others."""
        arguments = [self.bounty_id, b"", b""] if self.kind is AmountKind.WINNER_AWARD else [self.bounty_id]
        return ContractCall(FORMS[self.kind].function, arguments, f"claim the {self.named}")

    def paid_to(self, account: Address) -> ExpectedEvent[Payment]:
        """Return the event that proves the payment to this account."""
        return ExpectedEvent(FORMS[self.kind].event, [bounty_topic(self.bounty_id), account_topic(account)])


Parts = tuple[ClaimablePart, ...]
STEP: Final = TransactionStep("claim_transaction")
PARTS: Final = JournalEntry("parts", Parts)
"""What the transaction of the step claims."""


def call_of(parts: Parts) -> ContractCall:
    """Return the call that claims several amounts at once."""
    claims = [(FORMS[part.kind].number, part.bounty_id) for part in parts]
    ids = ", ".join(str(part.bounty_id) for part in parts)
    what = f"the {parts[0].named}" if len(parts) == 1 else f"{len(parts)} amounts at once, of bounties {ids}"
    return ContractCall("claimMany", [claims], f"claim {what}")


def pull(
    session: Session[Signer], call: ContractCall, parts: Parts, journal: Journal, report: Callable[[Receipt, Parts], R]
) -> R | None:
    """Claim these amounts in one transaction, the same in each run, and ``report`` what it paid; None if a wallet must
    still send it.

    The event of the first part proves the whole transaction. If another transaction paid that part, ``claim_mismatch``:
    the rest must be claimed again.
    """
    chain, account = session.chain, session.account

    def result(receipt: Receipt) -> R:
        found = _payments_of(receipt, account)
        if len(found) < len(parts) and (whole := receipt_of(chain, receipt.tx_hash)) is not None:
            found = _payments_of(whole, account)  # found by one event of it: the others are in its receipt
        missing = next((part for part in parts if (part.kind, part.bounty_id) not in found), None)
        if missing is not None:
            journal.forget(PARTS, GIVEN, *STEP.entries)
            message = f"Transaction {receipt.tx_hash} did not pay the {missing.named}."
            raise CommandRefused("claim_mismatch", message, next_action="Run the command again.")
        done = report(receipt, tuple(replace(part, amount=found[part.kind, part.bounty_id]) for part in parts))
        journal.forget(PARTS, GIVEN, *STEP.entries)  # once it is reported: a run that is killed before finds it again
        return done

    journal.note(PARTS, parts)
    ask = "send this transaction from your wallet; nothing happens until you do"
    unsent = UnsentClaim(chain.chain_id, chain.hub.address, "0", call.data, call.function)
    return send_or_give(session, Plan(call, parts[0].paid_to(account), STEP, result, unsent=unsent), journal, ask)


def begun(session: Session[Signer], journal: Journal) -> Parts | None:
    """Return the parts that an earlier run already signed a claim for, or that a wallet has sent. What is due now, and
    whether it is final, is not checked again.
    """
    parts, given = journal.get(PARTS), journal.get(GIVEN)
    if parts is None:
        return None
    if isinstance(session.signer, LocalSigner):
        return parts if STEP.was_attempted(journal) else None
    if given is None or parts[0].paid_to(session.account).newest(session.chain, given.from_block) is None:
        return None
    return parts


def _payments_of(receipt: Receipt, account: Address) -> dict[tuple[AmountKind, BountyId], TokenAmount]:
    """Return the amounts that a transaction paid this account."""
    kinds = {form.event: kind for kind, form in FORMS.items()}
    found: dict[tuple[AmountKind, BountyId], TokenAmount] = {}
    for event in receipt.events:
        if isinstance(event, Payment):
            bounty_id, recipient, amount = astuple(event)
            if recipient == account:
                found[kinds[type(event)], bounty_id] = amount
    return found


def claim(settings: Settings, bounty_id: BountyId, signer: Signer) -> PaidClaim | None:
    """Run the command ``claim``; None if a wallet must still send the call."""
    session = Session(ChainClient(settings), signer)
    chain, account = session.chain, session.account
    with session.journal("claim", str(bounty_id), account) as journal:
        if (parts := begun(session, journal)) is None:
            part = once_final(chain, bounty_id, AwaitedClaim, partial(_entitlement, bounty_id, account))
            parts, call = (part,), part.call()
            if isinstance(signer, ExternalSigner):
                advise_wallet(Prospect.read(chain, account, call))
            emit(PreparedClaim(bounty_id, account, call.function, part.amount))

        def report(receipt: Receipt, paid: Parts) -> PaidClaim:
            return emit(PaidClaim(receipt.tx_hash, receipt.block_number, paid[0].amount), STATUS)

        return pull(session, parts[0].call(), parts, journal, report)


@dataclass(frozen=True, slots=True)
class ClaimPreview:
    """The amount that ``claim`` would pull now, and the most that the gas may cost, in wei."""

    bounty_id: BountyId
    claimant: Address
    function_name: str
    amount: TokenAmount
    gas_cost: int


def preview_claim(settings: Settings, bounty_id: BountyId, account: Address) -> ClaimPreview:
    """Return the call that pays ``account``; refuse if nothing is due. Signs nothing."""
    chain = ChainClient(settings)
    due = _entitlement(bounty_id, account, chain.bounty(bounty_id))
    call = due.call()
    cost = Prospect.read(chain, account, call).cost()
    return ClaimPreview(bounty_id, account, call.function, due.amount, cost.wei)


def _entitlement(bounty_id: BountyId, claimant: Address, bounty: BountyView) -> ClaimablePart:
    """Return the award or refund that the contract owes this account; refuse with the reason if nothing is due."""
    _require_ended(bounty, bounty_id)
    if claimant == bounty.winner:
        if bounty.award_claimed:
            raise _claimed_before(AmountKind.WINNER_AWARD)
        return ClaimablePart(bounty_id, AmountKind.WINNER_AWARD, bounty.award_due)
    if claimant != bounty.poster:
        message = f"{claimant} is neither the winner nor the Poster of bounty {bounty_id}."
        raise CommandRefused("not_entitled", message, next_action="Use the winner's or the Poster's account.")
    if bounty.refund_claimed:
        raise _claimed_before(AmountKind.POSTER_REFUND)
    if bounty.refund_due == 0:
        message = f"Bounty {bounty_id} holds nothing for {claimant}."
        raise CommandRefused("nothing_queued", message, next_action=_NOTHING_LEFT)
    return ClaimablePart(bounty_id, AmountKind.POSTER_REFUND, bounty.refund_due)


def _require_ended(bounty: BountyView, bounty_id: BountyId) -> None:
    if bounty.outcome is None:
        message = f"Bounty {bounty_id} is still open, so nothing can be claimed yet."
        raise CommandRefused("bounty_open", message, next_action=f"Wait until it is final: {watching(bounty_id)}.")


def _claimed_before(kind: AmountKind) -> CommandRefused:
    what = FORMS[kind].named
    return CommandRefused(f"{what}_already_claimed", f"The {what} was claimed before.", next_action=_NOTHING_LEFT)


def claim_fee(settings: Settings, bounty_id: BountyId) -> ClaimedFee | None:
    """Run the command ``guardian:claim-fee``; a key sends its own call, so there is always a result."""
    session = Session(ChainClient(settings), local_signer(settings, GUARDIAN_KEY))
    chain, guardian = session.chain, session.account

    def due(bounty: BountyView) -> ClaimablePart:
        _require_ended(bounty, bounty_id)
        require_seat(chain.pinned_roster(bounty), bounty_id, guardian)
        with chain_errors():
            (amount,) = chain.hub.read("claimable", bounty_id, guardian)
        if not amount:
            message = f"Bounty {bounty_id} holds nothing for {guardian}: it recorded no Verdict, or was paid before."
            raise CommandRefused("nothing_due", message, next_action=_NOTHING_LEFT)
        return ClaimablePart(bounty_id, AmountKind.GUARDIAN_FEE, TokenAmount(int(str(amount))))

    def report(receipt: Receipt, paid: Parts) -> ClaimedFee:
        return emit(ClaimedFee(bounty_id, guardian, paid[0].amount, receipt.tx_hash, receipt.block_number), STATUS)

    with session.journal("claimfee", str(bounty_id), guardian) as journal:
        parts = begun(session, journal) or (once_final(chain, bounty_id, AwaitedFee, due),)
        return pull(session, parts[0].call(), parts, journal, report)


def claimant(settings: Settings, account: Address | None = None) -> LocalSigner:
    """Return the key that claims: that of ``account`` only; without ``account`` the Claimant's, else the one shared by
    all roles.
    """
    keys = {name: account_of(settings, name) for name in _KEYS if settings.environment.source(name) is not None}
    if CLAIMANT_KEY in keys or not keys:
        return _of_account(local_signer(settings, CLAIMANT_KEY), account)
    if account is None and len(set(keys.values())) > 1:
        message = f"The configured keys belong to {len(set(keys.values()))} accounts, and {CLAIMANT_KEY} is not set."
        next_action = f"Set {CLAIMANT_KEY} (or _FILE) to the key of the account that claims."
        raise CommandRefused("account_ambiguous", message, next_action=next_action)
    variable = next((name for name, one in keys.items() if one == account), next(iter(keys)))
    return _of_account(local_signer(settings, variable), account)


def _of_account(signer: LocalSigner, account: Address | None) -> LocalSigner:
    if account not in {None, signer.address}:
        message = f"The key that would sign belongs to {signer.address}, not to {account}. Nothing was signed."
        raise CommandRefused("key_of_another", message, next_action="Claim with that account's key.")
    return signer
