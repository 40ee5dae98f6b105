"""``claim --all``: everything that the Hub owes one account, by as few transactions as the Hub takes.

Awards, refunds, Guardian fees and the protocol fee are looked for in the Hub's own log where it is short or where
no API answers, and otherwise in the API's list. What is due is read from the Hub alone, so that an API that shows less
than there is can only hide money for a while; it never invents or moves any.

The parts of one transaction and its signed bytes are in the journal before it is sent, so a run after a kill finds what
became of them first. A part that the Hub refuses is reported and left out; the others are paid. The Hub marks each part
as paid, so nothing can be paid twice, even where another program claims at the same time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.chain.rpc import Call, RpcRefused, hex_bytes
from bounty_protocol.domain.hub_events import (
    AwardClaimed,
    BountyFinalized,
    GuardianFeeClaimed,
    ProtocolFeeClaimed,
    RefundClaimed,
)
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, TokenAmount, parse_bounty_id

from service_cli.api import api_of
from service_cli.bounty.facts import LONG_LOG
from service_cli.bounty.listing import listed, require_deployment
from service_cli.chain.about import about_chain, about_sent
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.prepared import PreparedAct, done_already, newest_settled, unsent
from service_cli.chain.receipts import ExpectedEvent, Receipt, first_block, receipt_of
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.chain.token import amount_shown
from service_cli.chain.transactions import HubCall, Transaction, TransactionStep, advise_wallet, simulate
from service_cli.claimant.claim import CLAIMANT_KEY, claiming_signer, show_transaction
from service_cli.claimant.events import ClaimedAmount, ClaimTotal, DueAmount, UnclaimedAmount
from service_cli.claimant.payments import Payment, paid
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import emit, remark, say

MOST_LISTED: Final = 10_000
"""Bounties of the API's list that are looked at in each role."""
_CALLS_AT_ONCE: Final = 100
_FILTERS: Final = ("poster_address", "solver_address", "guardian_address")


@dataclass(frozen=True, slots=True)
class DuePart:
    """One amount that the account can pull, and from which bounty."""

    bounty_id: BountyId
    kind: AmountKind
    amount: TokenAmount

    @property
    def number(self) -> int:
        """The kind as ``claimMany`` takes it."""
        return list(AmountKind).index(self.kind) + 1

    def names(self, account: Address) -> tuple[BountyId, Address, AmountKind]:
        """How events name it."""
        return self.bounty_id, account, self.kind


@dataclass(frozen=True, slots=True)
class Due:
    """Everything due by a finalized outcome, and the bounties whose outcome is not finalized yet."""

    parts: tuple[DuePart, ...]
    not_final: tuple[BountyId, ...]


def find_due(chain: ChainClient, account: Address) -> Due:
    """The amounts that ``account`` can pull now, lowest bounty first."""
    finalized, parts, not_final = chain.finalized().number, list[DuePart](), list[BountyId]()
    for bounty_id, total in _claimable(chain, account, sorted(_candidates(chain, account))):
        bounty = chain.bounty(bounty_id)
        with chain_errors():
            final = chain.hub.bounty(bounty_id, finalized)
        if final is None or final.outcome is None or (final.outcome, final.winner) != (bounty.outcome, bounty.winner):
            not_final.append(bounty_id)
        else:
            parts += _parts(bounty, bounty_id, account, total)
    return Due(tuple(parts), tuple(not_final))


def _parts(bounty: BountyView, bounty_id: BountyId, account: Address, total: int) -> Iterator[DuePart]:
    """The parts of ``claimable``; the share of a Guardian is what remains of it."""
    owed = {
        AmountKind.WINNER_AWARD: bounty.award_due if account == bounty.winner else 0,
        AmountKind.POSTER_REFUND: bounty.refund_due if account == bounty.poster else 0,
        AmountKind.PROTOCOL_FEE: bounty.protocol_fee_due if account == bounty.protocol_fee_recipient else 0,
    }
    owed[AmountKind.GUARDIAN_FEE] = max(0, total - sum(owed.values()))
    return (DuePart(bounty_id, kind, TokenAmount(owed[kind])) for kind in AmountKind if owed[kind])


