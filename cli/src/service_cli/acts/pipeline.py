"""The path of every act: planned from what was read, then sent by a key here, or given to a wallet.

A plan is all that an act would do: its call, the event that proves it, and the result of the transaction that has
this event. A preview is the plan; nothing of it is signed. Each act has a journal, so that a run after a kill goes on
with the very call that an earlier run signed or gave out, and checks nothing again that was decided then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from service_cli.chain.journal import Journal
from service_cli.chain.outside import GIVEN, Given, done_by_wallet
from service_cli.chain.receipts import ExpectedEvent, Receipt
from service_cli.chain.sender import send
from service_cli.chain.session import Session
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.transactions import (
    ContractCall,
    Transaction,
    TransactionStep,
)
from service_cli.ui.event import Event
from service_cli.ui.output import emit, say

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Plan(Generic[R_co]):
    """What an act does now. Its call brings about what ``expects`` shows."""

    call: ContractCall
    expects: ExpectedEvent[Any]
    step: TransactionStep
    result: Callable[[Receipt], R_co]
    """Reports what the proving transaction brought about, and then drops from the journal what is over."""
    found: Receipt | None = None
    """The proving transaction, where the chain has it already."""
    unsent: Event | None = None
    """Its call as an event, where a wallet may send it."""
    check_anew: Callable[[], None] = lambda: None
    """Refuses what was right when it was planned, where it is to be signed with another nonce later."""


def send_or_give(session: Session[Signer], plan: Plan[R], journal: Journal, ask: str) -> R | None:
    """Carry out the plan with this run's key; for a wallet, report what it sent since an earlier run, else print the
    call as an event, ``ask`` for it, and return None.
    """
    chain, signer, receipt = session.chain, session.signer, plan.found
    if isinstance(signer, LocalSigner):
        return carry_out(Session(chain, signer), plan, journal)
    is_given = was_given(journal, plan.call)
    if receipt is None and is_given:
        receipt = done_by_wallet(chain, plan.expects, journal)
    if receipt is not None:
        return plan.result(receipt)
    if plan.unsent is None:
        raise RuntimeError("no wallet sends this act")
    if not is_given:  # the block of the first time counts
        journal.note(GIVEN, Given(plan.call.data, chain.latest().number))
    emit(plan.unsent)
    say(ask)
    return None


def carry_out(session: Session[LocalSigner], plan: Plan[R], journal: Journal) -> R:
    """Send the call once with this run's key, or continue what an earlier run signed, and report the result."""
    receipt = plan.found
    if receipt is None:
        transaction = Transaction(plan.call, plan.expects, check_anew=plan.check_anew)
        receipt = send(session, transaction, journal, plan.step)
    return plan.result(receipt)


def was_given(journal: Journal, call: ContractCall) -> bool:
    """Return whether an earlier run gave exactly this call to a wallet."""
    given = journal.get(GIVEN)
    return given is not None and given.data == call.data
