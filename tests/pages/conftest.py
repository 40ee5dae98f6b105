"""The pages of one process over a real database, which a ledger is written to."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest
from bounty_protocol.crypto.beacon import RelayAnswer
from bounty_protocol.types import UnixSeconds
from flask import Flask
from flask.testing import FlaskClient
from gcs_twin.keys import make_service_account
from html5lib import HTMLParser
from service_api.app import make_app
from service_api.config import ApiConfig, read_config
from service_api.deployment.constants import Constants
from service_api.resources import make_resources
from service_common.web.dependencies import provided
from werkzeug.test import TestResponse

from tests.pages.ledger import CHAIN, HUB, NOW, Ledger, hub_constants
from tests.servers import Database, DatabaseServer, database_server
from tests.vectors.samples import BEACON

__all__ = ["database_server"]

_NOWHERE = "http://127.0.0.1:9"
VARIABLES = {
    "SERVICE_PUBLIC_HOST": "bounties.example",
    "SERVICE_EXPLORER_URL": "https://explorer.example",
    "SERVICE_BUDGET_FACTOR": "1000",
    "SERVICE_CHAIN_ID": str(CHAIN),
    "SERVICE_HUB_ADDRESS": HUB,
    "SERVICE_RPC_URLS": _NOWHERE,
    "SERVICE_DELIVERY_URL": _NOWHERE,
    "SERVICE_REDIS_URL": "redis://127.0.0.1:9/0",
    "SERVICE_DATABASE_URL": "postgresql://service@127.0.0.1:9/service",
    "SERVICE_STORAGE_BUCKET": "sealed-work",
    "SERVICE_BEACON_URLS": "https://relay.example",
    "SERVICE_BEACON_CHAIN_HASH": BEACON.info.chain_hash,
    "SERVICE_BEACON_PUBLIC_KEY": BEACON.info.public_key,
}
ORIGIN = "http://bounties.example"
_running: list[DatabaseServer] = []
"""The session's server, of which each ``Pages`` takes a database."""
_free: list[Database] = []
"""Databases of pages that are closed: a ledger takes the place of what one had."""
_open: list["Pages"] = []


@pytest.fixture(scope="session", autouse=True)
def _server(database_server: DatabaseServer) -> Iterator[None]:
    _running.append(database_server)
    yield
    _close_from(0)
    while _free:
        _free.pop().close()
    _running.clear()


@pytest.fixture(autouse=True)
def _closed(_server: None) -> Iterator[None]:
    """Close what a test opened itself; what its module opened stays."""
    first = len(_open)
    yield
    _close_from(first)


def _close_from(first: int) -> None:
    while len(_open) > first:
        _open.pop().close()


@cache
def credentials() -> str:
    """The key of a service account that nobody has."""
    with tempfile.TemporaryDirectory() as folder:
        make_service_account(Path(folder), f"{_NOWHERE}/token")
        return (Path(folder) / "service-account.json").read_text(encoding="utf-8")


def configured(variables: dict[str, str]) -> ApiConfig:
    """The configuration of these variables."""
    return read_config({**variables, "SERVICE_STORAGE_CREDENTIALS": credentials()})


@dataclass
class OwnClock:
    """Time as a test has it. Every look at the monotonic clock is ``step`` later, so that nothing is kept."""

    at: int = NOW
    ticks: float = 1_000.0
    step: float = 10.0

    def now(self) -> UnixSeconds:
        return UnixSeconds(self.at)

    def monotonic(self) -> float:
        self.ticks += self.step
        return self.ticks

    def sleep(self, seconds: float) -> None:
        raise AssertionError("no test waits")


@dataclass
class FakeRelay:
    """A relay of the sample beacon; what it answers can be replaced, and it counts the rounds it was asked for."""

    asked: list[str] = field(default_factory=list)
    forged: bool = False
    silent: bool = False

    def get(self, url: str, timeout: float) -> RelayAnswer:
        if self.silent:
            raise OSError("no answer")
        kind = url.rpartition("/")[2]
        if kind == "info":
            return RelayAnswer(200, json.dumps(BEACON.info_json()).encode())
        self.asked.append(kind)
        return RelayAnswer(200, json.dumps(BEACON.beacon_json(int(kind) + self.forged) | {"round": int(kind)}).encode())


@dataclass
class Pages:
    """An app, the database that it reads, and a client of it."""

    ledger: Ledger = field(default_factory=Ledger)
    clock: OwnClock = field(default_factory=OwnClock)
    variables: dict[str, str] = field(default_factory=lambda: dict(VARIABLES))
    relay: FakeRelay = field(default_factory=FakeRelay)
    server: DatabaseServer | None = None
    """Where its database is; the session's server otherwise."""

    def __post_init__(self) -> None:
        self.database = _free.pop() if _free else (self.server or _running[-1]).new()
        self._written, self._writer = "", self.database.engine()
        config = configured({**self.variables, "SERVICE_DATABASE_URL": self.database.url("service_api")})
        self.resources = replace(make_resources(config, pool_size=4), clock=self.clock, relays=self.relay)
        self.app: Flask = make_app(self.resources)
        with self.app.app_context():
            self.constants = vars(provided(Constants))
        self.constants["hub"] = hub_constants()
        self.client: FlaskClient = self.app.test_client()
        self.is_lost = False
        _open.append(self)
        self.write()

    def close(self) -> None:
        """End its connections, and leave its database to others."""
        self.resources.engine.dispose()
        self._writer.dispose()
        if not self.is_lost:
            _free.append(self.database)

    def lose_database(self) -> None:
        """Take its database away for good."""
        self.is_lost = True
        self.database.server.drop_database(self.database.name)

    def write(self) -> None:
        """Write the ledger, where it has changed."""
        if not self.is_lost and (found := repr(self.ledger)) != self._written:
            with self._writer.begin() as connection:
                self.ledger.write(connection)
            self._written = found

    def get(self, path: str, **headers: str) -> TestResponse:
        """The answer to a GET."""
        self.write()
        return self.client.get(path, headers=headers)

    def text(self, path: str, status: int = 200) -> str:
        """The text of a page as a reader sees it, its spaces joined; the page is well-formed HTML."""
        answer = self.get(path)
        assert answer.status_code == status, (path, answer.status_code)
        return text_of(answer.get_data(as_text=True))


def text_of(html: str) -> str:
    """What is between the tags of strictly well-formed HTML."""
    tree = HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)
    return " ".join(" ".join(tree.itertext()).split())


@pytest.fixture(scope="session")
def _shared(_server: None) -> Pages:
    return Pages()


@pytest.fixture
def pages(_shared: Pages) -> Pages:
    """The session's pages with nothing in their ledger; what they kept of an earlier test is too old for this one."""
    clock, relay = _shared.clock, _shared.relay
    _shared.ledger, clock.at, clock.ticks, clock.step = Ledger(), NOW, clock.ticks + 1_000_000, 10.0
    relay.asked, relay.forged, relay.silent = [], False, False
    _shared.constants["hub"] = hub_constants()
    return _shared
