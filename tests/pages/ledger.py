"""What the index and the api's own tables hold, as a test has it: bounties in any state, written as rows.

A ``Ledger`` holds bounties; ``write`` puts them in the place of what a database had.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from bounty_protocol.chain.hub_constants import EscrowToken, HubConstants
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money.amounts import AmountKind, Settlement, settlement
from bounty_protocol.domain.verdict import WrittenVerdict, render_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import (
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    TokenAmount,
    UnixSeconds,
    address_of,
    bytes32,
)
from bounty_protocol.wire.withheld import WithheldKind
from service_api.publishing.stored_pages import shown_of
from service_common.db import app as a
from service_common.db import hub_index as h
from sqlalchemy import Connection, Table, delete, text
from sqlalchemy.dialects.postgresql import insert

from tests.titles import quoted

CHAIN = ChainId(31_337)
NOW = UnixSeconds(1_800_000_000)
BLOCK = BlockNumber(5_000)
FINALIZED = BlockNumber(4_990)


def account(name: str) -> Address:
    """An account by a name."""
    return address_of(hashlib.sha256(name.encode()).digest()[:20])


def hash_of(name: str) -> Bytes32:
    """A hash by a name."""
    return bytes32(hashlib.sha256(name.encode()).digest())


HUB = account("hub")
POSTER = account("poster")
SOLVERS = tuple(account(f"solver-{number}") for number in range(1, 4))
GUARDIANS = tuple(sorted(account(f"guardian-{number}") for number in range(1, 4)))
ESCROW = TokenAmount(25_000_000)
PAGE = """---
version: 1
title: {title}
summary: {summary}
escrow_amount: 25000000
submission_deadline: {deadline}
judging_window_seconds: 7200
acceptance_criteria:
  - "`parse` returns the same"
deliverables:
  - "one file"
language: en
---

