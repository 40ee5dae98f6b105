"""The public API as a fake behind the real contract: each answer is of the published document, each query of the real
GraphQL schema.

A ``Ledger`` holds bounties; ``FakeApi`` answers from it as an HTTP pool of connections, without a socket. A test makes
it silent, slow or wrong on purpose.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from bounty_protocol.crypto.beacon_info import QUICKNET
from bounty_protocol.domain.bounty import Bounty as ChainBounty
from bounty_protocol.domain.bounty import Winner
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.hub_events import BountyCreated, BountyFinalized, Logged, Origin, VerdictRecorded
from bounty_protocol.domain.lifecycle import BountyStatus, Outcome, Schedule, SettlementReason, VerdictKind
from bounty_protocol.domain.money import AmountKind, Settlement, settlement
from bounty_protocol.domain.record import derive_record
from bounty_protocol.domain.roster import Roster, RosterMember
from bounty_protocol.domain.verdict import WrittenVerdict, render_verdict
from bounty_protocol.shapes import to_json
from bounty_protocol.timely import HttpAnswer
from bounty_protocol.types import (
    MAX_UINT256,
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    RosterVersion,
    TokenAmount,
    UnixSeconds,
    address_of,
    bytes32,
)
from bounty_protocol.wire.accounts import AccountRecord, GuardianConduct, PosterConduct, SolverConduct
from bounty_protocol.wire.bounties import (
    ActiveSubmission,
    Block,
    BountyDetail,
    BountyItem,
    BountyList,
    BountyQuery,
    Facts,
)
from bounty_protocol.wire.cursor import BountySort, Cursor, parse_cursor
from bounty_protocol.wire.delivery import DeliveryKey
from bounty_protocol.wire.deployment import (
    Announcements,
    ChainHead,
    CurrentFees,
    Deployment,
    DeploymentStatus,
    DeploymentTotals,
    HubLimits,
    IndexPosition,
    TokenDescription,
)
from bounty_protocol.wire.errors import ErrorBody
from bounty_protocol.wire.values import Finality, IndexState, Tag
from bounty_protocol.wire.withheld import Withheld, WithheldKind, WithheldList, WithheldQuery, WithheldText
from flask import Flask
from graphql import GraphQLSchema, build_schema, graphql_sync, print_schema
from service_api.graphql.schema import make_schema
from service_common.web.parsing import load_query
from service_web.views.money import award_of

from tests.api.contract import check_answer
from tests.titles import quoted

CHAIN = ChainId(31_337)
NOW = UnixSeconds(1_800_000_000)
BLOCK = BlockNumber(5_000)
FINALIZED = BlockNumber(4_990)
Json = dict[str, Any]
_REQUESTS = Flask(__name__)


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


def _figures(facts: Facts, verdict_count: int) -> Settlement:
    """What a bounty that ended gives."""
    assert facts.outcome is not None
    return settlement(
        facts.outcome,
        escrow_amount=facts.escrow_amount,
        protocol_fee=facts.protocol_fee,
        guardian_fee=facts.guardian_fee,
        roster_size=len(GUARDIANS),
        verdict_count=verdict_count,
    )


@dataclass(frozen=True)
class Verdict:
    """A recorded Verdict; ``written`` None: nobody published the reasons."""

    guardian: Address
    kind: VerdictKind
    solver: Address | None
    at: UnixSeconds
    written: bytes | None


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
    block: int = 4_000
    submitted: list[Address] = field(default_factory=list)
    lost: set[Address] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)
    outcome: Outcome | None = None
    reason: SettlementReason | None = None
    winner: Address | None = None
    claims: list[tuple[AmountKind, Address, int]] = field(default_factory=list)
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

    def award(self, solver: Address, *, at: int) -> None:
        """Two Guardians award a Submission."""
        for number in (0, 1):
            self.judge(number, VerdictKind.AWARDED, solver, f"Meets every criterion, says {number}.\n", at=at + number)
        self.outcome, self.reason, self.winner = Outcome.AWARDED, SettlementReason.JUDGED, solver


@dataclass
class Ledger:
    """Everything there is. ``head_time`` is the newest indexed block's, ``chain_time`` that of the chain's newest."""

    bounties: dict[BountyId, Bounty] = field(default_factory=dict)
    head_time: UnixSeconds = NOW
    chain_time: UnixSeconds | None = NOW
    has_errors: bool = False
    announced: Announcements = field(default_factory=lambda: Announcements(None, None, None))
    withheld: list[WithheldText] = field(default_factory=list)

    def withhold(self, kind: WithheldKind, subject: str, *, bounty_id: BountyId | None = None) -> None:
        """The operator's decision, of which every answer is from now on."""
        self.withheld.append(
            WithheldText(
                number=len(self.withheld) + 1,
                kind=kind,
                bounty_id=bounty_id,
                spec_commitment=Bytes32(subject) if kind is WithheldKind.BOUNTY else None,
                report_commitment=Bytes32(subject) if kind is WithheldKind.VERDICT else None,
                account_address=Address(subject) if kind is WithheldKind.ACCOUNT else None,
                reason="An order of a <court>",
                since=UnixSeconds(NOW - 60),
                until=UnixSeconds(NOW + 86_400),
            )
        )

    def withheld_list(self, query: WithheldQuery) -> WithheldList:
        """A page of what is withheld."""
        found = [each for each in self.withheld if each.number > query.after]
        items = tuple(found[: query.limit])
        following = items[-1].number if items else query.after
        return WithheldList(items, following, len(found) > query.limit, None)

    def notice(self, *named: str) -> Withheld | None:
        """Why a text is not shown, by its commitment and its account."""
        for each in self.withheld:
            if {each.spec_commitment, each.report_commitment, each.account_address} & set(named):
                return Withheld(each.reason, each.since, each.until)
        return None

    def add(self, **fields: Any) -> Bounty:
        """One more bounty."""
        number = BountyId(len(self.bounties) + 1)
        made = self.bounties[number] = Bounty(number, **fields)
        return made

    def deployment(self) -> Deployment:
        return Deployment(
            chain_id=CHAIN,
            hub_address=HUB,
            escrow_token=TokenDescription(account("token"), "USDC", 6),
            fee_policy=CurrentFees(100, 300, account("fees")),
            guardian_roster=roster(),
            limits=HubLimits(TokenAmount(1_000_000), 3_600, 2_592_000, 3_600, 7_776_000, 262_144, 1_073_741_824),
            reveal_delay_seconds=60,
            block_time_seconds=2.0,
            freshness_window_seconds=300,
            beacon=QUICKNET,
            public_host="api.example",
        )

    def status(self) -> DeploymentStatus:
        facts = [self.facts(each) for each in self.bounties.values()]
        count = {
            "open": sum(each.outcome is None for each in facts),
            "accepting": sum(each.accepting for each in facts),
            "judgeable": sum(each.judgeable for each in facts),
            "awarded": sum(each.outcome is Outcome.AWARDED for each in facts),
        }
        paid = {kind: TokenAmount(0) for kind in AmountKind}
        for bounty in self.bounties.values():
            for kind, _, amount in bounty.claims:
                paid[kind] = TokenAmount(paid[kind] + amount)
        state = IndexState.HALTED if self.has_errors else IndexState.FOLLOWING
        position = IndexPosition(
            BLOCK, hash_of("block"), self.head_time, FINALIZED, UnixSeconds(self.head_time - 20), BLOCK,
            max(0, NOW - self.head_time), 20, 2, 3,
        )  # fmt: skip
        totals = DeploymentTotals(
            len(facts), count["open"], count["accepting"], count["judgeable"], count["awarded"],
            len(facts) - count["open"] - count["awarded"],
            TokenAmount(sum(each.escrow_amount for each in facts) - sum(paid.values())),
            paid[AmountKind.WINNER_AWARD], paid[AmountKind.POSTER_REFUND], paid[AmountKind.GUARDIAN_FEE],
            paid[AmountKind.PROTOCOL_FEE],
        )  # fmt: skip
        head = None
        if self.chain_time is not None:
            age = max(0, NOW - self.chain_time)
            head = ChainHead(self.chain_time, age, age > STANDS_STILL_SECONDS)
        return DeploymentStatus(state, CHAIN, HUB, "1.2.3", position, totals, self.announced, chain_head=head)

    def facts(self, bounty: Bounty) -> Facts:
        status = BountyStatus.OPEN if bounty.outcome is None else BountyStatus.FINAL
        reveal = bounty.deadline + bounty.reveal_delay
        schedule = Schedule(UnixSeconds(bounty.deadline), UnixSeconds(reveal), UnixSeconds(reveal + bounty.window))
        won = None if bounty.winner is None else Winner(bounty.winner, bounty.work(bounty.winner))
        return Facts(
            status=status,
            accepting=schedule.accepting(status, self.head_time),
            judgeable=schedule.judgeable(status, self.head_time),
            poster_address=bounty.poster,
            escrow_amount=bounty.escrow,
            spec_commitment=bounty.commitment,
            submission_deadline=schedule.submission_deadline,
            reveal_at=schedule.reveal_at,
            judging_deadline=schedule.judging_deadline,
            guardian_roster_hash=roster().guardian_roster_hash,
            protocol_fee=TokenAmount(bounty.escrow // 100),
            guardian_fee=TokenAmount(bounty.escrow * 3 // 100),
            outcome=bounty.outcome,
            settlement_reason=bounty.reason,
            winner=won,
        )

    def detail(self, bounty: Bounty) -> BountyDetail:
        facts = self.facts(bounty)
        notice = self.notice(bounty.commitment, bounty.poster)
        code = "bounty_challenge_content_mismatch" if notice is None else "bounty_challenge_withheld"
        is_shown = bounty.is_published and notice is None
        return BountyDetail(
            bounty_id=bounty.id,
            chain_id=CHAIN,
            hub_address=HUB,
            facts=facts,
            guardian_roster=roster(),
            active_submissions=tuple(
                ActiveSubmission(each, bounty.work(each), UnixSeconds(bounty.created_at + 60), BLOCK, hash_of("block"))
                for each in bounty.submitted
            ),
            active_submission_count=len(bounty.submitted),
            challenge=bounty.page.decode() if is_shown else None,
            challenge_terms=None,
            finality=Finality.FINALIZED if bounty.block <= FINALIZED else Finality.UNSAFE,
            block=Block(BlockNumber(bounty.block), hash_of("block")),
            error=None if is_shown else ErrorBody(code, "The page is not shown.", (), "Ask the Poster."),
            withheld=notice,
            verification_record=None if facts.outcome is None else self.record(bounty, facts),
        )

    def record(self, bounty: Bounty, facts: Facts) -> Json:
        """The VerificationRecord, derived as everyone derives it."""
        assert facts.outcome is not None
        assert facts.settlement_reason is not None
        settled = Origin(BLOCK, hash_of("block"), 0, hash_of("settled"), UnixSeconds(NOW - 60))
        created = BountyCreated(
            bounty.poster, bounty.commitment, facts.guardian_roster_hash, RosterVersion(1), bounty.escrow,
            facts.submission_deadline, facts.reveal_at, facts.judging_deadline, facts.protocol_fee,
            facts.guardian_fee, account("fees"), bounty.id, hash_of("nonce"),
        )  # fmt: skip
        figures = _figures(facts, len(bounty.verdicts))
        ending = BountyFinalized(
            bounty.id, facts.outcome, facts.settlement_reason, bounty.winner or ZERO_ADDRESS,
            bounty.work(bounty.winner) if bounty.winner else ZERO_BYTES32, figures.award, figures.refund,
            figures.protocol_fee, figures.guardian_fee_each, figures.guardian_fee_count,
        )  # fmt: skip
        verdicts = [
            VerdictRecorded(
                bounty.id, each.guardian, each.kind, each.solver or ZERO_ADDRESS,
                bounty.work(each.solver) if each.solver else ZERO_BYTES32, report_commitment(each.written or b""),
            )
            for each in bounty.verdicts
        ]  # fmt: skip
        final = ChainBounty(Logged(created, settled), Logged(ending, settled))
        return derive_record(CHAIN, HUB, final, roster(), verdicts, hash_of("log")).to_json()

    def listed(self, query: Mapping[str, str]) -> BountyList:
        sort, limit = BountySort(query.get("sort", "newest")), int(query["limit"])
        shown = sorted(self._matching(query), key=lambda each: self._place(each, sort))
        if "cursor" in query:
            after = parse_cursor(query["cursor"]).bounty_id
            number = next(index for index, each in enumerate(shown) if each.id == after) + 1
        else:
            number = 0
        items = tuple(self._item(each) for each in shown[number : number + limit])
        following = None
        if len(shown) > number + limit:
            following = Cursor(sort, 0, items[-1].bounty_id).to_text()
        return BountyList(items, following, len(shown))

    def _matching(self, query: Mapping[str, str]) -> Iterable[Bounty]:
        for bounty in self.bounties.values():
            facts = self.facts(bounty)
            award, text = award_of(facts), bounty.page.decode().partition("escrow_amount")[0].lower()
            wanted = {
                "status": facts.status.value,
                "accepting": str(facts.accepting).lower(),
                "judgeable": str(facts.judgeable).lower(),
                "poster_address": bounty.poster,
            }
            holds = [
                *(query[name] == value for name, value in wanted.items() if name in query),
                query.get("guardian_address", GUARDIANS[0]) in GUARDIANS,
                "solver_address" not in query or query["solver_address"] in bounty.submitted,
                all(word in text for word in query.get("search", "").lower().split()),
                "tag" not in query or query["tag"].encode() in bounty.page,
                int(query.get("min_award", 0)) <= award <= int(query.get("max_award", MAX_UINT256)),
                int(query.get("deadline_after", -1)) < bounty.deadline < int(query.get("deadline_before", MAX_UINT256)),
            ]
            if all(holds):
                yield bounty

    def _place(self, bounty: Bounty, sort: BountySort) -> tuple[int, int]:
        if sort is BountySort.DEADLINE:
            return bounty.deadline, bounty.id
        if sort is BountySort.AWARD:
            return -award_of(self.facts(bounty)), -bounty.id
        return int(bounty.outcome is not None), -bounty.id

    def _item(self, bounty: Bounty) -> BountyItem:
        notice = self.notice(bounty.commitment, bounty.poster)
        is_shown = bounty.is_published and notice is None
        stated = parse_challenge(bounty.page) if is_shown and bounty.page.startswith(b"---") else None
        return BountyItem(
            bounty.id, self.facts(bounty), len(bounty.submitted),
            Finality.FINALIZED if bounty.block <= FINALIZED else Finality.UNSAFE,
            Block(BlockNumber(bounty.block), hash_of("block")),
            None if stated is None else stated.title, None if stated is None else stated.summary,
            () if stated is None else tuple(map(Tag, stated.tags)), notice,
        )  # fmt: skip

    def account_record(self, address: Address) -> AccountRecord:
        """What an account did."""
        posted = [each for each in self.bounties.values() if each.poster == address]
        submitted = [each for each in self.bounties.values() if address in each.submitted]
        ended = {each.id: self.facts(each) for each in (*posted, *submitted)}
        awarded = [each for each in posted if each.outcome is Outcome.AWARDED]
        won = [each for each in submitted if (winner := ended[each.id].winner) and winner.solver_address == address]
        total, gained = (TokenAmount(sum(award_of(self.facts(each)) for each in some)) for some in (awarded, won))
        is_open = [sum(each.outcome is None for each in some) for some in (posted, submitted)]
        poster = PosterConduct(
            len(posted), is_open[0], len(awarded), len(posted) - is_open[0] - len(awarded), 0, 0, total,
            3_600 if awarded else None,
        )  # fmt: skip
        solver = SolverConduct(len(submitted), is_open[1], len(won), gained)
        due = sum(each.outcome is not None for each in self.bounties.values()) if address in GUARDIANS else 0
        return AccountRecord(address, poster, solver, GuardianConduct(due, due, 0, 3 * due, 2 * due, None))

    def rows(self) -> Json:
        """The root of a query: what the GraphQL schema's fields read."""
        bounties = [self._bounty_row(each) for each in self.bounties.values()]
        members = [
            {"version": 1, "guardian_address": each.guardian_address, "id": f"1-{index}", **_origin(NOW - 90_000)}
            for index, each in enumerate(roster().members)
        ]
        versions = [
            {
                "id": "1", "version": 1, "guardian_roster_hash": roster().guardian_roster_hash, "quorum": 2,
                "members": lambda _info, **_: members, **_origin(NOW - 90_000),
            }
        ]  # fmt: skip
        plurals = {
            "bounties": bounties,
            "submissions": [row for each in self.bounties.values() for row in self._submission_rows(each)],
            "verdicts": [row for each in self.bounties.values() for row in self._verdict_rows(each)],
            "claims": [row for each in self.bounties.values() for row in self._claim_rows(each)],
            "verdict_replacements": [row for each in self.bounties.values() for row in self._replacement_rows(each)],
            "roster_members": members,
            "guardian_rosters": versions,
        }
        found: Json = {name: _listing(rows) for name, rows in plurals.items()}
        found["bounty"] = lambda _info, id: next((row for row in bounties if row["id"] == id), None)  # noqa: A006
        block = {"number": BLOCK, "hash": hash_of("block"), "timestamp": self.head_time}
        found["_meta"] = {
            "block": block, "finalized_block_number": FINALIZED, "hasIndexingErrors": self.has_errors,
        }  # fmt: skip
        return found

    def _bounty_row(self, bounty: Bounty) -> Json:
        shown = to_json(self.facts(bounty))
        return {
            **{name: value for name, value in shown.items() if name != "winner"},
            "id": str(bounty.id),
            "bounty_id": str(bounty.id),
            "roster_version": 1,
            "winner_solver_address": bounty.winner,
            "protocol_fee_recipient": account("fees"),
            **self._final_figures(bounty),
            "submissions": _listing(self._submission_rows(bounty)),
            "verdicts": _listing(self._verdict_rows(bounty)),
            "claims": _listing(self._claim_rows(bounty)),
            **_origin(bounty.created_at),
        }

    def _final_figures(self, bounty: Bounty) -> Json:
        facts = self.facts(bounty)
        if facts.outcome is None:
            return {"refund": None, "guardian_fee_each": None, "settled_at": None}
        found = _figures(facts, len(bounty.verdicts))
        share = str(found.guardian_fee_each) if bounty.verdicts else None
        is_judged = bounty.reason is SettlementReason.JUDGED
        settled_at = max(each.at for each in bounty.verdicts) if is_judged else NOW - 60
        return {"refund": str(found.refund), "guardian_fee_each": share, "settled_at": settled_at}

    def _submission_rows(self, bounty: Bounty) -> list[Json]:
        return [
            {
                "bounty_id": str(bounty.id), "solver_address": each, "submission_commitment": bounty.work(each),
                "lost_since": NOW - 30 if each in bounty.lost else 0, **_origin(bounty.created_at + 60),
            }
            for each in bounty.submitted
        ]  # fmt: skip

    def _verdict_rows(self, bounty: Bounty) -> list[Json]:
        return [
            {
                "bounty_id": str(bounty.id), "guardian_address": each.guardian, "kind": each.kind.value,
                "solver_address": each.solver,
                "submission_commitment": bounty.work(each.solver) if each.solver else None,
                "report_commitment": report_commitment(each.written or b""), **_origin(each.at),
            }
            for each in {each.guardian: each for each in bounty.verdicts}.values()
        ]  # fmt: skip

    def _replacement_rows(self, bounty: Bounty) -> list[Json]:
        latest: dict[Address, Verdict] = {}
        rows: list[Json] = []
        for each in bounty.verdicts:
            if (former := latest.get(each.guardian)) is not None:
                for row in rows:
                    if row["guardian_address"] == each.guardian and row["replaced_again_time"] is None:
                        row["replaced_again_time"] = each.at
                rows.append(
                    {
                        "bounty_id": str(bounty.id),
                        "guardian_address": each.guardian,
                        "kind": each.kind.value,
                        "solver_address": each.solver,
                        "replaced_kind": former.kind.value,
                        "replaced_solver_address": former.solver,
                        "replaced_again_time": None,
                        **_origin(each.at),
                    }
                )
            latest[each.guardian] = each
        return rows[::-1]

    def _claim_rows(self, bounty: Bounty) -> list[Json]:
        return [
            {
                "bounty_id": str(bounty.id), "kind": kind.value, "recipient": recipient, "amount": str(amount),
                **_origin(NOW - 60),
            }
            for kind, recipient, amount in bounty.claims
        ]  # fmt: skip


def _origin(at: int) -> Json:
    return {"block_number": BLOCK, "block_hash": hash_of("block"), "tx_hash": hash_of(f"tx {at}"), "time": at}


def _listing(rows: list[Json]) -> Callable[..., list[Json]]:
    """A list field: equality and ``_in`` as filters, and its length."""

    def resolve(_info: object, where: Json | None = None, first: int = 100, **order: object) -> list[Json]:
        found = rows
        for name, value in (where or {}).items():
            if name.endswith("_gt"):
                found = [row for row in found if row[name.removesuffix("_gt")] > value]
            elif name.endswith("_in"):
                found = [row for row in found if row[name.removesuffix("_in")] in value]
            else:
                found = [row for row in found if row[name] == value]
        return (list(reversed(found)) if order.get("orderBy") else found)[:first]

    return resolve


@cache
def _schema() -> GraphQLSchema:
    """The real schema, with resolvers that read what ``Ledger.rows`` holds."""
    return build_schema(print_schema(make_schema()))


@dataclass
class FakeApi:
    """A pool of connections to the fake. ``alter`` may change an answer, or raise what a silent peer does."""

    ledger: Ledger
    asked: list[str] = field(default_factory=list)
    readers: list[str | None] = field(default_factory=list)
    """On whose behalf each question came."""
    alter: Callable[[str, int, bytes], tuple[int, bytes]] = lambda _path, status, body: (status, body)
    etags: Callable[[bytes], str] = lambda body: f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    def exchange(self, method: str, url: str, **options: Any) -> HttpAnswer:
        """What ``TimelyHttp.exchange`` does."""
        parts = urlsplit(url)
        self.asked.append(parts.path)
        self.readers.append(options["headers"].get("X-Forwarded-For"))
        media_type, (status, body) = "application/json", self._answer(method, parts.path, parts.query, options)
        if parts.path.startswith("/api/written-verdicts/") and status == 200:
            media_type = "text/markdown"
        check_answer(method, parts.path, status, media_type, body)
        status, body = self.alter(parts.path, status, body)
        etag = self.etags(body)
        if status == 200 and method == "GET" and options["headers"].get("If-None-Match") == etag:
            status, body = 304, b""
        headers = {"Content-Type": media_type, "Content-Length": str(len(body))}
        headers |= {"ETag": etag} if method == "GET" else {}
        return HttpAnswer(status, headers, body)

    def clear(self) -> None:
        """It has no connections to close."""

    def _answer(self, method: str, path: str, query: str, options: Mapping[str, Any]) -> tuple[int, bytes]:
        if (method, path) == ("POST", "/subgraph"):
            return self._query(json.loads(options["body"])["query"])
        documents: dict[str, Callable[[], object]] = {
            "/api/deployment": self.ledger.deployment,
            "/api/status": self.ledger.status,
            "/api/deployment/delivery-key": lambda: DeliveryKey(
                hash_of("delivery"), "0x0123456789abcdef", "x25519-sealed-box"
            ),
        }
        if path in documents:
            return _json(documents[path]())
        if path in {"/api/bounties", "/api/withheld"}:
            return _json(self._list(path, query))
        if path.startswith("/api/accounts/"):
            return _json(self.ledger.account_record(Address(path.rpartition("/")[2])))
        if path.startswith("/api/bounties/"):
            found = self.ledger.bounties.get(BountyId(int(path.rpartition("/")[2])))
            return _error(404, "bounty_not_found") if found is None else _json(self.ledger.detail(found))
        if path.startswith("/api/written-verdicts/"):
            written = {report_commitment(each): each for each in self._written()}
            wanted = cast("Bytes32", path.rpartition("/")[2])
            return self._verdict(wanted, written.get(wanted))
        raise AssertionError(path)

    def _list(self, path: str, query: str) -> object:
        """A list; what the API refuses fails the test."""
        with _REQUESTS.test_request_context(path, query_string=query):
            if path == "/api/withheld":
                return self.ledger.withheld_list(load_query(WithheldQuery))
            load_query(BountyQuery)
        return self.ledger.listed(dict(parse_qsl(query)))

    def _verdict(self, commitment: Bytes32, found: bytes | None) -> tuple[int, bytes]:
        if self.ledger.notice(commitment) is not None:
            return _error(451, "written_verdict_withheld")
        return _error(404, "written_verdict_not_found") if found is None else (200, found)

    def _written(self) -> Iterable[bytes]:
        for bounty in self.ledger.bounties.values():
            yield from (each.written for each in bounty.verdicts if each.written is not None)

    def _query(self, text: str) -> tuple[int, bytes]:
        found = graphql_sync(_schema(), text, root_value=self.ledger.rows())
        assert not found.errors, found.errors
        return 200, json.dumps({"data": found.data}).encode()


def _json(value: object) -> tuple[int, bytes]:
    return 200, json.dumps(to_json(value), sort_keys=True).encode()


def _error(status: int, code: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"code": code, "message": ".", "issues": [], "next_action": "."}}).encode()
