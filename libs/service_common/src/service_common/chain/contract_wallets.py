"""Signatures of accounts that are contracts, checked by the chain in one ``eth_call``.

An account with code is checked through ERC-1271 (a wrapper of ERC-6492 is taken off, its factory never called); one
without code counts only through ERC-6492, and its inner signature is always checked. The call runs the creation code of
our own ``SignatureValidator`` without deploying it, at the cached head, under limits of gas, time and answer size;
anything that a hostile wallet or factory does ends as "not accepted". Calls are limited per process, in concurrent
number and per second, and for each network address and account. A call over a limit is 503 ``service_overloaded``, no
failure of the service where strangers alone reach that limit, and a chain that does not answer is ``ChainUnavailable``:
neither is ever "unauthorized". Of several RPC endpoints one alone
never has a signature accepted: all are asked, two have to accept it, and none that answers may refuse it. Nobody can
lock out a wallet by naming it, or lock out others: a wallet whose signature was accepted recently has places, from the
address where it was accepted, that nobody else can take, and needs no share of its address's budget. A plain account
whose bare signature is wrong is checked about once per block.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from threading import Lock, Semaphore
from typing import Final

from bounty_protocol.auth.verify import WalletAnswer, WalletView
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.clock import Clock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, to_bytes

from service_common.budgets import Budget, Budgets
from service_common.log import get_logger

FACTORY_GAS: Final = 6_000_000
ACCOUNT_GAS: Final = 3_000_000
CALL_GAS: Final = 12_000_000
CALL_SECONDS: Final = 3.0
MAX_ANSWER_BYTES: Final = 16 * 1024
MAX_AT_A_TIME: Final = 8
STRANGERS_AT_A_TIME: Final = 5
"""Of these: calls about accounts that were not accepted recently from the address that sends the request."""
MAX_PER_SECOND: Final = 50
STRANGERS_PER_SECOND: Final = 30
OF_ADDRESS: Final = Budget("wallet-checks-of-address", 60, 60)
OF_ACCOUNT: Final = Budget("wallet-checks", 60, 60)
OF_KNOWN: Final = Budget("wallet-checks-of-known", 600, 60)
MAX_REMEMBERED: Final = 4096
LATELY_SECONDS: Final = 86_400.0
WITNESSES: Final = 2
"""Of several endpoints: how many have to say that a signature is accepted."""
_ANYWHERE: Final = "anywhere"

_WORD: Final = 32
_WRAPPED: Final = bytes.fromhex("6492" * 16)
_ANSWERS: Final = {
    "0x" + number.to_bytes(_WORD, "big").hex(): answer
    for number, answer in enumerate((WalletAnswer.REFUSED, WalletAnswer.ACCEPTED, WalletAnswer.NO_CODE))
}

log = get_logger(__name__)


class ContractWallets:
    """The ``WalletView`` of ``auth.verify``, for accounts whose key did not sign. Thread-safe."""

    def __init__(self, rpc: Rpc, head: Callable[[], BlockNumber], clock: Clock) -> None:
        self._rpc = rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)
        self._head = head
        self._budgets = Budgets(clock)
        self._all = _Share(clock, MAX_AT_A_TIME, MAX_PER_SECOND)
        self._strangers = _Share(clock, STRANGERS_AT_A_TIME, STRANGERS_PER_SECOND, is_of_all=False)
        self._accepted = _Accepted(clock)
        self._without_code = _SeenAt(MAX_REMEMBERED)

    def of_client(self, client: str | None) -> WalletView:
        """The same for requests of one network address; None for an address that many people share."""
        return _OfClient(self, client)

    def ask(self, account: Address, digest: bytes, signature: bytes, client: str | None = None) -> WalletAnswer:
        """The answer of the account's code about the signature over ``digest`` at the newest known block."""
        head = self._head()
        if not signature.endswith(_WRAPPED) and self._without_code.knows(account, head):
            return WalletAnswer.NO_CODE
        with self._turn(account, client):
            call = {"data": "0x" + validator_call(account, digest, signature).hex(), "gas": hex(CALL_GAS)}
            answer = self._first_answer(call, head)
            if answer is WalletAnswer.ACCEPTED and len(self._rpc.endpoints.all) > 1:
                answer = self._answer_of_all(account, call)
        if answer is WalletAnswer.ACCEPTED:
            self._accepted.note(account, client)
        elif answer is WalletAnswer.NO_CODE:
            self._without_code.note(account, head)
        return answer

    def admit(self, account: Address, client: str | None = None) -> None:
        """Charge the caller's budget, and a strange account's own, for what one signature may cost; 503 if used up."""
        if self._accepted.knows(account, client):
            self._take(OF_KNOWN, f"{account} {client}")
        elif client is not None:
            self._take(OF_ADDRESS, client)
        if not self._accepted.knows(account):
            self._take(OF_ACCOUNT, account)

    @contextmanager
    def _turn(self, account: Address, client: str | None) -> Iterator[None]:
        """Have a place for one call among all that are made now, or raise 503."""
        with ExitStack() as places:
            is_known_here = self._accepted.knows(account, client)
            for share in (self._all,) if is_known_here else (self._strangers, self._all):
                places.enter_context(share.place())
            yield

    def _take(self, budget: Budget, holder: str) -> None:
        if not self._budgets.take(budget, holder).granted:
            raise _overloaded(is_failure=False)

    def _first_answer(self, call: dict[str, str], head: BlockNumber) -> WalletAnswer:
        try:
            answer = self._rpc.call("eth_call", call, hex(head))
        except RpcRefused as error:  # the validator itself never reverts: the endpoint could not run it
            raise ChainUnavailable("an RPC endpoint could not check a contract wallet") from error
        if (verdict := _verdict(answer)) is None:
            raise ChainUnavailable("an RPC endpoint answered no verdict on a contract wallet")
        return verdict

    def _answer_of_all(self, account: Address, call: dict[str, str]) -> WalletAnswer:
        """What all endpoints that answer say, each at its own newest block, which another may not have yet.

        ``ChainUnavailable`` where they differ, or too few answer. No endpoint is blamed for that: a wallet may accept
        at one block and refuse at the next, and its maker can have it do so.
        """
        answers = self._rpc.of_each([("eth_call", [call, "latest"])], least=WITNESSES)
        verdicts = [verdict for (answer,) in answers if (verdict := _verdict(answer)) is not None]
        if len(verdicts) < WITNESSES:
            log.warning("too few RPC endpoints answer about a contract wallet", account=account)
            raise ChainUnavailable("too few RPC endpoints answer about a contract wallet")
        if len(set(verdicts)) > 1:
            log.warning("RPC endpoints disagree about a contract wallet's signature", account=account)
            raise ChainUnavailable("RPC endpoints disagree about a contract wallet's signature")
        return verdicts[0]


