"""What a network's rollup may do to its users, and the call by which they pass its sequencer.

A rollup has one sequencer. While that is away no block is made; one that censors leaves out what it likes. A deposit at
the rollup's portal on the settlement layer is part of the rollup's chain all the same: nodes derive it from the
settlement layer's blocks, at the latest when the sequencer's window has passed. Both networks are OP stack chains; of
that stack are the call, the window and the rule of senders below.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.abi import Function, Parameter
from bounty_protocol.chain.deployment import NETWORKS
from bounty_protocol.domain.halts import BASE_OUTAGE_SECONDS
from bounty_protocol.types import Address, ChainId

_DELEGATED: Final = bytes.fromhex("ef0100")
_DELEGATED_BYTES: Final = 23


@dataclass(frozen=True, slots=True)
class Rollup:
    """A rollup as its users have to reckon with it."""

    settlement: ChainId
    """The chain on which its portal is."""
    stated_outage_seconds: int
    """The outage that a bounty's windows should outlast."""


ROLLUPS: Final = {
    NETWORKS["mainnet"]: Rollup(ChainId(1), BASE_OUTAGE_SECONDS),
    NETWORKS["staging"]: Rollup(ChainId(11_155_111), BASE_OUTAGE_SECONDS),  # of the same operator and software
}


def rollup_of(chain_id: ChainId) -> Rollup | None:
    """What is known of a network's rollup; None for ``local``, which is none."""
    return ROLLUPS.get(chain_id)


_DEPOSIT: Final = Function(
    "depositTransaction",
    (
        Parameter("_to", "address"),
        Parameter("_value", "uint256"),
        Parameter("_gasLimit", "uint64"),
        Parameter("_isCreation", "bool"),
        Parameter("_data", "bytes"),
    ),
    (),
)


def deposit_call(to: Address, data: bytes, gas: int) -> bytes:
    """Call data for the portal: the rollup calls ``to`` with ``data`` and at most ``gas``, as the caller's account.

    The portal takes the gas by burning the settlement layer's; it is not given back where the call needs less.
    """
    return _DEPOSIT.encode(to, 0, gas, False, data)


def keeps_its_address(code: bytes) -> bool:
    """Whether a deposit by an account with this code is the same account's on the rollup; a contract's is another's.

    The portal alters the address of a caller that is a contract. It leaves that of an account without code, and of one
    with an EIP-7702 delegation: such an account has a key, and a transaction of its own has it as ``tx.origin``.
    (OptimismPortal: ``if (!EOA.isSenderEOA()) from = AddressAliasHelper.applyL1ToL2Alias(msg.sender)``. Portals of
    before that library compared with ``tx.origin`` alone: there the same holds for the account's own transaction, and
    not for a call that somebody else has its delegated code make.)
    """
    return not code or (len(code) == _DELEGATED_BYTES and code.startswith(_DELEGATED))
