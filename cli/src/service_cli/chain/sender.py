"""Sending one transaction exactly once.

Promises: a signed transaction is in the journal before it is sent, so a run after a kill sends the same bytes again or
finds what became of them; everything signed for one step shares one account nonce, so a second transaction for the
same thing can never be mined beside the first; nothing that may have been broadcast is forgotten before the chain
shows, consistently, that it cannot be mined any more. A lost connection is resolved by looking at the chain.

What is concluded is concluded from one look: everything was read while one block was the tip, and is deep enough below
it. A reorg during the look, or after it, makes the next look start from what the chain holds then.
"""

import time
from dataclasses import dataclass
from typing import Final

from service_common.chain.blocks import Header, header_at
from service_common.chain.json_rpc import ChainUnavailable, RpcRefused, quantity
from service_common.types import BlockNumber

from service_cli.chain.journal import Journal, account_lock
from service_cli.chain.receipts import Fact, Receipt, receipt_of
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.chain.transactions import (
    Attempt,
    Call,
    account_nonce,
    current_fees,
    give_up,
    given_up,
    keep_attempt,
    load_attempt,
    sign_attempt,
    simulate,
)
from service_cli.errors import Failed, Refused
from service_cli.shell.output import Waiting, say

RECEIPT_SECONDS: Final = 180.0
STUCK_SECONDS: Final = 45.0
"""After this long without a block, the fees are raised."""
MISSING_SECONDS: Final = 20.0
"""How long a receipt may lag behind the account's nonce, which every look must show as used."""
MAX_REPLACEMENTS: Final = 3
MAX_RACES: Final = 3
_POLL_SECONDS: Final = 0.3
_LOOK_SECONDS: Final = 3.0
_LOCAL_CONFIRMATIONS: Final = 1
_CONFIRMATIONS: Final = 3


def send(chain: ChainClient, signer: LocalSigner, call: Call, journal: Journal, step: str, fact: Fact) -> Receipt:
    """Send the call once and wait for its block; continues an earlier run's transaction.

    ``fact`` looks for what the call brings about. Raises ``transaction_reverted`` and ``transaction_replaced`` once
    that is certain (the next run starts over), ``transaction_pending`` and ``transaction_unknown`` otherwise.
    """
    for tx_hash in given_up(journal, step):
        if (receipt := receipt_of(chain, tx_hash)) is not None and receipt.succeeded:
            return receipt
    for _ in range(MAX_RACES):
        sending = _Sending(chain, signer, call, journal, step, fact)
        if (receipt := sending.run()) is not None:
            return receipt
        say("another transaction of this account was faster; signing with the next nonce")
    message = "Other transactions of this account keep taking its nonce."
    raise Failed("nonce_contended", message, next_action="Stop the other program, then run the command again.")


def was_attempted(journal: Journal, step: str) -> bool:
    """Whether a transaction for this step was signed in an earlier run and is not given up."""
    return load_attempt(journal, step) is not None


@dataclass(frozen=True, slots=True)
class _NonceTaken:
    """Another transaction has the nonce for good; ``lost`` is what that means for the command, if anything."""

    lost: Refused | None


