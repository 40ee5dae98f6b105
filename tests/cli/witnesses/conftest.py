"""A second endpoint beside the first."""

from collections.abc import Iterator

import pytest
from service_cli.witnesses import vouching

from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy


@pytest.fixture
def second(ledger: Ledger) -> Iterator[RpcProxy]:
    """Another endpoint of the same chain."""
    proxy = RpcProxy(ledger.node.url)
    yield proxy
    proxy.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoints that lag are waited for no longer than a test."""
    monkeypatch.setattr(vouching, "LAG_SECONDS", 0.01)
