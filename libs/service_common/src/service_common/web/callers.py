"""Who calls an app, and how much each may use of it in a while.

A caller over its budget gets 429 ``rate_limit_reached`` with Retry-After, and nobody else is held up; the fields
``RateLimit`` and ``RateLimit-Policy`` show what a budget leaves. Before a signature is proven only a coarse bound for
each network address holds, answered 503: an account's name alone uses up nothing of its budget. An account that was
let through within the window is not held up by those who share its network address, up to a bound that holds for all of
them together. In IPv6 whoever has a /64 often has a whole /56 or /48: each of those has a multiple of what a /64 has. A
network address that was
refused many times is answered slowly, since a refusal costs its sender less than it costs here. Requests that come
from inside the deployment, past its proxies, are many people's and have no budget of a single caller.
"""

import ipaddress
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Timer
from typing import Final, cast
from wsgiref.types import WSGIEnvironment

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address
from flask import Flask, Response, current_app, g, request

from service_common.budgets import Budget, Budgets, BudgetState
from service_common.web.at_work import AtWork
from service_common.web.outcomes import excuse
from service_common.web.settings import client_address
from service_common.web.turns import Turns

EXTENSION: Final = "service-callers"
_IPV6_CLIENT: Final = 64
IPV6_SHARES: Final = {_IPV6_CLIENT: 1, 56: 4, 48: 16}
"""How many times what one client may use each network of IPv6 around it may use, by the length of its prefix."""
AT_MOST: Final = 2
"""How many times its budget all accounts behind a network address may use together, known ones included."""
_NETWORK: Final = "service.network"
"""Where a request keeps what was worked out: the edge, the budgets and the wallets all need it."""


@dataclass(frozen=True, slots=True)
class CallerBudgets:
    """The budgets of every caller of an app; a route may add budgets of its own."""

    arrivals: Budget = Budget("arrivals", 2_000, 10)
    """Of a network address: signed requests, before anything of them is proven; past it 503 (`service_overloaded`)."""
    reads: Budget = Budget("reads", 1_200, 60)
    """Of a network address: public reads that no process has kept, also those that the pages make for somebody."""
    account: Budget = Budget("account", 600, 60)
    """Of a proven account: signed requests."""
    address: Budget = Budget("address", 3_000, 60)
    """Of a network address: signed requests of all accounts behind it."""
    refusals: Budget = Budget("refusals", 120, 60)
    """Of a network address: answers that refused it, before it is answered slowly, and two at a time."""


READ_SECONDS: Final = 0.005
"""Processor time of a public read that counts as one."""
FREE_PART: Final = 8
"""The part of a process's free places that one network address may have."""
WORK_PATIENCE_SECONDS: Final = 3.0
"""How long a public read waits for its turn at most."""
MOST_REST_SECONDS: Final = 1.0
"""How long a place is kept after its request at most."""
SLOWED_AT_ONCE: Final = 2
"""Requests of a network address that is answered slowly, answered by a process at a time."""


@dataclass(frozen=True, slots=True)
class Share:
    """A network that has ``times`` what one client has of a budget, counted under the budget's name with ``suffix``."""

    network: str
    times: int = 1
    suffix: str = ""

    def of(self, budget: Budget) -> Budget:
        """Its own budget."""
        return budget.times(self.times, self.suffix) if self.suffix else budget


@dataclass(frozen=True, slots=True)
class Network:
    """Where a request comes from, as far as budgets go: an IPv4 address, or the /64 that one subscriber has in IPv6."""

    name: str
    shares: tuple[Share, ...]
    """Its own, and those of the networks around it, the widest last."""

    @property
    def widest(self) -> str:
        """The name of the largest network that counts as one."""
        return self.shares[-1].network


