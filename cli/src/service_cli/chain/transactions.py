"""Transactions: a call of the Hub or its token, encoded here, simulated, priced and signed.

Call data is this client's own encoding, never bytes that somebody sent. Everything signed for one step has one account
nonce, so that at most one of it can ever be mined; a replacement raises both fees by at least an eighth, as nodes
require.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from service_common.chain.abi import hub_abi
from service_common.chain.json_rpc import mapping, quantity
from service_common.keccak import keccak256
from service_common.types import Address, BlockNumber, Bytes32, bytes32, checksum_address

from service_cli.chain.journal import Journal
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.errors import Refused
from service_cli.shell.text import wei


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


_GAS_MARGIN: Final = 1.25


@dataclass(frozen=True, slots=True)
class Fees:
    """What a transaction offers per unit of gas, in wei."""

    cap: int
    tip: int

    def above(self, other: "Fees") -> "Fees":
        """These fees, raised where they must be to replace ``other``."""
        tip = max(self.tip, other.tip + other.tip // 8 + 1)
        return Fees(max(self.cap, other.cap + other.cap // 8 + 1, tip), tip)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything signed for one step. ``from_block`` is the tip before the first signature; newest ``raws`` last."""

    nonce: int
    from_block: BlockNumber
    data: str
    fees: Fees
    raws: tuple[str, ...]

    @property
    def hashes(self) -> tuple[Bytes32, ...]:
        """The transactions' hashes."""
        return tuple(_hash(raw) for raw in self.raws)


def load_attempt(journal: Journal, step: str) -> Attempt | None:
    """What an earlier run signed for this step."""
    kept = journal.mapping(step)
    if kept is None:
        return None
    raws = kept["raws"]
    return Attempt(
        nonce=int(str(kept["nonce"])),
        from_block=BlockNumber(int(str(kept["from_block"]))),
        data=str(kept["data"]),
        fees=Fees(int(str(kept["fee_cap"])), int(str(kept["fee_tip"]))),
        raws=tuple(str(raw) for raw in raws) if isinstance(raws, list) else (),
    )


def keep_attempt(journal: Journal, step: str, attempt: Attempt) -> None:
    """On disk before anything of it is sent."""
    kept = {
        "nonce": attempt.nonce,
        "from_block": attempt.from_block,
        "data": attempt.data,
        "fee_cap": str(attempt.fees.cap),
        "fee_tip": str(attempt.fees.tip),
        "raws": list(attempt.raws),
    }
    journal.note(step, kept)


def give_up(journal: Journal, step: str, attempt: Attempt) -> None:
    """Another transaction took the nonce: none of these can be mined, unless the chain is not what it said."""
    earlier = journal.get(f"{step}_given_up")
    journal.note(f"{step}_given_up", [*(earlier if isinstance(earlier, list) else []), *attempt.hashes])
    journal.forget(step)


def given_up(journal: Journal, step: str) -> tuple[Bytes32, ...]:
    """Hashes of attempts that were given up."""
    kept = journal.get(f"{step}_given_up")
    return tuple(Bytes32(str(found)) for found in kept) if isinstance(kept, list) else ()


def sign_attempt(chain: ChainClient, signer: LocalSigner, call: Call, replaces: Attempt | None) -> Attempt:
    """A first transaction, or one that takes the place of an earlier one that is not mined yet."""
    with chain_errors():
        head = BlockNumber(quantity(chain.rpc.call("eth_blockNumber")))
        request = {"from": signer.address, "to": call.target(chain), "data": call.data}
        gas = int(quantity(chain.rpc.call("eth_estimateGas", request)) * _GAS_MARGIN)
        nonce = replaces.nonce if replaces else quantity(account_nonce(chain, signer, "pending"))
    fees = current_fees(chain)
    if replaces is not None:
        fees = fees.above(replaces.fees)
    if (balance := chain.balance(signer.address)) < gas * fees.cap:
        message = f"{signer.address} holds {wei(balance)}; the transaction may cost {wei(gas * fees.cap)}."
        raise Refused("gas_insufficient", message, next_action="Add ether to this account for gas.")
    fields = {
        "chainId": chain.chain_id,
        "type": 2,
        "nonce": nonce,
        "to": checksum_address(call.target(chain)),
        "value": 0,
        "data": call.data,
        "gas": gas,
        "maxFeePerGas": fees.cap,
        "maxPriorityFeePerGas": fees.tip,
    }
    raw = "0x" + signer.sign_transaction(fields, call.words).hex()
    earlier, start = (replaces.raws, replaces.from_block) if replaces else ((), head)
    return Attempt(nonce, start, call.data, fees, (*earlier, raw))


def account_nonce(chain: ChainClient, signer: LocalSigner, tag: str) -> object:
    """How many transactions of the account are mined (``latest``, or up to a block) or known (``pending``)."""
    return chain.rpc.call("eth_getTransactionCount", signer.address, tag)


def current_fees(chain: ChainClient) -> Fees:
    """Twice the base fee and the tip that the endpoint suggests."""
    with chain_errors():
        tip = quantity(chain.rpc.call("eth_maxPriorityFeePerGas"))
        base = quantity(mapping(chain.rpc.call("eth_getBlockByNumber", "latest", False)).get("baseFeePerGas", "0x0"))
    return Fees(2 * base + tip, tip)


def _hash(raw: str) -> Bytes32:
    return bytes32(keccak256(bytes.fromhex(raw[2:])))
