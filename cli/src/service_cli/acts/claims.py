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
from service_cli.acts.pipeline import DoneBefore, Plan, by_key, by_wallet, for_program, preview
from service_cli.chain.finality import once_final
from service_cli.chain.outside import ExternalSigner
from service_cli.chain.prepared import PreparedAct
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, bounty_topic, first_block
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import GUARDIAN_KEY, LocalSigner, account_of, local_signer
from service_cli.chain.token import shown_amount
from service_cli.chain.transactions import HubCall, TransactionStep, simulate
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import STATUS
from service_cli.ui.output import emit

CLAIMANT_KEY: Final = "SERVICE_CLAIMANT_PRIVATE_KEY"
_OTHER_KEYS: Final = ("SERVICE_POSTER_PRIVATE_KEY", "SERVICE_SOLVER_PRIVATE_KEY", GUARDIAN_KEY)
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
        return DoneBefore(f"{what}_already_claimed", message, lambda: emit(_paid_claim(found, amount), STATUS))
    if kind is AmountKind.WINNER_AWARD:
        message = "The award was claimed already."
        return CommandRefused("award_already_claimed", message, next_action="Nothing is left to do.")
    message = f"Bounty {bounty_id} holds nothing for its Poster, and no earlier claim is found."
    return CommandRefused("nothing_queued", message, next_action="Nothing is left to do.")


def _paid_claim(receipt: Receipt, amount: TokenAmount) -> PaidClaim:
    return PaidClaim(receipt.tx_hash, receipt.block_number, amount)


def _call(part: ClaimablePart) -> HubCall:
    """The call that claims one amount by its own function."""
    form = FORMS[part.kind]
    arguments = [part.bounty_id, b"", b""] if part.kind is AmountKind.WINNER_AWARD else [part.bounty_id]
    return HubCall(form.function, arguments, f"claim the {part.named}")


@dataclass(frozen=True, slots=True)
class ClaimOne:
    """The award of a bounty's winner, or the refund of its Poster."""

    bounty_id: BountyId
    step: TransactionStep = _STEP

    @property
    def names(self) -> tuple[str, ...]:
        return "claim", str(self.bounty_id)

    def plan(self, chain: ChainClient, account: Address, earlier: str | None) -> Plan[PaidClaim]:
        """As the act's; the outcome is waited for until it is final, and the call simulated."""
        if earlier is None:
            part = self._due(chain, account)
            call = _call(part)
            simulate(chain, account, call)
            emit(PreparedClaim(self.bounty_id, account, call.function, part.amount))
            return self.plan_of(part.kind, account)
        award = self.plan_of(AmountKind.WINNER_AWARD, account)
        return award if award.call.data == earlier else self.plan_of(AmountKind.POSTER_REFUND, account)

    def plan_of(self, kind: AmountKind, account: Address) -> Plan[PaidClaim]:
        """The call for one kind of amount."""
        call = _call(ClaimablePart(self.bounty_id, kind, TokenAmount(0)))
        return Plan(call, paid(kind, self.bounty_id, account), lambda receipt: self._report(receipt, kind, account))

    def _due(self, chain: ChainClient, account: Address) -> ClaimablePart:
        bounty = once_final(
            chain, self.bounty_id, AwaitedClaim, lambda seen: find_entitlement(chain, seen, self.bounty_id, account)
        )
        return find_entitlement(chain, bounty, self.bounty_id, account)

    def _report(self, receipt: Receipt, kind: AmountKind, account: Address) -> PaidClaim:
        return emit(_paid_claim(receipt, _amount_of(receipt, kind, self.bounty_id, account)), STATUS)


def claim(settings: Settings, bounty_id: BountyId, account: Address | None = None) -> PaidClaim:
    """The command ``claim``. With ``account`` no other one's key signs, whatever the chain says is due to whom."""

    def choose(accounts: Sequence[Address]) -> Address:
        if account is not None and account in accounts:
            return account
        return _party(ChainClient.checked(settings), bounty_id, accounts)

    signer = claiming_signer(settings, choose)
    if account is not None and signer.address != account:
        message = f"The key that would sign is of {signer.address}, and not of {account}. Nothing was signed."
        raise CommandRefused("key_of_another", message, next_action="Claim with the key of that account.")
    return by_key(Session.open(settings, signer), ClaimOne(bounty_id))


