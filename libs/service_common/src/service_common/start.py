"""What a process depends on, tried at its start and by the command ``check``, by the functions that readiness calls.

A start ends if a setting names something else than it has to (``SettingWrong``): nothing that comes back by itself
would mend it, and the process would serve wrongly. What is only away is logged, and waited for as at any other time.
"""

import sys
import time
from collections.abc import Mapping
from typing import Final

from bounty_protocol.errors import ServiceError

from service_common.chain.settings import ChainSettings
from service_common.config import ConfigurationError, SettingWrong
from service_common.db.errors import explain
from service_common.internal_port import Check, outcomes, reason_of
from service_common.log import get_logger
from service_common.timeouts import BoundedCall

PATIENCE_SECONDS: Final = 12.0
"""How long each dependency may take: longer than the retries of Redis and the database, whose end says why."""

log = get_logger(__name__)


def require_usable(checks: Mapping[str, Check]) -> None:
    """Try every dependency once; raise ``ConfigurationError`` with all settings that are wrong, log the rest."""
    said = outcomes({name: BoundedCall(check) for name, check in checks.items()}, PATIENCE_SECONDS)
    failures = {name: error for name, error in said.items() if isinstance(error, Exception)}
    wrong = [f"{name}: {error}" for name, error in failures.items() if isinstance(error, SettingWrong)]
    if wrong:
        raise ConfigurationError(wrong)
    for name, error in failures.items():
        log.warning("not usable at the start", dependency=name, reason=_sentence(error))


def report(checks: Mapping[str, Check]) -> None:
    """Print a line for each dependency, and exit with 1 if one of them is not as it has to be."""
    said = outcomes({name: BoundedCall(check) for name, check in checks.items()}, PATIENCE_SECONDS)
    for name, outcome in said.items():
        failed = isinstance(outcome, Exception)
        words = _sentence(outcome) if isinstance(outcome, Exception) else outcome or "as it has to be"
        print(f"{'WRONG' if failed else 'ok':5}  {name}: {words}")  # noqa: T201  # what the command is for
    if any(isinstance(outcome, Exception) for outcome in said.values()):
        sys.exit(1)


def further_checks(chain: ChainSettings) -> dict[str, Check]:
    """Return what readiness leaves out, since other endpoints and other hours may make up for it."""
    rpc = chain.rpc()
    return {**chain.endpoint_checks(), "clock": lambda: chain.check_clock(rpc, time.time())}


def callers_check(hops: int) -> dict[str, Check]:
    """Return what can be told of the callers' addresses from inside: only a request from outside shows them."""
    if hops == 0:
        words = "each request's own connection (SERVICE_FORWARDED_HOPS is 0): right only without a proxy"
    else:
        words = (
            f"the header Callers, {hops} from its end; not known from inside: call the public host, "
            "then service_requests_without_caller_total of /metrics must not have grown"
        )
    return {"callers' addresses": lambda: words}


def _sentence(error: Exception) -> str:
    """Return why a dependency is not usable, without a library's words, which may hold an address."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (
        explain(error)
        or (error.message if isinstance(error, ServiceError) else reason_of(error))
        or type(error).__name__
    )
