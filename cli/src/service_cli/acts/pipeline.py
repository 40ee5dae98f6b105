"""The path of every act: planned from what was read, then sent by a key here, or given to a wallet.

A plan is all that an act would do: its call, the event that proves it, and the result of the transaction that has
this event. A preview is the plan; nothing of it is signed. Each act has a journal, so that a run after a kill goes on
with the very call that an earlier run signed or gave out, and checks nothing again that was decided then.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from service_cli.chain.journal import Journal
from service_cli.chain.outside import GIVEN, ExternalSigner, done_by_wallet, note_given
from service_cli.chain.receipts import Receipt
from service_cli.chain.sender import send
from service_cli.chain.session import Session
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.transactions import (
    ContractCall,
    DoneEvidence,
    HubCall,
    Transaction,
    TransactionStep,
)
from service_cli.ui.event import Event
from service_cli.ui.output import emit, say

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


def _nothing_changed() -> None:
    """What was right when an act was planned is right whenever it is signed."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[R_co]):
    """What an act does now. Its call brings about what ``expects`` shows; without that only a receipt does."""

    call: ContractCall | None
    """None where nothing is left to be done."""
    expects: DoneEvidence | None
    step: TransactionStep
    result: Callable[[Receipt, Journal], R_co]
    """Reports what the proving transaction brought about, and then drops from the journal what is over."""
    found: Receipt | None = None
    """The proving transaction, where the chain has it already."""
    check_anew: Callable[[], None] = _nothing_changed
    """Refuses what was right when it was planned, where it is to be signed with another nonce later."""

    @property
    def planned(self) -> ContractCall:
        """The call of an act that is not done."""
        if self.call is None:
            raise RuntimeError("nothing is left to be done")
        return self.call


def deliver(
    session: Session[Signer], plan: Plan[R], journal: Journal, unsent_call: Callable[[HubCall], Event], ask: str
) -> R | None:
    """Carry the plan out in the way of the session's signer; None where a wallet has still to send the call."""
    if isinstance(session.signer, ExternalSigner):
        return give(session, plan, journal, unsent_call, ask)
    return carry_out(session, plan, journal)


def carry_out(session: Session[Signer], plan: Plan[R], journal: Journal) -> R:
    """Send the call once by the key here, or go on with what an earlier run signed, and report the result."""
    signer = session.signer
    if not isinstance(signer, LocalSigner):
        raise RuntimeError("only a key of this process sends")
    receipt = plan.found
    if receipt is None:
        transaction = Transaction(plan.planned, plan.expects, check_anew=plan.check_anew)
        receipt = send(Session(session.chain, signer), transaction, journal, plan.step)
    return plan.result(receipt, journal)


def give(
    session: Session[Signer], plan: Plan[R], journal: Journal, unsent_call: Callable[[HubCall], Event], ask: str
) -> R | None:
    """Report what a wallet sent since an earlier run; else give it the call as an event, and ``ask`` for it: None."""
    chain, receipt = session.chain, plan.found
    if receipt is None and plan.expects is not None and was_given(journal, plan.planned):
        receipt = done_by_wallet(chain, plan.expects, journal)
    if receipt is not None:
        return plan.result(receipt, journal)
    call = plan.planned
    if not isinstance(call, HubCall):
        raise TypeError("a wallet is given calls of the Hub alone")
    note_given(chain, call, journal)
    emit(unsent_call(call))
    say(ask)
    return None


def was_given(journal: Journal, call: ContractCall) -> bool:
    """Whether an earlier run gave this very call to a wallet."""
    given = journal.get(GIVEN)
    return given is not None and given.data == call.data


def resumed(session: Session[Signer], journal: Journal, plans: Iterable[Plan[R]]) -> Plan[R] | None:
    """The plan whose call an earlier run signed with the key here, or gave to a wallet that has sent it."""
    given = journal.get(GIVEN) if isinstance(session.signer, ExternalSigner) else None
    for plan in plans:
        kept = journal.get(plan.step.attempt) if isinstance(session.signer, LocalSigner) else None
        if kept is not None and kept.data == plan.planned.data:
            return plan
        if given is None or given.data != plan.planned.data or plan.expects is None:
            continue
        if plan.expects.newest(session.chain, given.from_block) is not None:
            return plan
    return None
