"""The api in this process over an index, without what it would keep: what each read of it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bounty_protocol.clock import SystemClock
from service_api.app import make_app
from service_api.config import read_config
from service_api.deployment.constants import Constants
from service_api.resources import make_resources
from service_api.versions import EXTENSION, version_cache
from service_common.web.dependencies import provided
from sqlalchemy import Engine

from bench.generated.bounties import CHAIN, HUB
from bench.generated.chain import Spent
from bench.generated.copying import connections_cpu
from tests.pages.ledger import hub_constants
from tests.servers import Database

NOBODY = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Question:
    """A GET of a path, or a POST where there is a body."""

    path: str
    body: bytes | None = None


class Reader:
    """One process of the api over one index."""

    def __init__(self, database: Database, redis_url: str, storage: Path) -> None:
        self._clock, self._database = SystemClock(), database
        self._resources = make_resources(read_config(variables(database, redis_url, storage)))
        self.app = make_app(self._resources)
        with self.app.app_context():
            vars(provided(Constants))["hub"] = hub_constants()  # of no chain
        self._client = self.app.test_client()

    @property
    def engine(self) -> Engine:
        """The api's connections."""
        return self._resources.engine

    def close(self) -> None:
        """Close what the process holds."""
        self._resources.close()

    def ask(self, question: Question) -> bytes:
        """Return the answer, made anew."""
        self.app.extensions[EXTENSION] = version_cache(self._clock)
        method, media_type = ("GET", None) if question.body is None else ("POST", "application/json")
        response = self._client.open(question.path, method=method, data=question.body, content_type=media_type)
        if response.status_code != 200:
            raise RuntimeError(f"{question} was answered with {response.status_code}: {response.text}")
        return response.get_data()

    def cost(self, asked: Sequence[Question]) -> Spent:
        """Of one of these questions, on average; with PostgreSQL's part of the processor."""
        postgres, began = connections_cpu(self._database), Spent.now()
        for question in asked:
            self.ask(question)
        spent = Spent.now() - began
        return (spent + Spent(0.0, connections_cpu(self._database) - postgres)) / len(asked)


def variables(database: Database, redis_url: str, storage: Path) -> Mapping[str, str]:
    """Return the api's environment; what no read of the index needs is nowhere."""
    return {
        "SERVICE_CHAIN_ID": str(CHAIN),
        "SERVICE_HUB_ADDRESS": HUB,
        "SERVICE_RPC_URLS": NOBODY,
        "SERVICE_PUBLIC_HOST": "bounties.example",
        "SERVICE_DATABASE_URL": database.url("service_api"),
        "SERVICE_REDIS_URL": redis_url,
        "SERVICE_DELIVERY_URL": NOBODY,
        "SERVICE_REVIEWER_URL": NOBODY,
        "SERVICE_STORAGE_BUCKET": "bounties",
        "SERVICE_STORAGE_ENDPOINT": NOBODY,
        "SERVICE_STORAGE_CREDENTIALS": storage.read_text(encoding="utf-8"),
        "SERVICE_BEACON_URLS": NOBODY,
        "SERVICE_BEACON_CHAIN_HASH": "00" * 32,
        "SERVICE_BEACON_PUBLIC_KEY": "00" * 96,
        "SERVICE_BUDGET_FACTOR": "1000000",
    }
