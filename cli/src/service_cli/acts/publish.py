"""From a page to a funded bounty: publication, own derivation, then ``funding``.

Nothing is signed for the Hub or the token before the page was published by the same run, and every field of the answer
agreed with what is derived here from the page's bytes and the Hub itself. ``check_page`` does all that needs no key.

A page is funded once. Whether it was funded before, from any machine, is read from the Hub's log and compared with the
API's index; a bounty counts only when the Hub itself names this account and this page. What an earlier run reported is
looked for again. While a bounty of the same file or title is open, or may still come, ``earlier`` asks.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from bounty_protocol.chain.deployment import NETWORKS
from bounty_protocol.chain.hub_constants import balance_call
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import ChallengePage, parse_challenge
from bounty_protocol.domain.lifecycle.hub_events import BountyCreated
from bounty_protocol.timely import HttpAnswer
from bounty_protocol.types import ZERO_BYTES32, Address, BountyId, Bytes32, UnixSeconds

from service_cli.acts.earlier import note_text, require_no_open_one
from service_cli.acts.escrows import escrows_hidden, escrows_of, hidden_escrows
from service_cli.acts.fund import (
    CREATION_CALLS,
    FUNDED,
    Funding,
    FundingPath,
    NextFunding,
    explain_path,
    funding_path,
    what_may_create,
)
from service_cli.acts.fund_events import ANEW, ActiveGuardian, FundedBounty, FundingPreview, PublishedPage
from service_cli.acts.pipeline import Plan, carry_out
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.journal import Journal
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, first_block
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.chain.token import authorization_calls
from service_cli.chain.transactions import account_calls, most_cost, require_balance, require_means
from service_cli.config.environment import POSTER_KEY
from service_cli.config.keys import check_document
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.conditions import HubConditions, check_terms, read_conditions, require_same_token
from service_cli.queries.listing import deployment
from service_cli.queries.next_steps import for_poster, watching
from service_cli.queries.state import require_agreement, roster_shown
from service_cli.ui.consent import typed_yes
from service_cli.ui.output import emit, say
from service_cli.ui.text import Token, argument, tokens
from service_cli.work.checking import require_ready, warn_of_issues
from service_cli.work.template import require_filled

_DISAGREES: Final = (
    "Run the command again in a minute: the Hub's fees or roster may have just changed, or the API's index is behind "
    "(service-cli status). If they still disagree, do not fund: check the configuration, then report it."
)


@dataclass(frozen=True, slots=True)
class FundingConsent:
    """What the person agreed to beforehand."""

    yes: bool = False
    """That real money moves on mainnet."""
    again: bool = False
    """A further bounty of this very page, and beside whatever others there are."""


def publish_and_fund(settings: Settings, page: bytes, consent: FundingConsent, path: str | None = None) -> FundedBounty:
    """Run the command ``poster:publish-fund``; ``path`` is the page's file, None if it was piped in."""
    challenge, commitment = _checked_page(settings, page)
    session = Session(ChainClient(settings), local_signer(settings, POSTER_KEY))
    with _journal(session, commitment, consent) as journal:
        note_text(session, path, commitment)
        funding = Funding(session, challenge, commitment, journal)
        try:
            plan = _prepare(funding, page, path, consent)
        except CommandRefused as error:
            if error.code != "authorization_used" or (receipt := funding.created()) is None:
                raise
            return _funded(funding, receipt)  # mined after this run had looked for it first
        if isinstance(plan, FundedBounty):
            return plan
        try:
            return carry_out(session, plan, journal)
        except CommandRefused as error:
            if error.code != "reverted":
                raise
            if (receipt := funding.created()) is None:
                raise funding.refusal_of_revert() from error
            # From another machine, in the same moment: the token took one authorization of the two.
            return _funded(funding, receipt)