class Callers:
    """The callers of one app.

    ``hops`` is how many of the deployment's own proxies are before it, ``at_once`` how many requests of one network
    address a process answers at a time, ``working`` how many public reads of all it works on.
    """

    def __init__(self, budgets: Budgets, limits: CallerBudgets, hops: int, at_once: int, working: int) -> None:
        self._budgets, self._limits, self._hops, self._at_once = budgets, limits, hops, at_once
        self._at_work = AtWork()
        self._turns = Turns(working, WORK_PATIENCE_SECONDS)

    def network(self) -> Network | None:
        """Where this request comes from; None: from inside the deployment."""
        return self.network_of(request.environ)

    def network_of(self, environ: WSGIEnvironment) -> Network | None:
        """The same for a request that the framework does not have yet."""
        if _NETWORK not in environ:
            stated = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
            address = client_address(*stated, self._hops)
            environ[_NETWORK] = None if address is None else client_network(address)
        return cast("Network | None", environ[_NETWORK])

    def arrive(self) -> None:
        """Count a signed request before anything of it is looked at; 503 where its address sends too many."""
        if any(not standing.granted for standing in self._take(self._limits.arrivals)):
            excuse(request.environ)
            raise ServiceError("service_overloaded", "Too many requests come from this network address at the moment.")

    def read(self) -> AbstractContextManager[None]:
        """Count a public read by what it costs."""
        return self.work(self._limits.reads, READ_SECONDS)

    @contextmanager
    def ask(self) -> Iterator[None]:
        """Count a public read that another service or the chain answers. It computes little and may wait for long, so
        it takes no turn from those who compute."""
        self.charge(self._limits.reads)
        with self._costs(self._limits.reads, READ_SECONDS):
            yield

    @contextmanager
    def work(self, budget: Budget, seconds: float) -> Iterator[None]:
        """Take one of a budget of this request's network address before the work, and then as many more as it cost: one
        for each ``seconds`` of this thread's processor time. Waiting costs nothing. Few work at a time, those first who
        have used the least of the budget."""
        used = self.charge(budget)
        with self._turns.turn(used) as has_turn:
            if not has_turn:
                raise ServiceError("service_overloaded", "This service answers as many reads as it can at the moment.")
            with self._costs(budget, seconds):
                yield

    @contextmanager
    def _costs(self, budget: Budget, seconds: float) -> Iterator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            if more := int((time.thread_time() - began) / seconds):
                for each, network in self._counts(request.environ, budget):
                    self._show(self._budgets.spend(each, network, more))

    def prove(self, signer: Address) -> None:
        """Count a signed request once its signer is proven."""
        self.charge_account(self._limits.account, self._limits.address, signer)

    def charge(self, budget: Budget, cost: int = 1) -> int:
        """Take from a budget of this request's network address; how much of it is used by now."""
        used = 0
        for standing in self._take(budget, cost):
            used = max(used, budget.amount - standing.left)
            if standing.budget is budget or not standing.granted:
                self._require(standing)
        return used

    def charge_account(self, own: Budget, behind_address: Budget, signer: Address, cost: int = 1) -> None:
        """Take from a proven account's own budget and from what all accounts behind its network address share.

        An account that was let through before needs no share, within ``AT_MOST`` times the shared budget.
        """
        before = self._budgets.look(own, signer)
        if before.left < cost:
            self._require(replace(before, granted=False))
        network = self.network()
        if network is not None:
            shared = self._budgets.take(behind_address, network.name, cost)
            if shared.granted or before.left == own.amount:  # else an account that was let through before
                self._require(shared)
            for standing in self._take(behind_address.times(AT_MOST, "-at-most"), cost):
                if not standing.granted:
                    self._require(standing)
        self._require(self._budgets.take(own, signer, cost))

    def admit(self, environ: WSGIEnvironment, free: int, places: ExitStack) -> bool:
        """Whether this request's network address has a place for one more; it is given back with ``places``.

        The fewer places the process has ``free``, the fewer one address may have: so some stay free for others, however
        many addresses send as much as they may.
        """
        network = self.network_of(environ)
        if network is None:
            return True
        most = SLOWED_AT_ONCE if self.is_slowed(environ) else self._at_once
        most = min(most, max(1, free // FREE_PART))
        is_admitted = all(
            self._at_work.begin(("requests", share.network), most * share.times, places) for share in network.shares
        )
        if not is_admitted:
            excuse(environ)
        return is_admitted

    def is_slowed(self, environ: WSGIEnvironment) -> bool:
        """Whether this request's network address was refused so often that it is answered slowly."""
        counts = self._counts(environ, self._limits.refusals)
        return any(not self._budgets.look(budget, network).granted for budget, network in counts)

    def count_refusal(self, environ: WSGIEnvironment) -> bool:
        """Note that this request was refused; whether its network address is answered slowly from now on."""
        counts = self._counts(environ, self._limits.refusals)
        taken = [self._budgets.take(budget, network) for budget, network in counts]
        return any(not standing.left for standing in taken)

    def _take(self, budget: Budget, cost: int = 1) -> Iterator[BudgetState]:
        """Take from a budget of this request's network address, and from those of the networks around it."""
        for each, network in self._counts(request.environ, budget):
            yield self._budgets.take(each, network, cost)

    def _counts(self, environ: WSGIEnvironment, budget: Budget) -> Iterator[tuple[Budget, str]]:
        """Which budgets of which holders stand for one budget of this request's network address."""
        network = self.network_of(environ)
        for share in () if network is None else network.shares:
            yield share.of(budget), share.network

    @contextmanager
    def turn(self, kind: str, most: int, patience: float = 0, rests_after: float | None = None) -> Iterator[None]:
        """Be one of at most ``most`` requests of a kind that this request's network address has answered at a time.

        What takes long is not all taken by one address. Waits for up to ``patience`` seconds, then raises 503: a caller
        who shares the address is to try again. A request that took more than ``rests_after`` seconds of the processor
        keeps its place for as long again, so that other requests run in between.
        """
        network = self.network()
        with ExitStack() as places:
            if network is not None and not self._at_work.begin((kind, network.name), most, places, patience=patience):
                excuse(request.environ)
                raise ServiceError(
                    "service_overloaded", "Too many such requests of this network address are being answered."
                )
            began = time.thread_time()
            try:
                yield
            finally:
                took = time.thread_time() - began
                if network is not None and rests_after is not None and took > rests_after:
                    _later(min(took, MOST_REST_SECONDS), places.pop_all().close)

    def _show(self, standing: BudgetState) -> None:
        """Have the answer show what a budget leaves by now, where it shows that budget at all."""
        shown: list[BudgetState] = g.get("standings", [])
        shown[:] = [standing if each.budget is standing.budget else each for each in shown]

    def _require(self, standing: BudgetState) -> None:
        """Show what a budget leaves, and refuse where it was not granted."""
        g.setdefault("standings", []).append(standing)
        if not standing.granted:
            budget = standing.budget
            message = f"The budget {budget.name!r} of {budget.amount} in {budget.seconds} seconds is used up."
            raise ServiceError("rate_limit_reached", message, retry_after=standing.seconds)


def install_callers(app: Flask, callers: Callers) -> None:
    """Give ``app`` its callers' budgets, and its answers the fields that show them."""
    app.extensions[EXTENSION] = callers
    app.after_request(_show_budgets)


def callers() -> Callers | None:
    """Those of the app that answers this request; None where it has no budgets."""
    return cast("Callers | None", current_app.extensions.get(EXTENSION))


@lru_cache(maxsize=4_096)
def client_network(address: str) -> Network:
    """The key of one client: an IPv4 address, or the /64 network that one subscriber has in IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return _alone("unknown")
    if not isinstance(found, ipaddress.IPv6Address):
        return _alone(str(found))
    if (mapped := found.ipv4_mapped) is not None:
        return _alone(str(mapped))
    networks = {length: str(ipaddress.ip_network((found, length), strict=False)) for length in IPV6_SHARES}
    shares = (
        Share(network, IPV6_SHARES[length], "" if length == _IPV6_CLIENT else f"/{length}")
        for length, network in networks.items()
    )
    return Network(networks[_IPV6_CLIENT], tuple(shares))


def _later(seconds: float, act: Callable[[], object]) -> None:
    timer = Timer(seconds, act)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # the system has no thread left
        act()


def _alone(name: str) -> Network:
    return Network(name, (Share(name),))


def _show_budgets(response: Response) -> Response:
    standings = cast("list[BudgetState]", g.get("standings", []))
    if standings:
        response.headers["RateLimit"] = ", ".join(standing.field() for standing in standings)
        response.headers["RateLimit-Policy"] = ", ".join(standing.policy() for standing in standings)
    return response
