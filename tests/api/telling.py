"""A WSGI app that answers from which network a request comes, for a service behind one proxy."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from bounty_protocol.clock import SystemClock
from service_common.budgets import Budgets
from service_common.web.callers import CallerBudgets, Callers

CALLERS = Callers(Budgets(SystemClock()), CallerBudgets(), hops=1)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with the network's name."""
    network = CALLERS.network_of(environ)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [network.name.encode()]