{body}
"""


def page_of(
    body: str = "# Task\n\nDo it.",
    title: str = "A fast parser",
    summary: str = "Make it fast.",
    deadline: int = NOW + 3_600,
    tags: str = "",
) -> bytes:
    """A challenge page."""
    lines = f"tags: [{tags}]\n---" if tags else "---"
    made = PAGE.format(title=quoted(title), summary=quoted(summary), body=body, deadline=deadline)
    return lines.join(made.rsplit("---", 1)).encode()


def roster(version: int = 1, last: int = NOW - 600) -> Roster:
    """The Guardians."""
    members = tuple(
        RosterMember(each, hash_of(f"key {each}"), UnixSeconds(last) if index else None)
        for index, each in enumerate(GUARDIANS)
    )
    made = Roster(version, hash_of("none"), 2, members)
    return replace(made, guardian_roster_hash=made.compute_hash(CHAIN, HUB))


@dataclass(frozen=True)
class Verdict:
    """A recorded Verdict; ``written`` None: nobody published the reasons."""

    guardian: Address
    kind: VerdictKind
    solver: Address | None
    at: UnixSeconds
    written: bytes | None
    kept: bytes | None = None
    """What the service holds in its place, where that is something else."""


@dataclass
class Bounty:
    """One bounty of the ledger."""

    id: BountyId
    page: bytes = field(default_factory=page_of)
    poster: Address = POSTER
    escrow: TokenAmount = ESCROW
    deadline: int = NOW + 3_600
    reveal_delay: int = 60
    window: int = 7_200
    created_at: int = NOW - 7_200
    block: int | None = None
    """Of its creation; None for one that is final, by its number."""
    submitted: list[Address] = field(default_factory=list)
    lost: set[Address] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)
    outcome: Outcome | None = None
    reason: SettlementReason | None = None
    winner: Address | None = None
    claims: list[tuple[AmountKind, Address, int]] = field(default_factory=list)
    kept: bytes | None = None
    """What the service holds as its page, where that is something else."""
    is_published: bool = True

    @property
    def commitment(self) -> Bytes32:
        return spec_commitment(self.page)

    def work(self, solver: Address) -> Bytes32:
        """What a Solver submitted."""
        return hash_of(f"work {self.id} {solver}")

    def judge(self, number: int, kind: VerdictKind, solver: Address | None, reasons: str, *, at: int) -> None:
        """A Guardian records a Verdict with published reasons."""
        guardian = GUARDIANS[number]
        named = None if solver is None else self.work(solver)
        written = render_verdict(WrittenVerdict(kind, CHAIN, HUB, self.id, guardian, solver, named, reasons))
        self.verdicts.append(Verdict(guardian, kind, solver, UnixSeconds(at), written))

    @property
    def settled_at(self) -> int:
        """When it ended."""
        is_judged = self.reason is SettlementReason.JUDGED
        return max(each.at for each in self.verdicts) if is_judged else NOW - 60

    @property
    def figures(self) -> Settlement:
        """What a bounty that ended gives."""
        assert self.outcome is not None
        return settlement(
            self.outcome,
            escrow_amount=self.escrow,
            protocol_fee=TokenAmount(self.escrow // 100),
            guardian_fee=TokenAmount(self.escrow * 3 // 100),
            roster_size=len(GUARDIANS),
            verdict_count=len({each.guardian for each in self.verdicts}),
        )

    def award(self, solver: Address, *, at: int) -> None:
        """Two Guardians award a Submission."""
        for number in (0, 1):
            self.judge(number, VerdictKind.AWARDED, solver, f"Meets every criterion, says {number}.\n", at=at + number)
        self.outcome, self.reason, self.winner = Outcome.AWARDED, SettlementReason.JUDGED, solver


@dataclass
class Ledger:
    """Everything there is. ``head_time`` is the newest indexed block's; ``is_behind``: the chain has newer ones."""

    bounties: dict[BountyId, Bounty] = field(default_factory=dict)
    head_time: UnixSeconds = NOW
    is_behind: bool = False
    halted: str | None = None
    withheld: list[dict[str, Any]] = field(default_factory=list)
    more: list[tuple[Table, dict[str, Any]]] = field(default_factory=list)
    """Further rows."""

    def add(self, **fields: Any) -> Bounty:
        """One more bounty."""
        number = BountyId(len(self.bounties) + 1)
        made = self.bounties[number] = Bounty(number, **fields)
        return made

    def withhold(self, kind: WithheldKind, subject: str, *, bounty_id: BountyId | None = None) -> None:
        """The operator's decision."""
        row = {"kind": kind.value, "subject": subject, "bounty_id": bounty_id, "reason": "An order of a <court>"}
        since, until = (datetime.fromtimestamp(NOW + seconds, UTC) for seconds in (-60, 86_400))
        self.withheld.append({**row, "since": since, "until": until, "since_block": BLOCK})

    def write(self, connection: Connection) -> None:
        """Put everything in the place of what was there."""
        connection.execute(text(f"TRUNCATE {a.SCHEMA}.{a.withholdings.name} RESTART IDENTITY"))
        for table in (*h.FACTS, h.head, a.challenge_pages, a.written_verdicts, a.defects, a.verification_records):
            connection.execute(delete(table))
        for table, row in (*self._rows(), *self.more):
            connection.execute(insert(table).values(row).on_conflict_do_nothing())

    def _rows(self) -> Iterator[tuple[Table, dict[str, Any]]]:
        yield h.head, {
            "chain_id": CHAIN, "hub_address": HUB, "block_number": BLOCK, "block_hash": hash_of("block"),
            "block_time": self.head_time, "finalized_number": FINALIZED, "finalized_hash": hash_of("finalized"),
            "finalized_time": self.head_time - 20, "tip_number": BLOCK + self.is_behind, "halted": self.halted,
            "reorg_count": 2, "deepest_reorg": 3,
        }  # fmt: skip
        places = count(1)
        published = roster()
        yield h.rosters, {
            "version": 1, "guardian_roster_hash": published.guardian_roster_hash, "quorum": 2,
            "effective_from": NOW - 90_000, **origin(10, next(places), NOW - 90_000),
        }  # fmt: skip
        for position, each in enumerate(published.members):
            yield h.roster_members, {
                "version": 1, "position": position, "guardian": each.guardian_address,
                "encryption_public_key": each.encryption_public_key, **origin(10, next(places), NOW - 90_000),
            }  # fmt: skip
            if each.last_active_at is not None:
                yield h.heartbeats, {
                    "guardian": each.guardian_address, **origin(20, next(places), each.last_active_at),
                }  # fmt: skip
        fees = {"protocol_fee_bps": 100, "guardian_fee_bps": 300, "recipient": account("fees")}
        yield h.fee_policies, {**fees, **origin(11, next(places), NOW - 90_000)}
        key = {"key": hash_of("delivery"), "effective_from": NOW - 90_000}
        yield h.delivery_keys, {**key, **origin(12, next(places), NOW - 90_000)}
        for bounty in self.bounties.values():
            yield from _rows_of(bounty, places)
        yield h.totals, {**self._totals(), **origin(BLOCK, next(places), NOW)}
        for commitment, content in {each.commitment: each.kept or each.page for each in self._published()}.items():
            kept_page = {"spec_commitment": commitment, "content": content, "submission_deadline": NOW}
            yield a.challenge_pages, kept_page
        for commitment, page in {each.commitment: each.page for each in self._published()}.items():
            try:
                shown = shown_of(parse_challenge(page))
            except ServiceError:
                continue
            yield a.challenge_summaries, {"spec_commitment": commitment, **shown}
        for row in self.withheld:
            yield a.withholdings, row

    def _published(self) -> Iterator[Bounty]:
        return (each for each in self.bounties.values() if each.is_published)

    def _totals(self) -> dict[str, int]:
        paid = dict.fromkeys(AmountKind, 0)
        for bounty in self.bounties.values():
            for kind, _, amount in bounty.claims:
                paid[kind] += amount
        outcomes = [each.outcome for each in self.bounties.values()]
        awarded = outcomes.count(Outcome.AWARDED)
        return {
            "bounties": len(outcomes), "awarded": awarded, "unawarded": outcomes.count(Outcome.NO_VALID_SUBMISSION),
            "escrowed": sum(each.escrow for each in self.bounties.values()),
            "awards_paid": paid[AmountKind.WINNER_AWARD], "refunds_paid": paid[AmountKind.POSTER_REFUND],
            "guardian_fees_paid": paid[AmountKind.GUARDIAN_FEE], "protocol_fees_paid": paid[AmountKind.PROTOCOL_FEE],
        }  # fmt: skip


