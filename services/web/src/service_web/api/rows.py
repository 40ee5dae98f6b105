"""Rows of the indexed Hub log, as the pages ask for them at ``/subgraph``.

A query is made of the annotations of these shapes: what a page needs is a field here and nowhere else.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bounty_protocol.domain.lifecycle import BountyStatus, Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.shapes import Kind, ListOf, Nested, parts
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds
from bounty_protocol.wire.reading import read

from service_web.api.client import Question

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A Solver's active Submission."""

    bounty_id: BountyId
    solver_address: Address
    submission_commitment: Bytes32
    block_number: BlockNumber
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class LostRow:
    """An active Submission whose sealed bytes the storage has no longer."""

    bounty_id: BountyId
    solver_address: Address
    submission_commitment: Bytes32
    lost_since: UnixSeconds


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A Guardian's latest Verdict."""

    bounty_id: BountyId
    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    block_number: BlockNumber
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ReplacementRow:
    """A Verdict in the place of an earlier one of the same Guardian."""

    bounty_id: BountyId
    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    replaced_kind: VerdictKind
    replaced_solver_address: Address | None
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """An amount that was pulled."""

    bounty_id: BountyId
    kind: AmountKind
    recipient: Address
    amount: TokenAmount
    block_number: BlockNumber
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class BountyRow:
    """A bounty, and how it ended where it has."""

    bounty_id: BountyId
    status: BountyStatus
    poster_address: Address
    spec_commitment: Bytes32
    roster_version: int
    escrow_amount: TokenAmount
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    outcome: Outcome | None
    settlement_reason: SettlementReason | None
    winner_solver_address: Address | None
    protocol_fee_recipient: Address
    refund: TokenAmount | None
    """The Poster's amount; like the next one by the Hub's own figures, and None while the bounty is open."""
    guardian_fee_each: TokenAmount | None
    """The reward of each Guardian with a recorded Verdict."""
    settled_at: UnixSeconds | None
    """The time of the transaction that ended it."""
    block_number: BlockNumber
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class BountyActivity:
    """Events on chain beside a bounty's own facts."""

    time: UnixSeconds
    settled_at: UnixSeconds | None
    tx_hash: Bytes32
    block_number: BlockNumber
    submissions: tuple[SubmissionRow, ...]
    verdicts: tuple[VerdictRow, ...]
    claims: tuple[ClaimRow, ...]


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One Guardian of a roster version."""

    version: int
    guardian_address: Address
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class RosterRow:
    """A published roster version."""

    version: int
    guardian_roster_hash: Bytes32
    quorum: int
    time: UnixSeconds
    tx_hash: Bytes32
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class IndexedBlock:
    """The newest block of the index."""

    number: BlockNumber
    hash: Bytes32
    timestamp: UnixSeconds


@dataclass(frozen=True, slots=True)
class IndexHead:
    """How far the index is."""

    block: IndexedBlock
    finalized_block_number: BlockNumber
    hasIndexingErrors: bool  # noqa: N815  # The Graph's own name


HEAD = "_meta"


def selection(shape: type) -> str:
    """The fields of a shape, as a query names them; of a list what has a block, the newest of them."""
    return " ".join(_field(part.name, part.kind) for part in parts(shape))


def _field(name: str, kind: Kind) -> str:
    match kind:
        case Nested(shape):
            return f"{name} {{ {selection(shape)} }}"
        case ListOf(Nested(shape)):
            is_dated = any(part.name == "block_number" for part in parts(shape))
            order = ", orderBy: block_number, orderDirection: desc" if is_dated else ""
            return f"{name}(first: 1000{order}) {{ {selection(shape)} }}"
    return name


def question(**fields: tuple[str, type]) -> Question:
    """A query of these fields, each with its arguments and the shape of its rows.

    For example ``bounties=("(first: 5)", BountyRow)``. Arguments are written by us, from parsed values only.
    """
    shown = " ".join(f"{name}{arguments} {{ {selection(shape)} }}" for name, (arguments, shape) in fields.items())
    return Question("/subgraph", json.dumps({"query": f"{{ {shown} }}"}).encode())


def text(value: str) -> str:
    """A value inside a query: hex or decimal digits, nothing that a query could read otherwise."""
    if re.fullmatch(r"[0-9a-fx]+", value) is None:
        raise ValueError("not a value of a query")
    return f'"{value}"'


def read_rows(data: Mapping[str, Any], name: str, shape: type[T]) -> tuple[T, ...]:
    """The rows of a list field."""
    found = data.get(name)
    if not isinstance(found, list):
        raise ValueError(f"{name} is not a list")
    return tuple(read(shape, row) for row in found)
