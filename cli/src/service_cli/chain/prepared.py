"""An act as the calls that do it, for a program that has them sent: by a bundler, by a multisig, by anything that acts
for an account.

Everything is checked, published and simulated as before sending; only the transaction is somebody else's. What became
of the calls is found by the Hub's event, by any sender and in any transaction, so that a user operation, a batch of a
multisig and a plain transaction are found alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from bounty_protocol.types import Address, BlockNumber, ChainId

from service_cli.chain.sender import keep_looking
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import Signer, with_integers
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import say

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
SignTypedData = Callable[[Mapping[str, object]], bytes]
"""A wallet of the calling program: EIP-712 typed data, as ``eth_signTypedData_v4`` takes it, to its signature."""
_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ActCall:
    """One call for an account to make: ``to`` in lowercase, ``data`` as 0x-hex, ``value`` in wei, which is always 0."""

    to: Address
    data: str
    value: int = 0


@dataclass(frozen=True, slots=True)
class PreparedAct(Generic[R_co]):
    """The call of one act by ``account``, and how its result is found; its type is that of the call that sends.

    ``calls`` is that call, or empty where the act is done already: its result is there then. ``summary`` is the act in
    a sentence for people. ``from_block`` was the newest block when it was prepared: what the call does is later.
    """

    chain_id: ChainId
    hub: Address
    account: Address
    calls: tuple[ActCall, ...]
    summary: str
    from_block: BlockNumber
    find: Callable[[ChainClient], R_co | None] = field(repr=False, compare=False)
    """One look at the chain; ``Client.result`` and ``Client.wait_for`` call it."""


@dataclass(frozen=True, slots=True)
class ProgramSigner:
    """An account for which a program acts: what the service wants signed it signs, and sends the calls itself."""

    address: Address
    _sign: Callable[[Mapping[str, object], str], bytes] | None

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        """The signature; ``key_missing`` where nobody makes one."""
        if self._sign is None:
            message = f"A signature of {self.address} is needed to {summary}. Nobody here makes one."
            raise CommandRefused("key_missing", message, next_action="Pass sign, a function that signs typed data.")
        return self._sign(typed_data, summary)


def program_signer(account: Address | None, sign: SignTypedData | None, key: Callable[[], Signer]) -> ProgramSigner:
    """Who acts: ``account``, or without one that of the key. ``sign`` signs, without it the key where that acts."""
    if sign is not None:
        return ProgramSigner(key().address if account is None else account, partial(_by_program, sign))
    if account is not None:
        return ProgramSigner(account, None)
    signer = key()
    return ProgramSigner(signer.address, signer.sign_typed_data)


def _by_program(sign: SignTypedData, typed_data: Mapping[str, object], summary: str) -> bytes:
    say(f"to sign: {summary}")
    return sign(with_integers(typed_data))


def done_already(chain: ChainClient, account: Address, result: R) -> PreparedAct[R]:
    """An act that the chain has: nothing is left to be sent."""
    hub, since = chain.hub.address, chain.latest().number
    return PreparedAct(chain.chain_id, hub, account, (), "it is done already", since, lambda _: result)


def result_of(chain: ChainClient, act: PreparedAct[R]) -> R | None:
    """The result from one look; ``deployment_mismatch`` where the act is of another Hub than this chain's."""
    if (act.chain_id, act.hub) != (chain.chain_id, chain.hub.address):
        message = f"The act was prepared for the Hub {act.hub} on chain {act.chain_id}, which this client does not use."
        raise CommandRefused("deployment_mismatch", message, next_action="Look with a client of that deployment.")
    return act.find(chain)


def wait_for(chain: ChainClient, act: PreparedAct[R], seconds: float) -> R:
    """The result; ``transaction_pending`` where the chain does not show it within ``seconds``."""
    found, unanswered = keep_looking(lambda: result_of(chain, act), "the calls are remembered", _POLL_SECONDS, seconds)
    if found is not None:
        return found
    code, what = ("transaction_unknown", "known to be done") if unanswered else ("transaction_pending", "done")
    message = f"This is not {what} on the chain yet: {act.summary}."
    next_action = "See at who sends them what became of them, then look again; do not send them a second time."
    raise CommandFailed(code, message, next_action=next_action)