def _rows_of(bounty: Bounty, places: Iterator[int]) -> Iterator[tuple[Table, dict[str, Any]]]:
    """One bounty and what happened in it."""
    reveal = bounty.deadline + bounty.reveal_delay
    block = 1_000 + bounty.id if bounty.block is None else bounty.block
    yield h.bounties, {
        "poster": bounty.poster, "spec_commitment": bounty.commitment,
        "guardian_roster_hash": roster().guardian_roster_hash, "roster_version": 1, "escrow_amount": bounty.escrow,
        "submission_deadline": bounty.deadline, "reveal_at": reveal, "judging_deadline": reveal + bounty.window,
        "protocol_fee": bounty.escrow // 100, "guardian_fee": bounty.escrow * 3 // 100,
        "protocol_fee_recipient": account("fees"), "bounty_id": bounty.id,
        "authorization_nonce": hash_of(f"nonce {bounty.id}"), **origin(block, next(places), bounty.created_at),
    }  # fmt: skip
    for solver in bounty.submitted:
        row = {"bounty_id": bounty.id, "solver": solver, "submission_commitment": bounty.work(solver)}
        kept = origin(4_100, next(places), bounty.created_at + 60)
        yield h.submissions, {**row, **kept}
        if solver in bounty.lost:
            yield a.defects, {**row, "found_at": datetime.fromtimestamp(NOW - 30, UTC)}
    for each in bounty.verdicts:
        yield h.verdicts, {
            "bounty_id": bounty.id, "guardian": each.guardian, "kind": each.kind.number,
            "solver": each.solver or ZERO_ADDRESS,
            "submission_commitment": bounty.work(each.solver) if each.solver else ZERO_BYTES32,
            "report_commitment": report_commitment(each.written or b""), **origin(4_200, next(places), each.at),
        }  # fmt: skip
        if each.written is not None:
            yield a.written_verdicts, {
                "report_commitment": report_commitment(each.written), "content": each.kept or each.written,
                "bounty_id": bounty.id, "guardian": each.guardian,
            }  # fmt: skip
    if bounty.outcome is not None and bounty.reason is not None:
        figures = bounty.figures
        yield h.finalizations, {
            "bounty_id": bounty.id, "outcome": bounty.outcome.number, "reason": bounty.reason.number,
            "winner": bounty.winner or ZERO_ADDRESS,
            "submission_commitment": bounty.work(bounty.winner) if bounty.winner else ZERO_BYTES32,
            "award": figures.award, "refund": figures.refund, "protocol_fee": figures.protocol_fee,
            "guardian_fee_each": figures.guardian_fee_each, "guardian_fee_count": figures.guardian_fee_count,
            **origin(4_300, next(places), bounty.settled_at),
        }  # fmt: skip
    for kind, recipient, amount in bounty.claims:
        row = {"bounty_id": bounty.id, "kind": kind.value, "recipient": recipient, "amount": amount}
        yield h.claims, {**row, **origin(4_400, next(places), NOW - 60)}


def origin(block: int, place: int, at: int) -> dict[str, Any]:
    """Where in the chain a row is from."""
    return {
        "block_number": block, "block_hash": hash_of("block"), "log_index": place, "tx_hash": hash_of(f"tx {at}"),
        "time": at,
    }  # fmt: skip


def hub_constants() -> HubConstants:
    """The Hub's immutables."""
    token = EscrowToken(account("token"), "USDC", 6, "USD Coin", "2")
    return HubConstants(token, 60, TokenAmount(1_000_000), 3_600, 2_592_000, 3_600, 7_776_000, 86_400)
