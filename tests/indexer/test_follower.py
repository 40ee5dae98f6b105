"""The follower's rules on a chain in memory, with a real database: what it reads, when, and what it makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from bounty_protocol.chain import events
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, ChainId
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.db.hub_facts import FactSource
from service_indexer import follower as rules
from service_indexer.chain import LogRange
from service_indexer.follower import Follower, Halted
from service_indexer.writer import AnotherWriter, CopyChange, NoCopy, Position, Writer
from sqlalchemy import Engine, delete, select

from tests.clocks import HandClock
from tests.fakes.chain import HUB, FakeChain, account, bounty_created, heartbeat, submission_recorded, word
from tests.servers import Database

CHAIN_ID = ChainId(31337)


@dataclass
class Index:
    """A chain of a block a second, its copy, and a clock."""

    chain: FakeChain
    engine: Engine
    writer: Writer
    moment: float = 0.0
    follower: Follower = field(init=False)
    final: list[tuple[int, int]] = field(default_factory=list)
    """The blocks of which it was told that their facts are final."""

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.follower = Follower(
            self.chain,
            self.writer,
            BlockNumber(0),
            monotonic=lambda: self.moment,
            tell_final=lambda *blocks: self.final.append(blocks),
        )

    def step(self, seconds: float = 1.0) -> None:
        """Let time pass, and have the follower do all that there is to do."""
        self.moment += seconds
        while self.follower.step():
            pass

    def mine(self, *blocks: list[tuple[str, dict[str, object]]]) -> None:
        """Mine blocks with these events, and step after each."""
        for events_ in blocks:
            self.chain.mine(events_)
            self.step()

    @property
    def position(self) -> Position:
        found = self.writer.position()
        assert found is not None
        return found

    def copied(self) -> list[tuple[int, int]]:
        """Block and index of each log that the copy has."""
        return [(log.block_number, log.log_index) for log in self.writer.logs(BlockNumber(0), None)]

    def told(self) -> list[tuple[int, int | None]]:
        """The feed of changes."""
        c = t.changes.c
        with reading(self.engine) as connection:
            return [tuple(row) for row in connection.execute(select(c.block_number, c.log_index).order_by(c.number))]


@pytest.fixture
def index(database: Database) -> Index:
    engine = database.engine("service_indexer")
    return Index(FakeChain(finality_depth=20), engine, Writer(engine, CHAIN_ID, HUB))


def test_idle_chain_has_no_logs_read(index: Index) -> None:
    index.mine([bounty_created(1, 1)], [], [])
    index.chain.asked.clear()
    index.mine(*[[]] * 10)
    assert index.chain.asked == []
    assert index.position.head.block_number == 13


def test_same_fact_in_another_block_is_replaced(index: Index) -> None:
    """The storage root is the same as before: the block's hash shows it."""
    index.mine([bounty_created(1, 1)], [])
    root = index.chain.root()
    index.chain.reorg(2)
    index.chain.mine([])
    index.mine([bounty_created(1, 1)], [])
    assert index.chain.root() == root
    index.step(5.0)
    assert index.copied() == [(2, 0)]


def test_log_of_the_same_root_is_copied_at_finality(index: Index) -> None:
    """Two heartbeats, or a Verdict repeated, within one second leave the storage as it was."""
    index.mine([heartbeat(1)], [], [])
    index.mine([heartbeat(1)], [])
    assert index.copied() == [(1, 0)]
    index.mine(*[[]] * 25)
    assert index.copied() == [(1, 0), (4, 0)]
    assert index.told() == [(1, 0), (4, 0)]


class Forgetful(FakeChain):
    """A chain one of whose logs an endpoint leaves out for a while."""

    hidden: tuple[int, int] | None = None

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        found = super().logs(first, last)
        shown = tuple(each for each in found.logs if (each.block_number, each.log_index) != self.hidden)
        return replace(found, logs=shown)


@pytest.fixture
def forgetful(database: Database) -> Index:
    engine = database.engine("service_indexer")
    return Index(Forgetful(finality_depth=20), engine, Writer(engine, CHAIN_ID, HUB))


