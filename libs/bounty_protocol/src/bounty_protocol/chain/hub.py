"""The Hub's views, typed: what the contract itself returns, for clients and for checks against the indexed copy.

Every answer is the contract's at one block. An answer that is not of the ABI's shape is ``ChainUnavailable`` (a wrong
address or a hostile endpoint), never a half-read value.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from bounty_protocol.chain.abi import Function, hub_abi
from bounty_protocol.chain.rpc import Call, ChainNode, ChainUnavailable, RpcRefused, hex_bytes
from bounty_protocol.domain.lifecycle.hub_events import BountyTerms
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, RosterVersion, TokenAmount, UnixSeconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BountyView(BountyTerms):
    """One bounty, as ``getBounty`` returns it; open without an outcome. Amounts due are unclaimed, 0 while open."""

    has_submissions: bool
    verdict_count: int
    outcome: Outcome | None
    reason: SettlementReason | None
    winner: Address
    winning_submission: Bytes32
    award_due: TokenAmount
    refund_due: TokenAmount
    protocol_fee_due: TokenAmount
    guardian_fees_due: TokenAmount
    award_claimed: bool
    refund_claimed: bool
    protocol_fee_claimed: bool


@dataclass(frozen=True, slots=True)
class RosterView:
    """One roster version, members in order; ``effective_from`` is 0 if it was replaced before it took effect."""

    guardian_roster_hash: Bytes32
    quorum: int
    accounts: tuple[Address, ...]
    encryption_keys: tuple[Bytes32, ...]
    last_active_at: tuple[UnixSeconds, ...]
    effective_from: UnixSeconds


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A Guardian's recorded Verdict; without a kind when there is none."""

    kind: VerdictKind | None
    solver: Address
    submission_commitment: Bytes32


class Hub:
    """Reads of one Hub, at ``block`` unless a read names another."""

    def __init__(self, rpc: ChainNode, address: Address, block: BlockNumber | str = "latest") -> None:
        self.rpc, self.address, self.block = rpc, address, block

    def call(self, function: str, *arguments: object, block: BlockNumber | str | None = None) -> Call:
        """Return the call of a view, for a batch."""
        data = "0x" + hub_abi().functions[function].encode(*arguments).hex()
        at = self.block if block is None else block
        return "eth_call", [{"to": self.address, "data": data}, hex(at) if isinstance(at, int) else at]

    def read(self, function: str, *arguments: object, block: BlockNumber | str | None = None) -> tuple[Any, ...]:
        """Call a view, and return values typed as the ABI says; raises ``RpcRefused`` when the Hub reverts."""
        return self._read(function, arguments, block, Function.decode)

    def _read(
        self,
        function: str,
        arguments: tuple[object, ...],
        block: BlockNumber | str | None,
        decode: Callable[[Function, bytes], T],
    ) -> T:
        answer = self.rpc.answer(self.call(function, *arguments, block=block))
        try:
            return decode(hub_abi().functions[function], hex_bytes(answer))
        except ValueError as error:
            raise ChainUnavailable(f"the contract at {self.address} did not answer {function} as a Hub does") from error

    def _struct(self, function: str, argument: int, block: BlockNumber | str | None) -> dict[str, Any]:
        """Return the fields of the struct that a view returns, typed as the ABI says."""
        return self._read(function, (argument,), block, Function.decode_struct)

    def bounty(self, bounty_id: BountyId, block: BlockNumber | str | None = None) -> BountyView | None:
        """Read one bounty; None if the Hub knows no such id."""
        try:
            view = self._struct("getBounty", bounty_id, block)
        except RpcRefused as refusal:
            if (revert := hub_abi().revert(refusal.data)) is not None and revert[0] == "BountyNotFound":
                return None
            raise
        with _numbers_of_the_hub():
            view["outcome"] = Outcome.of_number(view["outcome"])
            view["reason"] = SettlementReason.of_number(view["reason"])
        return BountyView(**view)

    def roster(self, version: int, block: BlockNumber | str | None = None) -> RosterView:
        """Read a roster version."""
        return RosterView(**self._struct("getRoster", version, block))

    def current_roster_version(self) -> RosterVersion:
        return RosterVersion(self._integer("currentRosterVersion"))

    def submission(self, bounty_id: BountyId, solver: Address, block: BlockNumber | str | None = None) -> Bytes32:
        """Read the Solver's active commitment; zero if there is none."""
        (commitment,) = self.read("getSubmission", bounty_id, solver, block=block)
        return Bytes32(str(commitment))

    def verdict(self, bounty_id: BountyId, guardian: Address) -> VerdictView:
        """Read a Guardian's recorded Verdict."""
        kind, solver, commitment = self.read("getVerdict", bounty_id, guardian)
        with _numbers_of_the_hub():
            return VerdictView(VerdictKind.of_number(kind), Address(str(solver)), Bytes32(str(commitment)))

    def announced_roster(self) -> tuple[RosterVersion, UnixSeconds] | None:
        """Read the announced roster version and the time from which it takes effect; None without one."""
        version, effective_from = self.read("announcedRoster")
        return (RosterVersion(version), UnixSeconds(effective_from)) if version else None

    def delivery_key(self, block: BlockNumber | str | None = None) -> Bytes32:
        """Read the delivery public key in effect; zero before the first one and after a withdrawal."""
        return Bytes32(str(self.read("deliveryKey", block=block)[0]))

    def announced_delivery_key(self) -> tuple[Bytes32, UnixSeconds] | None:
        """Read the announced delivery key and the time from which it takes effect; None without one."""
        key, effective_from = self.read("announcedDeliveryKey")
        return (Bytes32(str(key)), UnixSeconds(effective_from)) if effective_from else None

    def fee_policy(self) -> tuple[int, int, Address]:
        """Read protocol and guardian fee in basis points, and the protocol fee's recipient."""
        protocol, guardian, recipient = self.read("feePolicy")
        return protocol, guardian, Address(str(recipient))

    def token(self) -> Address:
        return Address(str(self.read("token")[0]))

    def reveal_delay(self) -> int:
        return self._integer("revealDelay")

    def publication_delay(self) -> int:
        """Read the seconds from an announcement of a roster or delivery key until it takes effect."""
        return self._integer("publicationDelay")

    def limit(self, function: str) -> int:
        """Read one of the Hub's immutable limits, such as ``minEscrow``."""
        return self._integer(function)

    def _integer(self, function: str) -> int:
        number: int = self.read(function)[0]
        return number


@contextmanager
def _numbers_of_the_hub() -> Iterator[None]:
    """Treat an outcome, reason or kind that no Hub returns as an answer of another contract."""
    try:
        yield
    except ValueError as error:
        raise ChainUnavailable(f"the contract gave an answer that no Hub gives: {error}") from error
