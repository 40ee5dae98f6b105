"""Claims of one bounty: its award, its refund, or a Guardian's share.

What is due is read from the Hub alone, and of an outcome that the chain has finalized; the Hub marks each amount as
paid, so nothing is paid twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.hub_events import (
    AwardClaimed,
    GuardianFeeClaimed,
    ProtocolFeeClaimed,
    RefundClaimed,
)
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.types import Address, BountyId, TokenAmount

from service_cli.acts.claim_events import (
    AwaitedClaim,
    PaidClaim,
    PreparedClaim,
    UnsentClaim,
)
from service_cli.acts.fee_events import AwaitedFee, ClaimedFee
from service_cli.acts.pipeline import Plan, carry_out, deliver, resumed
from service_cli.chain.finality import once_final
from service_cli.chain.journal import Journal
from service_cli.chain.outside import GIVEN, ExternalSigner
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, Signer, account_of, local_signer
from service_cli.chain.token import shown_amount
from service_cli.chain.transactions import HubCall, TransactionStep, advise_wallet, gas_cost, simulate
from service_cli.config.environment import CLAIMANT_KEY, GUARDIAN_KEY, POSTER_KEY, SOLVER_KEY
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import STATUS
from service_cli.ui.output import emit

_OTHER_KEYS: Final = (POSTER_KEY, SOLVER_KEY, GUARDIAN_KEY)
_STEP: Final = TransactionStep("claim_transaction")
_SHARE_STEP: Final = TransactionStep("transaction")

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


def paid(kind: AmountKind, bounty_id: BountyId, account: Address) -> ExpectedEvent[Payment]:
    """The event that shows this amount of a bounty paid to this account."""
    return ExpectedEvent(FORMS[kind].event, [bounty_topic(bounty_id), account_topic(account)])


def payments_of(receipt: Receipt, account: Address) -> dict[tuple[AmountKind, BountyId], TokenAmount]:
    """The amounts that a transaction paid this account."""
    kinds = {form.event: kind for kind, form in FORMS.items()}
    found: dict[tuple[AmountKind, BountyId], TokenAmount] = {}
    for event in receipt.events:
        if isinstance(event, Payment):
            bounty_id, recipient, amount = astuple(event)
            if recipient == account:
                found[kinds[type(event)], bounty_id] = amount
    return found


def _paid_before(chain: ChainClient, kind: AmountKind, bounty_id: BountyId, account: Address) -> Receipt | None:
    """The transaction that paid it; None where the Hub's log has none, or cannot be read from its begin."""
    if (start := first_block(chain)) is None:
        return None
    try:
        return paid(kind, bounty_id, account).newest(chain, start)
    except CommandFailed:  # what the Hub owes is known; only the place of an old payment is not
        return None


def _amount_of(receipt: Receipt, kind: AmountKind, bounty_id: BountyId, account: Address) -> TokenAmount:
    amount = payments_of(receipt, account).get((kind, bounty_id))
    if amount is None:
        message = f"Transaction {receipt.tx_hash} paid nothing out."
        raise CommandRefused("claim_mismatch", message, next_action="Look at the transaction on chain.")
    return amount


# --- one bounty's award or refund


def _call(part: ClaimablePart) -> HubCall:
    """The call that claims one amount by its own function."""
    form = FORMS[part.kind]
    arguments = [part.bounty_id, b"", b""] if part.kind is AmountKind.WINNER_AWARD else [part.bounty_id]
    return HubCall(form.function, arguments, f"claim the {part.named}")


def find_entitlement(chain: ChainClient, bounty: BountyView, bounty_id: BountyId, claimant: Address) -> ClaimablePart:
    """The amount that the contract owes this account, or why nothing."""
    if bounty.outcome is None:
        message = f"Bounty {bounty_id} is still open, so nothing can be claimed yet."
        next_action = f"Wait for its end: service-cli bounty:watch {bounty_id}."
        raise CommandRefused("bounty_open", message, next_action=next_action)
    if claimant == bounty.winner:
        if bounty.award_claimed:
            raise _nothing_left(chain, AmountKind.WINNER_AWARD, bounty_id, claimant)
        return ClaimablePart(bounty_id, AmountKind.WINNER_AWARD, bounty.award_due)
    if claimant != bounty.poster:
        message = f"{claimant} is neither the winner nor the Poster of bounty {bounty_id}."
        raise CommandRefused("not_entitled", message, next_action="Use the winner's or the Poster's account.")
    if bounty.refund_due == 0:
        raise _nothing_left(chain, AmountKind.POSTER_REFUND, bounty_id, claimant)
    return ClaimablePart(bounty_id, AmountKind.POSTER_REFUND, bounty.refund_due)