def test_late_log_takes_its_place_at_finality(forgetful: Index) -> None:
    chain = forgetful.chain
    assert isinstance(chain, Forgetful)
    forgetful.mine([bounty_created(1, 1)], [])
    chain.hidden = (3, 0)
    forgetful.mine([submission_recorded(1, 1, 1)], [submission_recorded(1, 2, 2)], [])
    assert forgetful.copied() == [(1, 0), (4, 0)]
    chain.hidden = None
    forgetful.mine(*[[]] * 18)
    forgetful.step(5.0)
    assert forgetful.copied() == [(1, 0), (3, 0), (4, 0)], "what is above the leap is read again at once"
    forgetful.mine([submission_recorded(1, 3, 3)], [])
    assert forgetful.copied()[:3] == [(1, 0), (3, 0), (4, 0)]
    assert forgetful.told()[:2] == [(1, 0), (2, None)] or forgetful.told()[:3] == [(1, 0), (4, 0), (2, None)]


def test_log_found_below_later_facts_takes_its_place(forgetful: Index) -> None:
    chain = forgetful.chain
    assert isinstance(chain, Forgetful)
    chain.hidden = (3, 0)
    forgetful.mine([bounty_created(1, 1)], [], [submission_recorded(1, 1, 1)], [submission_recorded(1, 2, 2)], [])
    chain.hidden, chain.final_ = None, 3  # a leap that ends between the two
    forgetful.step(5.0)
    assert forgetful.copied() == [(1, 0), (3, 0), (4, 0)]
    assert forgetful.told() == [(1, 0), (2, None), (3, 0), (4, 0)]


