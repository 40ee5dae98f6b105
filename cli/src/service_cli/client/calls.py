"""What a transaction does: a call of the Hub or of its token, encoded here and told in words.

Promises: call data is this client's own encoding, never bytes that somebody sent; ``simulate`` runs a call without
sending it, so that a refusal costs nothing and comes with its reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service_common.chain.abi import hub_abi
from service_common.types import Address

from service_cli.client.chain import ChainClient, chain_errors


class Call(Protocol):
    """A call as it will be sent."""

    @property
    def words(self) -> str:
        """What is signed, for a person."""

    @property
    def data(self) -> str:
        """Call data, 0x-hex."""

    def target(self, chain: ChainClient) -> Address:
        """The contract that is called."""


@dataclass(frozen=True, slots=True)
class HubCall:
    """A call of the Hub."""

    function: str
    arguments: Sequence[object]
    words: str

    @property
    def data(self) -> str:
        return "0x" + hub_abi().functions[self.function].encode(*self.arguments).hex()

    def target(self, chain: ChainClient) -> Address:
        return chain.hub.address


@dataclass(frozen=True, slots=True)
class TokenApproval:
    """``approve`` of the escrow token: exactly this amount, for the Hub."""

    hub: Address
    amount: int
    words: str

    @property
    def data(self) -> str:
        return "0x095ea7b3" + self.hub[2:].rjust(64, "0") + f"{self.amount:064x}"

    def target(self, chain: ChainClient) -> Address:
        return chain.settings.escrow_token()


def simulate(chain: ChainClient, sender: Address, call: Call) -> None:
    """Run the call without sending it; a revert is refused with its sentence."""
    with chain_errors():
        chain.rpc.call("eth_call", {"from": sender, "to": call.target(chain), "data": call.data}, "latest")


def prepared_transaction(chain: ChainClient, call: HubCall) -> dict[str, object]:
    """A call as an external wallet takes it."""
    return {
        "chain_id": chain.chain_id,
        "to": chain.hub.address,
        "value": "0",
        "data": call.data,
        "function_name": call.function,
        "args": [_printed(argument) for argument in call.arguments],
    }


def _printed(argument: object) -> object:
    return "0x" + argument.hex() if isinstance(argument, bytes) else str(argument)
