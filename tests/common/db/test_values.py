"""What a statement was given is in no error: rows hold pages, wrapped keys and addresses with a subscriber's token."""

import io
from contextlib import redirect_stderr

import pytest
import structlog
from service_common import log
from service_common.db.engine import engine_of_job, writing
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.servers import Database

TABLE = "CREATE TABLE kept (value text PRIMARY KEY, small int NOT NULL CONSTRAINT is_small CHECK (small < 5))"
SECRET = "https://hooks.example.org/T0KEN"


@pytest.mark.parametrize("limited", [True, False], ids=["of a service", "of a job through whole tables"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO kept (value, small) VALUES (:value, 1), (:value, 1)",
        "INSERT INTO kept (value, small) VALUES (:value, 7)",
        "INSERT INTO kept (value, small) VALUES (:value, NULL)",
        "INSERT INTO nowhere (value) VALUES (:value)",
    ],
    ids=["the key is there", "a check fails", "a value is missing", "there is no such table"],
)
def test_statement_error_logs_no_value(database: Database, statement: str, limited: bool) -> None:
    before = structlog.get_config()
    with engine_of_job(database.url(), application="test", limited=limited) as engine:
        with writing(engine) as connection:
            connection.execute(text(TABLE))
        with pytest.raises(DBAPIError) as caught, writing(engine) as connection:
            connection.execute(text(statement), {"value": SECRET})
    try:
        log.configure("test")
        with redirect_stderr(io.StringIO()) as written:
            log.get_logger(__name__).error("unexpected error", exc_info=caught.value)
    finally:
        structlog.configure(**before)
    assert type(caught.value.orig).__name__ in written.getvalue()
    assert "T0KEN" not in written.getvalue()
    assert "hooks.example" not in written.getvalue()
