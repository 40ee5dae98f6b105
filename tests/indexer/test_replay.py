"""``verify`` and ``rebuild``: the copy against the chain, and a new copy in its place."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, LiteralString

import psycopg
import pytest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, BountyId
from psycopg.errors import LockNotAvailable
from service_common.db import engine as engines
from service_common.db import hub_index as t
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import Head
from service_indexer import place, replay
from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import advance
from service_indexer.main import main
from service_indexer.replay import Comparison, Progress, Replay, rebuild_copy, verify_copy
from service_indexer.source import RpcSource, Tip, source_of
from service_indexer.stretch import BLOCKS_PER_STEP
from service_indexer.writer import COPY_SPACE, SCRATCH_SPACE, AnotherWriter, FencedOut, Writer, only_writer
from sqlalchemy import Connection, Engine, delete, func, select, text, update

from tests.endpoints import Change, Endpoint, endpoint_before
from tests.indexer.replay import contents
from tests.world import World

COMPARED = (*t.FACTS, t.changes, t.open_bounties)
PLACE = (t.head, t.blocks, t.proofs)


def variables(world: World, *urls: str, quorum: int = 1) -> dict[str, str]:
    return {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_DEPLOY_BLOCK": str(world.hub.deploy_block),
        "SERVICE_BLOCK_TIME_SECONDS": "2",
        "SERVICE_RPC_URLS": ",".join(urls or (world.node.url,)),
        "SERVICE_RPC_QUORUM": str(quorum),
        "SERVICE_DATABASE_URL": world.database.url("service_indexer"),
        "SERVICE_REDIS_URL": "redis://127.0.0.1:9",
    }


def config_of(world: World, *urls: str, quorum: int = 1) -> IndexerConfig:
    return read_config(variables(world, *urls, quorum=quorum))


def verify(config: IndexerConfig, say: Progress) -> list[Comparison]:
    return list(verify_copy(config, say))


@pytest.fixture
def endpoints(world: World) -> Iterator[list[Endpoint]]:
    """Three endpoints before the world's node."""
    with ExitStack() as stack:
        yield [stack.enter_context(endpoint_before(world.node.url)) for _ in range(3)]


