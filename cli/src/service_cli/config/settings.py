"""Which deployment a command works on, value by value, and where each came from.

``--network`` wins over ``SERVICE_CHAIN_ID``, that over mainnet; a single override over what the network's record knows;
what is exported over ``.env``. Missing values are refused together, by the names of the variables to set. Section
"Deployment selection" of the interface.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from bounty_protocol.chain.deployment import (
    LOCAL_CHAIN_ID,
    NETWORKS,
    BeaconRecord,
    DeploymentRecord,
    deployment_of,
    parse_network,
)
from bounty_protocol.types import Address, Bytes32, ChainId, Wei, parse_address
from bounty_protocol.web_address import parse_base_url, parse_url, parse_urls, place_of

from service_cli.config.environment import (
    FURTHER_VARIABLE,
    LOCAL_TIME_VARIABLE,
    Environment,
    tell_sources,
)
from service_cli.errors import CommandRefused
from service_cli.ui.output import warn

T = TypeVar("T")

BEACON: Final = ("SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH", "SERVICE_BEACON_PUBLIC_KEY")
"""Settings of a command that seals or opens, where the network's record names no beacon."""
OVERRIDES: Final = (
    "SERVICE_HUB_ADDRESS",
    "SERVICE_RPC_URL",
    "SERVICE_SUBGRAPH_ENDPOINT",
    "SERVICE_ESCROW_TOKEN_ADDRESS",
    "SERVICE_API_BASE_URL",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS",
)
"""Settings that every command needs on the local network."""
_HELP: Final = "Set these variables, or choose another network with --network."


@dataclass(frozen=True, slots=True)
class _Value(Generic[T]):
    """One value of a deployment: its variable, how that is read, and what the network's record knows."""

    name: str
    parse: Callable[[str], T]
    wanted: str
    recorded: Callable[[DeploymentRecord], T | None]
    is_pinned: bool = False
    """Whether the record's counts, whatever is set."""


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("not a whole number")
    return int(text)


def _from_one(text: str) -> int:
    if (value := _whole(text)) < 1:
        raise ValueError("not at least 1")
    return value


def _chain_hash(text: str) -> Bytes32:
    from bounty_protocol.crypto.beacon_info import parse_chain_hash

    return parse_chain_hash(text)


def _beacon_key(text: str) -> str:
    from bounty_protocol.crypto.beacon_info import parse_beacon_key

    return parse_beacon_key(text)


