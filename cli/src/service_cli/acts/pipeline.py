"""The path of an act of one transaction: planned from the state, then sent by a key here, or given to a wallet or to
a program. ``claim`` and ``guardian:claim-fee`` take it.

A plan is all that an act would do: its call, the event that proves them, and the result of the transaction that has
this event. A preview is the plan; nothing of it is signed. Each act has a journal, so that a run after a kill goes on
with the very call that an earlier run signed or gave out, and checks nothing again that was decided then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from bounty_protocol.types import Address

from service_cli.chain.journal import Journal, open_journal
from service_cli.chain.outside import GIVEN, done_by_wallet, note_given
from service_cli.chain.prepared import PreparedAct, done_already, prepare
from service_cli.chain.receipts import Receipt
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner
from service_cli.chain.transactions import (
    DoneEvidence,
    GasCost,
    HubCall,
    Transaction,
    TransactionStep,
    advise_wallet,
    gas_cost,
    simulate,
)
from service_cli.errors import CommandRefused
from service_cli.ui.event import Event
from service_cli.ui.output import emit, say

R = TypeVar("R", bound=Event)
R_co = TypeVar("R_co", bound=Event, covariant=True)


@dataclass(frozen=True, slots=True)
class Plan(Generic[R_co]):
    """What an act does now. ``result`` makes of the proving transaction what the act reports, and reports it."""

    call: HubCall
    expects: DoneEvidence | None
    result: Callable[[Receipt], R_co]


class PlannedAct(Protocol[R_co]):
    """An act that one transaction does."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its journal, to which the account is added."""

    @property
    def step(self) -> TransactionStep:
        """Where its transaction stands in the journal."""

    def plan(self, chain: ChainClient, account: Address, earlier: str | None) -> Plan[R_co]:
        """Decide what to call, and refuse what the Hub would; with the call data that an ``earlier`` run signed or gave
        to a wallet, how that call goes on."""


class DoneBefore(CommandRefused):
    """The refusal of an act that the chain has already; ``result`` reports it as the act would have."""

    def __init__(self, code: str, message: str, result: Callable[[], Event]) -> None:
        super().__init__(code, message, next_action="Nothing is left to do.")
        self.result = result


def by_key(session: Session[LocalSigner], act: PlannedAct[R]) -> R:
    """Send the act's transaction once, or go on with the one that an earlier run signed, and report the result."""
    chain, account, step = session.chain, session.account, act.step
    with session.journal(*act.names, account) as journal:
        attempt = journal.get(step.attempt)
        plan = act.plan(chain, account, None if attempt is None else attempt.data)
        receipt = send(session, Transaction(plan.call, plan.expects), journal, step)
        done = plan.result(receipt)
        journal.forget(*step.entries)  # once it is reported: a run that is killed before finds it again
    return done


def by_wallet(chain: ChainClient, account: Address, act: PlannedAct[R], unsent: Callable[[HubCall], Event]) -> R | None:
    """Report what a wallet sent since an earlier run; else give it the call as the event ``unsent``: None."""
    with open_journal(chain.chain_id, chain.hub.address, *act.names, account) as journal:
        if (done := _sent_by_wallet(chain, account, act, journal)) is not None:
            return done
        plan = act.plan(chain, account, None)
        advise_wallet(chain, account, plan.call)
        note_given(chain, plan.call, journal)
        emit(unsent(plan.call))
        say("send this transaction from your wallet: until then nothing is done")
        return None


def _sent_by_wallet(chain: ChainClient, account: Address, act: PlannedAct[R], journal: Journal) -> R | None:
    if (given := journal.get(GIVEN)) is None:
        return None
    plan = act.plan(chain, account, given.data)
    receipt = None if plan.expects is None else done_by_wallet(chain, plan.expects, journal)
    if receipt is None:
        return None
    done = plan.result(receipt)
    journal.forget(GIVEN)
    return done


def for_program(chain: ChainClient, account: Address, act: PlannedAct[R]) -> PreparedAct[R]:
    """The act's call for another program to send; none where the chain has the act already."""
    try:
        plan = act.plan(chain, account, None)
    except DoneBefore as before:
        return done_already(chain, account, cast("R", before.result()))
    if plan.expects is None:
        raise ValueError("nothing shows that this act is done")
    return prepare(chain, account, [plan.call], plan.expects, lambda _, receipt: plan.result(receipt))


def preview(chain: ChainClient, account: Address, plan: Plan[R]) -> GasCost:
    """Simulate the plan's call and return the most that its gas may cost; a revert is refused with its sentence."""
    simulate(chain, account, plan.call)
    return gas_cost(chain, account, plan.call)
