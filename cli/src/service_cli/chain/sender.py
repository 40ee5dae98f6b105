"""Sending one transaction exactly once.

A signed transaction is in the journal before it is sent, so a run after a kill sends the same bytes again or finds what
became of them. Everything signed for one step shares one account nonce, so a second transaction for the same thing can
never be mined beside the first. Nothing that may have been broadcast is forgotten before the chain shows, consistently,
that it cannot be mined any more. A lost connection is resolved by looking at the chain.

What is concluded is concluded from one look: everything was read while one block was the tip, and is deep enough below
it. A reorg during the look, or after it, makes the next look start from what the chain holds then.

    kept ──offer──▶ offered ◀──retry──▶ contended          any of them ──▶ Receipt: mined, or done by another
                       │ no block takes it: higher fees      any of them ──▶ missing ──▶ NonceLost, or back
                       └──▶ offered
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeVar

from bounty_protocol.chain.blocks import Header, block_before, header_call
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.types import BlockNumber

from service_cli.chain.journal import Journal, account_lock
from service_cli.chain.receipts import ExpectedEvent, Receipt, claimed_receipt, receipt_call, receipt_of
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.transactions import (
    Prospect,
    SignedStep,
    Transaction,
    TransactionStep,
    count_call,
    next_nonce,
    nonce_of,
    sign_attempt,
)
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import Waiting, say

T = TypeVar("T")
RECEIPT_SECONDS: Final = 180.0
STUCK_SECONDS: Final = 45.0
"""After this long without a block, the fees are raised."""
MISSING_SECONDS: Final = 20.0
"""How long a receipt may lag behind the account's nonce, which every look must show as used."""
MAX_REPLACEMENTS: Final = 3
MAX_RACES: Final = 3
_NEAR: Final = 1_000
"""Transactions that a person's account may come to send before the deadline of a page."""
_POLL_SECONDS: Final = 0.3
_LOOK_SECONDS: Final = 3.0
_WAITED_FOR: Final = ("underpriced", "in-flight transaction limit", "gapped-nonce", "txpool is full")
"""Refusals that pass: another transaction has the nonce, an account with delegated code has one in the pool already, or
the pool is full."""
_CONFIRMED_SECONDS: Final = 6
"""How much later the newest block is than one that counts, on any chain but a local one."""


class Reach(Enum):
    """How far what is signed may have come."""

    THIS_RUN = auto()
    """Signed by this run, and no node took it: nothing of it can be mined behind our back."""
    EARLIER_RUN = auto()
    """Signed by an earlier run, which may have sent it before it was killed."""
    NODE = auto()
    """A node took it, or may have: the connection broke before it answered."""


@dataclass(frozen=True, slots=True)
class NonceLost:
    """Another transaction has the nonce for good; ``reason`` is what that means for the command, if anything."""

    reason: CommandRefused | None


Ending = Receipt | NonceLost | CommandFailed | CommandRefused


def send(session: Session[LocalSigner], transaction: Transaction, journal: Journal, step: TransactionStep) -> Receipt:
    """Send the call once and wait for its block; continue an earlier run's transaction.

    Raises ``transaction_reverted`` and ``transaction_replaced`` once that is certain (the next run starts over),
    ``transaction_pending`` and ``transaction_unknown`` otherwise.
    """
    for tx_hash in journal.get(step.given_up) or ():
        if (receipt := receipt_of(session.chain, tx_hash)) is not None and _is_done(transaction, receipt):
            return receipt
    for _ in range(MAX_RACES):
        sending = _Sending(session, transaction, journal, step)
        sending.begin()
        if (receipt := sending.follow()) is not None:
            return receipt
        transaction.check_anew()
        say("another transaction of this account was mined first; signing this one again to follow it")
    message = "Other transactions of this account keep getting ahead of this one."
    raise CommandFailed(
        "nonce_contended",
        message,
        next_action="Stop the other program that uses this account, then run the command again.",
    )


