"""Sending what a Poster signed and handed over, from the sponsor's account.

The file is a stranger's. Everything that decides whether the Hub would take it is read from the chain and computed
here, so that the sponsor pays for nothing that is known to fail: page and terms, Hub, token and balance, roster and
fees, the time that is left, and the call itself, tried without being sent. The escrow is the Poster's alone, and the
token takes it once; whoever comes second pays for a call that is refused at most.
"""

from typing import Final

from bounty_protocol.chain.eip3009 import AUTHORIZATION_SECONDS
from bounty_protocol.domain.abi_hashes import authorization_nonce
from bounty_protocol.domain.challenge import ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.hub_events import BountyCreated
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, Bytes32

from service_cli.chain.about import about_chain, about_sent
from service_cli.chain.prepared import PreparedAct, done_already, prepare
from service_cli.chain.receipts import ExpectedEvent, Receipt, account_topic, earliest_block
from service_cli.chain.sender import send
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import account_of, local_signer
from service_cli.chain.token import AuthorizationState, authorization_state, shown_amount
from service_cli.chain.transactions import AUTHORIZED, HubCall, Transaction, TransactionStep, most_cost, simulate
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.poster.conditions import HubConditions, check_terms, read_conditions
from service_cli.poster.funding import MARGIN_SECONDS
from service_cli.poster.hand_over import HandOver
from service_cli.poster.publishing import check_tokens, confirm
from service_cli.shell.output import emit, remark, say
from service_cli.shell.text import CLOCK_SECONDS, amount, moment, wei
from service_cli.sponsor.events import SponsoredBounty, SponsoringPreview
from service_cli.witnesses.notices import require_fundable
from service_cli.witnesses.table import Fact
from service_cli.witnesses.vouching import agreed

SPONSOR_KEY: Final = "SERVICE_SPONSOR_PRIVATE_KEY"
_STEP: Final = TransactionStep("sponsor_transaction")
_ANOTHER: Final = "Ask the Poster for another one: service-cli poster:publish-fund --hand-over FILE."


def check_hand_over(settings: Settings, data: bytes) -> SponsoringPreview | SponsoredBounty:
    """``sponsor:fund --check``: everything that can be known without a key."""
    handed = HandOver.from_bytes(data)
    chain = ChainClient.checked(settings)
    page = _page_of(chain, handed)
    since = earliest_block(chain, chain.latest().number)
    if (receipt := _expected(chain, handed).newest(chain, since)) is not None:
        return _shown(chain, handed, receipt, None)
    _require_usable(chain, handed, page, since)
    preview = SponsoringPreview(
        handed.signed.terms.spec_commitment,
        page.title,
        handed.poster,
        handed.signed.terms.escrow_amount,
        handed.signed.valid_before,
        most_cost(chain, (AUTHORIZED,)),
    )
    emit(preview, about_chain(chain))
    return preview


def fund(settings: Settings, data: bytes, *, yes: bool = False) -> SponsoredBounty:
    """The command ``sponsor:fund``."""
    handed = HandOver.from_bytes(data)
    session = Session.open(settings, local_signer(settings, SPONSOR_KEY))
    chain, page = session.chain, _page_of(session.chain, handed)
    expected, since = _expected(chain, handed), earliest_block(chain, chain.latest().number)
    with session.journal("sponsor", _nonce(chain, handed), session.account) as journal:
        receipt = expected.newest(chain, since)
        if receipt is None and not _STEP.was_attempted(journal):
            _require_usable(chain, handed, page, since)
            escrow, cost = shown_amount(chain, handed.signed.terms.escrow_amount), most_cost(chain, (AUTHORIZED,))
            say(f"it may cost you up to {wei(cost)} for gas; the escrow of {escrow} is {handed.poster}'s")
            confirm(settings, f"put {escrow} of {handed.poster} into escrow, and pay the gas", yes=yes)
        if receipt is None:
            try:
                receipt = send(session, Transaction(_call(handed), expected), journal, _STEP)
            except CommandRefused as error:  # another one may have come first
                if error.code != "reverted" or (receipt := expected.newest(chain, since)) is None:
                    raise
        journal.forget(*_STEP.entries)
        return _shown(chain, handed, receipt, session.account)


def prepare_sponsoring(settings: Settings, data: bytes, account: Address | None) -> PreparedAct[SponsoredBounty]:
    """The call of ``fund`` for ``account``, without it the key's; none where the bounty is there, whoever sent it."""
    handed, chain = HandOver.from_bytes(data), ChainClient.checked(settings)
    sponsor = account_of(settings, SPONSOR_KEY) if account is None else account
    page, expected, since = (
        _page_of(chain, handed),
        _expected(chain, handed),
        earliest_block(chain, chain.latest().number),
    )
    if (receipt := expected.newest(chain, since)) is not None:
        return done_already(chain, sponsor, _shown(chain, handed, receipt, sponsor))
    _require_usable(chain, handed, page, since)
    return prepare(
        chain, sponsor, [_call(handed)], expected, lambda later, found: _shown(later, handed, found, sponsor)
    )