@pytest.fixture(params=[replay.PART_ROWS, 2], ids=["in one part", "in parts of two rows"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows are compared as one text."""
    monkeypatch.setattr(replay, "PART_ROWS", request.param)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs is looked at again at once."""
    monkeypatch.setattr(place, "PAUSE_SECONDS", 0.0)


def history(world: World) -> Engine:
    for _ in range(3):
        world.submit(world.create(), world.solver(1))
    world.finalize()
    return world.engine("service_indexer")


def scratch_rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {t.SCRATCH}.logs")).scalar_one())


@pytest.mark.usefixtures("parts")
def test_verify__of_a_true_copy__finds_every_table_equal_and_leaves_nothing(world: World) -> None:
    engine = history(world)
    before = contents(engine)
    compared = verify(config_of(world), lambda _: None)
    assert [each.table for each in compared] == [table.name for table in (*COMPARED, *PLACE)]
    assert all(each.equal for each in compared)
    assert sum(each.rows for each in compared[: -len(PLACE)]) == sum(
        len(before[t.logs.name if table is t.changes else table.name]) for table in COMPARED
    )
    assert contents(engine) == before
    assert scratch_rows(engine) == 0


@pytest.mark.usefixtures("parts")
def test_verify__of_a_copy_with_one_altered_row__names_its_table(world: World) -> None:
    engine = history(world)
    with engine.begin() as connection:
        connection.execute(text("UPDATE hub_index.submissions SET submission_commitment = '0x' WHERE bounty_id = 2"))
    compared = verify(config_of(world), lambda _: None)
    assert [each.table for each in compared if not each.equal] == ["submissions"]


ALTERED = {
    "a change dropped": ("changes", "DELETE FROM hub_index.changes WHERE number = (SELECT min(number) + 1 FROM {})"),
    "a change invented": ("changes", "INSERT INTO hub_index.changes (block_number, log_index) VALUES (1, 99)"),
    "changes out of order": ("changes", "UPDATE {} SET number = -number WHERE log_index IS NOT NULL"),
    "a reorg that never was": ("changes", "INSERT INTO {} (block_number, retracts_final) VALUES (1, true)"),
    "an open bounty dropped": ("open_bounties", "DELETE FROM {} WHERE bounty_id = 2"),
    "a bounty open again": ("open_bounties", "INSERT INTO {} VALUES (99, 1, 2, 3)"),
    "a roster that is never in effect": (
        "rosters",
        """
        UPDATE {} SET guardian_roster_hash = guardian_roster_hash || '|' || quorum,
            quorum = effective_from, effective_from = 0""",
    ),
    "a Submission of a block to come": (
        "submissions",
        """
        INSERT INTO {} SELECT bounty_id, solver, '0x', 1000000000, block_hash, log_index, tx_hash, time
            FROM hub_index.submissions WHERE bounty_id = 2""",
    ),
    "a change of a block to come": ("changes", "INSERT INTO {} (block_number, log_index) VALUES (1000000000, 0)"),
    "a head far ahead": (
        "head",
        "UPDATE {} SET block_number = block_number + 1000, finalized_number = finalized_number + 1000",
    ),
    "a head that calls too much final": ("head", "UPDATE {} SET finalized_number = block_number + 1"),
    "a head on another branch": ("head", "UPDATE {} SET block_hash = '0x' || repeat('66', 32)"),
    "a head of another time": ("head", "UPDATE {} SET finalized_time = finalized_time + 1"),
    "a head proven beyond itself": ("head", "UPDATE {} SET checked_number = block_number + 1"),
    "another block": ("blocks", "UPDATE {} SET hash = '0x' || repeat('66', 32)"),
    "a block lost": ("blocks", "DELETE FROM {} WHERE number = (SELECT max(number) FROM {})"),
    "a proof of another branch": ("proofs", "UPDATE {} SET hash = '0x' || repeat('66', 32)"),
    "another storage root": ("proofs", "UPDATE {} SET storage_root = '0x' || repeat('66', 32)"),
    "another deadline": ("open_bounties", "UPDATE {} SET judging_deadline = judging_deadline + 1 WHERE bounty_id = 2"),
}

CALL_MORE_FINAL = {"a head far ahead", "a head that calls too much final"}


@pytest.mark.attack
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ALTERED)
def test_verify__of_altered_rows__names_their_table_and_a_rebuild_heals_it(world: World, how: str) -> None:
    engine = history(world)
    table, change = ALTERED[how]
    with world.engine("service_indexer").begin() as connection:
        connection.execute(text(change.replace("{}", f"hub_index.{table}")))
    assert [each.table for each in verify(config_of(world), lambda _: None) if not each.equal] == [table]
    world.writer_lock.close()
    rebuild_copy(config_of(world), lambda _: None, back=how in CALL_MORE_FINAL)
    assert all(each.equal for each in verify(config_of(world), lambda _: None))
    with engine.connect() as connection:
        kept = connection.execute(select(func.count()).select_from(t.logs)).scalar_one()
        told = connection.execute(select(func.count(t.changes.c.log_index))).scalar_one()
    assert told == kept


def test_verify__of_a_head_far_behind__reports_it_and_compares_what_was_final(world: World) -> None:
    """As of a backup that was restored for a test."""
    engine = history(world)
    with engine.begin() as connection:  # replaced since: it was not final
        connection.execute(text("UPDATE hub_index.head SET block_hash = '0x' || repeat('66', 32)"))
    world.node.mine(BLOCKS_PER_STEP + 3)
    said = list[str]()
    assert all(each.equal for each in verify(config_of(world), said.append))
    assert any(each.startswith("head: it is at block ") and "far behind" in each for each in said)
    with engine.begin() as connection:
        connection.execute(text("UPDATE hub_index.submissions SET submission_commitment = '0x' WHERE bounty_id = 2"))
        connection.execute(
            text("DELETE FROM hub_index.blocks WHERE number = (SELECT max(number) FROM hub_index.blocks)")
        )
    wrong = {each.table for each in verify(config_of(world), lambda _: None) if not each.equal}
    assert wrong == {"blocks", "submissions"}


def test_verify__of_a_head_that_calls_nothing_final__compares_what_the_chain_calls_final(world: World) -> None:
    engine = history(world)
    world.node.mine(BLOCKS_PER_STEP + 3)
    world.index()
    with engine.begin() as connection:
        connection.execute(text("UPDATE hub_index.submissions SET submission_commitment = '0x' WHERE bounty_id = 2"))
        first = {"finalized_number": world.hub.deploy_block, "finalized_time": 0}
        connection.execute(update(t.head).values(first))
    said = list[str]()
    wrong = {each.table for each in verify(config_of(world), said.append) if not each.equal}
    assert wrong == {"head", "blocks", "submissions"}
    assert any(each.startswith("head: it calls no block after ") for each in said)


def test_verify__while_a_reorg_is_repaired__looks_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = history(world)
    with engine.begin() as connection:
        truth = connection.execute(select(t.head.c.block_hash)).scalar_one()
        connection.execute(update(t.head).values(block_hash="0x" + "66" * 32))

    def repair(_seconds: float) -> None:
        with engine.begin() as connection:
            connection.execute(update(t.head).values(block_hash=truth))

    monkeypatch.setattr(place, "sleep", repair)
    assert all(each.equal for each in verify(config_of(world), lambda _: None))


@pytest.mark.parametrize(("question", "run"), [("headers", verify), ("tip", rebuild_copy)])
def test_replay__after_whose_hours_the_endpoints_fail_for_a_moment__is_not_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch, question: str, run: Callable[[IndexerConfig, Progress], object]
) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    failures, advanced, honest = [2], Replay.advance_to_tip, getattr(RpcSource, question)

    def fail(*given: object, **named: object) -> object:
        if failures and is_replayed:
            failures[0] -= 1
            if not failures[0]:
                failures.clear()
            raise ChainUnavailable("502")
        return honest(*given, **named)

    def advance_all(self: Replay) -> None:
        advanced(self)
        is_replayed.append(True)

    is_replayed: list[bool] = []
    monkeypatch.setattr(Replay, "advance_to_tip", advance_all)
    monkeypatch.setattr(RpcSource, question, fail)
    history(world)
    world.writer_lock.close()
    said = list[str]()
    run(config_of(world), said.append)
    assert said.count("another endpoint is asked next: 502") == 2