def _claimable(chain: ChainClient, account: Address, ids: list[BountyId]) -> Iterator[tuple[BountyId, int]]:
    """Each bounty that owes the account something, and how much in all; ids that no bounty has are passed over."""
    codec = hub_abi().functions["claimable"]
    for first in range(0, len(ids), _CALLS_AT_ONCE):
        some = ids[first : first + _CALLS_AT_ONCE]
        calls: list[Call] = []
        for bounty_id in some:
            data = "0x" + codec.encode(bounty_id, account).hex()
            calls.append(("eth_call", [{"to": chain.hub.address, "data": data}, "latest"]))
        with chain_errors():
            for bounty_id, answer in zip(some, chain.rpc.batch(calls), strict=True):
                if isinstance(answer, RpcRefused):
                    if not answer.is_revert:
                        raise answer
                    continue
                (due,) = codec.decode(hex_bytes(answer))
                if isinstance(due, int) and due:
                    yield bounty_id, due


def _candidates(chain: ChainClient, account: Address) -> set[BountyId]:
    """The bounties to look at."""
    start = first_block(chain)
    if start is not None and chain.latest().number - start <= LONG_LOG:
        return _of_log(chain, start)
    if not chain.settings.knows("SERVICE_API_BASE_URL"):
        if start is None:
            message = "Which bounties to look at is not known: no API is configured."
            raise CommandRefused("configuration_incomplete", message, next_action="Set SERVICE_API_BASE_URL.")
        return _of_log(chain, start)
    try:
        return _of_api(chain, account)
    except CommandFailed as failed:
        if start is None:
            raise
        say(f"{failed.message} Reading the Hub's own log instead.")
        return _of_log(chain, start)


def _of_log(chain: ChainClient, start: BlockNumber) -> set[BountyId]:
    """Every bounty that ended."""
    return {event.bounty_id for _, event in ExpectedEvent(BountyFinalized).found(chain, start)}


def _of_api(chain: ChainClient, account: Address) -> set[BountyId]:
    """The account's bounties in the API's list, in any role that the list knows."""
    api, found = api_of(chain.settings), set[BountyId]()
    require_deployment(chain.settings, api)
    for name in _FILTERS:
        for item in listed(api, {name: account, "status": "final"}, MOST_LISTED):
            try:
                found.add(parse_bounty_id(str(item.get("bounty_id"))))
            except ValueError:
                continue
    return found


MOST_CLAIMS: Final = 32
"""The Hub's own bound on one transaction."""
_STEP: Final = TransactionStep("claim_many_transaction")
_NAMES: Final = {
    AmountKind.WINNER_AWARD: "award",
    AmountKind.POSTER_REFUND: "refund",
    AmountKind.GUARDIAN_FEE: "Guardian's share",
    AmountKind.PROTOCOL_FEE: "protocol fee",
}
_EVENTS: Final[Mapping[AmountKind, Payment]] = {
    AmountKind.WINNER_AWARD: AwardClaimed,
    AmountKind.POSTER_REFUND: RefundClaimed,
    AmountKind.GUARDIAN_FEE: GuardianFeeClaimed,
    AmountKind.PROTOCOL_FEE: ProtocolFeeClaimed,
}


BATCH: Final = JournalEntry.of("batch", tuple[DuePart, ...])


@dataclass(slots=True)
class _RunTotals:
    """Totals of one run."""

    account: Address
    claimed: dict[tuple[AmountKind, int], int] = field(default_factory=dict)
    problems: dict[tuple[AmountKind, int], Issue] = field(default_factory=dict)
    """What was not paid; a part that a later transaction of the run pays is none of them any more."""

    def refuse(self, part: DuePart, code: str, message: str) -> None:
        """A part that was not paid, and why."""
        emit(UnclaimedAmount(*part.names(self.account), code, message))
        remark(f"not claimed: the {_named(part)}: {message}", urgent=True)
        issue = Issue(f"bounty {part.bounty_id}, {part.kind.value}", f"{code}: {message}")
        self.problems[part.kind, part.bounty_id] = issue

    def pay(self, part: DuePart, amount: TokenAmount) -> None:
        """A part that a transaction paid."""
        self.claimed[part.kind, part.bounty_id] = amount
        self.problems.pop((part.kind, part.bounty_id), None)

    def finish(self, chain: ChainClient, due: Due) -> ClaimTotal:
        """The total, and a refusal that names every part that was not paid."""
        total = self.total(due)
        self.show(chain, total)
        if self.problems:
            message = f"{len(self.problems)} of what is due could not be claimed."
            next_action = "Look at each reason; the rest was claimed, and running it again claims nothing twice."
            issues = list(self.problems.values())[:50]
            raise CommandRefused("claims_refused", message, issues=issues, next_action=next_action)
        return total

    def total(self, due: Due) -> ClaimTotal:
        """How many amounts, and how much together."""
        amount = TokenAmount(sum(self.claimed.values()))
        return ClaimTotal(self.account, len(self.claimed), amount, len(self.problems), due.not_final)

    @staticmethod
    def show(chain: ChainClient, total: ClaimTotal) -> ClaimTotal:
        """The total, and which bounties it had to leave out."""
        emit(total, about_chain(chain))
        if total.not_final:
            waiting = ", ".join(map(str, total.not_final[:20]))
            remark(f"the outcome is not finalized yet of bounty {waiting}: run it again later")
        return total