def _nothing_left(chain: ChainClient, kind: AmountKind, bounty_id: BountyId, claimant: Address) -> CommandRefused:
    """What was claimed before, with its transaction where the Hub's log has it."""
    found, what = _paid_before(chain, kind, bounty_id, claimant), FORMS[kind].named
    if found is not None:
        amount = _amount_of(found, kind, bounty_id, claimant)
        place = f"transaction {found.tx_hash}, block {found.block_number}"
        message = f"The {what} of {shown_amount(chain, amount)} was claimed before: {place}."
        return CommandRefused(f"{what}_already_claimed", message, next_action="Nothing is left to do.")
    if kind is AmountKind.WINNER_AWARD:
        message = "The award was claimed already."
        return CommandRefused("award_already_claimed", message, next_action="Nothing is left to do.")
    message = f"Bounty {bounty_id} holds nothing for its Poster, and no earlier claim is found."
    return CommandRefused("nothing_queued", message, next_action="Nothing is left to do.")


def claim(settings: Settings, bounty_id: BountyId, signer: Signer) -> PaidClaim | None:
    """The command ``claim``; None where a wallet has still to send the call."""
    session = Session.open(settings, signer)
    with session.journal("claim", str(bounty_id), session.account) as journal:
        plan = _claim_now(session, bounty_id, journal)
        return deliver(session, plan, journal, lambda call: unsent_claim(session.chain, call), SEND_IT)


def claimant(settings: Settings, bounty_id: BountyId, account: Address | None = None) -> LocalSigner:
    """The key that claims: of ``account`` and no other, or without it of whom the Hub owes something."""

    def choose(accounts: Sequence[Address]) -> Address:
        if account is not None and account in accounts:
            return account
        bounty = ChainClient.checked(settings).bounty(bounty_id)

        def rank(one: Address) -> tuple[bool, ...]:  # the winner until the award is claimed, then the Poster
            won, posted = one == bounty.winner, one == bounty.poster
            return won and not bounty.award_claimed, posted and bounty.refund_due > 0, won, posted

        return max(accounts, key=rank)

    signer = claiming_signer(settings, choose)
    if account is not None and signer.address != account:
        message = f"The key that would sign is of {signer.address}, and not of {account}. Nothing was signed."
        raise CommandRefused("key_of_another", message, next_action="Claim with the key of that account.")
    return signer


SEND_IT: Final = "send this transaction from your wallet: until then nothing is done"


def _claim_now(session: Session[Signer], bounty_id: BountyId, journal: Journal) -> Plan[PaidClaim]:
    """What pays the account now: the outcome is waited for until it is final, and the call simulated.

    What an earlier run signed, or gave to a wallet that has sent it, goes on whatever is due by now.
    """
    chain, account = session.chain, session.account
    kinds = (AmountKind.WINNER_AWARD, AmountKind.POSTER_REFUND)
    if (plan := resumed(session, journal, [_claim_of(kind, bounty_id, account) for kind in kinds])) is not None:
        return plan
    bounty = once_final(chain, bounty_id, AwaitedClaim, lambda seen: find_entitlement(chain, seen, bounty_id, account))
    part = find_entitlement(chain, bounty, bounty_id, account)
    call = _call(part)
    simulate(chain, account, call)
    emit(PreparedClaim(bounty_id, account, call.function, part.amount))
    if isinstance(session.signer, ExternalSigner):
        advise_wallet(chain, account, call)
    return _claim_of(part.kind, bounty_id, account)


def _claim_of(kind: AmountKind, bounty_id: BountyId, account: Address) -> Plan[PaidClaim]:
    """The plan that claims one kind of amount."""

    def result(receipt: Receipt, journal: Journal) -> PaidClaim:
        amount = _amount_of(receipt, kind, bounty_id, account)
        done = emit(PaidClaim(receipt.tx_hash, receipt.block_number, amount), STATUS)
        journal.forget(GIVEN, *_STEP.entries)  # once it is reported: a run that is killed before finds it again
        return done

    call = _call(ClaimablePart(bounty_id, kind, TokenAmount(0)))
    return Plan(call, paid(kind, bounty_id, account), _STEP, result)