def test_look_below_the_copy_moves_it_not_back(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.mine([bounty_created(1, 1)], [], [])
    monkeypatch.setattr(index.chain, "reached", lambda _newest: BlockNumber(2))
    index.mine([submission_recorded(1, 1, 1)])
    assert index.position.head.block_number == 3


def test_root_without_a_log_is_asked_for_a_minute(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.mine([bounty_created(1, 1)], [], [])
    monkeypatch.setattr(index.chain, "root", lambda: word("of no log"))
    index.chain.asked.clear()
    index.mine(*[[]] * 10)
    assert len(index.chain.asked) >= 10
    assert index.chain.distrusted >= 10
    index.step(60.0)
    index.chain.asked.clear()
    index.mine([], [])
    assert [each for each in index.chain.asked if each[1] == index.chain.headers_[-1].number] == []


@pytest.mark.parametrize(
    ("proves", "code"), [(True, "bounty_not_found"), (False, "bounty_projection_unavailable")], ids=["proofs", "none"]
)
def test_slower_of_two_endpoints_dates_the_copy(
    index: Index, monkeypatch: pytest.MonkeyPatch, proves: bool, code: str
) -> None:
    """Without storage roots only the logs show what a block changed, and two have to list the same."""
    index.chain.proves = proves
    index.mine(*[[]] * 10)
    monkeypatch.setattr(index.chain, "reached", lambda newest: BlockNumber(newest.number - 8))
    index.mine(*[[]] * 10)
    clock = HandClock()
    clock.sleep(index.chain.headers_[-1].time)
    source = FactSource(index.engine, CHAIN_ID, HUB, clock)
    assert source.no_such_bounty(index.position.head).code == code


def test_endpoint_that_is_behind_takes_nothing_back(index: Index) -> None:
    index.mine([bounty_created(1, 1)], [submission_recorded(1, 1, 1)], [])
    kept = index.chain.headers_[-2:], [index.chain.logs_[header.hash] for header in index.chain.headers_[-2:]]
    index.chain.reorg(2)
    for _ in range(5):
        index.step()
    assert index.copied() == [(1, 0), (2, 0)]
    assert index.position.head.block_number == 3
    for header, logs in zip(*kept, strict=True):
        index.chain.headers_.append(header)
        index.chain.logs_[header.hash] = logs
    index.step()
    assert index.told() == [(1, 0), (2, 0)]


def test_chain_that_stays_shorter_is_believed(index: Index) -> None:
    index.mine([bounty_created(1, 1)], [submission_recorded(1, 1, 1)], [])
    index.chain.reorg(2)
    for _ in range(35):
        index.step()
    assert index.copied() == [(1, 0)]
    assert index.position.head.block_number == 1


def test_final_facts_are_told_once_with_their_blocks(index: Index) -> None:
    index.chain.finality_depth = 2
    index.mine([], [bounty_created(1, 1)], [], [])
    index.mine(*[[]] * 12)
    index.final.clear()
    index.mine([submission_recorded(1, 1, 1)], *[[]] * 12)
    ((first, last),) = index.final
    block, _ = index.copied()[-1]
    assert first <= block <= last <= index.position.head.finalized_number


def test_history_is_told_to_nobody(index: Index) -> None:
    _history(index.chain, 3)
    for _ in range(12):
        index.step()
    assert index.follower.has_history
    assert index.final == []


def test_chain_that_stands_still_is_looked_at(index: Index) -> None:
    index.mine([bounty_created(1, 1)], [])
    version = index.position.version
    index.chain.asked.clear()
    for _ in range(20):
        index.step()
    assert index.chain.asked == []
    assert index.position.version > version


def test_finality_that_stands_still_has_short_looks(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "LONGEST_LOOK", 30)
    index.chain.finality_depth = 10_000
    index.mine([bounty_created(1, 1)], *[[]] * 60)
    index.mine([submission_recorded(1, 1, 1)], [])
    index.chain.asked.clear()
    index.mine([submission_recorded(1, 2, 2)])
    ((first, last),) = index.chain.asked
    assert first > 60
    index.chain.finality_depth = 0  # a leap of hours
    index.mine([])
    index.step(5.0)
    assert index.copied() == [(1, 0), (62, 0), (64, 0)]
    assert index.position.head.finalized_number == last + 1


def test_other_branch_below_the_last_look_is_found(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "LONGEST_LOOK", 5)
    index.chain.finality_depth = 10_000
    index.mine([bounty_created(1, 1)], *[[]] * 10, [submission_recorded(1, 1, 1)], [])
    index.chain.reorg(3)
    index.mine([], [], [], [submission_recorded(1, 2, 2)])
    assert index.copied() == [(1, 0), (14, 0)]


def test_reorg_below_finality_halts(index: Index) -> None:
    index.mine([bounty_created(1, 1)], *[[]] * 30)
    final = index.position.head.finalized_number
    index.chain.headers_[final] = replace(index.chain.headers_[final], hash=word("another chain"))
    with pytest.raises(Halted, match="rebuild the copy"):
        index.step(6.0)
    assert index.position.head.halted is not None
    with pytest.raises(Halted):
        index.step()


def test_endpoints_behind_finality_change_nothing(index: Index) -> None:
    index.mine([bounty_created(1, 1)], *[[]] * 30)
    index.chain.final_ = 3
    with pytest.raises(ChainUnavailable, match="behind"):
        index.step(6.0)


@pytest.mark.parametrize("final", [False, True])
def test_unknown_log_halts_for_good_once_final(index: Index, monkeypatch: pytest.MonkeyPatch, final: bool) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(events, "EVENT_CLASSES", {})
        if final:
            index.chain.mine([bounty_created(1, 1)])
            for _ in range(30):
                index.chain.mine([])
        with pytest.raises(Halted, match="another release"):
            index.mine([bounty_created(2, 1)])
    assert (index.position.head.halted is not None) is final
    if not final:
        index.step()
        assert index.copied() == [(1, 0)]


def test_log_that_no_hub_emits_is_the_endpoints(index: Index) -> None:
    index.mine([bounty_created(1, 1)])
    with pytest.raises(ChainUnavailable, match="cannot emit"):
        index.mine([bounty_created(1, 2)])
    assert index.copied() == [(1, 0)]


def test_other_writers_change_is_never_overwritten(index: Index) -> None:
    index.mine([bounty_created(1, 1)])
    before = index.position
    index.step()
    with pytest.raises(AnotherWriter):
        index.writer.apply(before, CopyChange())


def test_copy_that_lost_its_last_seconds_is_read_again(index: Index) -> None:
    """As a database that failed over to a standby: the follower remembers more than the copy has."""
    index.mine([bounty_created(1, 1)], [submission_recorded(1, 1, 1)], [], [])
    with writing(index.engine) as connection:
        for table in t.FACTS:
            connection.execute(delete(table).where(table.c.block_number > 1))
        connection.execute(delete(t.changes).where(t.changes.c.block_number > 1))
        connection.execute(t.head.update().values(updated_at=t.head.c.updated_at - timedelta(1)))
    index.step()
    assert index.copied() == [(1, 0), (2, 0)]


def _history(chain: FakeChain, bounties: int) -> None:
    for number in range(1, bounties + 1):
        chain.mine([bounty_created(number, number), submission_recorded(number, 1, number)])
        chain.mine([])
    for _ in range(chain.finality_depth):
        chain.mine([])


def test_history_is_read_in_leaps(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "LONGEST_LEAP", 8)
    monkeypatch.setattr(rules, "FIRST_LEAP", 4)
    index.restart()
    _history(index.chain, 20)
    index.step()
    lengths = [last - first + 1 for first, last in index.chain.asked]
    assert lengths[:7] == [4, 8, 8, 8, 8, 4, 20]
    assert len(index.copied()) == 40
    assert index.position.head.block_number == index.chain.headers_[-1].number


def test_history_is_compared_before_it_counts(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    _history(index.chain, 3)
    shown = index.chain.open_bounties

    def lacking(ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:
        raise ChainUnavailable("header not found")

    monkeypatch.setattr(index.chain, "open_bounties", lacking)
    with pytest.raises(ChainUnavailable):
        index.step()
    with pytest.raises(ChainUnavailable):
        index.step()
    assert not index.follower.has_history
    monkeypatch.setattr(index.chain, "open_bounties", shown)
    index.step()
    assert index.follower.has_history


def test_many_logs_are_read_in_parts(index: Index) -> None:
    index.chain.most_logs = 5
    _history(index.chain, 20)
    index.step()
    index.mine([bounty_created(21, 21)], *[[submission_recorded(21, each, each) for each in range(1, 9)]] * 3)
    assert len(index.copied()) == 40 + 1 + 24
    assert index.position.head.block_number == index.chain.headers_[-1].number


class Missing(FakeChain):
    """A chain whose endpoints leave the logs of one block out of history."""

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        found = super().logs(first, last)
        return replace(found, logs=tuple(each for each in found.logs if each.block_number != 3))


def test_history_that_lacks_a_bounty_halts(database: Database) -> None:
    engine = database.engine("service_indexer")
    index = Index(Missing(finality_depth=20), engine, Writer(engine, CHAIN_ID, HUB))
    _history(index.chain, 3)
    with pytest.raises(Halted, match="missing"):
        index.step()


def test_history_that_lacks_the_newest_bounty_halts(database: Database) -> None:
    engine = database.engine("service_indexer")
    index = Index(Missing(finality_depth=20), engine, Writer(engine, CHAIN_ID, HUB))
    index.chain.mine([])
    index.chain.mine([bounty_created(1, 1)])
    index.chain.mine([bounty_created(2, 2)])
    for _ in range(25):
        index.chain.mine([])
    with pytest.raises(Halted, match="bounty 2"):
        index.step()


def test_reorg_while_history_is_compared_halts_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    _history(index.chain, 3)
    shown = index.chain.open_bounties

    def reorganized(ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:
        monkeypatch.setattr(index.chain, "open_bounties", shown)
        index.chain.reorg(2)
        index.chain.mine([])
        index.chain.mine([bounty_created(4, 4)])
        return shown(ids, block)

    monkeypatch.setattr(index.chain, "open_bounties", reorganized)
    index.step()
    index.step()
    assert index.position.head.halted is None
    assert len(index.copied()) == 7


def test_copy_of_another_hub_is_refused(index: Index) -> None:
    index.step()
    other = Writer(index.engine, CHAIN_ID, account(9))
    with pytest.raises(NoCopy, match="another Hub"):
        other.position()
    assert Writer(index.engine, ChainId(1), HUB).position() is None


def test_hub_that_is_younger_than_finality_is_followed(index: Index) -> None:
    chain = FakeChain(finality_depth=20)
    chain.mine([])
    chain.mine([bounty_created(1, 1)])
    index.chain, index.moment = chain, 0.0
    index.follower = Follower(chain, index.writer, BlockNumber(1), monotonic=lambda: index.moment)
    index.step()
    assert index.copied() == [(2, 0)]