class _Sending:
    """One attempt and what is known of it."""

    def __init__(
        self, chain: ChainClient, signer: LocalSigner, call: Call, journal: Journal, step: str, fact: Fact
    ) -> None:
        self.chain, self.signer, self.call = chain, signer, call
        self.journal, self.step, self.fact = journal, step, fact
        kept = load_attempt(journal, step)
        self.fresh = kept is None
        self.accepted = False
        self.contended = False
        self.offered_at: float | None = None
        self.replacements = 0
        self.looked_at = time.monotonic()
        self.missing_since: float | None = None
        self.attempt = kept or self._first()

    def run(self) -> Receipt | None:
        """The receipt; None when the nonce was lost and this run never had the transaction taken by a node."""
        with Waiting("waiting for the block") as waiting:
            return self._settled(waiting)

    def _settled(self, waiting: Waiting) -> Receipt | None:
        ends, unanswered = time.monotonic() + RECEIPT_SECONDS, False
        while time.monotonic() < ends:
            try:
                head = self.chain.latest()
                ending = self._look(head)
                if ending is not None and self._is_part(head):
                    return self._end(ending)
                unanswered = False
            except Failed as failure:
                self.missing_since = None
                if failure.code != "chain_unavailable":
                    raise
                if not unanswered:
                    say(f"{failure.message} Looking again; the transaction is in the journal.")
                unanswered = True
            waiting.tick()
            time.sleep(_POLL_SECONDS)
        raise self._impatience(unanswered)

    def _look(self, head: Header) -> Receipt | _NonceTaken | Failed | Refused | None:
        """What the chain below ``head`` shows: how this ended, or None while it has not."""
        for tx_hash in self.attempt.hashes:
            receipt = receipt_of(self.chain, tx_hash)
            if receipt is None:
                continue
            self.missing_since = None
            return self._mined(receipt, head) if self._deep(receipt, head) else None
        if self._nonce_used("latest"):
            if (found := self._fact()) is None:
                return self._missing(head)
            self.missing_since = None
            return found if self._deep(found, head) else None
        self.missing_since = None  # never used, or free again: a reorg took out the transaction that had it
        try:
            self._keep_offering()
        except Refused as refused:
            if (found := self._fact()) is None:
                return refused
            return found if self._deep(found, head) else None  # refused because it has happened
        return self._happened_otherwise(head)

    def _end(self, ending: Receipt | _NonceTaken | Failed | Refused) -> Receipt | None:
        """Give up what can never be mined, then report."""
        if isinstance(ending, Failed):
            raise ending
        if isinstance(ending, Receipt):
            return ending
        refused = ending.lost if isinstance(ending, _NonceTaken) else ending
        if isinstance(ending, _NonceTaken):
            give_up(self.journal, self.step, self.attempt)
        if refused is None:
            return None
        raise refused

    def _impatience(self, unanswered: bool) -> Failed:
        """Why the wait ended; the transaction stays in the journal."""
        if self.contended:
            message = "Another pending transaction of this account holds the nonce."
            next_action = "Wait until it is mined, then run the command again."
            return Failed("nonce_contended", message, next_action=next_action)
        code, words = ("transaction_unknown", "known to be mined") if unanswered else ("transaction_pending", "mined")
        message = f"Transaction {self.attempt.hashes[-1]} is not {words} yet."
        return Failed(code, message, next_action="Run the command again: it waits for the same transaction.")

    def _first(self) -> Attempt:
        """Signed and offered under the account's lock, so that the next command sees the nonce taken."""
        simulate(self.chain, self.signer.address, self.call)
        with account_lock(self.chain.chain_id, self.signer.address):
            self.attempt = self._sign(None)
            self._offer()
        return self.attempt

    def _sign(self, replaces: Attempt | None) -> Attempt:
        attempt = sign_attempt(self.chain, self.signer, self.call, replaces)
        keep_attempt(self.journal, self.step, attempt)
        return attempt

    def _mined(self, receipt: Receipt, head: Header) -> Receipt | _NonceTaken | None:
        """A receipt of ours with enough blocks on top; a revert is believed once the account's nonce agrees."""
        if receipt.succeeded:
            return receipt
        if (found := self._fact()) is not None:
            return found if self._deep(found, head) else None
        if not self._nonce_used(self._depth(head)):
            return None
        message = f"Transaction {receipt.tx_hash} was mined and reverted; nothing changed."
        next_action = "Re-read the bounty, then run the command again."
        return _NonceTaken(Refused("transaction_reverted", message, next_action=next_action))

    def _missing(self, head: Header) -> _NonceTaken | Failed | None:
        """The nonce is used and nothing of ours shows: decide once that has been so for long and deep enough.

        Survives a receipt that lags behind the nonce, and a reorg that takes the nonce's transaction out again, ours
        or the other one: the next look then finds the nonce free and starts over.
        """
        if not (self.fresh and not self.accepted):  # otherwise no node ever took it: nothing of ours can lag
            self.missing_since = self.missing_since or time.monotonic()
            if time.monotonic() - self.missing_since < MISSING_SECONDS or not self._nonce_used(self._depth(head)):
                return None
        if self._known():
            message = f"The nonce of transaction {self.attempt.hashes[-1]} is used, but its receipt does not show."
            next_action = "Run the command again later, or use another RPC endpoint."
            return Failed("transaction_unknown", message, next_action=next_action)
        if not self.accepted:
            return _NonceTaken(None)
        message = "Another transaction of this account took the nonce of the one prepared."
        return _NonceTaken(Refused("transaction_replaced", message, next_action="Run the command again."))

    def _happened_otherwise(self, head: Header) -> Receipt | None:
        """The fact without our transaction, looked for now and then: somebody else may have relayed the call."""
        if time.monotonic() - self.looked_at < _LOOK_SECONDS:
            return None
        self.looked_at = time.monotonic()
        found = self._fact()
        return found if found is not None and self._deep(found, head) else None

    def _fact(self) -> Receipt | None:
        """What the call was to bring about, as the chain shows it now."""
        return self.fact(self.attempt.from_block)

    def _deep(self, receipt: Receipt, head: Header) -> bool:
        """Whether it has enough blocks on top; until then the next look decides."""
        return receipt.block_number <= self._depth(head)

    def _depth(self, head: Header) -> BlockNumber:
        """The newest block with enough blocks on top, itself counted."""
        wanted = _LOCAL_CONFIRMATIONS if self.chain.is_local else _CONFIRMATIONS
        return BlockNumber(max(0, head.number - wanted + 1))

    def _is_part(self, head: Header) -> bool:
        """Whether the chain still holds the block that was the tip when the look began."""
        with chain_errors():
            return header_at(self.chain.rpc, head.number).hash == head.hash

    def _nonce_used(self, at: BlockNumber | str) -> bool:
        with chain_errors():
            tag = hex(at) if isinstance(at, int) else at
            return quantity(account_nonce(self.chain, self.signer, tag)) > self.attempt.nonce

    def _keep_offering(self) -> None:
        """Broadcast at first, when the node lost it, and with higher fees when no block takes it."""
        if self.offered_at is None:
            self._renew()
            self._offer()
            return
        waited = time.monotonic() - self.offered_at
        if self.contended:
            if waited > _LOOK_SECONDS:
                self._offer()
        elif waited > STUCK_SECONDS and self.replacements < MAX_REPLACEMENTS:
            say("no block took the transaction; raising its fees")
            self.replacements += 1
            self.attempt = self._sign(self.attempt)
            self._offer()

    def _renew(self) -> None:
        """Before an earlier run's transaction is sent again: it must still make sense, and say what is meant now."""
        same = self.attempt.data == self.call.data
        if same and self._known():
            return
        simulate(self.chain, self.signer.address, self.call)
        if not same or current_fees(self.chain).cap > self.attempt.fees.cap:
            self.attempt = self._sign(self.attempt)

    def _offer(self) -> None:
        self.offered_at = time.monotonic()
        self._broadcast()
        say(f"sent transaction {self.attempt.hashes[-1]}; waiting for its block")

    def _known(self) -> bool:
        """Whether the node knows any of the attempt's transactions, mined or not."""
        with chain_errors():
            return any(self.chain.rpc.call("eth_getTransactionByHash", found) for found in self.attempt.hashes)

    def _broadcast(self) -> None:
        try:
            self.contended = False
            self.chain.rpc.call("eth_sendRawTransaction", self.attempt.raws[-1])
            self.accepted = True
        except ChainUnavailable:
            self.accepted = True  # perhaps: from here on only the chain can tell
        except RpcRefused as refusal:
            self._judge(refusal.message.lower())

    def _judge(self, words: str) -> None:
        """What a node's refusal of a transaction means; nothing is forgotten here."""
        if "nonce too low" in words:
            return  # the next look at the account's nonce decides
        if "already known" in words or "already imported" in words or self._known():
            self.accepted = True
            return
        if "underpriced" in words:
            self.contended = True  # another pending transaction of this account; it is not outbid, but waited for
            return
        if "insufficient funds" in words:
            message = f"{self.signer.address} cannot pay for gas."
            raise Refused("gas_insufficient", message, next_action="Add ether to this account, then run it again.")
        message = "The RPC endpoint did not accept the transaction; it stays in the journal."
        raise Refused("transaction_refused", message, next_action="Run the command again, or use another endpoint.")
