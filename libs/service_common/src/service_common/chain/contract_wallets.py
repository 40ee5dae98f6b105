"""Signatures of accounts that are contracts, checked by the chain in one ``eth_call``.

An account with code is checked through ERC-1271 (a wrapper of ERC-6492 is taken off, its factory never called); one
without code counts only through ERC-6492, and its inner signature is always checked. The call runs the creation code of
our own ``SignatureValidator`` without deploying it, at the cached head, under limits of gas, time and answer size;
anything that a hostile wallet or factory does ends as "not accepted". Of several RPC endpoints one alone never has a
signature accepted: all are asked, two have to accept it, and none that answers may refuse it.

Anybody can name an account, so the account that is named never pays: until its own ERC-1271 has accepted a signature
from a network, that network pays for each check. A wallet that was accepted from a network within a day has a budget
and places there that nobody else can take. A call over a limit is 503 ``service_overloaded``, and a chain that does not
answer is ``ChainUnavailable``: neither is ever "unauthorized".
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from bounty_protocol.auth.verify import WalletAnswer, WalletView
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, to_bytes

from service_common.budgets import Budget, Budgets, Network
from service_common.log import get_logger
from service_common.places import Places

FACTORY_GAS: Final = 6_000_000
ACCOUNT_GAS: Final = 3_000_000
CALL_GAS: Final = 12_000_000
CALL_SECONDS: Final = 3.0
MAX_ANSWER_BYTES: Final = 16 * 1024
MAX_AT_A_TIME: Final = 8
STRANGERS_AT_A_TIME: Final = 5
"""Calls at a time about accounts that were not accepted lately from the network that sends the request."""
STRANGERS_OF_NETWORK: Final = 2
"""Of those, for one network, whatever it names; the /48 of an IPv6 address counts as one."""
OF_STRANGERS: Final = Budget("wallet-checks-of-strangers", 30, 1)
OF_ONE: Final = Budget("wallet-checks-of-one", 10, 1)
"""Of those, for one network: so a place of each second is left to new wallets of others."""
OF_NETWORK: Final = Budget("wallet-checks", 60, 60)
OF_ACCEPTED: Final = Budget("wallet-checks-of-accepted", 600, 60)
"""Of a wallet at a network from which it was accepted lately."""
LATELY_SECONDS: Final = 86_400
WITNESSES: Final = 2
"""How many of several endpoints have to say that a signature is accepted."""

_WORD: Final = 32
_ANSWERS: Final = {
    "0x" + number.to_bytes(_WORD, "big").hex(): answer
    for number, answer in enumerate((WalletAnswer.REFUSED, WalletAnswer.ACCEPTED, WalletAnswer.NO_CODE))
}

log = get_logger(__name__)


class ContractWallets:
    """Checks accounts whose key did not sign, for all networks. Thread-safe."""

    def __init__(self, rpc: Rpc, head: Callable[[], BlockNumber], budgets: Budgets) -> None:
        self._rpc = rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)
        self._head, self._budgets = head, budgets
        self._places = Places()

    def of_network(self, network: Network | None) -> WalletView:
        """Return the view of one network's requests; None is for what the api forwards to another service, which the
        api has charged."""
        return _OfNetwork(self, network)

    def admit(self, account: Address, network: Network | None = None) -> None:
        """Charge for what one signature may cost: the account if it was accepted recently, else the network; 503 if
        that is used up.
        """
        if network is None:
            return
        if self._is_accepted(account, network):
            taken = self._budgets.take(OF_ACCEPTED, f"{account} {network.name}")
        else:
            taken = self._budgets.take_of(network, OF_NETWORK)
        if not taken.granted:
            raise _overloaded(is_failure=False)

    def ask(self, account: Address, digest: bytes, signature: bytes, network: Network | None = None) -> WalletAnswer:
        """Return what the account's code answers about the signature over ``digest`` at the newest known block; 503 if
        no place for a concurrent call is free.
        """
        with ExitStack() as places:
            if not self._is_accepted(account, network):  # strangers use up only their own places, never everyone's
                if network is not None:
                    places.enter_context(self._places.hold(("strangers", network.widest), STRANGERS_OF_NETWORK))
                places.enter_context(self._places.hold("strangers", STRANGERS_AT_A_TIME))
                if network is not None and not self._budgets.take(OF_ONE, network.widest).granted:
                    raise _overloaded(is_failure=False)
                if not self._budgets.take(OF_STRANGERS, "all").granted:
                    raise _overloaded(is_failure=False)
            places.enter_context(self._places.hold("all", MAX_AT_A_TIME, refusal=_overloaded(is_failure=True)))
            call = {"data": "0x" + validator_call(account, digest, signature).hex(), "gas": hex(CALL_GAS)}
            answer = self._first_answer(call, self._head())
            if answer is WalletAnswer.ACCEPTED and len(self._rpc.endpoints.all) > 1:
                answer = self._answer_of_all(account, call)
        if answer is WalletAnswer.ACCEPTED:
            self._budgets.remember(_accepted(account, network), LATELY_SECONDS)
        return answer

    def _is_accepted(self, account: Address, network: Network | None) -> bool:
        return self._budgets.remembers(_accepted(account, network))

    def _first_answer(self, call: dict[str, str], head: BlockNumber) -> WalletAnswer:
        try:
            answer = self._rpc.call("eth_call", call, hex(head))
        except RpcRefused as error:  # the validator itself never reverts: the endpoint could not run it
            raise ChainUnavailable("an RPC endpoint could not check a contract wallet") from error
        if (verdict := _verdict(answer)) is None:
            raise ChainUnavailable("an RPC endpoint gave no verdict on a contract wallet")
        return verdict

    def _answer_of_all(self, account: Address, call: dict[str, str]) -> WalletAnswer:
        """Return the answer on which all answering endpoints agree, each at its own newest block.

        ``ChainUnavailable`` if they differ, or too few answer. No endpoint is blamed for a difference: a wallet may
        accept at one block and refuse at the next, even on purpose.
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
    """Return the validator's creation code and its constructor's ABI-encoded arguments."""
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
class _OfNetwork:
    """The wallets as the requests of one network see them."""

    wallets: ContractWallets
    network: Network | None

    def admit(self, account: Address) -> None:
        self.wallets.admit(account, self.network)

    def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
        return self.wallets.ask(account, digest, signature, self.network)


def _accepted(account: Address, network: Network | None) -> str:
    return f"accepted-wallet:{account}:{'inside' if network is None else network.name}"


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