def require_after(session: Session[Signer], earlier: Iterable[int | None], what: str) -> None:
    """Refuse to sign a replacement for something whose nonce is ahead: if mined later, that would undo it.

    ``earlier`` are the last nonces that were signed before, and ``what`` describes what they signed.
    """
    signed = [each for each in earlier if each is not None]
    if not signed:
        return
    nonce = next_nonce(session.chain, session.account)
    if found := [each for each in signed if nonce < each <= nonce + _NEAR]:
        raise _ahead(what, max(found), nonce, "If it is mined after what would be signed now, it replaces that")


def _ahead(what: str, signed: int, nonce: int, reason: str) -> CommandRefused:
    message = f"An earlier run signed {what} with nonce {signed}; the account's next nonce is {nonce}. {reason}."
    count = "one transaction" if signed == nonce + 1 else f"{signed - nonce} transactions"
    next_action = f"Send {count} from the account to itself, without ether, then run the command again: it continues."
    return CommandRefused("nonce_ahead", message, next_action=next_action)


def keep_looking(look: Callable[[], T | None], kept: str, pause: float) -> tuple[T | None, bool]:
    """Poll until there is a result, for ``RECEIPT_SECONDS``; return it, and whether the last poll got no answer.

    A silent endpoint does not end the wait: the person is told once, with what is ``kept`` meanwhile.
    """
    ends, unanswered = time.monotonic() + RECEIPT_SECONDS, False
    with Waiting("waiting for the block") as waiting:
        while time.monotonic() < ends:
            try:
                if (found := look()) is not None:
                    return found, False
                unanswered = False
            except CommandFailed as failure:
                if failure.code != "chain_unavailable":
                    raise
                if not unanswered:
                    say(f"{failure.message} Retrying; {kept}.")
                unanswered = True
            waiting.tick()
            time.sleep(pause)
    return None, unanswered


def is_part(chain: ChainClient, head: Header) -> bool:
    """Return whether the chain still has the block that was the tip when a poll began."""
    return chain.header(head.number).hash == head.hash


def _is_done(transaction: Transaction, receipt: Receipt) -> bool:
    """Return whether a receipt shows the intended event of the transaction; its success status alone proves nothing.

    For a Submission, a Verdict and a Guardian's fee only this check keeps this run from reporting something false;
    later runs check the event again. An event invented in the receipt passes here as well: only later runs can find
    out.
    """
    return receipt.succeeded and (transaction.expects is None or transaction.expects.proven_by(receipt))


def settled_block(chain: ChainClient, head: Header) -> str:
    """Return, in hex, a block that is old enough to count, by the times in the headers, and not much older."""
    if chain.is_local:
        return hex(head.number)
    with chain_errors():
        return hex(block_before(chain.rpc, head, _CONFIRMED_SECONDS).number)


def is_settled(chain: ChainClient, block: Header, head: Header) -> bool:
    """Return whether a block is old enough to count, by the times in the headers."""
    return block.number <= head.number and (chain.is_local or head.time - block.time >= _CONFIRMED_SECONDS)


def newest_settled(chain: ChainClient, proof: ExpectedEvent[Any], since: BlockNumber) -> Receipt | None:
    """Return the newest transaction since that block with the event, once it has enough blocks on top, in one poll."""
    head = chain.latest()
    found = proof.newest(chain, since)
    if found is None or not is_settled(chain, chain.header(found.block_number), head) or not is_part(chain, head):
        return None
    return found


