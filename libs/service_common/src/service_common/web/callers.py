"""Who calls an app, and how much each may use of it in a while.

A caller over its budget gets 429 ``rate_limit_reached`` with Retry-After, and nobody else is held up: such a refusal
keeps its network's place for a second, since a program that asks again at once would cost others more than what it is
refused. An account is charged only once its signature is proven: its name alone uses up nothing of its budget. Requests
whose caller the deployment's proxies did not state are all of one network, and counted: nothing inside the deployment
calls an app here but probes of ``/healthz``, which no budget bounds, so the proxies or ``hops`` are set up wrongly.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from time import sleep, thread_time
from typing import Final, cast
from wsgiref.types import WSGIEnvironment

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address
from flask import request
from prometheus_client import Counter

from service_common.budgets import Budget, Budgets, BudgetState, Network, network_of
from service_common.places import Places
from service_common.web.error_budget import is_too_much
from service_common.web.settings import client_address

READ_SECONDS: Final = 0.005
"""Processor time of a public read that counts as one."""
AT_ONCE: Final = 16
"""Requests of one network that a process answers at a time; the /48 of an IPv6 address counts as one network."""
REFUSAL_SECONDS: Final = 1.0
"""How long a request waits for a place of its network, and how long one that is refused for too many keeps its own."""
MAX_KEPT: Final = 80
"""Refusals of a process that keep their places at a time: each holds a thread, and others are answered at once."""
_KEPT: Final = "kept"
_UNSTATED: Final = Network("unstated")
WITHOUT_CALLER: Final = Counter(
    "service_requests_without_caller_total",
    "Requests whose caller no proxy stated, though `SERVICE_FORWARDED_HOPS` says that one does; they share one budget",
)
_NETWORK: Final = "service.network"
"""Where a request keeps what was worked out: the edge, the budgets and the wallets all need it."""


@dataclass(frozen=True, slots=True)
class CallerBudgets:
    """The budgets of every caller of an app; a route may add budgets of its own."""

    reads: Budget = Budget("reads", 1_200, 60)
    """Public reads of a network that no process has kept."""
    account: Budget = Budget("account", 600, 60)
    """Signed requests of a proven account."""
    address: Budget = Budget("address", 3_000, 60)
    """Signed requests of all accounts behind a network."""


class Callers:
    """The callers of one app.

    ``hops`` is how many of the deployment's own proxies stated who called them, in the header ``Callers``, ``at_once``
    how many requests of one network a process answers at a time.
    """

    def __init__(self, budgets: Budgets, limits: CallerBudgets, hops: int, at_once: int = AT_ONCE) -> None:
        self.budgets = budgets
        self._limits, self._hops, self._at_once = limits, hops, at_once
        self._in_flight = Places()

    def network(self) -> Network:
        """Return the network of this request."""
        return self.network_of(request.environ)

    def network_of(self, environ: WSGIEnvironment) -> Network:
        """Return the network of a request that the framework has not seen yet."""
        if _NETWORK not in environ:
            stated = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_CALLERS", "")
            address = client_address(*stated, self._hops)
            if address is None:
                WITHOUT_CALLER.inc()
            environ[_NETWORK] = _UNSTATED if address is None else network_of(address)
        return cast("Network", environ[_NETWORK])

    @contextmanager
    def enter(self, environ: WSGIEnvironment) -> Iterator[None]:
        """Take one of the places of a request's network for concurrent requests; 503 if none becomes free within a
        second.
        """
        with self._in_flight.hold(self.network_of(environ).widest, self._at_once, patience=REFUSAL_SECONDS):
            yield
            if is_too_much(environ):
                with suppress(ServiceError), self._in_flight.hold(_KEPT, MAX_KEPT):
                    sleep(REFUSAL_SECONDS)

    def place(self, kind: str, most: int, patience: float = 0) -> AbstractContextManager[None]:
        """Take one of ``most`` places for concurrent requests of a kind from this request's network.

        So one network cannot occupy all slow routes. Waits for up to ``patience`` seconds, then raises 503.
        """
        return self._in_flight.hold((kind, self.network().widest), most, patience=patience)

    def read(self) -> AbstractContextManager[None]:
        """Charge for a public read by what it costs."""
        return self.work(self._limits.reads, READ_SECONDS)

    @contextmanager
    def work(self, budget: Budget, seconds: float) -> Iterator[None]:
        """Take one from a budget of this request's network before the work, and then as many more as it cost: one for
        each ``seconds`` of this thread's processor time. Waiting costs nothing."""
        self.charge(budget)
        began = thread_time()
        try:
            yield
        finally:
            self.spend(budget, int((thread_time() - began) / seconds))

    def spend_reads(self, reads: int) -> None:
        """Charge for as many further public reads as a read was worth, whatever time it took."""
        self.spend(self._limits.reads, reads)

    def prove(self, signer: Address) -> None:
        """Charge for a signed request once its signer is proven."""
        self.charge_account(self._limits.account, self._limits.address, signer)

    def charge(self, budget: Budget, cost: int = 1) -> None:
        """Take from a budget of this request's network; 429 if it is used up. With 0 only see that it is not."""
        _require(self.budgets.take_of(self.network(), budget, cost))

    def spend(self, budget: Budget, cost: int) -> None:
        """Take what work has already cost from a budget of this request's network: all of it, or what is left."""
        if cost:
            self.budgets.spend_of(self.network(), budget, cost)

    def charge_account(self, own: Budget, behind_address: Budget, signer: Address, cost: int = 1) -> None:
        """Take from a proven account's own budget and from the one shared by all accounts of its network; 429 if either
        is used up, and then nothing is taken from the account."""
        before = self.budgets.take(own, signer, 0)
        if before.left < cost:
            _require(replace(before, granted=False))
        self.charge(behind_address, cost)
        _require(self.budgets.take(own, signer, cost))


def _require(state: BudgetState) -> None:
    """Raise unless a budget was granted."""
    if not state.granted:
        budget = state.budget
        message = f"The budget {budget.name!r} of {budget.amount} in {budget.seconds} seconds is used up."
        raise ServiceError("rate_limit_reached", message, retry_after=state.seconds)