@dataclass(frozen=True, slots=True)
class ClaimPreview:
    """The amounts that ``claim`` would pull now, and the most that the gas may cost, in wei."""

    bounty_id: BountyId
    claimant: Address
    function_name: str
    amount: TokenAmount
    gas: int
    gas_cost: int


def preview_claim(settings: Settings, bounty_id: BountyId, account: Address) -> ClaimPreview:
    """The call that pays ``account``; refused where nothing is due. Signs nothing."""
    chain = ChainClient.checked(settings)
    due = find_entitlement(chain, chain.bounty(bounty_id), bounty_id, account)
    call = _call(due)
    simulate(chain, account, call)
    cost = gas_cost(chain, account, call)
    return ClaimPreview(bounty_id, account, call.function, due.amount, cost.gas, cost.wei)


def claiming_signer(settings: Settings, choose: Callable[[Sequence[Address]], Address]) -> LocalSigner:
    """The Claimant's key, or where it is not set another role's; ``choose`` decides between several accounts."""
    names = [name for name in _OTHER_KEYS if settings.environment.source(name) is not None]
    if settings.environment.source(CLAIMANT_KEY) is not None or not names:
        return local_signer(settings, CLAIMANT_KEY)
    if len(names) == 1:
        return local_signer(settings, names[0])
    accounts = {account_of(settings, name): name for name in names}
    return local_signer(settings, accounts[next(iter(accounts)) if len(accounts) == 1 else choose(list(accounts))])


def unsent_claim(chain: ChainClient, call: HubCall) -> UnsentClaim:
    """The call as a wallet takes it."""
    return UnsentClaim(chain.chain_id, chain.hub.address, "0", call.data, call.function)


# --- a Guardian's share of one bounty


def claim_fee(settings: Settings, bounty_id: BountyId) -> ClaimedFee:
    """The command ``guardian:claim-fee``."""
    session = Session.open(settings, local_signer(settings, GUARDIAN_KEY))
    with session.journal("claimfee", str(bounty_id), session.account) as journal:
        return carry_out(session, _claim_share(session, bounty_id, journal), journal)


def _claim_share(session: Session[LocalSigner], bounty_id: BountyId, journal: Journal) -> Plan[ClaimedFee]:
    """What pays a Guardian's share; the outcome is waited for until it is final."""
    chain, guardian, kind = session.chain, session.account, AmountKind.GUARDIAN_FEE

    def result(receipt: Receipt, journal: Journal) -> ClaimedFee:
        amount = payments_of(receipt, guardian).get((kind, bounty_id))
        done = emit(ClaimedFee(bounty_id, guardian, amount, receipt.tx_hash, receipt.block_number), STATUS)
        journal.forget(*_SHARE_STEP.entries)
        return done

    call = _call(ClaimablePart(bounty_id, kind, TokenAmount(0)))
    plan = Plan(call, paid(kind, bounty_id, guardian), _SHARE_STEP, result)
    once_final(chain, bounty_id, AwaitedFee, lambda bounty: _require_seat(chain, bounty_id, bounty, guardian))
    if resumed(session, journal, [plan]) is not None:
        return plan
    with chain_errors():
        (due,) = chain.hub.read("claimable", bounty_id, guardian)
    if due:
        return plan
    if (found := _paid_before(chain, kind, bounty_id, guardian)) is not None:
        place = f"transaction {found.tx_hash}, block {found.block_number}"
        message = f"The share of {guardian} in bounty {bounty_id} was claimed before: {place}."
        raise CommandRefused("fee_already_claimed", message, next_action="Nothing is left to do.")
    with chain_errors():
        judged = chain.hub.verdict(bounty_id, guardian).kind is not None
    why = "its share was claimed before, or is nothing" if judged else "the Hub holds no Verdict of it"
    message = f"Nothing is due to {guardian} from bounty {bounty_id}: {why}."
    raise CommandRefused("nothing_due", message, next_action="Nothing is left to do.")


def _require_seat(chain: ChainClient, bounty_id: BountyId, bounty: BountyView, guardian: Address) -> None:
    if bounty.outcome is None:
        message = f"Bounty {bounty_id} is still open, so no share of its fee can be claimed yet."
        next_action = f"Wait for its end: service-cli bounty:watch {bounty_id}."
        raise CommandRefused("bounty_open", message, next_action=next_action)
    if guardian not in chain.pinned_roster(bounty).accounts:
        message = f"{guardian} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")
