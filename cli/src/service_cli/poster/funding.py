"""Funding a published page: once, whatever happens in between.

Promises: the path (authorization or allowance) is chosen and written down before anything is signed, and so is every
nonce under which the Hub may create this page's bounty; before anything new is signed, the Hub's log is searched for
all of them. Terms that were signed are kept while the Hub honours them; other terms are signed only once the earlier
authorization can provably not be used any more. On the allowance path the Hub may take the escrow exactly once.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from service_common.chain.eip3009 import authorization_typed_data
from service_common.chain.events import BountyCreated
from service_common.domain.abi_hashes import authorization_nonce
from service_common.domain.challenge import ChallengePage
from service_common.domain.terms import Terms
from service_common.types import BlockNumber, Bytes32, UnixSeconds, bytes32

from service_cli.chain.journal import Journal
from service_cli.chain.receipts import Receipt, account_topic, find_event
from service_cli.chain.sender import send, was_attempted
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner
from service_cli.chain.token import (
    AuthorizationState,
    allowance,
    authorization_state,
    in_words,
    takes_authorizations,
    token_of,
)
from service_cli.chain.transactions import HubCall, TokenApproval, given_up
from service_cli.errors import Refused
from service_cli.poster.conditions import Offer
from service_cli.shell.output import event, say
from service_cli.shell.text import amount, duration, moment

AUTHORIZATION_SECONDS: Final = 3_600
_MARGIN_SECONDS: Final = 60
CREATE: Final = "create_transaction"
_APPROVE: Final = "approve_transaction"


@dataclass(frozen=True, slots=True)
class Funding:
    """One page being funded by one account."""

    chain: ChainClient
    signer: LocalSigner
    page: ChallengePage
    commitment: Bytes32
    journal: Journal

    def created(self) -> Receipt | None:
        """The bounty, if the Hub created it under any nonce this client ever wrote down, whoever sent it."""
        kept = self.journal.mapping("nonces") or {}
        topics = [None, account_topic(self.signer.address), self.commitment]
        start = min((int(str(block)) for block in kept.values()), default=None)
        if start is None:
            return None
        return find_event(
            self.chain,
            BountyCreated,
            BlockNumber(start),
            lambda found: found.authorization_nonce in kept,
            topics,
        )

    def run(self, offer: Offer) -> Receipt:
        """Create the bounty by the path chosen once."""
        path = self.journal.text("path")
        if path is None:
            path = "authorization" if takes_authorizations(self.chain, self.signer.address) else "allowance"
            self.journal.note("path", path)
        call = self._authorized(offer) if path == "authorization" else self._allowed(offer)
        try:
            return send(self.chain, self.signer, call, self.journal, CREATE, lambda _: self.created())
        except Refused as error:
            if error.code != "reverted":
                raise
            # Whatever the Hub refuses it names; what has no name comes from the token, the only other contract called.
            message = f"The escrow token refuses to move {in_words(self.chain, self.page.escrow_amount)}."
            next_action = "Check the account's balance, and whether the token is paused or has blocked the account."
            raise Refused("token_transfer_failed", message, next_action=next_action) from error

    def _authorized(self, offer: Offer) -> HubCall:
        terms = self._terms(offer)
        kept = self.journal.mapping("authorization")
        soon = self.chain.latest().time + _MARGIN_SECONDS
        if kept is None or kept["terms"] != terms.to_args() or int(str(kept["valid_before"])) <= soon:
            kept = self._sign(terms, offer)
        valid_before, signature = int(str(kept["valid_before"])), bytes.fromhex(str(kept["signature"]))
        arguments = [terms.as_tuple(), self.signer.address, 0, valid_before, signature]
        return HubCall("createBountyWithAuthorization", arguments, self._words(offer))

    def _sign(self, terms: Terms, offer: Offer) -> dict[str, object]:
        """One authorization; those over the same terms share a nonce, so that the token takes only one of them."""
        now = self.chain.latest().time
        valid_before = UnixSeconds(now + AUTHORIZATION_SECONDS)
        token = token_of(self.chain)
        typed = authorization_typed_data(
            token,
            self.chain.chain_id,
            owner=self.signer.address,
            payee=self.chain.hub.address,
            value=terms.escrow_amount,
            valid_after=UnixSeconds(0),
            valid_before=valid_before,
            nonce=self._nonce(terms),
        )
        words = (
            f"let the Hub {self.chain.hub.address} take {amount(terms.escrow_amount, token)} until "
            f"{moment(valid_before, now)} for exactly these terms: page {terms.spec_commitment}, submissions until "
            f"{moment(terms.submission_deadline, now)}, {duration(terms.judging_window)} of judging by a quorum of "
            f"{offer.roster.quorum} of {len(offer.roster.members)} Guardians, fees of at most "
            f"{amount(terms.max_protocol_fee + terms.max_guardian_fee, token)}"
        )
        signature = self.signer.sign_typed_data(typed, words)
        kept: dict[str, object] = {
            "terms": terms.to_args(),
            "valid_before": str(valid_before),
            "signature": signature.hex(),
        }
        self.journal.note("authorization", kept)
        return kept

    def _terms(self, offer: Offer) -> Terms:
        """The terms written down, while they can still be meant; else new ones, written down before use."""
        kept = self.journal.get("terms")
        salt = self.journal.text("salt")
        if isinstance(kept, list):
            terms = Terms.from_args(kept)
            cancelled = self._settle_authorization(terms, honoured=offer.honours(terms))
            if offer.honours(terms) and not cancelled:
                return terms
            say("the Hub's roster or fees changed, or the authorization was cancelled: new terms")
            salt = None if cancelled else salt
        if salt is None:
            salt = bytes32(secrets.token_bytes(32))
            self.journal.note("salt", salt)
        terms = offer.terms(self.page, self.commitment, Bytes32(salt))
        nonces = self.journal.mapping("nonces") or {}
        self.journal.note("nonces", {**nonces, self._nonce(terms): self.chain.latest().number})
        self.journal.note("terms", terms.to_args())
        return terms

    def _settle_authorization(self, terms: Terms, *, honoured: bool) -> bool:
        """Whether a signed authorization was cancelled; refuses to go on beside one that may still be used."""
        kept = self.journal.mapping("authorization")
        if kept is None:
            return False
        nonce, valid_before = self._nonce(terms), UnixSeconds(int(str(kept["valid_before"])))
        since = BlockNumber(int(str((self.journal.mapping("nonces") or {}).get(nonce, 0))))
        state = authorization_state(self.chain, self.signer.address, nonce, valid_before, since)
        if state is AuthorizationState.USED:
            message = "The token says that the authorization was used, but no bounty of it shows."
            raise Refused(
                "authorization_used",
                message,
                next_action="Do not fund again; look at the account's transfers on chain.",
            )
        if state is AuthorizationState.LIVE and not honoured:
            until = moment(valid_before, self.chain.latest().time)
            message = f"The Hub's roster or fees changed, and the authorization signed before is good until {until}."
            next_action = "Run the command again after that time (once its block is final), or cancel it on the token."
            raise Refused("authorization_outstanding", message, next_action=next_action)
        return state is AuthorizationState.CANCELLED

    def _allowed(self, offer: Offer) -> HubCall:
        """Allow the Hub exactly the escrow, once; what a creation took is never allowed again."""
        terms = self._terms(offer)
        if (allowed := allowance(self.chain, self.signer.address)) != terms.escrow_amount:
            if was_attempted(self.journal, CREATE) or given_up(self.journal, CREATE):
                message = f"A creation was sent before, and the Hub may now take {allowed} instead of the escrow."
                raise Refused(
                    "creation_unknown",
                    message,
                    next_action="Look at the account's transactions on chain before funding.",
                )
            self._approve(terms, offer)
        return HubCall("createBounty", [terms.as_tuple()], self._words(offer))

    def _approve(self, terms: Terms, offer: Offer) -> None:
        escrow = amount(terms.escrow_amount, offer.constants.token)
        words = f"allow the Hub {self.chain.hub.address} to take {escrow}, once"
        call = TokenApproval(self.chain.hub.address, terms.escrow_amount, words)
        receipt = send(self.chain, self.signer, call, self.journal, _APPROVE, lambda _: None)
        self.journal.forget(_APPROVE)
        approved = {
            "tx_hash": receipt.tx_hash,
            "block_number": receipt.block_number,
            "poster": self.signer.address,
            "spender": self.chain.hub.address,
            "amount": str(terms.escrow_amount),
        }
        event("publish_fund.token_approved", approved)

    def _nonce(self, terms: Terms) -> Bytes32:
        return authorization_nonce(self.chain.chain_id, self.chain.hub.address, self.signer.address, terms)

    def _words(self, offer: Offer) -> str:
        escrow, token = self.page.escrow_amount, offer.constants.token
        award = amount(escrow - sum(offer.fees(escrow)), token)
        return f"create the bounty with an escrow of {amount(escrow, token)}, {award} of it for the winner"
