"""Which chain and Hub a service works on: ``SERVICE_CHAIN_ID``, ``SERVICE_HUB_ADDRESS``, ``SERVICE_RPC_URLS``.

What the deployment record of the chain knows need not be set; a missing value that it does not know is reported by
name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from bounty_protocol import web_address
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, NETWORKS, deployment_of
from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc, RpcRefused, quantity
from bounty_protocol.types import Address, BlockNumber, ChainId, parse_address, parse_decimal

from service_common.config import EnvironmentReader, Finding, SettingWrong

CLOCK_SECONDS: Final = 900
"""How far a clock may be off before the storage refuses signed URLs."""

_NO_CODE: Final[tuple[object, ...]] = ("0x", None)


class HubMissing(SettingWrong):
    """No endpoint that answers has a contract at the Hub's address."""


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """One deployment as a service sees it."""

    chain_id: ChainId
    hub_address: Address
    deploy_block: BlockNumber
    rpc_urls: tuple[str, ...] = field(repr=False)
    finality_depth: int | None = None
    """Blocks behind the newest one that are final, on a chain without a ``finalized`` tag; None if there is one."""

    @property
    def first_block(self) -> BlockNumber:
        """The block before the Hub's own, from which it is followed."""
        return BlockNumber(max(0, self.deploy_block - 1))

    def rpc(self) -> Rpc:
        """Return a client of the chain."""
        return Rpc(self.rpc_urls)

    def check(self, rpc: Rpc) -> None:
        """Return if the endpoint that answers serves this chain and has this Hub.

        ``SettingWrong`` for another chain or no Hub, ``ChainUnavailable`` says why none answers.
        """
        try:
            if quantity(rpc.call("eth_chainId")) != self.chain_id:
                raise SettingWrong("the RPC endpoint serves a chain other than SERVICE_CHAIN_ID")
            code: Call = "eth_getCode", [self.hub_address, "latest"]
            if rpc.answer(code) in _NO_CODE:
                # A node that still copies the chain has none, either, and ends no process whose others have it.
                if all(answers[0] in _NO_CODE for answers in rpc.of_each([code])):
                    raise HubMissing("there is no contract at SERVICE_HUB_ADDRESS")
                raise Finding("an RPC endpoint has no contract at SERVICE_HUB_ADDRESS, another one has it")
        except RpcRefused as refusal:  # its own words may repeat the endpoint's key
            raise ChainUnavailable(f"an RPC endpoint refuses to answer (error {refusal.code})") from None
        except ChainUnavailable as error:
            if error.cause is None or error.limited:
                raise
            raise ChainUnavailable(f"no RPC endpoint answers; the last one: {error.cause}") from None

    def endpoint_checks(self) -> dict[str, Callable[[], object]]:
        """Return the check of each endpoint alone, by its place in ``SERVICE_RPC_URLS``."""
        alone = [Rpc((url,)) for url in self.rpc_urls]
        return {f"endpoint {place}": partial(self._check_alone, rpc) for place, rpc in enumerate(alone, 1)}

    def _check_alone(self, rpc: Rpc) -> None:
        try:
            self.check(rpc)
        except HubMissing as error:
            raise Finding(str(error)) from None

    def check_clock(self, rpc: Rpc, now: float) -> str:
        """Compare this machine's clock with the newest block; ``Finding`` if they are a quarter of an hour apart."""
        if self.chain_id == LOCAL_CHAIN_ID:
            return "not compared: a local chain's time is moved by hand"
        behind = round(now - header_at(rpc, "latest").time)
        if abs(behind) >= CLOCK_SECONDS:
            raise Finding(f"the newest block is {behind} seconds old by this clock: it is wrong, or the chain stopped")
        return f"the newest block is {behind} seconds old"


def read_chain_settings(reader: EnvironmentReader) -> ChainSettings:
    """Read the settings of this process; mistakes are collected by ``reader``."""
    about = "8453 mainnet (Base), 84532 staging (Base Sepolia), 31337 local"
    chain_id = ChainId(reader.required("SERVICE_CHAIN_ID", parse_decimal, about))
    record = deployment_of(chain_id)
    known = record.hub_address if record is not None else None
    rpc_urls = reader.required(
        "SERVICE_RPC_URLS", parse_urls, "RPC endpoints, separated by commas, each once; two or more on mainnet"
    )
    if chain_id == NETWORKS["mainnet"] and len(rpc_urls or ()) == 1:
        reader.refuse("SERVICE_RPC_URLS names one endpoint, which would decide alone on mainnet: name two or more")
    return ChainSettings(
        chain_id=chain_id,
        hub_address=reader.recorded("SERVICE_HUB_ADDRESS", parse_address, known, "the Hub"),
        deploy_block=BlockNumber(
            reader.optional(
                "SERVICE_DEPLOY_BLOCK",
                parse_decimal,
                (record.deploy_block or 0) if record is not None else 0,
                "the block in which the Hub was deployed",
                shown="from the deployment's record, else 0",
            )
        ),
        finality_depth=reader.optional(
            "SERVICE_FINALITY_DEPTH",
            _parse_depth,
            record.finality_depth if record is not None else None,
            "blocks to finality, only for a chain without a `finalized` tag",
            shown="the record's",
        ),
        rpc_urls=rpc_urls,
    )


def parse_urls(text: str) -> tuple[str, ...]:
    """Parse addresses of http or https endpoints, separated by commas, each once.

    An endpoint named twice would agree with itself.
    """
    wanted = "http or https addresses, separated by commas, each once"
    try:
        urls = web_address.parse_urls(text)
    except ValueError:
        raise ValueError(wanted) from None
    if len({web_address.place_of(url) for url in urls}) < len(urls):
        raise ValueError(wanted)
    return urls


def _parse_depth(text: str) -> int | None:
    if (number := parse_decimal(text)) < 1:
        raise ValueError("a whole number of blocks, at least 1")
    return number
