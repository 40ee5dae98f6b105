"""Transactions: a call of the Hub or its token, encoded here, simulated, priced and signed.

Call data is this client's own encoding, never bytes that somebody sent. Everything signed for one step has one account
nonce, so that at most one of it can ever be mined; a replacement raises both fees by at least an eighth, as nodes
require.

What a transaction may cost is bounded before it is signed, for any answer of the endpoint: its gas by what the call was
measured to take, its tip by recent blocks, and all of it together by what a person has
agreed to.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import header_call
from bounty_protocol.chain.gas import GAS_NEEDS, reasonable_tip
from bounty_protocol.chain.rpc import Call, ChainNode, RpcRefused, mapping, quantity
from bounty_protocol.chain.transaction import UnsignedTransaction
from bounty_protocol.domain.money.amounts import whole_tokens
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, Wei, bytes32

from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.receipts import ExpectedEvent
from service_cli.chain.session import ChainClient, balance_call, chain_errors
from service_cli.chain.signer import LocalSigner
from service_cli.config.settings import ToBeSigned
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.consent import typed_yes
from service_cli.ui.output import say, warn
from service_cli.ui.text import ether, wei

_RECENT_BLOCKS: Final = 200
"""Blocks whose tips a suggested tip is compared with: 40 s of Base. A node counts its history of fees in blocks."""
_TIP: Final[Call] = ("eth_maxPriorityFeePerGas", [])
_HISTORY: Final[Call] = ("eth_feeHistory", [hex(_RECENT_BLOCKS), "latest", [50]])
_PRICE_CALLS: Final = (_TIP, header_call("latest"), _HISTORY)
"""What a price is made of, in one request."""

AUTHORIZED: Final = "createBountyWithAuthorization"


@dataclass(frozen=True, slots=True)
class ContractCall:
    """A call of the Hub; or ``approve`` of its token: the Hub's address, and exactly this amount."""

    function: str
    arguments: Sequence[object]
    summary: str

    @property
    def data(self) -> str:
        if self.function == "approve":
            hub, amount = self.arguments
            return f"0x095ea7b3{str(hub)[2:].rjust(64, '0')}{amount:064x}"
        return "0x" + hub_abi().functions[self.function].encode(*self.arguments).hex()

    @property
    def usual_gas(self) -> int:
        return GAS_NEEDS[self.function].usual(self._parts)

    @property
    def most_gas(self) -> int:
        return GAS_NEEDS[self.function].most(self._parts)

    @property
    def _parts(self) -> int:
        claims = self.arguments[0] if self.function == "claimMany" else ()
        return len(claims) if isinstance(claims, Sequence) and claims else 1

    @property
    def is_estimated(self) -> bool:
        """Whether an endpoint estimates its gas; if not, the maximum is signed.

        A creation with a signed authorization is not estimated: anyone who sees its bytes can use them, so everything
        that can be refused is refused before they exist."""
        return self.function != AUTHORIZED

    @property
    def is_repeatable(self) -> bool:
        """Whether mining it twice does no more than once: the Hub refuses the second, or it sets the same allowance.

        A creation by allowance is not: the Hub accepts it as often as the allowance permits. Nor is a Submission: the
        second one moves it to a later place."""
        return self.function not in {"createBounty", "submit"}

    def target(self, chain: ChainClient) -> Address:
        return chain.settings.escrow_token() if self.function == "approve" else chain.hub.address


@dataclass(frozen=True, slots=True)
class Transaction:
    """The call of one step, and the event that proves it; without one only a receipt does."""

    call: ContractCall
    expects: ExpectedEvent[Any] | None
    last_nonce: int | None = None
    """Signed with no later nonce, where one is named: it is to be mined before what has that nonce, or never."""
    check_anew: Callable[[], None] = lambda: None
    """Refuses what was right when it was signed first, and may not be any more when it is signed with another nonce."""