def claim_by_wallet(settings: Settings, bounty_id: BountyId, wallet: ExternalSigner) -> PaidClaim | None:
    """``claim --claimant-address``: what the wallet sent before, else None and the call for it."""
    chain = ChainClient.checked(settings)
    return by_wallet(chain, wallet.address, ClaimOne(bounty_id), lambda call: unsent_claim(chain, call))


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
    claimant = _claimant(settings, chain, bounty_id, account)
    due = find_entitlement(chain, chain.bounty(bounty_id), bounty_id, claimant)
    plan = ClaimOne(bounty_id).plan_of(due.kind, claimant)
    cost = preview(chain, claimant, plan)
    return ClaimPreview(bounty_id, claimant, plan.call.function, due.amount, cost.gas, cost.wei)


def prepare_claim(settings: Settings, bounty_id: BountyId, account: Address | None) -> PreparedAct[PaidClaim]:
    """The call of ``claim`` for ``account``, without it the key's account; none where it was paid before."""
    chain = ChainClient.checked(settings)
    return for_program(chain, _claimant(settings, chain, bounty_id, account), ClaimOne(bounty_id))


def _claimant(settings: Settings, chain: ChainClient, bounty_id: BountyId, account: Address | None) -> Address:
    if account is not None:
        return account
    return claiming_signer(settings, lambda accounts: _party(chain, bounty_id, accounts)).address


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


def unsent_claim(chain: ChainClient, call: HubCall) -> UnsentClaim:
    """The call as a wallet takes it."""
    return UnsentClaim(chain.chain_id, chain.hub.address, "0", call.data, call.function)


# --- a Guardian's share of one bounty


@dataclass(frozen=True, slots=True)
class ClaimShare:
    """A Guardian's share of a bounty that ended."""

    bounty_id: BountyId
    step: TransactionStep = _SHARE_STEP

    @property
    def names(self) -> tuple[str, ...]:
        return "claimfee", str(self.bounty_id)

    def plan(self, chain: ChainClient, account: Address, earlier: str | None) -> Plan[ClaimedFee]:
        """As the act's; the outcome is waited for until it is final."""
        once_final(chain, self.bounty_id, AwaitedFee, lambda bounty: self._require_seat(chain, bounty, account))
        if earlier is None:
            self._require_due(chain, account)
        call = _call(ClaimablePart(self.bounty_id, AmountKind.GUARDIAN_FEE, TokenAmount(0)))
        proof = paid(AmountKind.GUARDIAN_FEE, self.bounty_id, account)
        return Plan(call, proof, lambda receipt: self._report(receipt, account))

    def _require_seat(self, chain: ChainClient, bounty: BountyView, guardian: Address) -> None:
        if bounty.outcome is None:
            message = f"Bounty {self.bounty_id} is still open, so no share of its fee can be claimed yet."
            next_action = f"Wait for its end: service-cli bounty:watch {self.bounty_id}."
            raise CommandRefused("bounty_open", message, next_action=next_action)
        if guardian not in chain.pinned_roster(bounty).accounts:
            message = f"{guardian} is not on the roster that bounty {self.bounty_id} pinned."
            raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")

    def _require_due(self, chain: ChainClient, guardian: Address) -> None:
        with chain_errors():
            (due,) = chain.hub.read("claimable", self.bounty_id, guardian)
        if due:
            return
        found = _paid_before(chain, AmountKind.GUARDIAN_FEE, self.bounty_id, guardian)
        if found is not None:
            place = f"transaction {found.tx_hash}, block {found.block_number}"
            message = f"The share of {guardian} in bounty {self.bounty_id} was claimed before: {place}."
            raise DoneBefore("fee_already_claimed", message, lambda: self._report(found, guardian))
        with chain_errors():
            judged = chain.hub.verdict(self.bounty_id, guardian).kind is not None
        why = "its share was claimed before, or is nothing" if judged else "the Hub holds no Verdict of it"
        message = f"Nothing is due to {guardian} from bounty {self.bounty_id}: {why}."
        raise CommandRefused("nothing_due", message, next_action="Nothing is left to do.")

    def _report(self, receipt: Receipt, guardian: Address) -> ClaimedFee:
        amount = payments_of(receipt, guardian).get((AmountKind.GUARDIAN_FEE, self.bounty_id))
        return emit(ClaimedFee(self.bounty_id, guardian, amount, receipt.tx_hash, receipt.block_number), STATUS)


def claim_fee(settings: Settings, bounty_id: BountyId) -> ClaimedFee:
    """The command ``guardian:claim-fee``."""
    return by_key(Session.open(settings, local_signer(settings, GUARDIAN_KEY)), ClaimShare(bounty_id))


def prepare_fee(settings: Settings, bounty_id: BountyId, guardian: Address | None) -> PreparedAct[ClaimedFee]:
    """The call of ``claim_fee``; none where the share was paid before."""
    chain = ChainClient.checked(settings)
    account = account_of(settings, GUARDIAN_KEY) if guardian is None else guardian
    return for_program(chain, account, ClaimShare(bounty_id))