def claim_all(settings: Settings, wallet: Address | None) -> ClaimTotal:
    """The command ``claim --all``; with ``wallet`` the transactions are only shown, for that account to send."""
    if wallet is not None:
        return _prepare_all(ChainClient.checked(settings), wallet)
    session = Session.open(settings, claiming_signer(settings, _ambiguous))
    chain, tally = session.chain, _RunTotals(session.account)
    with session.journal("claimall", session.account) as journal:
        batch = journal.get(BATCH)
        if batch and _STEP.was_attempted(journal):
            _continue(session, journal, batch, tally)
        due = _find(chain, session.account)
        left = [part for part in due.parts if (part.kind, part.bounty_id) not in tally.claimed]
        for first in range(0, len(left), MOST_CLAIMS):
            if accepted := _accepted(chain, left[first : first + MOST_CLAIMS], tally):
                _send(session, journal, accepted, tally)
    return tally.finish(chain, due)


def prepare_all(settings: Settings, account: Address | None) -> PreparedAct[ClaimTotal]:
    """The calls of ``claim_all`` for ``account``, without it the key's: each pays up to 32 amounts; none where nothing
    is due. What the Hub refuses is left out, counted in the result and reported as an event."""
    chain = ChainClient.checked(settings)
    claimant = claiming_signer(settings, _ambiguous).address if account is None else account
    since, due, tally = chain.latest().number, _find(chain, claimant), _RunTotals(claimant)
    each = range(0, len(due.parts), MOST_CLAIMS)
    batches = [parts for first in each if (parts := _accepted(chain, due.parts[first : first + MOST_CLAIMS], tally))]
    if not batches:
        return done_already(chain, claimant, tally.show(chain, tally.total(due)))

    def find(later: ChainClient) -> ClaimTotal | None:
        proofs = [_proof(parts, claimant) for parts in batches]
        found = [receipt for proof in proofs if (receipt := newest_settled(later, proof, since)) is not None]
        if len(found) < len(batches):
            return None
        paid_out = _RunTotals(claimant, problems=dict(tally.problems))
        for receipt, parts in zip(found, batches, strict=True):
            _report(later, receipt, parts, paid_out)
        return tally.show(later, paid_out.total(due))

    return unsent(chain, claimant, list(map(_call, batches)), since, find)


def _prepare_all(chain: ChainClient, account: Address) -> ClaimTotal:
    """Each transaction simulated and printed for a wallet; the total is what they would pay."""
    due, tally = _find(chain, account), _RunTotals(account)
    for first in range(0, len(due.parts), MOST_CLAIMS):
        if accepted := _accepted(chain, due.parts[first : first + MOST_CLAIMS], tally):
            call = _call(accepted)
            advise_wallet(chain, account, call)
            show_transaction(chain, call)
            tally.claimed |= {(part.kind, part.bounty_id): part.amount for part in accepted}
    return tally.finish(chain, due)


def _find(chain: ChainClient, account: Address) -> Due:
    """Show the amounts due."""
    due, shown = find_due(chain, account), amount_shown(chain)
    for part in due.parts:
        emit(DueAmount(*part.names(account), part.amount), about_chain(chain))
        remark(f"due to {account}: the {_named(part)}, {shown(part.amount)}")
    if due.parts:
        remark(f"together {shown(sum(part.amount for part in due.parts))}")
    else:
        remark(f"nothing is due to {account}")
    return due