class _Sending:
    """One attempt: what is signed for it, how far that may have come, and what moves it."""

    attempt: SignedStep
    reach: Reach

    def __init__(
        self, session: Session[LocalSigner], transaction: Transaction, journal: Journal, step: TransactionStep
    ) -> None:
        self.chain, self.signer = session.chain, session.signer
        self.transaction, self.call = transaction, transaction.call
        self.journal, self.step = journal, step
        self.searched_at = time.monotonic()
        self.is_warned = self.is_contended = False
        """Contended: another pending transaction of this account has the nonce and pays more, or is to be mined first.
        It is not outbid, since it may be a person's own; it is waited for, and ours is offered again now and then."""
        self.replacements = 0
        self.offered_at: float | None = None
        """None while this run has not offered it: a kill may have come before the sending, or right after it, so it is
        looked for on chain first, and then the same bytes are offered, which a node takes only once."""
        self.missing_since: float | None = None
        """Since when every look shows the nonce as used, and neither a receipt of ours nor the event. A receipt may lag
        behind the nonce, and a reorg may take the nonce's transaction out again: then nothing is missing."""

    def begin(self) -> None:
        """Continue what an earlier run signed; else simulate the call, sign it into the journal, and send it."""
        if (kept := self.journal.get(self.step.attempt)) is not None:
            self.attempt, self.reach = kept, Reach.EARLIER_RUN
            return
        account = self.signer.address
        with account_lock(self.chain.chain_id, account):  # so that the next command sees the nonce taken
            self.attempt, self.reach = self._sign(self._prospect(), None), Reach.THIS_RUN
            self._offer()

    def follow(self) -> Receipt | None:
        """Return the receipt; None if the nonce was lost and no node ever accepted this run's transaction."""
        found: tuple[Ending | None, bool] = keep_looking(
            self._look_once, "the transaction is in the journal", _POLL_SECONDS
        )
        ending, unanswered = found
        if ending is None and self.is_contended:
            message = "Another transaction of this account waits for its block, or the endpoint's pool is full."
            next_action = "Wait a moment, then run the command again: it offers the same transaction."
            raise CommandFailed("nonce_contended", message, next_action=next_action)
        if ending is None:  # it stays in the journal
            code, what = (
                ("transaction_unknown", "known to be mined") if unanswered else ("transaction_pending", "mined")
            )
            message = f"Transaction {self.attempt.hashes[-1]} is not {what} yet."
            raise CommandFailed(code, message, next_action="Run the command again: it waits for the same transaction.")
        if isinstance(ending, Receipt):
            return ending
        if not isinstance(ending, NonceLost):
            raise ending
        self.step.give_up(self.journal, self.attempt)
        if ending.reason is None:
            return None
        raise ending.reason

    def _look_once(self) -> Ending | None:
        """Poll once; the result counts only if its tip is still part of the chain. A missing answer does not mean that
        the transaction is missing.
        """
        count, receipts = count_call(self.signer.address, "latest"), map(receipt_call, self.attempt.hashes)
        try:
            asked = self.chain.ask(header_call("latest"), count, *receipts)
            head, is_used = asked.latest(), self._nonce_used(asked, "latest")
            if (mined := self._mined(asked, head)) is not None:
                receipt, counts = mined
                self.missing_since = None
                if not counts or receipt.succeeded:
                    return receipt if counts else None
                ending: Ending | None = self._reverted(receipt, head)
            else:
                ending = self._look(head, is_used=is_used)
            return ending if ending is not None and is_part(self.chain, head) else None
        except CommandFailed:
            self.missing_since = None
            raise

    def _mined(self, asked: ChainClient, head: Header) -> tuple[Receipt, bool] | None:
        """Return a receipt of ours that is part of the chain below ``head``, and whether it has enough blocks on top.

        Its block and ``head`` are read once more, together, after the receipt.
        """
        for tx_hash in self.attempt.hashes:
            receipt = claimed_receipt(asked, tx_hash)
            if receipt is None or self._lacks_event(receipt):
                continue
            held = self.chain.ask(header_call(receipt.block_number), header_call(head.number))
            block = held.header(receipt.block_number)
            if block.hash == receipt.block_hash:
                return receipt, is_part(held, head) and is_settled(self.chain, block, head)
        return None

    def _look(self, head: Header, *, is_used: bool) -> Ending | None:
        """Return how this ended on the chain below ``head`` where it has no receipt, or None while it has not."""
        if is_used:
            if (found := self._event()) is None:
                return self._missing(head)
            self.missing_since = None
            return found if is_settled(self.chain, self.chain.header(found.block_number), head) else None
        self.missing_since = None  # never used, or free again: a reorg took out the transaction that had it
        try:
            self._keep_offering()
        except CommandRefused as refused:  # it may be refused because it has happened
            if (found := self._event()) is None:
                return refused
        else:
            if time.monotonic() - self.searched_at < _LOOK_SECONDS:
                return None
            self.searched_at = time.monotonic()  # somebody else may have relayed the call
            found = self._event()
        return (
            found if found is not None and is_settled(self.chain, self.chain.header(found.block_number), head) else None
        )

    def _lacks_event(self, receipt: Receipt) -> bool:
        """Return whether a receipt states success but lacks the required event; such a receipt is ignored."""
        lacks = receipt.succeeded and not _is_done(self.transaction, receipt)
        if lacks and not self.is_warned:
            self.is_warned = True
            say("the endpoint shows this transaction as successful but not its event; still waiting for the event")
        return lacks

    def _reverted(self, receipt: Receipt, head: Header) -> Receipt | NonceLost | None:
        """Return what a revert of ours means; it is believed once the account's nonce agrees."""
        if (found := self._event()) is not None:
            return found if is_settled(self.chain, self.chain.header(found.block_number), head) else None
        if not self._nonce_used(self.chain, settled_block(self.chain, head)):
            return None
        message = f"Transaction {receipt.tx_hash} was mined and reverted; nothing changed."
        next_action = "Run service-cli bounty:show to see what changed, then run the command again."
        return NonceLost(CommandRefused("transaction_reverted", message, next_action=next_action))

    def _missing(self, head: Header) -> NonceLost | CommandFailed | None:
        """Decide what happened if the nonce is used but none of this attempt's transactions is found, once that has
        lasted long and deep enough.
        """
        if self.reach is not Reach.THIS_RUN:  # otherwise no node ever took it: nothing of ours can lag
            if self.missing_since is None:
                self.missing_since = time.monotonic()
            is_early = time.monotonic() - self.missing_since < MISSING_SECONDS
            if is_early or not self._nonce_used(self.chain, settled_block(self.chain, head)):
                return None
        if self._is_known():
            sent = self.attempt.hashes[-1]
            message = f"Transaction {sent} or its replacement was mined, but the endpoint does not show which."
            next_action = "Run the command again later, or use another RPC endpoint."
            return CommandFailed("transaction_unknown", message, next_action=next_action)
        if self.reach is not Reach.NODE:
            return NonceLost(None)
        message = "Another transaction of this account replaced this one, which can no longer be mined."
        return NonceLost(CommandRefused("transaction_replaced", message, next_action="Run the command again."))

    def _event(self) -> Receipt | None:
        """Return the receipt of the call's intended event, as the chain shows it now."""
        expects = self.transaction.expects
        return None if expects is None else expects.newest(self.chain, self.attempt.from_block)

    def _nonce_used(self, chain: ChainClient, at: str) -> bool:
        with chain_errors():
            return nonce_of(chain.rpc.answer(count_call(self.signer.address, at))) > self.attempt.nonce

    def _is_known(self) -> bool:
        """Return whether the node knows any of the attempt's transactions, mined or not."""
        with chain_errors():
            return any(self.chain.rpc.call("eth_getTransactionByHash", found) for found in self.attempt.hashes)

    def _prospect(self) -> Prospect:
        return Prospect.read(self.chain, self.signer.address, self.call)

    def _sign(self, prospect: Prospect, replaces: SignedStep | None) -> SignedStep:
        """Sign, and note the transaction in the journal before it is sent."""
        attempt = sign_attempt(prospect, self.signer, self.transaction.last_nonce, replaces)
        self.journal.note(self.step.attempt, attempt)
        return attempt

    def _keep_offering(self) -> None:
        """Send at first, again if another transaction has the nonce, and with higher fees if it is not mined."""
        waited = 0.0 if self.offered_at is None else time.monotonic() - self.offered_at
        if self.offered_at is None:
            self._renew()
            self._offer()
        elif self.is_contended and waited > _LOOK_SECONDS:
            self._offer()
        elif not self.is_contended and waited > STUCK_SECONDS and self.replacements < MAX_REPLACEMENTS:
            self.offered_at, self.replacements = time.monotonic(), self.replacements + 1
            say("the transaction is still not mined; raising its fees")
            prospect = self._prospect()
            try:
                self.attempt = self._sign(prospect, self.attempt)
            except CommandRefused as refusal:
                say(f"its fees are not raised: {refusal.message} Still waiting for the transaction as sent.")
            else:
                self._offer()

    def _renew(self) -> None:
        """Before an earlier run's transaction is sent again, check that it still makes sense and still does what is
        wanted.
        """
        same, nonce = self.attempt.data == self.call.data, next_nonce(self.chain, self.signer.address)
        is_ahead = self.attempt.nonce > nonce  # a node may know it, and no block can take it yet
        if same and not is_ahead and self._is_known():
            return
        if is_ahead:
            self._sign_at(nonce)
            return
        prospect = self._prospect()
        cost = prospect.cost()
        is_too_little = cost.price.cap > self.attempt.price.cap or self.attempt.gas < cost.gas
        if not same or is_too_little:  # the price and the gas of an earlier run were an endpoint's word
            self.attempt = self._sign(prospect, self.attempt)

    def _sign_at(self, nonce: int) -> None:
        """Sign the same call with the account's current nonce; the earlier run's nonce came from another endpoint.

        The earlier transaction can still be mined once the account reaches its nonce, so only a repeatable call is
        signed again, or one so far ahead that the account will not reach it; its hashes stay in the journal to be
        checked.
        """
        signed = self.attempt.nonce
        if not self.call.is_repeatable and signed <= nonce + _NEAR:
            raise _ahead("this", signed, nonce, "If signed again, it could be mined twice")
        self.transaction.check_anew()
        prospect = self._prospect()
        say(f"an earlier run signed this with nonce {signed}, but the next nonce is {nonce}: signing again")
        self.journal.note(self.step.ahead, max(signed, self.journal.get(self.step.ahead) or 0))
        self.step.give_up(self.journal, self.attempt)
        self.attempt, self.reach = self._sign(prospect, None), Reach.THIS_RUN

    def _offer(self) -> None:
        """Send the newest transaction to the node and handle its refusal; drop nothing from the journal here."""
        self.offered_at, self.is_contended = time.monotonic(), False
        try:
            self.chain.rpc.call("eth_sendRawTransaction", self.attempt.raws[-1])
            self.reach = Reach.NODE
        except ChainUnavailable:
            self.reach = Reach.NODE  # perhaps: from here on only the chain shows it
        except RpcRefused as refusal:
            answer = refusal.message.lower()
            if "nonce too low" in answer:
                pass  # the next look at the account's nonce decides
            elif "already known" in answer or "already imported" in answer or self._is_known():
                self.reach = Reach.NODE
            elif any(words in answer for words in _WAITED_FOR):
                self.is_contended = True
            elif "insufficient funds" in answer:
                message = f"{self.signer.address} cannot pay for gas."
                next_action = "Add ether to this account, then run the command again."
                raise CommandRefused("gas_insufficient", message, next_action=next_action) from refusal
            else:
                message = "The RPC endpoint did not accept the transaction; it stays in the journal."
                next_action = "Run the command again, or use another endpoint."
                raise CommandRefused("transaction_refused", message, next_action=next_action) from refusal
        say(f"sent transaction {self.attempt.hashes[-1]}; waiting for its block")