_ACCOUNT: Final = "an address: 0x and 40 hexadecimal digits"
_URL: Final = "an http or https address"
_NETWORKS: Final = "mainnet, staging, local or one of their chain ids"
_URLS: Final = "http or https addresses, separated by commas"
_HUB: Final = _Value("SERVICE_HUB_ADDRESS", parse_address, _ACCOUNT, lambda known: known.hub_address)
_TOKEN: Final = _Value(
    "SERVICE_ESCROW_TOKEN_ADDRESS", parse_address, _ACCOUNT, lambda known: known.escrow_token_address
)
_RPC: Final = _Value("SERVICE_RPC_URL", parse_url, _URL, lambda known: known.rpc_url)
_FURTHER: Final = _Value(FURTHER_VARIABLE, parse_urls, _URLS, lambda _: None)
_SUBGRAPH: Final = _Value("SERVICE_SUBGRAPH_ENDPOINT", parse_url, _URL, lambda known: known.subgraph_endpoint)
_API: Final = _Value(
    "SERVICE_API_BASE_URL", parse_base_url, f"{_URL}, optionally with a path", lambda known: known.api_base_url
)
_DELAY: Final = _Value(
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS",
    _whole,
    "a whole number of seconds",
    lambda known: known.reveal_delay_seconds,
)
_DEPTH: Final = _Value(
    "SERVICE_FINALITY_DEPTH", _from_one, "a whole number of blocks, at least 1", lambda known: known.finality_depth
)
_RELAYS: Final = _Value(BEACON[0], parse_urls, _URLS, lambda known: known.beacon.urls if known.beacon else None)
_HASH: Final = _Value(
    BEACON[1],
    _chain_hash,
    "32 bytes in hexadecimal digits",
    lambda known: known.beacon.chain_hash if known.beacon else None,
    is_pinned=True,
)
_KEY: Final = _Value(
    BEACON[2],
    _beacon_key,
    "96 bytes in hexadecimal digits",
    lambda known: known.beacon.public_key if known.beacon else None,
    is_pinned=True,
)
_VALUES: Final[tuple[_Value[Any], ...]] = (
    _HUB, _RPC, _SUBGRAPH, _TOKEN, _API, _DELAY, _RELAYS, _HASH, _KEY, _FURTHER, _DEPTH,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToBeSigned:
    """What a key here is about to sign: a transaction with its ``nonce`` and the most that it may cost for gas, in wei,
    or without them an authorization of the token. What replaces a transaction has its nonce."""

    nonce: int | None
    gas_cost: Wei


@dataclass(frozen=True, slots=True)
class Settings:
    """One deployment as a command sees it. A value that is not known is refused if it is needed."""

    environment: Environment
    chain_id: ChainId
    record: DeploymentRecord | None
    api_override: str | None
    max_cost: int | None = None
    """Wei that one transaction may cost for gas, as the person decided beforehand."""
    before_signing: Callable[[ToBeSigned], None] = lambda _: None
    """Called before a transaction or an authorization of the token is signed here; what it raises keeps it unsigned."""

    def knows(self, name: str) -> bool:
        """Return whether a value is set, given as an option, or part of the network's record."""
        if name == _API.name and self.api_override is not None:
            return True
        recorded = (value.recorded(self.record) for value in _VALUES if value.name == name and self.record)
        return self.environment.get(name) is not None or any(known is not None for known in recorded)

    def hub_address(self) -> Address:
        return self._read(_HUB)

    def escrow_token(self) -> Address:
        return self._read(_TOKEN)

    def rpc_url(self) -> str:
        return self._read(_RPC)

    def further_rpc_urls(self) -> tuple[str, ...]:
        """Return the endpoints that are queried besides the first one, each once however it is written, so that
        irreversible acts do not rest on one party.
        """
        found = {place_of(self.rpc_url()): self.rpc_url()}
        for url in self._find(_FURTHER) or ():
            found.setdefault(place_of(url), url)
        return tuple(found.values())[1:]

    def subgraph_endpoint(self) -> str:
        return self._read(_SUBGRAPH)

    def api_base_url(self) -> str:
        """Return the API's base address; ``--api-base-url`` wins."""
        return self._read(_API)

    def reveal_delay(self) -> int:
        return self._read(_DELAY)

    def finality_depth(self) -> int | None:
        """Return the blocks from the newest to the final one, on a chain without a ``finalized`` tag; None if it has
        one.
        """
        return self._find(_DEPTH)

    def has_moved_time(self) -> bool:
        """Return whether the chain's time is moved by hand, as only the local network's can be."""
        return self.chain_id == LOCAL_CHAIN_ID and self.environment.exported.get(LOCAL_TIME_VARIABLE) == "moved"

    def beacon(self) -> BeaconRecord:
        """Return the beacon that opens Submissions: pinned by the deployment record, else named by the environment. Its
        relays, which are queried in order, may be others.
        """
        known = self.record.beacon if self.record else None
        times = (None, None) if known is None else (known.genesis_time, known.period_seconds)
        return BeaconRecord(self._read(_RELAYS), self._read(_HASH), self._read(_KEY), *times)

    def problem(self, name: str) -> CommandRefused | None:
        """Return why the value of a variable is refused; None if it is valid or not set."""
        return next((found for value, found in self._refused() if value.name == name), None)

    def problems(self) -> list[CommandRefused]:
        """List the refusals of variables with a wrong value."""
        return [found for _, found in self._refused()]

    def _refused(self) -> Iterator[tuple[_Value[Any], CommandRefused]]:
        for value in _VALUES:
            try:
                self._find(value)
            except CommandRefused as error:
                yield value, error

    def _find(self, value: _Value[T]) -> T | None:
        """Return the value that is set, else the record's; None if there is none."""
        if value is _API and self.api_override is not None:
            return _checked("--api-base-url", value.parse, self.api_override)
        known, text = value.recorded(self.record) if self.record else None, self.environment.get(value.name)
        if text is None or (value.is_pinned and known is not None):
            return known
        return _checked(value.name, value.parse, text, value.wanted)

    def _read(self, value: _Value[T]) -> T:
        if (found := self._find(value)) is None:
            message = f"{value.name} is not set, and this release has no value for it."
            raise CommandRefused("configuration_incomplete", message, next_action=_HELP)
        return found


CHAIN: Final = (
    "SERVICE_HUB_ADDRESS",
    "SERVICE_RPC_URL",
    "SERVICE_ESCROW_TOKEN_ADDRESS",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS",
)
"""Settings with which a command checks that it talks to one deployment's chain."""
CHAIN_AND_API: Final = (*CHAIN, "SERVICE_API_BASE_URL")


def load_settings(
    network: str | None,
    api_base_url: str | None,
    needs: Sequence[str] | None = CHAIN_AND_API,
    environment: Environment | None = None,
    max_cost: int | None = None,
) -> Settings:
    """Load the deployment of this run; show on stderr what ``.env`` decides, and that it is mainnet by default.

    Missing ``needs`` are refused together; with None nothing is required, for commands that only read.
    """
    environment = environment or Environment.of_process()
    tell_sources(environment)
    chosen = network or environment.get("SERVICE_CHAIN_ID")
    if chosen is None:
        warn("no network selected: using mainnet (real money); choose with --network or SERVICE_CHAIN_ID")
        chain_id = NETWORKS["mainnet"]
    else:
        name, form = ("--network", None) if network else ("SERVICE_CHAIN_ID", _NETWORKS)
        chain_id = _checked(name, parse_network, chosen, form)
    settings = Settings(environment, chain_id, deployment_of(chain_id), api_base_url, max_cost)
    if needs is None:
        return settings
    if chain_id == LOCAL_CHAIN_ID:
        wanted = (*OVERRIDES, *(name for name in BEACON if name in needs))
        next_action = "Load the stack's environment: set -a; . .local/stack.env"
        _require("The local network needs", [name for name in wanted if not settings.knows(name)], next_action)
    missing = [name for name in needs if not settings.knows(name)]
    _require("This release knows no deployment on this network. Ask its operator for", missing, _HELP)
    return settings


def _require(problem: str, missing: Sequence[str], next_action: str) -> None:
    if missing:
        raise CommandRefused("configuration_incomplete", f"{problem} {', '.join(missing)}.", next_action=next_action)


def _checked(name: str, parse: Callable[[str], T], text: str, wanted: str | None = None) -> T:
    try:
        return parse(text)
    except ValueError as error:
        why = f": {error}" if wanted is None else ""
        next_action = f"Set {name} to {wanted or 'a value of that form'}."
        raise CommandRefused("configuration_malformed", f"{name} is malformed{why}.", next_action=next_action) from None
