"""The pages of one process, made of what a fake API answers."""

import json
from dataclasses import dataclass, field
from typing import cast

import pytest
from bounty_protocol.crypto.beacon import RelayAnswer
from bounty_protocol.timely import TimelyHttp
from bounty_protocol.types import UnixSeconds
from flask import Flask
from flask.testing import FlaskClient
from html5lib import HTMLParser
from service_web.api.answers import Api
from service_web.api.client import ApiReader
from service_web.app import make_app
from service_web.beacon import Rounds
from service_web.challenge import Challenges
from service_web.config import read_config
from service_web.dependencies import Dependencies
from service_web.withheld import WithheldTexts
from service_web.written import WrittenVerdicts
from werkzeug.test import TestResponse

from tests.vectors.samples import BEACON
from tests.web.fake_api import CHAIN, HUB, NOW, FakeApi, Ledger

VARIABLES = {
    "SERVICE_PUBLIC_HOST": "api.example",
    "SERVICE_API_URL": "http://api:8080",
    "SERVICE_PAGES_URL": "https://bounties.example",
    "SERVICE_EXPLORER_URL": "https://explorer.example",
    "SERVICE_BUDGET_FACTOR": "1000",
    "SERVICE_CHAIN_ID": str(CHAIN),
    "SERVICE_HUB_ADDRESS": HUB,
    "SERVICE_STORAGE_BUCKET": "sealed-work",
    "SERVICE_BEACON_URLS": "https://relay.example",
    "SERVICE_BEACON_CHAIN_HASH": BEACON.info.chain_hash,
    "SERVICE_BEACON_PUBLIC_KEY": BEACON.info.public_key,
}


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
    """An app, what it reads, and a client of it."""

    ledger: Ledger = field(default_factory=Ledger)
    clock: OwnClock = field(default_factory=OwnClock)
    variables: dict[str, str] = field(default_factory=lambda: dict(VARIABLES))
    relay: FakeRelay = field(default_factory=FakeRelay)

    def __post_init__(self) -> None:
        self.api = FakeApi(self.ledger)
        client = ApiReader("http://api:8080", self.clock, cast("TimelyHttp", self.api))
        api = Api(client)
        withheld = WithheldTexts(api, self.clock)
        written, challenges = WrittenVerdicts(api, withheld, self.clock), Challenges(api, withheld, self.clock)
        config = read_config(self.variables)
        rounds = Rounds(config.beacon, self.relay, self.clock)
        self.app: Flask = make_app(Dependencies(config, api, challenges, written, rounds, self.clock))
        self.client: FlaskClient = self.app.test_client()

    def get(self, path: str, **headers: str) -> TestResponse:
        """The answer to a GET."""
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


@pytest.fixture
def pages() -> Pages:
    return Pages()