def _accepted(chain: ChainClient, parts: Sequence[DuePart], tally: _RunTotals) -> tuple[DuePart, ...]:
    """The parts that the Hub pays together; each one that it refuses is reported with its own reason."""
    try:
        simulate(chain, tally.account, _call(parts))
        return tuple(parts)
    except CommandRefused:
        reasons = {part: reason for part in parts if (reason := _refusal(chain, tally.account, part)) is not None}
        if not reasons:
            raise
    for part, reason in reasons.items():
        tally.refuse(part, reason.code, reason.message)
    left = tuple(part for part in parts if part not in reasons)
    if left:
        simulate(chain, tally.account, _call(left))
    return left


def _refusal(chain: ChainClient, account: Address, part: DuePart) -> ServiceError | None:
    try:
        simulate(chain, account, _call([part]))
    except CommandRefused as refused:
        return refused
    return None


def _continue(session: Session[LocalSigner], journal: Journal, batch: Sequence[DuePart], tally: _RunTotals) -> None:
    """Finish what an earlier run signed. Where it is refused, as once a part was paid otherwise, what is due is looked
    at anew: the Hub reverts the whole of it, and what is signed next takes its nonce where that is free."""
    try:
        _send(session, journal, batch, tally)
    except CommandRefused as refused:
        say(f"what an earlier run signed is not paid so: {refused.message} Looking at what is due now.")


def _send(session: Session[LocalSigner], journal: Journal, parts: Sequence[DuePart], tally: _RunTotals) -> None:
    """One transaction, sent once; what it paid is what its block shows."""
    journal.note(BATCH, tuple(parts))
    receipt = send(session, Transaction(_call(parts), _proof(parts, session.account)), journal, _STEP)
    _report(session.chain, receipt, parts, tally)
    journal.forget(BATCH, *_STEP.entries)


def _proof(
    parts: Sequence[DuePart], account: Address
) -> ExpectedEvent[AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed]:
    """The event of one part shows the whole transaction."""
    return paid(_EVENTS[parts[0].kind], parts[0].bounty_id, account)


def _report(chain: ChainClient, receipt: Receipt, parts: Sequence[DuePart], tally: _RunTotals) -> None:
    """The payments of a transaction, part by part."""
    account = tally.account
    found = _payments(receipt, account)
    if len(found) < len(parts):  # found by one event of it: the others are in its receipt
        whole = receipt_of(chain, receipt.tx_hash)
        found = found if whole is None else _payments(whole, account)
    is_first = True
    for part in parts:
        amount = found.get((part.kind, part.bounty_id))
        if amount is None:
            message = f"Transaction {receipt.tx_hash} did not pay it; run the command again."
            tally.refuse(part, "claim_mismatch", message)
            continue
        tally.pay(part, amount)
        about = about_sent(chain, account, receipt.tx_hash) if is_first else about_chain(chain)
        is_first = False  # its cost is shown once
        emit(ClaimedAmount(*part.names(account), amount, receipt.tx_hash, receipt.block_number), about)


def _payments(receipt: Receipt, account: Address) -> dict[tuple[AmountKind, int], TokenAmount]:
    """The amount that a transaction paid this account."""
    found: dict[tuple[AmountKind, int], TokenAmount] = {}
    for one in receipt.events:
        match one:
            case AwardClaimed(bounty_id, recipient, amount):
                kind = AmountKind.WINNER_AWARD
            case RefundClaimed(bounty_id, recipient, amount):
                kind = AmountKind.POSTER_REFUND
            case GuardianFeeClaimed(bounty_id, recipient, amount):
                kind = AmountKind.GUARDIAN_FEE
            case ProtocolFeeClaimed(bounty_id, recipient, amount):
                kind = AmountKind.PROTOCOL_FEE
            case _:
                continue
        if recipient == account:
            found[kind, bounty_id] = amount
    return found


def _call(parts: Sequence[DuePart]) -> HubCall:
    claims = [(part.number, part.bounty_id) for part in parts]
    ids = ", ".join(str(part.bounty_id) for part in parts)
    what = f"the {_named(parts[0])}" if len(parts) == 1 else f"{len(parts)} amounts at once, of bounties {ids}"
    return HubCall("claimMany", [claims], f"claim {what}")


def _named(part: DuePart) -> str:
    return f"{_NAMES[part.kind]} of bounty {part.bounty_id}"


def _ambiguous(accounts: Sequence[Address]) -> NoReturn:
    message = f"The configured keys are of {len(accounts)} accounts, and {CLAIMANT_KEY} is not set."
    next_action = f"Set {CLAIMANT_KEY} (or _FILE) to the key of the account that claims."
    raise CommandRefused("account_ambiguous", message, next_action=next_action)
