"""A chain with people for the session; an API twin, an RPC proxy and a terminal for each test."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bounty_protocol.chain import rpc as layer
from local_stack import anvil
from service_cli import api as api_module
from service_cli.chain import agreement, sender
from service_cli.ui.output import set_quiet
from service_cli.work import storage

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import LONG_AGO, Ledger, make_ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal
from tests.providers import ProviderTwin
from tests.servers import database_server
from tests.world import HubOnNode

if TYPE_CHECKING:
    from tests.cli.submitted import Submitted

__all__ = ["database_server"]


@pytest.fixture(autouse=True)
def _not_quiet() -> None:
    """One test's ``--quiet`` is not the next one's."""
    set_quiet(False)


@contextmanager
def new_ledger() -> Iterator[Ledger]:
    """A chain with a Hub of its own."""
    with anvil.start(mining="automine", genesis_time=int(time.time()) - LONG_AGO) as node, make_ledger(node) as ledger:
        yield ledger


@pytest.fixture(scope="session")
def ledger() -> Iterator[Ledger]:
    with new_ledger() as found:
        yield found


@pytest.fixture
def world(ledger: Ledger) -> HubOnNode:
    """The chain of these commands, with the verbs of a bounty."""
    ledger.node.mine()  # the newest block may be as old as the last test of this chain
    return HubOnNode(ledger.node, ledger.people, ledger.delivery, ledger.hub)


@pytest.fixture
def api(ledger: Ledger) -> Iterator[ApiTwin]:
    twin = ApiTwin(ledger)
    yield twin
    twin.close()


@pytest.fixture
def rpc(ledger: Ledger) -> Iterator[RpcProxy]:
    with RpcProxy(ledger.node.url) as proxy:
        yield proxy


@pytest.fixture
def second(ledger: Ledger) -> Iterator[RpcProxy]:
    """Another endpoint of the same chain."""
    with RpcProxy(ledger.node.url) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that are minutes for people are moments here."""
    monkeypatch.setattr(agreement, "LAG_SECONDS", 0.01)
    monkeypatch.setattr(layer, "LIMIT_WAITS", (0.01, 0.02, 0.04))
    for module in (api_module, storage):
        monkeypatch.setattr(module, "pause", lambda _: None)
    for name, seconds in (
        ("RECEIPT_SECONDS", 3.0),
        ("MISSING_SECONDS", 0.5),
        ("_POLL_SECONDS", 0.05),
        ("_LOOK_SECONDS", 0.5),
    ):
        monkeypatch.setattr(sender, name, seconds)


@pytest.fixture
def shell(tmp_path: Path) -> Terminal:
    """A terminal that knows nothing."""
    return Terminal(tmp_path)


def person(ledger: Ledger, api: ApiTwin, rpc: RpcProxy | ProviderTwin, home: Path, name: str) -> Terminal:
    """A terminal with one role's keys, the twin's API and the proxy's chain."""
    keys = ledger.people.by_name()[name].variables()
    home.mkdir(exist_ok=True)
    return Terminal(home, {**api.variables(), "SERVICE_RPC_URL": rpc.url, **keys})


@pytest.fixture
def poster(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Terminal:
    return person(ledger, api, rpc, tmp_path / "poster", "poster")


@pytest.fixture
def solver(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Terminal:
    return person(ledger, api, rpc, tmp_path / "solver", "solver-1")


@pytest.fixture
def guardian(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Terminal:
    return person(ledger, api, rpc, tmp_path / "guardian", "guardian-1")


@pytest.fixture(scope="session")
def judged(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> "Submitted":
    """A Submission to be judged."""
    from tests.cli.submitted import submit

    return submit(ledger, tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="session")
def won(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> "Submitted":
    """An awarded Submission."""
    from tests.cli.submitted import submit

    found = submit(ledger, tmp_path_factory.mktemp("won"))
    ledger.award(int(found.bounty), found.solver, found.commitment)
    return found


@pytest.fixture(scope="session")
def ended(ledger: Ledger) -> int:
    """A bounty that the first two Guardians awarded."""
    return ledger.awarded(ledger.people.solvers[1].wallet)


@pytest.fixture
def bounty(ledger: Ledger, api: ApiTwin) -> str:
    """One that accepts Submissions for as long as a test runs; the twin has its page."""
    number, page = ledger.fund(seconds=20 * 86_400)
    api.keep_page(page)
    return str(number)