def _call(handed: HandOver) -> HubCall:
    return handed.signed.call(handed.poster, f"create the bounty that {handed.poster} signed")


def _require_usable(chain: ChainClient, handed: HandOver, page: ChallengePage, since: BlockNumber) -> None:
    """Refuse what the Hub would not take now, each with its own code; costs nothing."""
    signed, now = handed.signed, chain.latest().time
    terms = signed.terms
    if signed.valid_before <= now + MARGIN_SECONDS:
        message = f"What the Poster signed was good until {moment(signed.valid_before, now)}, or is about to end."
        raise CommandRefused("authorization_expired", message, next_action=_ANOTHER)
    if signed.valid_before > now + AUTHORIZATION_SECONDS + CLOCK_SECONDS:
        raise _differs("what was signed is good for longer than an hour, which this client never signs")
    require_fundable(chain, None)
    conditions = agreed(chain, Fact.CONDITIONS, read_conditions)
    _require_honoured(handed, page, conditions)
    check_terms(chain, conditions, page, handed.poster)
    state = authorization_state(chain, handed.poster, _nonce(chain, handed), since)
    if state is not AuthorizationState.UNUSED:
        message = "The token has what the Poster signed as used or cancelled, and no bounty of it shows."
        next_action = "Wait a minute and run the command again; if no bounty shows then, ask the Poster."
        raise CommandRefused(f"authorization_{state.value}", message, next_action=next_action)
    check_tokens(chain, handed.poster, page, conditions.constants.token)
    try:
        simulate(chain, handed.poster, signed.call(handed.poster, ""))
    except CommandRefused as error:
        if error.code != "reverted":
            raise
        message = f"The escrow token does not take what was signed for {amount(terms.escrow_amount, chain.token)}."
        next_action = "The signature is not the Poster's, or the token blocks the account. Ask the Poster."
        raise CommandRefused("authorization_invalid", message, next_action=next_action) from error


def _require_honoured(handed: HandOver, page: ChallengePage, conditions: HubConditions) -> None:
    terms = handed.signed.terms
    derived = conditions.terms(page, terms.spec_commitment, terms.salt)
    if not conditions.honour(terms):
        message = "The Hub's Guardian roster or its fees changed since the Poster signed."
        raise CommandRefused("terms_outdated", message, next_action=_ANOTHER)
    ours = (derived.escrow_amount, derived.submission_deadline, derived.judging_window)
    if ours != (terms.escrow_amount, terms.submission_deadline, terms.judging_window):
        raise _differs("the page states other terms than the Poster signed")


def _page_of(chain: ChainClient, handed: HandOver) -> ChallengePage:
    """The page, if it is the one that was signed, for the Hub that this run is for."""
    if (handed.chain_id, handed.hub_address) != (chain.chain_id, chain.hub.address):
        message = f"The file is for the Hub {handed.hub_address} on chain {handed.chain_id}."
        next_action = f"This run is for {chain.hub.address} on chain {chain.chain_id}: choose another --network."
        raise CommandRefused("deployment_mismatch", message, next_action=next_action)
    if spec_commitment(handed.page) != handed.signed.terms.spec_commitment:
        raise _differs("the page does not hash to the commitment that the Poster signed")
    try:
        return parse_challenge(handed.page)
    except ServiceError:
        raise _differs("the page is no challenge page") from None


def _expected(chain: ChainClient, handed: HandOver) -> ExpectedEvent[BountyCreated]:
    """The bounty under the nonce of what was signed, whoever sent it."""
    nonce, commitment = _nonce(chain, handed), handed.signed.terms.spec_commitment
    topics = [None, account_topic(handed.poster), commitment]
    return ExpectedEvent(BountyCreated, topics, lambda found: found.authorization_nonce == nonce)


def _nonce(chain: ChainClient, handed: HandOver) -> Bytes32:
    return authorization_nonce(chain.chain_id, chain.hub.address, handed.poster, handed.signed.terms)


def _shown(chain: ChainClient, handed: HandOver, receipt: Receipt, sponsor: Address | None) -> SponsoredBounty:
    created = next(event for event in receipt.events if isinstance(event, BountyCreated))
    done = SponsoredBounty(
        receipt.tx_hash, receipt.block_number, created.bounty_id, created.spec_commitment, handed.poster
    )
    about = about_chain(chain) if sponsor is None else about_sent(chain, sponsor, receipt.tx_hash, created.bounty_id)
    emit(done, about)
    if sponsor is None:
        remark("it is there already; nothing is to be sent")
    return done


def _differs(what: str) -> CommandRefused:
    return CommandRefused("hand_over_mismatch", f"Refused: {what}.", next_action=_ANOTHER)
