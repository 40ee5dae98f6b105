"""What holds for every test: the interpreter as services have it, no limit of time, and an interrupt that arrives."""

import gc
import signal
import sys

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


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis walks by the campaign's seed: the same way in each run, another with another seed."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED
