"""Which deployment a command works on, value by value, and where each came from.

``--network`` wins over ``SERVICE_CHAIN_ID``, that over mainnet; a single override over what the network's record knows;
what is exported over ``.env``. Missing values are refused together, by the names of the variables to set. Section
"Deployment selection" of the interface.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

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
_RECORDED: Final = {
    "SERVICE_HUB_ADDRESS": "hub_address",
    "SERVICE_RPC_URL": "rpc_url",
    "SERVICE_SUBGRAPH_ENDPOINT": "subgraph_endpoint",
    "SERVICE_ESCROW_TOKEN_ADDRESS": "escrow_token_address",
    "SERVICE_API_BASE_URL": "api_base_url",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "reveal_delay_seconds",
    "SERVICE_FINALITY_DEPTH": "finality_depth",
}
_ACCOUNT: Final = "an address: 0x and 40 hexadecimal digits"
_URL: Final = "an http or https address"
_WANTED: Final = {
    "SERVICE_CHAIN_ID": "mainnet, staging, local or one of their chain ids",
    "SERVICE_HUB_ADDRESS": _ACCOUNT,
    "SERVICE_ESCROW_TOKEN_ADDRESS": _ACCOUNT,
    "SERVICE_RPC_URL": _URL,
    FURTHER_VARIABLE: "http or https addresses, separated by commas",
    "SERVICE_SUBGRAPH_ENDPOINT": _URL,
    "SERVICE_API_BASE_URL": "an http or https address, optionally with a path",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "a whole number of seconds",
    "SERVICE_FINALITY_DEPTH": "a whole number of blocks, at least 1",
    "SERVICE_BEACON_URLS": "http or https addresses, separated by commas",
    "SERVICE_BEACON_CHAIN_HASH": "32 bytes in hexadecimal digits",
    "SERVICE_BEACON_PUBLIC_KEY": "96 bytes in hexadecimal digits",
}
_HELP: Final = "Set these variables, or choose another network with --network."


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
        if name == "SERVICE_API_BASE_URL" and self.api_override is not None:
            return True
        if name in BEACON and self.record is not None and self.record.beacon is not None:
            return True
        known = getattr(self.record, _RECORDED[name]) if self.record and name in _RECORDED else None
        return known is not None or self.environment.get(name) is not None

    def hub_address(self) -> Address:
        known = self.record.hub_address if self.record else None
        return self._value("SERVICE_HUB_ADDRESS", parse_address, known)

    def escrow_token(self) -> Address:
        known = self.record.escrow_token_address if self.record else None
        return self._value("SERVICE_ESCROW_TOKEN_ADDRESS", parse_address, known)

    def rpc_url(self) -> str:
        return self._value("SERVICE_RPC_URL", parse_url, self.record.rpc_url if self.record else None)

    def further_rpc_urls(self) -> tuple[str, ...]:
        """Return the endpoints that are queried besides the first one, each once however it is written, so that
        irreversible acts do not rest on one party.
        """
        found = {place_of(self.rpc_url()): self.rpc_url()}
        for url in self.named_further():
            found.setdefault(place_of(url), url)
        return tuple(found.values())[1:]

    def named_further(self) -> tuple[str, ...]:
        """Return the further endpoints as they are set."""
        return self._value(FURTHER_VARIABLE, parse_urls, ())

    def subgraph_endpoint(self) -> str:
        known = self.record.subgraph_endpoint if self.record else None
        return self._value("SERVICE_SUBGRAPH_ENDPOINT", parse_url, known)

    def api_base_url(self) -> str:
        """Return the API's base address; ``--api-base-url`` wins."""
        if self.api_override is not None:
            return _checked("--api-base-url", parse_base_url, self.api_override)
        return self._value("SERVICE_API_BASE_URL", parse_base_url, self.record.api_base_url if self.record else None)

    def reveal_delay(self) -> int:
        known = self.record.reveal_delay_seconds if self.record else None
        return self._value("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", _parse_whole, known)

    def finality_depth(self) -> int | None:
        """Return the blocks from the newest to the final one, on a chain without a ``finalized`` tag; None if it has
        one.
        """
        text = self.environment.get("SERVICE_FINALITY_DEPTH")
        if text is not None:
            return _checked("SERVICE_FINALITY_DEPTH", _parse_from_one, text)
        return self.record.finality_depth if self.record else None

    def has_moved_time(self) -> bool:
        """Return whether the chain's time is moved by hand, as only the local network's can be."""
        return self.chain_id == LOCAL_CHAIN_ID and self.environment.exported.get(LOCAL_TIME_VARIABLE) == "moved"

    def beacon(self) -> BeaconRecord:
        """Return the beacon that opens Submissions: pinned by the deployment record, else named by the environment."""
        known = self._known_beacon()
        return BeaconRecord(
            urls=self.beacon_urls(),
            chain_hash=self.beacon_hash(),
            public_key=self.beacon_key(),
            genesis_time=known.genesis_time if known else None,
            period_seconds=known.period_seconds if known else None,
        )

    def _known_beacon(self) -> BeaconRecord | None:
        return self.record.beacon if self.record else None

    def beacon_urls(self) -> tuple[str, ...]:
        """Return the beacon's relays, which are queried in order."""
        known = self._known_beacon()
        return self._value("SERVICE_BEACON_URLS", parse_urls, known.urls if known else None)

    def beacon_hash(self) -> Bytes32:
        """Return the beacon's chain hash; the record's, whatever is set."""
        if (known := self._known_beacon()) is not None:
            return known.chain_hash
        from bounty_protocol.crypto.beacon_info import parse_chain_hash

        return self._value("SERVICE_BEACON_CHAIN_HASH", parse_chain_hash, None)

    def beacon_key(self) -> str:
        """Return the beacon's public key; the record's, whatever is set."""
        if (known := self._known_beacon()) is not None:
            return known.public_key
        from bounty_protocol.crypto.beacon_info import parse_beacon_key

        return self._value("SERVICE_BEACON_PUBLIC_KEY", parse_beacon_key, None)

    def problem(self, name: str) -> CommandRefused | None:
        """Return why the value of a variable is refused; None if it is valid or not set."""
        try:
            _READERS[name](self)
        except CommandRefused as error:
            return None if error.code == "configuration_incomplete" else error
        return None

    def problems(self) -> Iterator[CommandRefused]:
        """Yield the refusal for each variable with a wrong value."""
        return (found for found in map(self.problem, SHOWN) if found is not None)

    def _value(self, name: str, parse: Callable[[str], T], known: T | None) -> T:
        text = self.environment.get(name)
        if text is not None:
            return _checked(name, parse, text)
        if known is None:
            raise CommandRefused(
                "configuration_incomplete",
                f"{name} is not set, and this release has no value for it.",
                next_action=_HELP,
            )
        return known


_READERS: Final[Mapping[str, Callable[[Settings], object]]] = {
    "SERVICE_HUB_ADDRESS": Settings.hub_address,
    "SERVICE_RPC_URL": Settings.rpc_url,
    "SERVICE_SUBGRAPH_ENDPOINT": Settings.subgraph_endpoint,
    "SERVICE_ESCROW_TOKEN_ADDRESS": Settings.escrow_token,
    "SERVICE_API_BASE_URL": Settings.api_base_url,
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": Settings.reveal_delay,
    "SERVICE_BEACON_URLS": Settings.beacon_urls,
    "SERVICE_BEACON_CHAIN_HASH": Settings.beacon_hash,
    "SERVICE_BEACON_PUBLIC_KEY": Settings.beacon_key,
    FURTHER_VARIABLE: Settings.named_further,
    "SERVICE_FINALITY_DEPTH": Settings.finality_depth,
}
"""How each value is read."""
SHOWN: Final = tuple(_READERS)
"""The variables without a secret, in the order in which they are shown."""
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
        chain_id = _checked("--network" if network else "SERVICE_CHAIN_ID", parse_network, chosen)
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


def _checked(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        why = "" if name in _WANTED else f": {error}"
        next_action = f"Set {name} to {_WANTED.get(name, 'a value of that form')}."
        raise CommandRefused("configuration_malformed", f"{name} is malformed{why}.", next_action=next_action) from None


def _parse_whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("not a whole number")
    return int(text)


def _parse_from_one(text: str) -> int:
    if (value := _parse_whole(text)) < 1:
        raise ValueError("not at least 1")
    return value
