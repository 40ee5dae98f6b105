"""Signatures of accounts that are contracts, asked of the chain in one ``eth_call``.

Promises: an account with code is asked through ERC-1271 (a wrapper of ERC-6492 is taken off, its factory never
called); one without code counts only through ERC-6492, and its inner signature is always checked. The call runs the
creation code of our own ``SignatureValidator`` without deploying it, at the cached head, under limits of gas, time and
answer size; what a hostile wallet or factory does ends as "not accepted". Calls are limited per process in number at a
time and per second; what is over is 503 ``service_overloaded``, and a chain that does not answer is
``ChainUnavailable``: neither is ever "unauthorized". A plain account whose bare signature is wrong is asked about once
per block, so a flood of those does not use up what contract wallets need.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from threading import Lock, Semaphore
from typing import Final

from service_common.auth.verify import WalletAnswer
from service_common.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused
from service_common.clock import Clock
from service_common.errors import ServiceError
from service_common.types import Address, BlockNumber, to_bytes

FACTORY_GAS: Final = 6_000_000
ACCOUNT_GAS: Final = 3_000_000
CALL_GAS: Final = 12_000_000
CALL_SECONDS: Final = 3.0
MAX_ANSWER_BYTES: Final = 16 * 1024
MAX_AT_A_TIME: Final = 8
MAX_PER_SECOND: Final = 50
MAX_REMEMBERED: Final = 4096

_WORD: Final = 32
_WRAPPED: Final = bytes.fromhex("6492" * 16)
_ANSWERS: Final = {
    "0x" + number.to_bytes(_WORD, "big").hex(): answer
    for number, answer in enumerate((WalletAnswer.REFUSED, WalletAnswer.ACCEPTED, WalletAnswer.NO_CODE))
}


class ContractWallets:
    """What ``auth.verify`` asks about accounts whose key did not sign. Thread-safe."""

    def __init__(self, rpc: JsonRpc, head: Callable[[], BlockNumber], clock: Clock) -> None:
        self._rpc = rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)
        self._head = head
        self._places = Semaphore(MAX_AT_A_TIME)
        self._rate = _Rate(clock, MAX_PER_SECOND)
        self._without_code = _SeenAt(MAX_REMEMBERED)

    def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
        """What the account's code says of the signature over ``digest`` at the newest known block."""
        head = self._head()
        if not signature.endswith(_WRAPPED) and self._without_code.knows(account, head):
            return WalletAnswer.NO_CODE
        if not self._places.acquire(blocking=False):
            raise _overloaded()
        try:
            if not self._rate.take():
                raise _overloaded()
            answer = self._call(validator_call(account, digest, signature), head)
        finally:
            self._places.release()
        if answer is WalletAnswer.NO_CODE:
            self._without_code.note(account, head)
        return answer

    def _call(self, data: bytes, head: BlockNumber) -> WalletAnswer:
        call = {"data": "0x" + data.hex(), "gas": hex(CALL_GAS)}
        try:
            answer = self._rpc.call("eth_call", call, hex(head))
        except RpcRefused as error:  # the validator itself never reverts: the endpoint could not run it
            raise ChainUnavailable("an RPC endpoint could not check a contract wallet") from error
        if not isinstance(answer, str) or answer not in _ANSWERS:
            raise ChainUnavailable("an RPC endpoint answered no verdict on a contract wallet")
        return _ANSWERS[answer]


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


class _Rate:
    """At most so many in any second of the clock; a counter that starts anew each second is enough here."""

    def __init__(self, clock: Clock, limit: int) -> None:
        self._clock, self._limit = clock, limit
        self._lock = Lock()
        self._since, self._taken = float("-inf"), 0

    def take(self) -> bool:
        with self._lock:
            now = self._clock.monotonic()
            if now - self._since >= 1.0:
                self._since, self._taken = now, 0
            self._taken += 1
            return self._taken <= self._limit


@lru_cache(maxsize=1)
def _validator() -> bytes:
    text = (files(__package__) / "abi" / "SignatureValidator.hex").read_text(encoding="ascii")
    return bytes.fromhex(text.strip().removeprefix("0x"))


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")


def _overloaded() -> ServiceError:
    return ServiceError("service_overloaded", "Too many contract wallets are being checked at the moment.")
