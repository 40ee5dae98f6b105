"""The Hub's storage, worked out of the copy's own facts: each word with its place.

The layout is the Hub's (``contracts/src/parts``; ``contracts/proofs/support/HubStorage.sol`` has it, too). Rows come
from the database one after the other, in the order of their bounties, so that an index of any size needs the same
memory.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Any, Final

from bounty_protocol.domain.hub_events import OwnershipTransferred, OwnershipTransferStarted
from bounty_protocol.domain.lifecycle import SettlementReason, VerdictKind
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, RosterVersion
from service_common.db import hub_index as t
from service_common.db.hub_reads import of_no_bounty
from sqlalchemy import Connection, Row, Select, Table, func, null, or_, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on

from service_indexer.projection import event_of_row

Word = tuple[bytes, int]
"""A slot of 32 bytes and what is in it."""

_OWNER, _COUNTERS, _PENDING_OWNER, _DELIVERY_KEYS = 0, 1, 2, 3
_ROSTERS, _SEATS, _FEE_POLICIES, _ACTIVITIES, _BOUNTIES, _SUBMISSIONS, _CANDIDATES = 6, 7, 8, 9, 10, 11, 12
_NO_VALID_SUBMISSION, _FIRST_CANDIDATE, _SEAT_BITS = 1, 2, 5
_PAID: Final = {"winner_award": 1 << 15, "poster_refund": 1 << 16, "protocol_fee": 1 << 17}
_ROWS_AT_ONCE: Final = 2_000


def stored_words(connection: Connection, until: BlockNumber) -> Iterator[Word]:
    """Every word that the Hub stores after block ``until``, in no order; a word that is zero is not stored."""
    rosters = _Rosters(connection, until)
    policies = _Policies(connection, until)
    words = [
        _owners(connection, until),
        _counters(connection, until, rosters, policies),
        _delivery_keys(connection, until),
        rosters.words(),
        policies.words(),
        _activities(connection, until, rosters),
        _bounties(connection, until, rosters, policies),
        _submissions(connection, until),
    ]
    return ((slot, value) for part in words for slot, value in part if value)


class _Rosters:
    """Every published roster."""

    def __init__(self, connection: Connection, until: BlockNumber) -> None:
        m = t.roster_members.c
        self.published = _rows(connection, select(t.rosters).order_by(t.rosters.c.version), t.rosters, until)
        members = _rows(connection, select(t.roster_members).order_by(m.version, m.position), t.roster_members, until)
        self.members = {version: list(each) for version, each in groupby(members, attrgetter("version"))}
        self.seats = {
            version: {Address(row.guardian): row.position for row in rows} for version, rows in self.members.items()
        }

    def size(self, version: RosterVersion) -> int:
        return len(self.members.get(version, ()))

    def newest_seats(self) -> dict[Address, int]:
        """The newest version with an account, its number from 1 and the quorum, as the account's activity has them."""
        quorums = {row.version: row.quorum for row in self.published}
        return {
            guardian: version | position + 1 << 16 | quorums[version] << 24
            for version, seats in sorted(self.seats.items())
            for guardian, position in seats.items()
        }

    def words(self) -> Iterator[Word]:
        for row, following in zip_longest(self.published, self.published[1:]):
            base, members = _mapped(row.version, _ROSTERS), self.members.get(row.version, [])
            since = _effective_from(row)
            if following is not None and following.time < since:  # replaced before its time
                since = 0
            yield base, _number(row.guardian_roster_hash)
            yield _after(base, 1), row.quorum | since << 8
            yield from _array(_after(base, 2), [_number(each.guardian) for each in members])
            yield from _array(_after(base, 3), [_number(each.encryption_public_key) for each in members])
            seats = _mapped(row.version, _SEATS)
            for each in members:
                yield _mapped(each.guardian, seats), each.position + 1 | row.quorum << 8


def _effective_from(roster: Row[Any]) -> int:
    return int(roster.time if roster.effective_from is None else roster.effective_from)


class _Policies:
    """Every fee policy, numbered from 1."""

    def __init__(self, connection: Connection, until: BlockNumber) -> None:
        c = t.fee_policies.c
        ordered = select(t.fee_policies).order_by(c.block_number, c.log_index)
        self._rows = _rows(connection, ordered, t.fee_policies, until)
        self._places = [(row.block_number, row.log_index) for row in self._rows]

    @property
    def newest(self) -> int:
        return len(self._rows)

    def at(self, row: Row[Any]) -> tuple[int, Row[Any] | None]:
        """The number and the policy that were in force where a row was logged."""
        number = bisect_left(self._places, (row.block_number, row.log_index))
        return number, self._rows[number - 1] if number else None

    def words(self) -> Iterator[Word]:
        for number, row in enumerate(self._rows, 1):
            fees = row.protocol_fee_bps << 160 | row.guardian_fee_bps << 176
            yield _mapped(number, _FEE_POLICIES), _number(row.recipient) | fees


