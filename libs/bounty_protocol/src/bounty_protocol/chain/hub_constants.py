"""The constants of a deployed Hub and its token, read from the chain once.

Values are the contracts' own, checked for the chain id that the deployment names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bounty_protocol.chain.abi import Function, Parameter
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.rpc import Answers, Call, ChainNode, ChainUnavailable, Rpc, RpcRefused, hex_bytes, quantity
from bounty_protocol.domain.money.amounts import whole_tokens
from bounty_protocol.errors import Issue
from bounty_protocol.types import Address, ChainId, TokenAmount, UnixSeconds

if TYPE_CHECKING:
    from bounty_protocol.domain.challenge.page import ChallengePage  # with a YAML parser, which few commands need

_TEXT: Final = Function("text", (), (Parameter("", "string"),))
"""The encoding of each of a token's texts."""
BALANCE_OF: Final = "0x70a08231"
_SYMBOL, _DECIMALS, _NAME, _VERSION = "0x95d89b41", "0x313ce567", "0x06fdde03", "0x54fd4d50"
_CONSTANTS: Final = (
    "token",
    "revealDelay",
    "minEscrow",
    "minJudgingWindow",
    "maxJudgingWindow",
    "minSubmissionWindow",
    "maxSubmissionWindow",
    "publicationDelay",
)
_ANSWER_SECONDS: Final = 3.0
MAX_DECIMALS: Final = 36
"""Twice those of ether, and more than any token in use has; with the 255 that a contract can return, any amount is
nothing."""


@dataclass(frozen=True, slots=True)
class EscrowToken:
    """The one token of a Hub. ``name`` and ``version`` are those of its EIP-712 domain."""

    address: Address
    symbol: str
    decimals: int
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class HubConstants:
    """Immutables of a Hub. Windows in seconds, escrow in smallest units."""

    token: EscrowToken
    reveal_delay: int
    min_escrow: TokenAmount
    min_judging_window: int
    max_judging_window: int
    min_submission_window: int
    max_submission_window: int
    publication_delay: int


def term_issues(
    page: "ChallengePage", hub: HubConstants, now: UnixSeconds, moment: Callable[[int], str]
) -> list[Issue]:
    """List the terms of a page that this Hub refuses; ``moment`` formats a time for people."""
    issues = []
    if page.escrow_amount < hub.min_escrow:
        least = f"{hub.min_escrow} base units ({whole_tokens(hub.min_escrow, hub.token.decimals)} {hub.token.symbol})"
        issues.append(Issue("escrow_amount", f"must be at least {least}, the Hub's minimum"))
    if not hub.min_judging_window <= page.judging_window_seconds <= hub.max_judging_window:
        bounds = f"{hub.min_judging_window} to {hub.max_judging_window}"
        issues.append(Issue("judging_window_seconds", f"must be {bounds} seconds on this Hub"))
    earliest, latest = now + hub.min_submission_window, now + hub.max_submission_window
    if not earliest <= page.submission_deadline <= latest:
        bounds = f"{earliest} ({moment(earliest)}) and {latest} ({moment(latest)})"
        stated = moment(page.submission_deadline)
        issues.append(Issue("submission_deadline", f"must lie between {bounds}; the page states {stated}"))
    return issues


def constants_calls(hub_address: Address, token: Address) -> list[Call]:
    """Return all that ``read_hub_constants`` asks where the token is known, for a batch."""
    return [*_constants_calls(hub_address), *token_calls(token)]


def _constants_calls(hub_address: Address) -> list[Call]:
    return [("eth_chainId", []), *(Hub(Answers({}), hub_address).call(name) for name in _CONSTANTS)]


def read_hub_constants(rpc: ChainNode, hub_address: Address, chain_id: ChainId) -> HubConstants:
    """Read all constants in two requests; ``ChainUnavailable`` if that chain has no such Hub."""
    known = Answers.of(rpc, _constants_calls(hub_address))
    if quantity(known.call("eth_chainId")) != chain_id:
        raise ChainUnavailable("the RPC endpoint serves a chain other than this deployment's")
    hub = Hub(known, hub_address)
    token = hub.token()
    return HubConstants(
        token=read_token(rpc, token),
        reveal_delay=hub.reveal_delay(),
        min_escrow=TokenAmount(hub.limit("minEscrow")),
        min_judging_window=hub.limit("minJudgingWindow"),
        max_judging_window=hub.limit("maxJudgingWindow"),
        min_submission_window=hub.limit("minSubmissionWindow"),
        max_submission_window=hub.limit("maxSubmissionWindow"),
        publication_delay=read_publication_delay(hub),
    )


def read_agreed_constants(rpc: Rpc, hub_address: Address, chain_id: ChainId) -> HubConstants:
    """Read the constants on which two of several endpoints agree: one alone could make all amounts show with wrong
    decimals for as long as they are cached.
    """
    bounded = rpc.bounded(seconds=_ANSWER_SECONDS)
    return bounded.agreed(lambda one: read_hub_constants(one, hub_address, chain_id), rpc.pair)


def read_publication_delay(hub: Hub) -> int:
    """Read the Hub's publication delay in seconds; ``ChainUnavailable`` if it has none."""
    try:
        return hub.publication_delay()
    except RpcRefused as error:
        if not error.is_revert:
            raise
        raise ChainUnavailable(f"the Hub at {hub.address} belongs to an earlier release than this one") from error


def token_calls(address: Address) -> list[Call]:
    """Return the calls of ``read_token``, for a batch."""
    return [_call(address, selector) for selector in (_SYMBOL, _DECIMALS, _NAME, _VERSION)]


def read_token(rpc: ChainNode, address: Address) -> EscrowToken:
    """Read the token's descriptive fields in one request."""
    known = Answers.of(rpc, token_calls(address))
    return EscrowToken(
        address=address,
        symbol=_text(known, address, _SYMBOL),
        decimals=_decimals(known, address),
        name=_text(known, address, _NAME),
        version=_text(known, address, _VERSION),
    )


def balance_call(token: Address, account: Address, block: str = "latest") -> Call:
    """Return the call of ``balance_of``, for a batch."""
    return _call(token, BALANCE_OF + account[2:].rjust(64, "0"), block)


def balance_of(rpc: ChainNode, token: Address, account: Address, block: str = "latest") -> TokenAmount:
    """Read an account's balance of a token, in its smallest units; ``ChainUnavailable`` for an answer that is not one
    word.
    """
    answer = rpc.answer(balance_call(token, account, block))
    try:
        word = hex_bytes(answer)
    except ValueError:
        word = b""
    if len(word) != 32:
        raise ChainUnavailable("the escrow token returns no balance")
    return TokenAmount(int.from_bytes(word, "big"))


def _call(contract: Address, data: str, block: str = "latest") -> Call:
    return "eth_call", [{"to": contract, "data": data}, block]


def _decimals(rpc: ChainNode, address: Address) -> int:
    found = quantity(rpc.answer(_call(address, _DECIMALS)))
    if found > MAX_DECIMALS:
        raise ChainUnavailable(
            f"the escrow token has {found} decimals according to this endpoint, more than {MAX_DECIMALS}"
        )
    return found


def _text(rpc: ChainNode, address: Address, selector: str) -> str:
    answer = rpc.answer(_call(address, selector))
    try:
        return str(_TEXT.decode(hex_bytes(answer))[0])
    except ValueError as error:
        raise ChainUnavailable("the escrow token returns no valid name, version and symbol") from error