def _prepare(
    funding: Funding, page: bytes, path: str | None, consent: FundingConsent
) -> Plan[FundedBounty] | FundedBounty:
    """Find the bounty; or publish the page, so that the API is checked in the run that signs, and return the plan of
    the bounty's creation.
    """
    session, commitment, journal = funding.session, funding.commitment, funding.journal
    if (done := journal.get(FUNDED)) is not None:
        if agreed(session.chain, Fact.DONE, partial(_has, session.account, done)):
            say(f"this page was funded before, as bounty {done.bounty_id}; nothing is signed or sent again")
            with suppress(CommandFailed, CommandRefused):  # nothing is signed: this only remembers it, once final
                escrows_of(session.chain, session.api, session.account, commitment)
            return _report(funding, done)
        say(f"the chain does not show bounty {done.bounty_id}, which an earlier run reported: checking again")
    if (receipt := funding.created()) is not None:
        return _funded(funding, receipt)
    known, since = escrows_of(session.chain, session.api, session.account, commitment)
    if (own := funding.own(known)) is not None:
        return _report(funding, FundedBounty(own.tx_hash, own.block_number, own.bounty_id, commitment))
    hidden = hidden_escrows(session.chain, session.account, commitment, known)
    following = NextFunding(1 + len(known) + len(hidden), since, consent.again)
    if not consent.again:
        if hidden:
            raise escrows_hidden(session.chain, session.api, hidden)
        if known:
            is_over = session.chain.latest().time >= funding.page.submission_deadline
            message = f"{session.account} has funded this page before: bounty {known[-1].bounty_id}. "
            message += "A second escrow would create another bounty."
            once_more = (
                f"its deadline has passed, so start a new page with its text: service-cli {ANEW}"
                if is_over
                else "add --again"
            )
            see = f"See service-cli bounty:show {known[-1].bounty_id}"
            next_action = f"{see}; to fund it once more: {once_more}."
            raise CommandRefused("already_funded", message, next_action=next_action)
        # an earlier run that signed came past this question
        if what_may_create(session.chain, journal) is None:
            require_no_open_one(session, funding.page, commitment, path)
    conditions = agreed(session.chain, Fact.CONDITIONS, read_conditions)
    takes = funding.under_way(conditions) or _publish_on_terms(funding, page, path, conditions, consent)
    return funding.plan(conditions, following, takes, partial(_funded, funding))


def _publish_on_terms(
    funding: Funding, page: bytes, path: str | None, conditions: HubConditions, consent: FundingConsent
) -> FundingPath:
    """Check the page's terms and the account's means, publish the page, and ask before real money moves; return the
    path that the token takes.
    """
    session, challenge, token = funding.session, funding.page, conditions.constants.token
    chain, account = session.chain, session.account
    require_same_token(deployment(session.settings, session.api), token)
    check_terms(conditions, challenge, account)
    require_ready(page, path, conditions.now, conditions)
    escrowed = balance_call(token.address, account)
    asked = chain.ask(escrowed, *authorization_calls(chain, account), *account_calls(account))
    check_tokens(asked, account, challenge, token)
    funded_by = funding_path(asked, account)
    require_means(chain, account, CREATION_CALLS[funded_by], asked)
    explain_path(asked, account, funded_by)
    commitment = funding.commitment
    answer = session.api.signed(
        session.signer,
        "POST",
        "/api/bounty-challenge-specs/prepare-publication",
        query={"poster_address": session.account},
        body=page,
        media_type="text/markdown",
        summary=f"publish this challenge page ({len(page)} bytes, {commitment}) as {session.account}",
        repeats=_is_review_awaited,
    ).json()
    expected = {"byte_length": len(page), **_expected(session, challenge, commitment, conditions)}
    require_agreement(answer, expected, "publication_mismatch", _DISAGREES)
    terms = (session.chain.hub.address, challenge.escrow_amount, challenge.submission_deadline)
    emit(PublishedPage(commitment, len(page), session.account, *terms))
    confirm(session.settings, f"put {tokens(challenge.escrow_amount, token)} into escrow", yes=consent.yes)
    return funded_by


