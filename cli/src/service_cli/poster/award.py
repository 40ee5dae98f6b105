"""``poster:new --award``: the escrow from which the winner is paid what was asked for, by the Hub's own fees."""

from service_common.domain.challenge import parse_challenge
from service_common.types import TokenAmount

from service_cli.chain.session import ChainClient
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.poster.conditions import HubConditions, check_terms, read_conditions
from service_cli.shell.output import remark
from service_cli.shell.text import amount

_DECIMALS = 6
"""What an amount of whole tokens was read with."""


def escrow_for(settings: Settings, award: TokenAmount) -> tuple[ChainClient, HubConditions, TokenAmount]:
    """The least escrow that leaves ``award`` for the winner; beside JSON it is shown with both fees."""
    chain = ChainClient.checked(settings)
    conditions = read_conditions(chain)
    token = conditions.constants.token
    if token.decimals != _DECIMALS:
        message = f"The escrow token has {token.decimals} decimals, not {_DECIMALS}: the award cannot be read safely."
        raise CommandRefused("award_unclear", message, next_action="Write escrow_amount in smallest units by hand.")
    escrow = least_escrow(award, conditions)
    protocol, guardian = conditions.fees(escrow)
    for who, part in (("winner", escrow - protocol - guardian), ("Guardians", guardian), ("protocol fee", protocol)):
        remark(f"{who}: {amount(part, token)}")
    remark(f"escrow: {amount(escrow, token)}")
    return chain, conditions, escrow


def fees_of(escrow: TokenAmount, conditions: HubConditions) -> dict[str, str]:
    """Who gets what of an escrow, as fields of an event."""
    protocol, guardian = conditions.fees(escrow)
    award = escrow - protocol - guardian
    return {"winner_award": str(award), "guardian_fee": str(guardian), "protocol_fee": str(protocol)}


def require_accepted(chain: ChainClient, conditions: HubConditions, page: str) -> None:
    """Refuse terms that the Hub would refuse before a page with them is written."""
    check_terms(chain, conditions, parse_challenge(page.encode()), None)


def least_escrow(award: TokenAmount, conditions: HubConditions) -> TokenAmount:
    """The smallest escrow whose award is at least ``award``."""
    share = 10_000 - conditions.protocol_fee_bps - conditions.guardian_fee_bps
    if share <= 0:
        message = "The Hub's fees would take the whole escrow."
        raise CommandRefused("fees_refused", message, next_action="Check SERVICE_RPC_URL and SERVICE_HUB_ADDRESS.")
    escrow = -(-award * 10_000 // share)
    while escrow > 1 and _award(escrow - 1, conditions) >= award:
        escrow -= 1
    return TokenAmount(escrow)


def _award(escrow: int, conditions: HubConditions) -> int:
    return escrow - sum(conditions.fees(TokenAmount(escrow)))
