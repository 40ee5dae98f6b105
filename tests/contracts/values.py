"""The words of the model: what a deployment, a roster, a fee policy and a bounty are, and the money table."""

from dataclasses import dataclass, field
from typing import NamedTuple

from eth_utils import crypto

ZERO = "0x" + "00" * 20
NO_WORK = "0x" + "00" * 32
OPEN, AWARDED, NO_VALID_SUBMISSION = 0, 1, 2
JUDGED, NO_SUBMISSIONS, GUARDIANS_SILENT, QUORUM_NOT_REACHED = 1, 2, 3, 4
LOW_ORDER = {
    bytes(32),
    b"\x01" + bytes(31),
    b"\xec" + b"\xff" * 30 + b"\x7f",
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
}
TERMS_TYPE = (
    "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,"
    "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,"
    "uint256 maxGuardianFee,bytes32 salt)"
)
TERMS_TYPES = ["bytes32", "bytes32", "uint256", "uint256", "uint256", "uint256", "uint256", "bytes32"]
ROSTER_TYPES = ["uint256", "address", "uint256", "address[]", "bytes32[]", "uint256"]


class Refused(Exception):
    """The Hub must answer with this error."""

    def __init__(self, name: str, *values: object) -> None:
        super().__init__(name, values)
        self.name, self.values = name, values


class Config(NamedTuple):
    """The constructor's argument, in its order."""

    token: str
    owner: str
    reveal_delay: int
    min_submission_window: int
    max_submission_window: int
    min_judging_window: int
    max_judging_window: int
    min_escrow: int
    publication_delay: int
    protocol_fee_bps: int
    guardian_fee_bps: int
    protocol_fee_recipient: str


class Terms(NamedTuple):
    """Everything a Poster agrees to, in the order of the struct."""

    spec_commitment: bytes
    expected_roster_hash: bytes
    escrow_amount: int
    submission_deadline: int
    judging_window: int
    max_protocol_fee: int
    max_guardian_fee: int
    salt: bytes


@dataclass(frozen=True)
class Roster:
    version: int
    accounts: tuple[str, ...]
    keys: tuple[bytes, ...]
    quorum: int
    hash: str


@dataclass(frozen=True)
class FeePolicy:
    protocol_bps: int
    guardian_bps: int
    recipient: str


@dataclass(frozen=True)
class Verdict:
    kind: int
    solver: str
    work: str


@dataclass
class Bounty:
    poster: str
    terms: Terms
    roster: Roster
    policy: FeePolicy
    reveal_at: int
    judging_deadline: int
    submissions: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    outcome: int = OPEN
    reason: int = 0
    winner: str = ZERO
    paid: set[str] = field(default_factory=set)

    @property
    def protocol_fee(self) -> int:
        return self.terms.escrow_amount * self.policy.protocol_bps // 10_000

    @property
    def guardian_fee(self) -> int:
        return self.terms.escrow_amount * self.policy.guardian_bps // 10_000

    @property
    def share(self) -> int:
        return self.guardian_fee // len(self.roster.accounts)

    @property
    def winning_work(self) -> str:
        return self.submissions.get(self.winner, NO_WORK)

    def money(self) -> dict[str, tuple[str, int]]:
        """The money table of a final bounty: role -> (party, amount)."""
        escrow = self.terms.escrow_amount
        fees = {f"fee of {guardian}": (guardian, self.share) for guardian in self.verdicts}
        if self.outcome == AWARDED:
            award = escrow - self.protocol_fee - self.guardian_fee
            parties = {"award": (self.winner, award), "protocol fee": (self.policy.recipient, self.protocol_fee)}
        else:
            parties = {"award": (ZERO, 0), "protocol fee": (self.policy.recipient, 0)}
        rest = escrow - sum(amount for _, amount in [*fees.values(), *parties.values()])
        return {**fees, **parties, "refund": (self.poster, rest)}


def check_key(key: bytes) -> None:
    number = int.from_bytes(key, "little")
    if number >= 2**255 - 19:
        raise Refused("EncryptionKeyNotCanonical", text(key))
    if key in LOW_ORDER:
        raise Refused("EncryptionKeyLowOrder", text(key))


def keccak(data: bytes) -> str:
    return text(crypto.keccak(data))


def text(word: bytes) -> str:
    return "0x" + word.hex()