def _is_review_awaited(answer: HttpAnswer | None) -> bool:
    """Return whether the page is sent again after this answer: only where that joins a review, or none was begun. A
    second review is paid out of the account's quota.
    """
    return answer is not None and (answer.status == 503 or (answer.status == 502 and answer.retry_after is not None))


def _funded(funding: Funding, receipt: Receipt) -> FundedBounty:
    """Remember the bounty that the transaction created as funded, and return it."""
    created = next((found for found in receipt.events if isinstance(found, BountyCreated)), None)
    if created is None:
        raise _not_created(receipt.tx_hash)
    done = FundedBounty(receipt.tx_hash, receipt.block_number, created.bounty_id, funding.commitment)
    return _report(funding, done)


def _report(funding: Funding, done: FundedBounty) -> FundedBounty:
    """Remember the bounty and report it, if the Hub itself shows it as this account's on this page."""
    try:
        view = funding.session.chain.bounty(done.bounty_id)
    except CommandFailed:
        if funding.journal.get(FUNDED) != done:
            raise
        return emit(done, watching(done.bounty_id))  # it is funded, whatever an endpoint can say of it now
    if (view.poster, view.spec_commitment) != (funding.session.account, funding.commitment):
        raise _not_created(done.tx_hash)
    funding.journal.note(FUNDED, done)
    return emit(done, for_poster(done.bounty_id, view))


def _has(account: Address, done: FundedBounty, chain: ChainClient) -> bool:
    """Return whether the Hub has the bounty that an earlier run reported: a reorg may have removed it, or it never
    existed.
    """
    view = chain.hub.bounty(done.bounty_id)
    return view is not None and (view.poster, view.spec_commitment) == (account, done.spec_commitment)


def check_page(
    settings: Settings, page: bytes, poster: Address | None, path: str | None = None, *, again: bool = False
) -> FundingPreview:
    """Run ``poster:publish-fund --check``: report everything that can be known without a key. ``path`` is the page's
    file.

    If the account has funded the page, check what another bounty needs only if one is wanted ``again``.
    """
    challenge, commitment = _checked_page(settings, page)
    chain = ChainClient(settings)
    conditions = read_conditions(chain)
    before = funded_as(chain, commitment, poster)
    is_done = bool(before) and poster is not None and not again
    if not is_done:
        check_terms(conditions, challenge, poster)
    asked = chain if poster is None else chain.ask(*authorization_calls(chain, poster))
    funded_by = FundingPath.ALLOWANCE if poster is None else funding_path(asked, poster)  # the one that costs more
    cost = most_cost(chain, CREATION_CALLS[funded_by])
    if poster is not None and not is_done:
        check_tokens(chain, poster, challenge, conditions.constants.token)
        require_balance(chain, poster, cost)
    if poster is not None:
        explain_path(asked, poster, funded_by)
    fees, roster = conditions.shares(challenge.escrow_amount), conditions.roster
    reveal_at = UnixSeconds(challenge.submission_deadline + conditions.constants.reveal_delay)
    found = FundingPreview(
        byte_length=len(page),
        spec_commitment=commitment,
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        escrow_amount=challenge.escrow_amount,
        escrow_token=conditions.constants.token.symbol,
        protocol_fee=fees.protocol,
        guardian_fee=fees.guardian,
        winner_award=fees.award,
        submission_deadline=challenge.submission_deadline,
        reveal_at=reveal_at,
        judging_deadline=UnixSeconds(reveal_at + challenge.judging_window_seconds),
        guardian_roster_hash=roster.guardian_roster_hash,
        quorum=roster.quorum,
        guardians=tuple(ActiveGuardian(each.guardian_address, each.last_active_at or None) for each in roster.members),
        gas_cost_at_most=cost,
        funded_as=before,
    )
    emit(found, f"service-cli poster:publish-fund {argument(path, 'PAGE')}")
    warn_of_issues(page, path, conditions.now)
    return found


