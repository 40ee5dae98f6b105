"""The Hub's conditions for a bounty created now: what a page would cost on them, and the escrow that an award needs.

Every figure is read from the Hub itself and computed here; terms that the Hub would refuse are named all at once,
before anything is signed. Nothing here needs a key.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from bounty_protocol.chain.blocks import NearTip, header_call, parse_header
from bounty_protocol.chain.hub_constants import (
    EscrowToken,
    HubConstants,
    constants_calls,
    read_hub_constants,
    term_issues,
)
from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.money.amounts import fee_amount
from bounty_protocol.domain.money.terms import Terms
from bounty_protocol.errors import Issue
from bounty_protocol.types import Address, Bytes32, TokenAmount, UnixSeconds
from bounty_protocol.wire.deployment import Deployment

from service_cli.chain.session import ChainClient, chain_errors, decimals_mismatch
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, CommandRefused
from service_cli.ui.output import warn
from service_cli.ui.text import moment, printable


class Shares(NamedTuple):
    """Who gets what of an escrow that is awarded."""

    award: TokenAmount
    guardian: TokenAmount
    protocol: TokenAmount


@dataclass(frozen=True, slots=True)
class HubConditions:
    """Roster, fee policy and limits of the Hub."""

    roster: Roster
    roster_until: UnixSeconds | None
    """When an announced roster takes this one's place; terms that name this one are refused from then on."""
    protocol_fee_bps: int
    guardian_fee_bps: int
    protocol_fee_recipient: Address
    constants: HubConstants
    now: UnixSeconds = field(compare=False)  # endpoints agree on what the Hub says, not on the newest block
    """The time of the block that all of it was read at."""

    def shares(self, escrow: TokenAmount) -> Shares:
        """Return the shares of an escrow, by the Hub's current fees."""
        protocol, guardian = fee_amount(escrow, self.protocol_fee_bps), fee_amount(escrow, self.guardian_fee_bps)
        return Shares(TokenAmount(escrow - protocol - guardian), guardian, protocol)

    def terms(self, page: ChallengePage, commitment: Bytes32, salt: Bytes32) -> Terms:
        """Return the page's terms on these conditions."""
        shares = self.shares(page.escrow_amount)
        return Terms(
            spec_commitment=commitment,
            expected_roster_hash=self.roster.guardian_roster_hash,
            escrow_amount=page.escrow_amount,
            submission_deadline=page.submission_deadline,
            judging_window=page.judging_window_seconds,
            max_protocol_fee=shares.protocol,
            max_guardian_fee=shares.guardian,
            salt=salt,
        )

    def honour(self, terms: Terms) -> bool:
        """Return whether the Hub would still create a bounty on these terms."""
        shares = self.shares(terms.escrow_amount)
        fits = shares.protocol <= terms.max_protocol_fee and shares.guardian <= terms.max_guardian_fee
        return fits and terms.expected_roster_hash == self.roster.guardian_roster_hash


def read_conditions(chain: ChainClient) -> HubConditions:
    """Read the Hub's current conditions; the blocks near the tip come with them, for requests that are signed soon."""
    hub, tip = chain.hub, header_call("latest" if chain.block is None else chain.block)
    views = map(hub.call, ("currentRosterVersion", "announcedRoster", "feePolicy"))
    asked = chain.ask(tip, *views, *constants_calls(hub.address, chain.settings.escrow_token()))
    with chain_errors():
        version, head = asked.hub.current_roster_version(), parse_header(asked.rpc.answer(tip))
        fees = asked.hub.fee_policy()
        constants = read_hub_constants(asked.rpc, hub.address, chain.chain_id)
        more = chain.ask(hub.call("getRoster", version), *NearTip.calls(head))
        roster = more.roster(version)
        chain.note_near(head, more)
    chain.require_recorded(constants.token)
    return HubConditions(roster, asked.roster_until(), *fees, constants, head.time)


def require_same_token(served: Deployment, token: EscrowToken) -> None:
    """Refuse a token that the API describes differently from the chain: amounts are read with its decimals."""
    shown = served.escrow_token
    if shown.address != token.address:
        message = f"The API's escrow token is {shown.address}; the chain has {token.address}."
        raise CommandRefused("deployment_mismatch", message, next_action=COHERENT)
    if shown.decimals != token.decimals:
        raise decimals_mismatch({"the RPC endpoint": token.decimals, "the API": shown.decimals})


def check_terms(conditions: HubConditions, page: ChallengePage, poster: Address | None) -> None:
    """Refuse terms that the Hub would refuse, with every reason."""
    now = conditions.now
    issues = term_issues(page, conditions.constants, now, lambda at: moment(at, now))
    if poster is not None and poster in conditions.roster.accounts:
        issues.append(Issue("poster", "a Guardian of the current roster cannot fund a bounty it would judge"))
    if issues:
        message = "The Hub would not create a bounty on this page's terms."
        is_poster_alone = [issue.path for issue in issues] == ["poster"]
        change = "Use another account" if is_poster_alone else "Change the lines named in the issues"
        next_action = f"{change} and run the command again."
        raise CommandRefused("terms_refused", message, issues=issues, next_action=next_action)


_DECIMALS = 6
"""The arithmetic context for amounts of whole tokens."""


def escrow_for(settings: Settings, award: TokenAmount, named: str | None) -> tuple[HubConditions, TokenAmount]:
    """Return the least escrow that leaves ``award`` for the winner.

    ``named`` is the token's name as typed; if it is not this deployment's token, say so.
    """
    conditions = read_conditions(ChainClient(settings))
    token = conditions.constants.token
    if token.decimals != _DECIMALS:
        message = f"The escrow token has {token.decimals} decimals, not {_DECIMALS}: the award cannot be read safely."
        raise CommandRefused("award_unclear", message, next_action="Write escrow_amount in smallest units by hand.")
    if named is not None and named.casefold() != token.symbol.casefold():
        warn(
            f"note: this Hub pays in {printable(token.symbol)}; the award is read as {printable(token.symbol)}, not as "
            f"{named}"
        )
    escrow = least_escrow(award, conditions)
    return conditions, escrow


def least_escrow(award: TokenAmount, conditions: HubConditions) -> TokenAmount:
    """Return the smallest escrow whose award is at least ``award``."""
    share = 10_000 - conditions.protocol_fee_bps - conditions.guardian_fee_bps
    if share <= 0:
        message = "The Hub's fees would take the whole escrow."
        raise CommandRefused("fees_refused", message, next_action="Check SERVICE_RPC_URL and SERVICE_HUB_ADDRESS.")
    escrow = -(-award * 10_000 // share)
    while escrow > 1 and conditions.shares(TokenAmount(escrow - 1)).award >= award:
        escrow -= 1
    return TokenAmount(escrow)