def _owners(connection: Connection, until: BlockNumber) -> Iterator[Word]:
    owner = pending = 0
    c = t.logs.c
    of_ownership = select(t.logs).where(or_(of_no_bounty(OwnershipTransferStarted), of_no_bounty(OwnershipTransferred)))
    for row in _streamed(connection, of_ownership.order_by(c.block_number, c.log_index), t.logs, until):
        event = event_of_row(row)
        if isinstance(event, OwnershipTransferred):
            owner, pending = _number(event.new_owner), 0
        elif isinstance(event, OwnershipTransferStarted):
            pending = _number(event.new_owner)
    yield _plain(_OWNER), owner
    yield _plain(_PENDING_OWNER), pending


def _counters(connection: Connection, until: BlockNumber, rosters: _Rosters, policies: _Policies) -> Iterator[Word]:
    former = newest = effective = 0
    for row in rosters.published:
        if row.time >= effective:
            former = newest
        newest, effective = row.version, _effective_from(row)
    b = t.bounties.c
    count = connection.execute(select(func.count()).where(b.block_number <= until)).scalar_one()
    sizes = rosters.size(RosterVersion(former)) << 16 | rosters.size(RosterVersion(newest)) << 40
    yield _plain(_COUNTERS), former | newest << 24 | sizes | effective << 48 | policies.newest << 88 | count << 104


def _delivery_keys(connection: Connection, until: BlockNumber) -> Iterator[Word]:
    keys, gone = t.delivery_keys.c, t.delivery_key_withdrawals.c
    effective = func.coalesce(keys.effective_from, keys.time).label("effective_from")
    published = select(keys.key, keys.time, keys.block_number, keys.log_index, effective)
    withdrawn = select(gone.key, gone.time, gone.block_number, gone.log_index, null().label("effective_from"))
    both = union_all(published, withdrawn).subquery()
    c = both.c
    former = newest = since = 0
    rows = connection.execute(select(both).where(c.block_number <= until).order_by(c.block_number, c.log_index))
    for row in rows:
        key, current = _number(row.key), newest if row.time >= since else former
        if row.effective_from is not None:
            former, newest, since = current, key, row.effective_from
            continue
        announced = newest if row.time < since else 0
        former = 0 if key == current else current
        if announced in {0, key}:
            newest, since = former, row.time
    yield _plain(_DELIVERY_KEYS), former
    yield _plain(_DELIVERY_KEYS + 1), newest
    yield _plain(_DELIVERY_KEYS + 2), since


def _activities(connection: Connection, until: BlockNumber, rosters: _Rosters) -> Iterator[Word]:
    """Of whoever was ever on a roster: the last sign of life, and the seat on the newest roster with the account."""
    signs = union_all(
        *(
            select(c.guardian, func.max(c.time).label("time")).where(c.block_number <= until).group_by(c.guardian)
            for c in (t.verdicts.c, t.heartbeats.c)
        )
    ).subquery()
    newest = select(signs.c.guardian, func.max(signs.c.time).label("time")).group_by(signs.c.guardian)
    times = {Address(row.guardian): row.time for row in connection.execute(newest)}
    for guardian, seat in rosters.newest_seats().items():
        yield _mapped(guardian, _ACTIVITIES), times.get(guardian, 0) | seat << 40


def _submissions(connection: Connection, until: BlockNumber) -> Iterator[Word]:
    c = t.submissions.c
    latest = (
        select(c.bounty_id, c.solver, c.submission_commitment)
        .ext(distinct_on(c.bounty_id, c.solver))
        .order_by(c.bounty_id, c.solver, c.block_number.desc(), c.log_index.desc())
    )
    for bounty_id, rows in groupby(_streamed(connection, latest, t.submissions, until), attrgetter("bounty_id")):
        of_bounty = _mapped(bounty_id, _SUBMISSIONS)
        for row in rows:
            yield _mapped(row.solver, of_bounty), _number(row.submission_commitment)