def test_verify__after_whose_replay_no_endpoint_answers__has_told_what_it_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    history(world)
    world.writer_lock.close()
    compared = verify_copy(config_of(world), lambda _: None)
    told = [next(compared).table for _ in COMPARED]
    monkeypatch.setattr(RpcSource, "tip", _refuse)
    with pytest.raises(ChainUnavailable):
        next(compared)
    assert told == [table.name for table in COMPARED]


def _refuse(_: RpcSource) -> Tip:
    raise ChainUnavailable("502")


def test_replay__of_a_chain_with_a_new_block_at_each_step__ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    history(world)
    steps = list[bool]()

    def advance_and_mine(*arguments: Any) -> bool:
        assert len(steps) < 10
        steps.append(advance(*arguments))
        world.node.mine(1)
        return steps[-1]

    monkeypatch.setattr(replay, "advance", advance_and_mine)
    assert all(each.equal for each in verify(config_of(world), lambda _: None))


def test_rebuild__of_a_halted_and_altered_copy__puts_the_chains_truth_in_its_place(world: World) -> None:
    engine = history(world)
    truth = contents(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM hub_index.bounties"))
        connection.execute(text("UPDATE hub_index.head SET halted = 'by a test'"))
    world.writer_lock.close()
    block = rebuild_copy(config_of(world), lambda _: None)
    assert contents(engine) == truth
    assert scratch_rows(engine) == 0
    with engine.connect() as connection:
        head = connection.execute(select(t.head)).one()
        kept = connection.execute(select(func.max(t.blocks.c.number))).scalar()
    assert head.halted is None
    assert head.block_number == block == kept


def test_replay__whose_database_is_away_for_a_moment__goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    history(world)
    failures = [DatabaseUnavailable("the database did not answer") for _ in range(2)]

    def fail_at_first(*arguments: Any) -> bool:
        if failures:
            raise failures.pop()
        return advance(*arguments)

    monkeypatch.setattr(replay, "advance", fail_at_first)
    said = list[str]()
    assert all(each.equal for each in verify(config_of(world), said.append))
    assert said.count("once more in a moment: the database did not answer") == 2


def call_final(world: World, engine: Engine, ahead: int) -> None:
    """The copy calls a block final that no endpoint does, ``ahead`` of the chain's own."""
    number = header_at(world.rpc, "finalized").number + ahead
    with engine.begin() as connection:
        connection.execute(update(t.head).values(finalized_number=number))


def test_rebuild__where_the_endpoints_show_less_as_final__takes_nothing_back_unless_it_is_told_to(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    engine = history(world)
    truth, told = contents(engine), changes(engine)
    call_final(world, engine, 1)
    world.writer_lock.close()
    with pytest.raises(ChainUnavailable, match="rebuild with --back"):
        rebuild_copy(config_of(world), lambda _: None)
    assert (contents(engine), changes(engine), scratch_rows(engine)) == (truth, told, 0)
    rebuild_copy(config_of(world), lambda _: None, back=True)
    with engine.connect() as connection:
        final = connection.execute(select(t.head.c.finalized_number)).scalar_one()
    assert final == header_at(world.rpc, "finalized").number


def test_rebuild__from_an_endpoint_that_is_behind_for_a_moment__waits_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    engine = history(world)
    call_final(world, engine, 1)
    world.writer_lock.close()
    said = list[str]()

    def say(words: str) -> None:
        said.append(words)
        if "by the copy that is read" in words:
            world.node.mine(1)

    rebuild_copy(config_of(world), say)
    assert len([words for words in said if "by the copy that is read" in words]) == 1


def last_log_left_out(method: str, _params: list[Any], result: Any) -> Any:
    return result[:-1] if method == "eth_getLogs" else result


def another_newest_block(_method: str, params: list[Any], result: Any) -> Any:
    return {**result, "hash": "0x" + "66" * 32} if params[0] == "latest" else result


@pytest.mark.parametrize("lie", [last_log_left_out, another_newest_block])
def test_replay__with_a_quorum__is_of_what_the_endpoints_agree_on(
    world: World, endpoints: list[Endpoint], lie: Change
) -> None:
    engine = history(world)
    truth = contents(engine)
    endpoints[0].change = lie
    config = config_of(world, *(each.url for each in endpoints), quorum=2)
    assert all(each.equal for each in verify(config, lambda _: None))
    world.writer_lock.close()
    rebuild_copy(config, lambda _: None)
    assert contents(engine) == truth


SLOW = """
    CREATE FUNCTION hub_index_scratch.slow() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
    CREATE TRIGGER slow BEFORE DELETE ON hub_index_scratch.head EXECUTE FUNCTION hub_index_scratch.slow();
"""


def test_replay__whose_statements_take_longer_than_a_service_waits_for_an_answer__goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = history(world)
    truth = contents(engine)
    world.writer_lock.close()
    with world.engine("service_migrator").begin() as connection:
        connection.execute(text(SLOW))
    with monkeypatch.context() as limited:
        limited.setattr(engines, "ANSWER_SECONDS", 0.2)
        limited.setattr(engines, "STATEMENT_TIMEOUT_MS", 200)
        assert all(each.equal for each in verify(config_of(world), lambda _: None))
        rebuild_copy(config_of(world), lambda _: None)
    assert contents(engine) == truth


@pytest.mark.parametrize("command", ["verify", "rebuild"])
def test_replay__that_cannot_begin__ends_with_one_sentence(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for name, value in variables(world).items():
        monkeypatch.setenv(name, value)
    with only_writer(scratch_of(world), world.chain_id, world.hub_address, start_of(world), space=SCRATCH_SPACE):
        assert ended(command) == (
            "another verify or rebuild of this database is running, or the follower did not step aside; try later"
        )
    monkeypatch.setenv("SERVICE_DATABASE_URL", world.database.url("service_api"))
    assert ended(command) == 1
    assert "service-indexer: the database refused this: permission denied" in capsys.readouterr().err
    monkeypatch.setenv("SERVICE_DATABASE_URL", world.database.url("service_indexer"))
    with monkeypatch.context() as away:
        away.setenv("SERVICE_RPC_URLS", "http://127.0.0.1:9")
        assert str(ended(command)).startswith("the RPC endpoints gave no usable answer")
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.head).values(hub_address="0x" + "66" * 20))
    world.writer_lock.close()
    assert "of another Hub" in str(ended(command))
    if command == "verify":
        with world.engine("service_indexer").begin() as connection:
            connection.execute(delete(t.head))
        assert "no copy of this chain" in str(ended(command))


@pytest.mark.parametrize("moment", ["at block", "waiting for the follower"])
@pytest.mark.parametrize("run", [verify, rebuild_copy])
def test_replay__beside_which_another_one_is_begun__goes_on_and_the_other_ends(
    world: World, run: Callable[[IndexerConfig, Progress], object], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = history(world)
    truth = contents(engine)
    world.writer_lock.close()
    others, before = list[type[Exception]](), replay._first_difference

    def begin_another(config: IndexerConfig) -> None:
        with pytest.raises(AnotherWriter) as refused:
            verify(config, lambda _: None)
        others.append(refused.type)

    def look(connection: Connection) -> int | None:  # within the transaction that switches
        begin_another(config_of(world))
        return before(connection)

    def say(words: str) -> None:
        if words.startswith((moment, "comparing")):
            begin_another(config_of(world))

    monkeypatch.setattr(replay, "_first_difference", look)
    run(config_of(world), say)
    assert others
    assert contents(engine) == truth
    assert scratch_rows(engine) == 0


LOCK_ENDS: LiteralString = """
    SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND granted
"""


@pytest.mark.parametrize("run", [verify, rebuild_copy])
def test_replay__whose_lock_was_lost_to_another_one__puts_nothing_in_place(
    world: World, run: Callable[[IndexerConfig, Progress], object]
) -> None:
    engine = history(world)
    truth = contents(engine)
    world.writer_lock.close()

    def say(words: str) -> None:
        if words.startswith(("waiting for the follower", "comparing")):
            with psycopg.connect(world.database.server.url(world.database.name), autocommit=True) as connection:
                connection.execute(LOCK_ENDS, [SCRATCH_SPACE])
            scratch = scratch_of(world)
            left.enter_context(
                only_writer(scratch, world.chain_id, world.hub_address, start_of(world), space=SCRATCH_SPACE, anew=True)
            )

    with ExitStack() as left:
        if run is rebuild_copy:
            with pytest.raises(FencedOut):
                run(config_of(world), say)
        else:
            run(config_of(world), say)
        with scratch_of(world).connect() as connection:
            assert connection.execute(select(t.head.c.fence)).scalar() is not None, "it is the other's"
    assert contents(engine) == truth


def test_rebuild__whose_copy_a_follower_took_meanwhile__puts_nothing_in_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover of the database, which ends every lock."""
    engine = history(world)
    world.writer_lock.close()
    honest = Replay.reach_final
    follow = only_writer(engine, world.chain_id, world.hub_address, start_of(world))

    def lose_the_lock(self: Replay, number: BlockNumber) -> None:
        honest(self, number)
        with psycopg.connect(world.database.server.url(world.database.name), autocommit=True) as connection:
            connection.execute(LOCK_ENDS, [COPY_SPACE])
        world.submit(BountyId(1), world.solver(2))
        assert advance(world.source, left.enter_context(follow))

    monkeypatch.setattr(Replay, "reach_final", lose_the_lock)
    with ExitStack() as left:
        with pytest.raises(FencedOut):
            rebuild_copy(config_of(world), lambda _: None)
        assert scratch_rows(engine) == 0
        with engine.connect() as connection:
            assert connection.execute(select(t.head.c.rebuilds)).scalar_one() == 0
    assert all(each.equal for each in verify(config_of(world), lambda _: None))


def test_rebuild__that_switches__lets_no_follower_begin_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(world)
    world.writer_lock.close()
    refused, honest = list[type[Exception]](), replay._first_difference

    def begin_a_follower(connection: Connection) -> int | None:
        url = world.database.url("service_indexer")
        with psycopg.connect(url, options="-c lock_timeout=10") as other, pytest.raises(LockNotAvailable) as error:
            other.execute("UPDATE hub_index.head SET fence = fence + 1")
        refused.append(error.type)
        return honest(connection)

    monkeypatch.setattr(replay, "_first_difference", begin_a_follower)
    rebuild_copy(config_of(world), lambda _: None)
    assert refused


def test_rebuild__whose_database_is_away_wherever_it_reads_a_head__goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PAUSE_SECONDS", 0.0)
    engine = history(world)
    truth = contents(engine)
    world.writer_lock.close()
    looks, taken, honest = list[bool](), list[bool](), Writer.head

    def fail_each_second_time(self: Writer) -> Head | None:
        looks.append(True)
        if len(looks) % 2:
            raise DatabaseUnavailable("the database did not answer")
        return honest(self)

    def fail_at_first(*arguments: Any, **options: Any) -> AbstractContextManager[Writer]:
        if "space" not in options and not taken:
            taken.append(True)
            raise DatabaseUnavailable("no lock could be looked for")
        return only_writer(*arguments, **options)

    monkeypatch.setattr(Writer, "head", fail_each_second_time)
    monkeypatch.setattr(replay, "only_writer", fail_at_first)
    said = list[str]()
    rebuild_copy(config_of(world), said.append)
    assert "once more in a moment: no lock could be looked for" in said
    assert len(looks) >= 4
    assert contents(engine) == truth


def test_rebuild__that_the_follower_is_ahead_of__tells_nothing_as_gone(world: World) -> None:
    engine = history(world)
    world.writer_lock.close()
    told = changes(engine)

    def say(words: str) -> None:
        if words.startswith("waiting for the follower"):
            world.submit(BountyId(1), world.solver(2))
            source = source_of(config_of(world), world.rpc)
            with only_writer(engine, world.chain_id, world.hub_address, start_of(world)) as writer:
                while advance(source, writer):
                    pass

    rebuild_copy(config_of(world), say)
    after = changes(engine)
    assert after[: len(told)] == told
    assert len(after) == len(told) + 1
    assert all(log_index is not None for _, log_index in after)


def test_writer__that_another_one_follows__steps_aside_before_it_writes(world: World) -> None:
    engine = history(world)
    with engine.begin() as connection:
        connection.execute(update(t.head).values(fence=t.head.c.fence + 1))
    with pytest.raises(FencedOut):
        world.writer.standing(BlockNumber(0))


def changes(engine: Engine) -> list[tuple[int, int | None]]:
    """What the feed tells, in its order."""
    c = t.changes.c
    with engine.connect() as connection:
        rows = connection.execute(select(c.block_number, c.log_index).order_by(c.number))
        return [(row.block_number, row.log_index) for row in rows]


def ended(command: str) -> object:
    """How a command failed: its exit code, or its sentence where it is 1 with one."""
    try:
        return main([command])
    except SystemExit as error:
        return error.code


def scratch_of(world: World) -> Engine:
    return world.engine("service_indexer").execution_options(schema_translate_map={t.SCHEMA: t.SCRATCH})


def start_of(world: World) -> Header:
    return header_at(world.rpc, BlockNumber(max(0, world.hub.deploy_block - 1)))
