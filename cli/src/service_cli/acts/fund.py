"""Funding a published page: once, whatever happens in between.

The path (authorization or allowance) is chosen and written down before anything is signed, and so is every nonce under
which the Hub may create this page's bounty; before anything new is signed, the Hub's log is searched for all of them,
and the API's index is compared with it.

Terms that were signed are kept while the Hub honours them: authorizations over the same terms share a nonce, and the
token takes one of them. That holds between machines, too: the salt follows from the page and the number of its funding,
so that the same terms are the same authorization on each. Other terms have another nonce, so they are signed only once
every earlier authorization is over by the finalized block and by this machine's clock; another number is the person's
decision. On the allowance path the Hub may take the escrow exactly once.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from bounty_protocol.chain.eip3009 import AUTHORIZATION_SECONDS, authorization_typed_data
from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.domain.lifecycle.hub_events import BountyCreated
from bounty_protocol.domain.money.abi_hashes import authorization_nonce, funding_salt
from bounty_protocol.domain.money.terms import Terms
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds, Wei

from service_cli.acts.escrows import Escrow
from service_cli.acts.fund_events import ApprovedAllowance, FundedBounty
from service_cli.acts.pipeline import Plan
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner
from service_cli.chain.times import has_passed, latest_moment, signing_time
from service_cli.chain.token import (
    allowance,
    authorization_calls,
    is_unused,
    shown_amount,
    state_call,
    takes_authorizations,
)
from service_cli.chain.transactions import (
    AUTHORIZED,
    ContractCall,
    Transaction,
    TransactionStep,
    account_calls,
    require_means,
)
from service_cli.config.settings import ToBeSigned
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.conditions import HubConditions
from service_cli.ui.output import emit, say
from service_cli.ui.text import duration, moment, tokens

MARGIN_SECONDS: Final = 60
_MOST_NUMBERS: Final = 64
"""Fundings of one page that are looked at for one that the token has not as used."""


class FundingPath(StrEnum):
    """How the escrow comes into the Hub."""

    AUTHORIZATION = "authorization"
    ALLOWANCE = "allowance"


CREATION_CALLS: Final = {
    FundingPath.AUTHORIZATION: (AUTHORIZED,),
    FundingPath.ALLOWANCE: ("approve", "createBounty"),
}
"""The functions that each path calls."""


def funding_path(asked: ChainClient, poster: Address) -> FundingPath:
    """Return how an account that signed nothing yet funds, by the answers to ``authorization_calls``."""
    return FundingPath.AUTHORIZATION if takes_authorizations(asked, poster) else FundingPath.ALLOWANCE


def explain_path(asked: ChainClient, poster: Address, path: FundingPath) -> None:
    """Explain why an account funds by an allowance, unless one signature is enough."""
    if path is FundingPath.ALLOWANCE:
        has_code = "has code, which the token asks instead of its key"
        why = has_code if asked.has_code(poster) else "cannot sign for this token"
        say(f"{poster} {why}: it allows the Hub exactly the escrow and then creates the bounty, in two transactions")


@dataclass(frozen=True, slots=True)
class Authorization:
    """A signed token authorization over these terms; until ``valid_before`` anybody may send it to the Hub."""

    terms: Terms
    valid_before: UnixSeconds
    signature: str
    """In hex without 0x."""

    def call(self, poster: Address, summary: str) -> ContractCall:
        """Return the call that uses the authorization, whoever sends it."""
        signature = bytes.fromhex(self.signature)
        return ContractCall(AUTHORIZED, [self.terms.as_tuple(), poster, 0, self.valid_before, signature], summary)


FUNDED: Final = JournalEntry("bounty_created", FundedBounty)
CREATE: Final = TransactionStep("create_transaction")
APPROVE: Final = TransactionStep("approve_transaction")
PATH: Final = JournalEntry("path", FundingPath)
TERMS: Final = JournalEntry("terms", Terms)
NONCES: Final = JournalEntry("nonces", dict[Bytes32, BlockNumber])
"""Each nonce under which the Hub may create the bounty, with the tip when it was written down."""
AUTHORIZATION: Final = JournalEntry("authorization", Authorization)


def what_may_create(chain: ChainClient, journal: Journal) -> str | None:
    """Say what earlier runs signed that may still create a bounty; None if nothing can."""
    kept = journal.get(AUTHORIZATION)
    if kept is not None and not has_passed(chain, kept.valid_before):
        return f"an authorization that is valid until {moment(kept.valid_before, latest_moment(chain))}"
    is_allowed = journal.get(PATH) is FundingPath.ALLOWANCE
    if is_allowed and CREATE.was_attempted(journal):
        return "a transaction whose outcome the chain does not show"
    return None


@dataclass(frozen=True, slots=True)
class NextFunding:
    """Which funding of the page by this account is to be made."""

    number: int
    """One more than the bounties that are there."""
    since: BlockNumber
    """A block before the look that found these bounties."""
    again: bool
    """Whether the person wants a bounty beside whatever became of earlier ones."""


class UnusedTerms(NamedTuple):
    """Terms whose nonce the token has not as used, and what the request brought that showed this."""

    terms: Terms
    asked: ChainClient


@dataclass(frozen=True, slots=True)
class Funding:
    """One page being funded by one account."""

    session: Session[LocalSigner]
    page: ChallengePage
    commitment: Bytes32
    journal: Journal

    def created(self) -> Receipt | None:
        """Return the bounty if the Hub created it under any nonce that this client noted, whoever sent it."""
        expected = self._expected()
        return None if expected.since is None else expected.newest(self.session.chain, expected.since)

    def own(self, known: tuple[Escrow, ...]) -> Escrow | None:
        """Return the account's escrow on this page that this journal's work created."""
        nonces = self.journal.get(NONCES) or {}
        return next((escrow for escrow in known if escrow.nonce in nonces), None)

    def under_way(self, conditions: HubConditions) -> FundingPath | None:
        """Return the path on which an earlier run signed all that a creation needs, while that is good: nothing else is
        signed then.
        """
        terms, path, kept = self.journal.get(TERMS), self.journal.get(PATH), self.journal.get(AUTHORIZATION)
        if terms is None or not CREATE.was_attempted(self.journal) or not conditions.honour(terms):
            return None
        return path if path is FundingPath.ALLOWANCE or (kept is not None and self._is_good(kept, terms)) else None

    def plan(
        self,
        conditions: HubConditions,
        following: NextFunding,
        takes: FundingPath,
        result: Callable[[Receipt], FundedBounty],
    ) -> Plan[FundedBounty]:
        """Return the call that creates a bounty which is not there yet, by this journal's work; before it is planned
        the authorization is signed, or the allowance mined. ``takes`` is the path that the token takes now.
        """
        account, path = self.session.account, self._chosen_path(takes)
        terms, asked = self._terms(conditions, following)
        escrow, token = self.page.escrow_amount, conditions.constants.token
        award = tokens(conditions.shares(escrow).award, token)
        summary = f"create the bounty with an escrow of {tokens(escrow, token)}, {award} of it for the winner"
        if path is FundingPath.AUTHORIZATION:
            kept = self.journal.get(AUTHORIZATION)
            if kept is None or not self._is_good(kept, terms):
                if not CREATE.was_attempted(self.journal):  # before an authorization exists or an endpoint sees it
                    require_means(self.session.chain, account, CREATION_CALLS[path], asked)
                kept = self._sign(terms, conditions, signing_time(asked))
            call = kept.call(account, summary)
        else:
            self._allow(terms, conditions)
            call = ContractCall("createBounty", [terms.as_tuple()], summary)
        return Plan(call, self._expected(), CREATE, result)

    def refusal_of_revert(self) -> CommandRefused:
        """Return what a revert of the creation means. The Hub names its refusals, so it was the token, the only other
        contract called.
        """
        chain, kept = self.session.chain, self.journal.get(AUTHORIZATION)
        is_authorized = self.journal.get(PATH) is FundingPath.AUTHORIZATION
        asked = chain.ask(*authorization_calls(chain, self.session.account))
        if is_authorized and kept and funding_path(asked, self.session.account) is FundingPath.ALLOWANCE:
            return self._outstanding(kept, "the token takes none of an account with code")
        moved = shown_amount(chain, self.page.escrow_amount)
        next_action = "Check the account's balance, and whether the token is paused or has blocked the account."
        message = f"The escrow token refuses to move {moved}."
        return CommandRefused("token_transfer_failed", message, next_action=next_action)

    def _chosen_path(self, takes: FundingPath) -> FundingPath:
        """Return the funding path of earlier runs while anything they signed may still be used; else the path that the
        token accepts now.
        """
        former, kept = self.journal.get(PATH), self.journal.get(AUTHORIZATION)
        if former is FundingPath.ALLOWANCE:
            is_bound = CREATE.was_attempted(self.journal) or self.journal.get(CREATE.given_up) is not None
        else:
            is_bound = kept is not None and not has_passed(self.session.chain, kept.valid_before)
        if former is not None and is_bound:
            return former
        if former is FundingPath.AUTHORIZATION and takes is FundingPath.ALLOWANCE:
            self.journal.forget(*CREATE.entries)  # with an authorization that is over, none of them creates anything
        self.journal.note(PATH, takes)
        return takes

    def _expected(self) -> ExpectedEvent[BountyCreated]:
        """Return the event of a creation under one of the nonces in the journal."""
        nonces = self.journal.get(NONCES) or {}
        since = min(nonces.values(), default=None)
        topics = [None, account_topic(self.session.account), self.commitment]
        return ExpectedEvent(BountyCreated, topics, lambda found: found.authorization_nonce in nonces, since)

    def _is_good(self, kept: Authorization, terms: Terms) -> bool:
        """Return whether an earlier authorization has these terms and lasts long enough to be mined."""
        return kept.terms == terms and kept.valid_before > self.session.chain.latest().time + MARGIN_SECONDS

    def _sign(self, terms: Terms, conditions: HubConditions, begins: UnixSeconds) -> Authorization:
        """Sign one authorization; those over the same terms share a nonce, so the token accepts only one of them."""
        chain, roster, now = self.session.chain, conditions.roster, begins
        valid_before = UnixSeconds(now + AUTHORIZATION_SECONDS)
        if (until := conditions.roster_until) is not None and until < valid_before:
            if until <= now + MARGIN_SECONDS:
                message = (
                    f"A new Guardian roster takes effect at {moment(until, now)}; terms signed now would come too late."
                )
                raise CommandFailed("roster_changing", message, next_action="Run the command again after that time.")
            say(f"a new Guardian roster takes effect at {moment(until, now)}: this authorization is valid until then")
            valid_before = until
        token = conditions.constants.token
        typed = authorization_typed_data(
            token,
            chain.chain_id,
            owner=self.session.account,
            payee=chain.hub.address,
            value=terms.escrow_amount,
            valid_after=UnixSeconds(0),
            valid_before=valid_before,
            nonce=self._nonce(terms),
        )
        summary = (
            f"let the Hub {chain.hub.address} take {tokens(terms.escrow_amount, token)} until "
            f"{moment(valid_before, now)} for exactly these terms: page {terms.spec_commitment}, submissions until "
            f"{moment(terms.submission_deadline, now)}, {duration(terms.judging_window)} of judging by a quorum of "
            f"{roster.quorum} of {len(roster.members)} Guardians, fees of at most "
            f"{tokens(terms.max_protocol_fee + terms.max_guardian_fee, token)}"
        )
        chain.settings.before_signing(ToBeSigned(None, Wei(0)))
        signed = Authorization(terms, valid_before, self.session.signer.sign_typed_data(typed, summary).hex())
        self.journal.note(AUTHORIZATION, signed)
        return signed

    def _terms(self, conditions: HubConditions, following: NextFunding) -> UnusedTerms:
        """Return the noted terms while they can still be meant; else new ones, noted before use."""
        if (terms := self.journal.get(TERMS)) is not None:
            honoured, asked = conditions.honour(terms), self._unused(terms)
            if honoured and asked is not None:
                return UnusedTerms(terms, asked)
            if asked is None and not following.again:
                raise _authorization_used()
            kept = self.journal.get(AUTHORIZATION)
            if kept is not None and not has_passed(self.session.chain, kept.valid_before):
                spent = f"{self.session.chain.named} shows it as used"  # whatever an endpoint says became of it
                raise self._outstanding(kept, spent if honoured else "the Hub's roster or fees changed")
        found = self._next_terms(conditions, following)
        if terms is not None:
            say("the Hub's roster or fees changed, or the authorization was used; signing new terms")
        self.journal.note(TERMS, found.terms)
        return found

    def _next_terms(self, conditions: HubConditions, following: NextFunding) -> UnusedTerms:
        """Return terms whose nonce is unused on the token; skip a used or cancelled one only if the person decided
        so.
        """
        chain, account = self.session.chain, self.session.account
        for number in itertools.islice(itertools.count(following.number), _MOST_NUMBERS):
            salt = funding_salt(chain.chain_id, chain.hub.address, account, self.commitment, number)
            terms = conditions.terms(self.page, self.commitment, salt)
            nonces = self.journal.get(NONCES) or {}
            self.journal.note(NONCES, {self._nonce(terms): following.since, **nonces})
            if (asked := self._unused(terms)) is not None:
                return UnusedTerms(terms, asked)
            if not following.again:
                break
        raise _authorization_used()

    def _unused(self, terms: Terms) -> ChainClient | None:
        """Return what the request brought that showed the terms' nonce as neither used nor cancelled: the newest block,
        and what a transaction costs. None if the token has it. For an account that funds by an allowance, which has
        none there, nothing is asked.
        """
        chain, account, nonce = self.session.chain, self.session.account, self._nonce(terms)
        if self.journal.get(PATH) is not FundingPath.AUTHORIZATION and self.journal.get(AUTHORIZATION) is None:
            return chain
        asked = chain.ask(state_call(chain, account, nonce), *account_calls(account))
        return asked if is_unused(asked, account, nonce) else None

    def _outstanding(self, kept: Authorization, happened: str) -> CommandRefused:
        until = moment(kept.valid_before, latest_moment(self.session.chain))
        message = f"An earlier run signed an authorization that is valid until {until}, and {happened}."
        next_action = "Run the command again after that time, once its block is final. Nothing else was signed."
        return CommandRefused("authorization_outstanding", message, next_action=next_action)

    def _allow(self, terms: Terms, conditions: HubConditions) -> None:
        """Allow the Hub exactly the escrow, once; do not allow again what a creation may have taken.

        If a creation was signed before, sign only with a nonce at which that creation cannot be mined yet.
        Then either the allowance exists when the creation is mined, or the creation was mined first and the allowance
        can never be, whatever an endpoint shows.
        """
        chain, account, hub = self.session.chain, self.session.account, self.session.chain.hub.address
        if (allowed := allowance(chain, account)) == terms.escrow_amount:
            return
        sent = self.journal.get(CREATE.attempt)
        last = self.journal.get(CREATE.given_up_from) if sent is None else sent.nonce
        summary = f"allow the Hub {hub} to take {tokens(terms.escrow_amount, conditions.constants.token)}, once"
        approval = Transaction(
            ContractCall("approve", [hub, terms.escrow_amount], summary), expects=None, last_nonce=last
        )
        try:
            receipt = send(Session(chain, self.session.signer), approval, self.journal, APPROVE)
        except CommandRefused as error:
            if error.code != "nonce_used":
                raise
            message = (
                f"A transaction that creates the bounty was sent before, and the Hub may now take {allowed} base "
                "units instead of the escrow."
            )
            next_action = "Check the account's transactions on chain before funding."
            raise CommandRefused("creation_unknown", message, next_action=next_action) from error
        self.journal.forget(*APPROVE.entries)
        emit(ApprovedAllowance(receipt.tx_hash, receipt.block_number, account, hub, terms.escrow_amount))

    def _nonce(self, terms: Terms) -> Bytes32:
        chain = self.session.chain
        return authorization_nonce(chain.chain_id, chain.hub.address, self.session.account, terms)


def _authorization_used() -> CommandRefused:
    message = "The token says the authorization was used or cancelled, but no bounty created by it is found."
    next_action = (
        "Wait a minute and run the command again: it finds a bounty created from another machine. If none is found, "
        "check the account's transfers on chain before you fund the page once more with --again."
    )
    return CommandRefused("authorization_used", message, next_action=next_action)
