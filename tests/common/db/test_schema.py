"""The migrated schema: what the tables say, who may write what."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from bounty_protocol.types import UnixSeconds
from local_stack.services import ROLES
from service_api.webhooks import tables as webhooks
from service_common.db import app, hub_index, review
from service_common.db.migrate import SchemaBehind, await_schema, current_revision, migrate
from service_delivery import tables as delivery
from service_indexer import settler_tables as settler
from sqlalchemy import Index, MetaData, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import SchemaItem

from tests.servers import NEWEST, Database


def test_migration__of_an_empty_database__makes_exactly_the_tables_in_code(database: Database) -> None:
    whole = MetaData()
    for each in (hub_index, app, review, delivery, settler, webhooks):
        for table in each.metadata.tables.values():
            table.to_metadata(whole)
    for table in (*hub_index.FACTS, hub_index.changes, hub_index.blocks, hub_index.proofs, hub_index.head):
        table.to_metadata(whole, schema=hub_index.SCRATCH)
    with database.engine().connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "version_table": "schema_version",
                "compare_type": True,
                "include_object": _has_a_name_of_its_own,
            },
        )
        assert compare_metadata(context, whole) == []


def test_migration__run_again__changes_nothing(database: Database) -> None:
    assert migrate(database.url()) == NEWEST
    with database.engine().connect() as connection:
        assert current_revision(connection) == NEWEST


def _has_a_name_of_its_own(thing: SchemaItem, _name: str | None, kind: str, *_: object) -> bool:
    """The scratch copy's indexes were named by PostgreSQL."""
    return not (kind == "index" and isinstance(thing, Index) and thing.table.schema == hub_index.SCRATCH)  # type: ignore[union-attr]


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
        ("service_api", "webhooks", "subscriptions", True),
        ("service_api", "webhooks", "deliveries", False),
        ("service_webhooks", "webhooks", "subscriptions", False),
        ("service_webhooks", "webhooks", "deliveries", True),
        ("service_webhooks", "hub_index", "changes", False),
    ],
)
def test_role__on_a_table_it_may_read__writes_only_its_own_schema(
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
        ("service_webhooks", "app", "written_verdicts"),
        ("service_webhooks", "delivery", "wraps"),
        ("service_indexer", "webhooks", "subscriptions"),
    ],
)
def test_role__on_a_table_that_is_not_its_business__may_not_even_read(
    database: Database, role: str, schema: str, table: str
) -> None:
    with (
        database.engine(role).connect() as connection,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        connection.execute(text(f"SELECT count(*) FROM {schema}.{table}"))


class Ticks:
    """A clock whose every wait is a second that costs none."""

    def __init__(self) -> None:
        self.waited = 0

    def now(self) -> UnixSeconds:
        return UnixSeconds(self.waited)

    def monotonic(self) -> float:
        return float(self.waited)

    def sleep(self, seconds: float) -> None:
        self.waited += int(seconds)


@pytest.mark.parametrize("role", ROLES)
def test_schema__that_is_there__is_seen_by_every_role_at_once(database: Database, role: str) -> None:
    clock = Ticks()
    assert await_schema(database.url(role), clock=clock, seconds=5) == NEWEST
    assert clock.waited == 0


def test_schema__of_an_older_release__is_waited_for_and_then_refused(database: Database) -> None:
    clock = Ticks()
    with database.engine().begin() as connection:
        connection.execute(text("UPDATE schema_version SET version_num = '0001'"))
    with pytest.raises(SchemaBehind, match=f"at schema 0001; this release needs {NEWEST}"):
        await_schema(database.url("service_api"), clock=clock, seconds=3)
    assert clock.waited == 3


def test_schema__of_a_newer_release__is_good_enough(database: Database) -> None:
    with database.engine().begin() as connection:
        connection.execute(text("UPDATE schema_version SET version_num = '9999'"))
    assert await_schema(database.url("service_api"), clock=Ticks(), seconds=1) == "9999"


def test_schema__of_a_database_that_is_not_there__is_waited_for(database: Database) -> None:
    with pytest.raises(SchemaBehind, match='"nowhere" does not exist'):
        await_schema(database.url().rsplit("/", 1)[0] + "/nowhere", clock=Ticks(), seconds=2)