def _bounties(connection: Connection, until: BlockNumber, rosters: _Rosters, policies: _Policies) -> Iterator[Word]:
    b, s, f = t.bounties.c, t.submissions.c, t.finalizations.c
    submitted = select(s.bounty_id).where(s.bounty_id == b.bounty_id, s.block_number <= until).exists()
    created = (
        select(t.bounties, submitted.label("submitted"), f.reason)
        .outerjoin_from(t.bounties, t.finalizations, (f.bounty_id == b.bounty_id) & (f.block_number <= until))
        .order_by(b.bounty_id)
    )
    verdicts = _Following(connection, t.verdicts, until)
    claims = _Following(connection, t.claims, until)
    for row in _streamed(connection, created, t.bounties, until):
        base = _mapped(row.bounty_id, _BOUNTIES)
        size, seats = rosters.size(row.roster_version), rosters.seats.get(row.roster_version, {})
        window = row.judging_deadline - row.reveal_at
        times = row.submission_deadline << 160 | window << 192
        yield base, _number(row.poster) | times | row.roster_version << 224 | size << 240 | row.submitted << 248
        ballots = _Ballots()
        for verdict in verdicts.of(row.bounty_id):
            ballots.record(seats.get(Address(verdict.guardian), 0), verdict.kind, _number(verdict.solver))
        paid = 0
        for claim in claims.of(row.bounty_id):
            paid |= _PAID.get(claim.kind) or 1 << seats.get(Address(claim.recipient), 0)
        version, policy = policies.at(row)
        fees = policy.protocol_fee_bps << 88 | policy.guardian_fee_bps << 104 if policy is not None else 0
        reason = row.reason or 0
        winning = ballots.last if reason == SettlementReason.JUDGED.number else 0
        ledger = int(row.escrow_amount) | fees | version << 120 | ballots.packed() << 136
        yield _after(base, 1), ledger | reason << 216 | winning << 224 | paid << 232
        yield _after(base, 2), _number(row.spec_commitment)
        of_bounty = _mapped(row.bounty_id, _CANDIDATES)
        for choice, solver in ballots.candidates.items():
            yield _mapped(choice, of_bounty), solver


class _Ballots:
    """The choices of a bounty's seats, and the candidate behind each choice, as the Hub numbers them."""

    def __init__(self) -> None:
        self.candidates = dict[int, int]()
        self._choices = dict[int, int]()
        self.last = 0

    def record(self, seat: int, kind: int, solver: int) -> None:
        self._choices.pop(seat, None)
        self.last = _NO_VALID_SUBMISSION if kind != VerdictKind.AWARDED.number else self._candidate(solver)
        self._choices[seat] = self.last

    def _candidate(self, solver: int) -> int:
        """The number under which others name this Solver, or the first that nobody uses."""
        named = set(self._choices.values())
        for choice in sorted(named):
            if choice >= _FIRST_CANDIDATE and self.candidates.get(choice) == solver:
                return choice
        free = next(number for number in range(_FIRST_CANDIDATE, 2**_SEAT_BITS) if number not in named)
        self.candidates[free] = solver
        return free

    def packed(self) -> int:
        return sum(choice << seat * _SEAT_BITS for seat, choice in self._choices.items())


class _Following:
    """The rows of a table by bounty, for a reader that goes through the bounties in their order."""

    def __init__(self, connection: Connection, table: Table, until: BlockNumber) -> None:
        c = table.c
        ordered = select(table).order_by(c.bounty_id, c.block_number, c.log_index)
        self._groups = groupby(_streamed(connection, ordered, table, until), attrgetter("bounty_id"))
        self._next = next(self._groups, None)

    def of(self, bounty_id: int) -> Iterable[Row[Any]]:
        while self._next is not None and self._next[0] < bounty_id:
            self._next = next(self._groups, None)
        if self._next is None or self._next[0] != bounty_id:
            return ()
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _rows(connection: Connection, rows: Select[Any], table: Table, until: BlockNumber) -> list[Row[Any]]:
    return list(connection.execute(rows.where(table.c.block_number <= until)))


def _streamed(connection: Connection, rows: Select[Any], table: Table, until: BlockNumber) -> Iterator[Row[Any]]:
    found = rows.where(table.c.block_number <= until).execution_options(yield_per=_ROWS_AT_ONCE)
    return iter(connection.execute(found))


def _plain(slot: int) -> bytes:
    return slot.to_bytes(32, "big")


def _mapped(key: int | str, of: int | bytes) -> bytes:
    """Where a mapping has the value of a key."""
    return keccak256(_number(key).to_bytes(32, "big") + (of if isinstance(of, bytes) else _plain(of)))


def _after(slot: bytes, places: int) -> bytes:
    return (int.from_bytes(slot, "big") + places).to_bytes(32, "big")


def _array(slot: bytes, values: list[int]) -> Iterator[Word]:
    yield slot, len(values)
    first = keccak256(slot)
    for place, value in enumerate(values):
        yield _after(first, place), value


def _number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value, 16)