@dataclass(frozen=True, slots=True)
class GasPrice:
    """A transaction's price per unit of gas, in wei."""

    cap: Wei
    tip: Wei

    def above(self, other: "GasPrice") -> "GasPrice":
        """Return this price, raised as far as needed to replace ``other``."""
        tip = max(self.tip, other.tip + other.tip // 8 + 1)
        return GasPrice(Wei(max(self.cap, other.cap + other.cap // 8 + 1, tip)), Wei(tip))


@dataclass(frozen=True, slots=True)
class SignedStep:
    """Everything signed for one step. ``from_block`` is the tip before the first signature; newest ``raws`` last."""

    nonce: int
    from_block: BlockNumber
    data: str
    fee_cap: Wei
    fee_tip: Wei
    raws: tuple[str, ...]
    gas: int

    @property
    def price(self) -> GasPrice:
        """Of the newest."""
        return GasPrice(self.fee_cap, self.fee_tip)

    @property
    def hashes(self) -> tuple[Bytes32, ...]:
        """The transactions' hashes."""
        return tuple(bytes32(keccak256(bytes.fromhex(raw[2:]))) for raw in self.raws)


@dataclass(frozen=True, slots=True)
class TransactionStep:
    """One transaction's place in a journal: what was signed for it, and what was given up.

    A transaction is in the journal before it can be sent. An attempt is given up once another transaction has its nonce
    for good, and even then its hashes stay, to be looked for.
    """

    name: str

    @property
    def attempt(self) -> JournalEntry[SignedStep]:
        return JournalEntry(self.name, SignedStep)

    @property
    def given_up(self) -> JournalEntry[tuple[Bytes32, ...]]:
        return JournalEntry(f"{self.name}_given_up", tuple[Bytes32, ...])

    @property
    def given_up_from(self) -> JournalEntry[int]:
        """The first nonce that was given up."""
        return JournalEntry(f"{self.name}_given_up_from", int)

    @property
    def ahead(self) -> JournalEntry[int]:
        """The last nonce that was given up although it can still be mined once the account reaches it."""
        return JournalEntry(f"{self.name}_ahead", int)

    def last_nonce(self, journal: Journal) -> int | None:
        """Return the last nonce of any signed transaction that may still be mined."""
        kept, ahead = journal.get(self.attempt), journal.get(self.ahead)
        return max((nonce for nonce in (kept.nonce if kept else None, ahead) if nonce is not None), default=None)

    def was_attempted(self, journal: Journal) -> bool:
        """Return whether a transaction was signed in an earlier run and is not given up."""
        return journal.get(self.attempt) is not None

    def give_up(self, journal: Journal, attempt: SignedStep) -> None:
        """Give up an attempt whose nonce another transaction took: it cannot be mined, unless the endpoint showed a
        false chain.
        """
        journal.note(self.given_up, (*(journal.get(self.given_up) or ()), *attempt.hashes))
        first = journal.get(self.given_up_from)
        journal.note(self.given_up_from, attempt.nonce if first is None else min(first, attempt.nonce))
        journal.forget(self.attempt)

    @property
    def entries(self) -> tuple[JournalEntry[SignedStep], JournalEntry[tuple[Bytes32, ...]], JournalEntry[int]]:
        """All entries, dropped together once the work is done or must start again."""
        return self.attempt, self.given_up, self.given_up_from


@dataclass(frozen=True, slots=True)
class GasCost:
    """The most that a transaction sent now may take."""

    gas: int
    price: GasPrice

    @property
    def wei(self) -> Wei:
        return Wei(self.gas * self.price.cap)


@dataclass(frozen=True, slots=True)
class Prospect:
    """What one request says of a call that an account may send next: whether the Hub takes it, and what it costs.

    Everything that the endpoint answers before a transaction is signed is in it.
    """

    chain: ChainClient
    account: Address
    call: ContractCall
    estimate: Call
    asked: ChainClient

    @staticmethod
    def read(chain: ChainClient, account: Address, call: ContractCall) -> "Prospect":
        """Run the call without sending it; refuse a revert with its message, at no cost."""
        # With a bound: without one a node takes its block's whole gas, which is more than it lets a transaction have.
        bounded = {"from": account, "to": call.target(chain), "data": call.data, "gas": hex(call.most_gas)}
        simulation: Call = ("eth_call", [bounded, "latest"])
        estimate: Call = ("eth_estimateGas", [bounded])
        estimates = [estimate] if call.is_estimated else []
        with _gas_errors(call):
            asked = chain.ask(simulation, *estimates, *account_calls(account))
            asked.rpc.answer(simulation)
        return Prospect(chain, account, call, estimate, asked)

    def cost(self) -> GasCost:
        """Return the most that sending it now may take, its gas estimated with a margin of a quarter.

        ``gas_excessive`` if that is more than the call can need: the contract is not the Hub, or the endpoint is wrong.
        """
        if not self.call.is_estimated:
            return GasCost(self.call.most_gas, _price_in(self.asked))
        with _gas_errors(self.call):
            gas = quantity(self.asked.rpc.answer(self.estimate))
        gas += gas // 4
        if gas > self.call.most_gas:
            wanted = f"{gas:,} gas with its margin" if gas < 2**64 else "more gas than any block has"
            raise _excessive(self.call, wanted)
        return GasCost(gas, _price_in(self.asked))

    def require_affordable(self) -> None:
        """Refuse gas that costs more than the limits or than the account holds, before anything leads up to it."""
        _require_payable(self.chain, self.account, self.asked, [self.cost()])


@contextmanager
def _gas_errors(call: ContractCall) -> Iterator[None]:
    """Convert errors as ``chain_errors`` does; a call that ran out of gas does not count as a silent endpoint."""
    with chain_errors():
        try:
            yield
        except RpcRefused as refusal:
            answer = refusal.message.lower().replace(" ", "")
            if not refusal.data and ("outofgas" in answer or "gasrequiredexceeds" in answer):
                raise _excessive(call, "more gas than it was given") from None
            raise


def _excessive(call: ContractCall, wanted: str) -> CommandRefused:
    message = (
        f"The call would take {wanted}; it usually takes about {call.usual_gas:,}, and this client signs at most "
        f"{call.most_gas:,}. Nothing was signed."
    )
    next_action = (
        "Check SERVICE_HUB_ADDRESS and SERVICE_RPC_URL: the contract is not the Hub, or the endpoint is wrong."
    )
    return CommandRefused("gas_excessive", message, next_action=next_action)


def require_means(chain: ChainClient, account: Address, functions: Sequence[str], asked: ChainClient) -> None:
    """Refuse calls that nobody can estimate yet, if they cost more than the limits or than the account holds.

    By the answers to ``account_calls``: everything that the endpoint answers before a transaction is signed, so that a
    malformed answer ends the command before anything is signed.
    """
    next_nonce(asked, account)
    _require_payable(chain, account, asked, _most_costs(asked, functions))


def most_cost(chain: ChainClient, functions: Sequence[str]) -> Wei:
    """Return the greatest total cost of these calls in wei, each with the most gas that may be signed for it."""
    return Wei(sum(cost.wei for cost in _most_costs(chain.ask(*_PRICE_CALLS), functions)))


def _most_costs(asked: ChainClient, functions: Sequence[str]) -> list[GasCost]:
    price = _price_in(asked)
    return [GasCost(GAS_NEEDS[function].most(), price) for function in functions]


def _require_payable(chain: ChainClient, account: Address, asked: ChainClient, costs: Sequence[GasCost]) -> None:
    """Refuse a cost that was not agreed to, and an account that cannot pay all of them."""
    require_balance(asked, account, sum(cost.wei for cost in costs))
    for cost in costs:  # above the agreed one, require consent: at the terminal, or beforehand with --max-cost
        _require_agreed(chain, cost)


def require_balance(chain: ChainClient, account: Address, cost: int) -> None:
    if (balance := chain.balance(account)) < cost:
        message = f"{account} holds {wei(balance)}; gas may cost {wei(cost)}."
        raise CommandRefused("gas_insufficient", message, next_action="Add ether to this account for gas.")


def _require_agreed(chain: ChainClient, cost: GasCost) -> None:
    if cost.wei <= (most := chain.agreed_cost):
        return
    message = f"The transaction may cost {ether(cost.wei)} for gas; the limit is {whole_tokens(most, 18)} ether."
    if chain.settings.max_cost is None:
        agreed = cost.wei + cost.wei // 2  # prices move, and each of three replacements costs an eighth more
        if typed_yes(message, f"allow up to {ether(agreed)} for each transaction of this run"):
            chain.agreed_cost = agreed
            return
    next_action = "Use another RPC endpoint, or wait; if gas really costs that much, allow it with --max-cost."
    raise CommandRefused("gas_cost_too_high", f"{message} Nothing was signed.", next_action=next_action)


def advise_wallet(prospect: Prospect) -> None:
    """Tell the user of an external wallet, which chooses gas and price itself, what the call takes and what the account
    holds.

    Gas beyond what the call can need is refused here as well, since the wallet would estimate the same; the rest is
    only reported, since somebody else may pay for the wallet's gas.
    """
    say(f"your wallet chooses gas and price; this call takes about {prospect.call.usual_gas:,} gas")
    try:
        require_balance(prospect.asked, prospect.account, prospect.cost().wei)
    except CommandRefused as refused:
        if refused.code == "gas_excessive":
            raise
        if refused.code == "gas_insufficient":
            warn(f"warning: {refused.message}")
    except CommandFailed:  # an endpoint without prices; the wallet knows its own
        pass


def sign_attempt(
    prospect: Prospect, signer: LocalSigner, last_nonce: int | None, replaces: SignedStep | None
) -> SignedStep:
    """Sign a first transaction, or one that replaces an earlier one that is not mined yet.

    ``nonce_used`` if it would have a later nonce than ``last_nonce``.
    """
    chain, call, head = prospect.chain, prospect.call, prospect.asked.latest().number
    nonce = replaces.nonce if replaces else next_nonce(prospect.asked, signer.address)
    if last_nonce is not None and nonce > last_nonce:
        message = f"The account's next nonce is {nonce}, and this may have none after {last_nonce}."
        next_action = "Look at the account's transactions on chain; nothing was signed."
        raise CommandRefused("nonce_used", message, next_action=next_action)
    cost = prospect.cost()
    if replaces is not None:
        cost = GasCost(cost.gas, cost.price.above(replaces.price))
    _require_payable(chain, signer.address, prospect.asked, [cost])
    unsigned = UnsignedTransaction(
        chain_id=chain.chain_id,
        nonce=nonce,
        tip=cost.price.tip,
        fee_cap=cost.price.cap,
        gas=cost.gas,
        to=call.target(chain),
        data=bytes.fromhex(call.data[2:]),
    )
    summary = f"{call.summary}; at most {ether(cost.wei)} for gas"
    chain.settings.before_signing(ToBeSigned(nonce, cost.wei))
    raw = "0x" + signer.sign_transaction(unsigned, summary).hex()
    earlier, start = (replaces.raws, replaces.from_block) if replaces else ((), head)
    return SignedStep(nonce, start, call.data, cost.price.cap, cost.price.tip, (*earlier, raw), cost.gas)


def next_nonce(chain: ChainClient, account: Address) -> int:
    """Return the nonce of the account's next transaction, pending ones included."""
    with chain_errors():
        return nonce_of(chain.rpc.answer(count_call(account, "pending")))


def count_call(account: Address, tag: str) -> Call:
    """Return the call for how many transactions of the account are mined (``latest``, or up to a block) or known
    (``pending``).
    """
    return "eth_getTransactionCount", [account, tag]


def nonce_of(answer: object) -> int:
    """Parse a count of transactions in an answer; no account has more (EIP-2681)."""
    return quantity(answer, 2**64 - 2)


def account_calls(account: Address) -> list[Call]:
    """Return the calls for what a transaction of the account is priced and signed with."""
    return [*_PRICE_CALLS, balance_call(account), count_call(account, "pending")]


def _price_in(asked: ChainClient) -> GasPrice:
    """Return twice the base fee, and the endpoint's suggested tip as far as recent blocks support it."""
    with chain_errors():
        base = quantity(mapping(asked.rpc.answer(header_call("latest"))).get("baseFeePerGas", "0x0"))
        tip = reasonable_tip(quantity(asked.rpc.answer(_TIP)), _recent_tips(asked.rpc))
    return GasPrice(Wei(2 * base + tip), Wei(tip))


def _recent_tips(known: ChainNode) -> list[int]:
    """Return the median tip of each recent block; none if the endpoint does not show them."""
    try:
        history = mapping(known.answer(_HISTORY))
    except RpcRefused:
        return []
    rewards = history.get("reward")
    rows = rewards if isinstance(rewards, list) else []
    return [quantity(row[0]) for row in rows[:_RECENT_BLOCKS] if isinstance(row, list) and row]
