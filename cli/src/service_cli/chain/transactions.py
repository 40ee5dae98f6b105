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
from service_common.domain.money import whole_tokens
from service_common.keccak import keccak256
from service_common.types import Address, BlockNumber, Bytes32, bytes32, checksum_address

from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.receipts import Receipt
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.config.environment import GAS_PRICE_VARIABLE
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.json_values import list_of, object_of, text_of, whole_of
from service_cli.shell.output import warn
from service_cli.shell.text import wei

_GAS_MARGIN: Final = 1.25


class ContractCall(Protocol):
    """A call as it will be sent."""

    @property
    def summary(self) -> str:
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
    summary: str

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
    summary: str

    @property
    def data(self) -> str:
        return "0x095ea7b3" + self.hub[2:].rjust(64, "0") + f"{self.amount:064x}"

    def target(self, chain: ChainClient) -> Address:
        return chain.settings.escrow_token()


class Proof(Protocol):
    """What shows that a transaction's work is done, no matter who did it."""

    def newest(self, chain: ChainClient, start: BlockNumber) -> Receipt | None:
        """The newest transaction since ``start`` that did it."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What is sent for one step, and the event that proves it; without one only a receipt does."""

    call: ContractCall
    expects: Proof | None


@dataclass(frozen=True, slots=True)
class GasPrice:
    """What a transaction offers per unit of gas, in wei."""

    cap: int
    tip: int

    def above(self, other: "GasPrice") -> "GasPrice":
        """This price, raised where it must be to replace ``other``."""
        tip = max(self.tip, other.tip + other.tip // 8 + 1)
        return GasPrice(max(self.cap, other.cap + other.cap // 8 + 1, tip), tip)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything signed for one step. ``from_block`` is the tip before the first signature; newest ``raws`` last."""

    nonce: int
    from_block: BlockNumber
    data: str
    price: GasPrice
    raws: tuple[str, ...]

    @property
    def hashes(self) -> tuple[Bytes32, ...]:
        """The transactions' hashes."""
        return tuple(bytes32(keccak256(bytes.fromhex(raw[2:]))) for raw in self.raws)

    def to_json(self) -> dict[str, object]:
        return {
            "nonce": self.nonce,
            "from_block": self.from_block,
            "data": self.data,
            "fee_cap": str(self.price.cap),
            "fee_tip": str(self.price.tip),
            "raws": list(self.raws),
        }

    @staticmethod
    def from_json(value: object) -> "Attempt":
        fields = object_of(value)
        return Attempt(
            nonce=whole_of(fields["nonce"]),
            from_block=BlockNumber(whole_of(fields["from_block"])),
            data=text_of(fields["data"]),
            price=GasPrice(whole_of(fields["fee_cap"]), whole_of(fields["fee_tip"])),
            raws=tuple(map(text_of, list_of(fields["raws"]))),
        )


@dataclass(frozen=True, slots=True)
class TransactionStep:
    """One transaction's place in a journal: what was signed for it, and what was given up.

    A transaction is in the journal before it can be sent. An attempt is given up once another transaction has its nonce
    for good, and even then its hashes stay, to be looked for.
    """

    name: str

    @property
    def attempt(self) -> JournalEntry[Attempt]:
        return JournalEntry(self.name, Attempt.to_json, Attempt.from_json)

    @property
    def given_up(self) -> JournalEntry[tuple[Bytes32, ...]]:
        return JournalEntry(
            f"{self.name}_given_up", list, lambda kept: tuple(Bytes32(text_of(one)) for one in list_of(kept))
        )

    def was_attempted(self, journal: Journal) -> bool:
        """Whether a transaction was signed in an earlier run and is not given up."""
        return journal.get(self.attempt) is not None

    def give_up(self, journal: Journal, attempt: Attempt) -> None:
        """Another transaction took the nonce: none of these can be mined, unless the chain is not what it showed."""
        journal.note(self.given_up, (*(journal.get(self.given_up) or ()), *attempt.hashes))
        journal.forget(self.attempt)

    @property
    def entries(self) -> tuple[JournalEntry[Attempt], JournalEntry[tuple[Bytes32, ...]]]:
        """Both, to be dropped together: the work is done, or is to be done again from the beginning."""
        return self.attempt, self.given_up


def simulate(chain: ChainClient, sender: Address, call: ContractCall) -> None:
    """Run the call without sending it; a revert is refused with its sentence, at no cost."""
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
        "args": ["0x" + one.hex() if isinstance(one, bytes) else str(one) for one in call.arguments],
    }


@dataclass(frozen=True, slots=True)
class GasCost:
    """The most that a transaction sent now may take."""

    gas: int
    price: GasPrice

    @property
    def wei(self) -> int:
        return self.gas * self.price.cap


def gas_cost(chain: ChainClient, sender: Address, call: ContractCall) -> GasCost:
    """As the endpoint estimates it, with a margin; a revert is refused with its sentence."""
    with chain_errors():
        request = {"from": sender, "to": call.target(chain), "data": call.data}
        gas = int(quantity(chain.rpc.call("eth_estimateGas", request)) * _GAS_MARGIN)
    return GasCost(gas, current_price(chain))


def require_price(chain: ChainClient, price: GasPrice) -> None:
    """Refuse a price above the limit: the endpoint that suggests it may lie, and what is offered as a tip is paid."""
    if price.cap > (limit := chain.settings.max_gas_price()):
        offered, most = (whole_tokens(one, 9) for one in (price.cap, limit))
        message = f"The transaction would offer {offered} gwei for each unit of gas; the limit is {most} gwei."
        next_action = f"Use another RPC endpoint; if the chain really costs that much, export {GAS_PRICE_VARIABLE}."
        raise CommandRefused("gas_price_too_high", message, next_action=next_action)


def require_affordable(chain: ChainClient, account: Address, call: ContractCall) -> None:
    """Refuse a call whose gas costs more than the limit or than the account holds, before anything leads up to it."""
    cost = gas_cost(chain, account, call)
    require_price(chain, cost.price)
    _require_balance(chain, account, cost)


def _require_balance(chain: ChainClient, account: Address, cost: GasCost) -> None:
    if (balance := chain.balance(account)) < cost.wei:
        message = f"{account} holds {wei(balance)}; the transaction may cost {wei(cost.wei)}."
        raise CommandRefused("gas_insufficient", message, next_action="Add ether to this account for gas.")


def warn_of_balance(chain: ChainClient, account: Address, call: ContractCall) -> None:
    """The same for a wallet outside, whose gas somebody else may pay: said, and no reason to stop."""
    try:
        _require_balance(chain, account, gas_cost(chain, account, call))
    except CommandRefused as refused:
        if refused.code == "gas_insufficient":
            warn(f"warning: {refused.message}")
    except CommandFailed:  # an endpoint without prices; the wallet knows its own
        pass


def sign_attempt(chain: ChainClient, signer: LocalSigner, call: ContractCall, replaces: Attempt | None) -> Attempt:
    """A first transaction, or one that takes the place of an earlier one that is not mined yet."""
    with chain_errors():
        head = BlockNumber(quantity(chain.rpc.call("eth_blockNumber")))
        nonce = replaces.nonce if replaces else quantity(account_nonce(chain, signer, "pending"))
    cost = gas_cost(chain, signer.address, call)
    if replaces is not None:
        cost = GasCost(cost.gas, cost.price.above(replaces.price))
    require_price(chain, cost.price)
    _require_balance(chain, signer.address, cost)
    fields = {
        "chainId": chain.chain_id,
        "type": 2,
        "nonce": nonce,
        "to": checksum_address(call.target(chain)),
        "value": 0,
        "data": call.data,
        "gas": cost.gas,
        "maxFeePerGas": cost.price.cap,
        "maxPriorityFeePerGas": cost.price.tip,
    }
    raw = "0x" + signer.sign_transaction(fields, call.summary).hex()
    earlier, start = (replaces.raws, replaces.from_block) if replaces else ((), head)
    return Attempt(nonce, start, call.data, cost.price, (*earlier, raw))


def account_nonce(chain: ChainClient, signer: LocalSigner, tag: str) -> object:
    """How many transactions of the account are mined (``latest``, or up to a block) or known (``pending``)."""
    return chain.rpc.call("eth_getTransactionCount", signer.address, tag)


def current_price(chain: ChainClient) -> GasPrice:
    """Twice the base fee, and the tip that the endpoint suggests."""
    with chain_errors():
        tip = quantity(chain.rpc.call("eth_maxPriorityFeePerGas"))
        base = quantity(mapping(chain.rpc.call("eth_getBlockByNumber", "latest", False)).get("baseFeePerGas", "0x0"))
    return GasPrice(2 * base + tip, tip)