def check_tokens(chain: ChainClient, poster: Address, challenge: ChallengePage, token: Token) -> None:
    """Refuse an account that cannot pay the escrow."""
    held = chain.token_balance(poster)
    if held < challenge.escrow_amount:
        message = f"{poster} holds {tokens(held, token)}; the page asks for {tokens(challenge.escrow_amount, token)}."
        raise CommandRefused(
            "balance_insufficient", message, next_action="Add tokens to the account, or lower the escrow."
        )


def confirm(settings: Settings, what: str, *, yes: bool) -> None:
    """Ask before real money moves; continue only with consent.

    Ask only on the mainnet deployment, only a person at a terminal, and never with ``--yes``: no script is stopped by a
    question that nobody can answer.
    """
    if yes or settings.chain_id != NETWORKS["mainnet"]:
        return
    if typed_yes(f"about to {what} on mainnet: real money.", "go on") is False:
        raise CommandRefused(
            "not_confirmed", "Nothing was signed.", next_action="Run the command again and type yes, or add --yes."
        )


def funded_as(chain: ChainClient, commitment: Bytes32, poster: Address | None) -> tuple[BountyId, ...] | None:
    """List the bounties on this page, of one account or of anyone, from the Hub's log; None if its start is unknown."""
    if (start := first_block(chain)) is None:
        return None
    topics = [None, None if poster is None else account_topic(poster), commitment]
    created = ExpectedEvent(
        BountyCreated, topics, lambda one: one.spec_commitment == commitment and poster in {None, one.poster}
    )
    return tuple(one.bounty_id for _, one in created.found(chain, start))


def _checked_page(settings: Settings, page: bytes) -> tuple[ChallengePage, Bytes32]:
    """Return the page and its commitment, if it holds no key and no part of the template."""
    check_document(settings.environment, page, "The page")
    challenge = parse_challenge(page)
    require_filled(page)
    return challenge, spec_commitment(page)


@contextmanager
def _journal(session: Session[LocalSigner], commitment: Bytes32, consent: FundingConsent) -> Iterator[Journal]:
    """Open this page's journal; for a further bounty, the first journal without a bounty, so that it can be
    continued.
    """
    for number in itertools.count(1):
        names = ("publish", session.account, commitment, *([str(number)] if number > 1 else []))
        with session.journal(*names) as journal:
            if not consent.again or journal.get(FUNDED) is None:
                yield journal
                return


def _expected(
    session: Session[LocalSigner], page: ChallengePage, commitment: Bytes32, conditions: HubConditions
) -> dict[str, object]:
    """Return the terms that the answer must hold; the salt and the expiry that the API proposes are never used."""
    terms = dict(enumerate(conditions.terms(page, commitment, ZERO_BYTES32).to_args()[:7]))
    return {
        "spec_commitment": commitment,
        "chain_id": session.chain.chain_id,
        "hub_address": session.chain.hub.address,
        "escrow_token_address": session.settings.escrow_token(),
        "poster_address": session.account,
        "fee_policy": {
            "protocol_fee_bps": conditions.protocol_fee_bps,
            "guardian_fee_bps": conditions.guardian_fee_bps,
            "protocol_fee_recipient": conditions.protocol_fee_recipient,
        },
        "guardian_roster": roster_shown(conditions.roster),
        "create_bounty": {"function_name": "createBounty", "args": {0: terms}},
        "create_bounty_with_authorization": {
            "function_name": "createBountyWithAuthorization",
            "args": {0: terms, 1: session.account, 2: "0"},
        },
    }


def _not_created(tx_hash: Bytes32) -> CommandRefused:
    message = f"Transaction {tx_hash} did not create this bounty."
    return CommandRefused(
        "creation_mismatch", message, next_action="Check the transaction on chain; do not fund again."
    )
