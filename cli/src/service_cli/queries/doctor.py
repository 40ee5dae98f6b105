"""``doctor``: whether everything that a command needs is there and belongs together, one check after the other.

Each check is one event with what was found and, where it fails, what to do. Nothing is signed and no key is read. A
check imports what it needs when it runs, so that help is there at once.
"""

import time
from collections.abc import Callable
from typing import Final

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, Address

from service_cli.api import api_of, subgraph_of
from service_cli.chain.agreement import Fact, disagreement
from service_cli.chain.beacon import beacon_of, round_signature
from service_cli.chain.session import ChainClient
from service_cli.chain.token import shown_amount
from service_cli.config.environment import FURTHER_VARIABLE, SECRETS
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, CommandRefused
from service_cli.queries.listing import INDEX_STATE, SubgraphAnswer, deployment
from service_cli.queries.status_events import DoctorCheck
from service_cli.ui.output import emit
from service_cli.ui.text import duration, moment
from service_cli.ui.text import wei as in_wei

_SKEW_SECONDS: Final = 60
_ON_THE_CHAIN: Final = {"further_endpoints", "clock", "roster", "delivery_key", "balance"}
"""Checks that mean nothing if the RPC endpoint or the Hub is the wrong one."""


def examine(settings: Settings, account: Address | None) -> None:
    """Run the command ``doctor``."""
    is_good = settings.problem(FURTHER_VARIABLE) is None and settings.problem("SERVICE_RPC_URL") is None
    has_further = is_good and bool(settings.further_rpc_urls())
    checks: list[tuple[str, Callable[[], str]]] = [
        ("settings", lambda: _settings(settings)),
        ("chain", lambda: _chain(settings)),
        *([("further_endpoints", lambda: _further(settings))] if has_further else []),
        ("clock", lambda: _clock(settings)),
        ("roster", lambda: _roster(settings)),
        ("delivery_key", lambda: _delivery(settings)),
        ("api", lambda: _api(settings)),
        ("subgraph", lambda: _subgraph(settings)),
        ("beacon", lambda: _beacon(settings)),
    ]
    if account is not None:
        checks.append(("balance", lambda: _balance(settings, account)))
    failed: list[str] = []
    for name, check in checks:
        if name in _ON_THE_CHAIN and "chain" in failed:
            detail, fix = (
                "skipped, because the chain check failed",
                "Fix the chain check first, then run the command again.",
            )
            emit(DoctorCheck(name, ok=False, detail=detail, fix=fix))
            continue
        try:
            emit(DoctorCheck(name, ok=True, detail=check(), fix=None))
        except ServiceError as error:
            emit(DoctorCheck(name, ok=False, detail=error.message, fix=error.next_action))
            failed.append(name)
    if failed:
        message = f"These checks failed: {', '.join(failed)}."
        raise CommandRefused("unhealthy", message, next_action="Fix the failed checks, then run the command again.")


def _settings(settings: Settings) -> str:
    """Say whether every set value is valid, including those that only some commands need."""
    refused = list(settings.problems())
    for name in SECRETS:
        try:
            settings.environment.source(name)
        except CommandRefused as error:
            refused.append(error)
    if refused:
        problems, actions = " ".join(one.message for one in refused), " ".join(one.next_action for one in refused)
        raise CommandRefused("configuration_malformed", problems, next_action=actions)
    return "all settings are well-formed"


def _chain(settings: Settings) -> str:
    chain = ChainClient(settings)
    return f"chain {chain.chain_id}, Hub {chain.hub.address}, block {chain.latest().number}"


def _further(settings: Settings) -> str:
    """Say whether each further endpoint has the first one's finalized block."""
    chain = ChainClient(settings)
    final = chain.finalized()
    for other in chain.further:
        if other.header(final.number).hash != final.hash:
            raise disagreement(Fact.TIME, chain.named, other.named)
    return f"{', '.join(other.named for other in chain.further)}: the same block {final.number}"


def _clock(settings: Settings) -> str:
    skew = int(time.time()) - ChainClient(settings).latest().time
    if abs(skew) > _SKEW_SECONDS:
        message = f"This machine's clock and the newest block are {duration(abs(skew))} apart."
        raise CommandRefused(
            "clock_skewed", message, next_action="Set the clock, or use an RPC endpoint that keeps up."
        )
    return f"this machine's clock and the newest block are {duration(abs(skew))} apart"


def _roster(settings: Settings) -> str:
    chain = ChainClient(settings)
    roster, until = chain.current_roster(), chain.roster_until()
    active = sum(bool(member.last_active_at) for member in roster.members)
    agree = f"{roster.quorum} of {len(roster.members)} Guardians must agree"
    found = f"version {roster.version}; {agree}; {active} have been active"
    return found if until is None else f"{found}; a new one takes effect at {moment(until, chain.latest().time)}"


def _delivery(settings: Settings) -> str:
    chain = ChainClient(settings)
    key, announced = chain.hub.delivery_key(), chain.hub.announced_delivery_key()
    next_key = None
    if announced is not None:
        next_key = f"{announced[0]} takes effect at {moment(announced[1], chain.latest().time)}"
    if key == ZERO_BYTES32:
        message = f"The Hub has no delivery key, so no winning work is delivered; {next_key or 'none is announced'}."
        raise CommandRefused(
            "delivery_key_missing", message, next_action="Wait until the operator's next key is in effect."
        )
    return key if next_key is None else f"{key}; {next_key}"


def _api(settings: Settings) -> str:
    token = deployment(settings, api_of(settings, is_needed=False)).escrow_token.address
    if token != settings.escrow_token():
        message = f"The API's escrow token is {token}, and this run is for {settings.escrow_token()}."
        raise CommandRefused("deployment_mismatch", message, next_action=COHERENT)
    return settings.api_base_url()


def _subgraph(settings: Settings) -> str:
    index = subgraph_of(settings).query(SubgraphAnswer, f"{{ {INDEX_STATE} }}", {}, patient=False).index
    if index.has_errors:
        message = "The subgraph endpoint reports errors."
        raise CommandRefused("subgraph_unusable", message, next_action="Check SERVICE_SUBGRAPH_ENDPOINT.")
    return f"indexed to block {index.block.number}"


def _beacon(settings: Settings) -> str:
    info = beacon_of(settings)
    newest = max(1, (int(time.time()) - info.genesis_time) // info.period_seconds - 1)
    round_signature(settings, info, newest)
    return f"round {newest} verified"


def _balance(settings: Settings, account: Address) -> str:
    chain = ChainClient(settings)
    wei, tokens = chain.balance(account), chain.token_balance(account)
    if wei == 0:
        message = f"{account} holds no ether for gas."
        raise CommandRefused("gas_insufficient", message, next_action="Add ether to the account.")
    return f"{in_wei(wei)}, {shown_amount(chain, tokens)}"
