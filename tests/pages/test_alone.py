"""The pages in a process of their own: by a role that only reads, without Redis and the bucket's account."""

from collections.abc import Iterator

import pytest
from flask import Flask
from service_api.app import make_pages_app
from service_api.config import read_config
from service_api.deployment.constants import Constants
from service_common.db.hub_facts import FactSource
from service_common.web.dependencies import provided
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from tests.pages.conftest import VARIABLES, Pages
from tests.pages.ledger import hub_constants
from tests.pages.test_pages import EVERY_PAGE, awarded
from tests.vectors.samples import BEACON


@pytest.fixture
def alone(pages: Pages) -> Iterator[Flask]:
    awarded(pages.ledger.add())
    pages.write()
    variables = {**VARIABLES, "SERVICE_DATABASE_URL": pages.database.url("service_pages")}
    for name in ("SERVICE_REDIS_URL", "SERVICE_DELIVERY_URL"):
        variables.pop(name)
    app = make_pages_app(read_config(variables, pages_alone=True))
    with app.app_context():
        vars(provided(Constants)).update(hub=hub_constants(), beacon=BEACON.info)
        yield app
        provided(FactSource).engine.dispose()


def test_each_page_is_there_and_no_route_of_programs(alone: Flask) -> None:
    client = alone.test_client()
    assert {path: client.get(path).status_code for path in EVERY_PAGE} == dict.fromkeys(EVERY_PAGE, 200)
    assert "Awarded" in client.get("/bounties/1").get_data(as_text=True)
    assert {client.get(path).status_code for path in ("/api/status", "/api/bounties", "/subgraph")} == {404}


@pytest.mark.parametrize("table", ["app.verification_records", "app.challenge_pages", "hub_index.bounties"])
def test_role_of_the_pages_writes_nothing(alone: Flask, table: str) -> None:
    with alone.app_context(), provided(FactSource).engine.begin() as connection, pytest.raises(ProgrammingError):
        connection.execute(text(f"DELETE FROM {table}"))
