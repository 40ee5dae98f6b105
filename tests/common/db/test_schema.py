"""schema.sql makes the tables that the code names, and grants.sql says who may write what."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from local_stack.services import MIGRATOR
from service_common.db.schema import SchemaMissing, await_schema, create_schema
from service_common.db.tables import read_tables
from sqlalchemy import inspect, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import ProgrammingError

from tests.clocks import HandClock
from tests.servers import Database, DatabaseServer


def test_tables_are_read_as_the_database_has_them(database: Database) -> None:
    found, dialect = inspect(database.engine()), postgresql.dialect()  # type: ignore[no-untyped-call]
    for schema_name in ("app", "delivery", "hub_index", "review", "settler"):
        assert sorted(read_tables(schema_name)) == sorted(found.get_table_names(schema_name))
        for table in read_tables(schema_name).values():
            columns = {each["name"]: each["type"] for each in found.get_columns(table.name, schema_name)}
            shown = {name: kind.compile(dialect) for name, kind in columns.items()}
            assert {each.name: each.type.compile(dialect) for each in table.c} == shown
            key = found.get_pk_constraint(table.name, schema_name)["constrained_columns"]
            assert {each.name for each in table.primary_key} == set(key)


def test_creation_again_changes_nothing(database: Database) -> None:
    with database.engine().begin() as connection:
        connection.execute(text("INSERT INTO app.challenge_pages VALUES ('0x01', '', 1)"))
    create_schema(database.url())
    with database.engine().connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM app.challenge_pages")).scalar() == 1


def test_creation__beside_another_schema__is_refused(database: Database) -> None:
    with database.engine().begin() as connection:
        connection.execute(text("UPDATE schema_version SET digest = 'another'"))
    with pytest.raises(SchemaMissing, match="of another release"):
        create_schema(database.url())


def test_creation_beside_other_tables_is_refused(database_server: DatabaseServer) -> None:
    server, name = database_server.server, f"foreign_{secrets.token_hex(6)}"
    server.create_database(name, owner=MIGRATOR)
    url = server.url(name, user=MIGRATOR, password=database_server.passwords[MIGRATOR])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (name text)")
        with pytest.raises(SchemaMissing, match="customers is another application's"):
            create_schema(url)
        connection.execute("DROP TABLE customers")
    create_schema(url)
    server.drop_database(name)


def test_creation__four_times_at_once__is_done_once(database_server: DatabaseServer) -> None:
    server, name = database_server.server, f"empty_{secrets.token_hex(6)}"
    server.create_database(name, owner=MIGRATOR)
    url = server.url(name, user=MIGRATOR, password=database_server.passwords[MIGRATOR])
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(create_schema, [url] * 4)) == [None] * 4
    server.drop_database(name)


@pytest.mark.parametrize(
    ("role", "schema", "table", "writable"),
    [
        ("service_indexer", "hub_index", "head", True),
        ("service_api", "hub_index", "head", False),
        ("service_delivery", "hub_index", "head", False),
        ("service_api", "app", "challenge_pages", True),
        ("service_reviewer", "review", "reviews", True),
        ("service_api", "review", "reviews", False),
        ("service_indexer", "settler", "settlements", True),
        ("service_delivery", "delivery", "wraps", True),
        ("service_delivery", "app", "submission_envelopes", False),
    ],
)
def test_role_writes_only_its_own_schema(
    database: Database, role: str, schema: str, table: str, writable: bool
) -> None:
    with database.engine(role).connect() as connection:
        assert connection.execute(text(f"SELECT count(*) FROM {schema}.{table}")).scalar() == 0
        if writable:
            assert connection.execute(text(f"DELETE FROM {schema}.{table}")).rowcount == 0
        else:
            with pytest.raises(ProgrammingError, match="permission denied"):
                connection.execute(text(f"DELETE FROM {schema}.{table}"))


@pytest.mark.spec(276)
@pytest.mark.parametrize(
    ("role", "schema", "table"),
    [
        ("service_api", "delivery", "wraps"),
        ("service_api", "settler", "settlements"),
        ("service_reviewer", "hub_index", "head"),
        ("service_reviewer", "app", "challenge_pages"),
        ("service_indexer", "app", "written_verdicts"),
        ("service_delivery", "app", "written_verdicts"),
        ("service_delivery", "app", "verification_records"),
        ("service_indexer", "app", "verification_records"),
    ],
)
def test_role_may_not_read_others_tables(database: Database, role: str, schema: str, table: str) -> None:
    with (
        database.engine(role).connect() as connection,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        connection.execute(text(f"SELECT count(*) FROM {schema}.{table}"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE schema_version SET digest = 'another'", "the database has the schema of another release"),
        ("DROP TABLE schema_version", "the database has no schema"),
    ],
)
def test_other_schema_is_waited_for(database: Database, change: str, reason: str) -> None:
    with database.engine().begin() as connection:
        connection.execute(text(change))
    with pytest.raises(SchemaMissing, match=reason):
        await_schema(database.url("service_api"), clock=HandClock(), seconds=3)