def validator_call(account: Address, digest: bytes, signature: bytes) -> bytes:
    """The validator's creation code and its constructor's ABI-encoded arguments."""
    arguments = (
        to_bytes(account).rjust(_WORD, b"\0"),
        digest,
        _number(5 * _WORD),
        _number(FACTORY_GAS),
        _number(ACCOUNT_GAS),
        _number(len(signature)),
        signature + bytes(-len(signature) % _WORD),
    )
    return _validator() + b"".join(arguments)


@dataclass(frozen=True, slots=True)
class _OfClient:
    """The wallets as the requests of one network address see them."""

    wallets: ContractWallets
    client: str | None

    def admit(self, account: Address) -> None:
        self.wallets.admit(account, self.client)

    def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
        return self.wallets.ask(account, digest, signature, self.client)


class _Accepted:
    """Accounts whose signature was accepted recently, and from where; the latest of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._since: OrderedDict[tuple[Address, str | None], float] = OrderedDict()

    def knows(self, account: Address, client: str | None = _ANYWHERE) -> bool:
        """Whether the account was accepted recently, from this client where one is given."""
        since = self._since.get((account, client))
        return since is not None and self._clock.monotonic() - since < LATELY_SECONDS

    def note(self, account: Address, client: str | None) -> None:
        with self._lock:
            for key in ((account, client), (account, _ANYWHERE)):
                self._since[key] = self._clock.monotonic()
                self._since.move_to_end(key)
            while len(self._since) > 2 * MAX_REMEMBERED:
                self._since.popitem(last=False)


class _SeenAt:
    """Accounts that had no code at one block: at the same block they still have none."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._head: BlockNumber | None = None
        self._accounts: set[Address] = set()

    def knows(self, account: Address, head: BlockNumber) -> bool:
        with self._lock:
            return head == self._head and account in self._accounts

    def note(self, account: Address, head: BlockNumber) -> None:
        with self._lock:
            if head != self._head or len(self._accounts) >= self._limit:
                self._head, self._accounts = head, set()
            self._accounts.add(account)


class _Share:
    """Calls that may go out: a number at a time, and a number in any second of the clock.

    That the share of all is used up is a failure; that of strangers any stranger can use up.
    """

    def __init__(self, clock: Clock, at_a_time: int, a_second: int, *, is_of_all: bool = True) -> None:
        self._clock, self._limit, self._is_of_all = clock, a_second, is_of_all
        self._places = Semaphore(at_a_time)
        self._lock = Lock()
        self._since, self._taken = float("-inf"), 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """One of the places, or 503."""
        if not self._places.acquire(blocking=False):
            raise _overloaded(is_failure=self._is_of_all)
        try:
            if not self._is_in_time():
                raise _overloaded(is_failure=self._is_of_all)
            yield
        finally:
            self._places.release()

    def _is_in_time(self) -> bool:
        with self._lock:
            now = self._clock.monotonic()
            if now - self._since >= 1.0:
                self._since, self._taken = now, 0
            self._taken += 1
            return self._taken <= self._limit


@lru_cache(maxsize=1)
def _validator() -> bytes:
    text = (files(__package__) / "SignatureValidator.hex").read_text(encoding="ascii")
    return bytes.fromhex(text.strip().removeprefix("0x"))


def _verdict(answer: object) -> WalletAnswer | None:
    return _ANSWERS.get(answer) if isinstance(answer, str) else None


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")


def _overloaded(*, is_failure: bool) -> ServiceError:
    message = "Too many contract wallets are being checked at the moment."
    return ServiceError("service_overloaded", message, is_failure=is_failure)
