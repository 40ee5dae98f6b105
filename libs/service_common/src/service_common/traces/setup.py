"""How a process starts and ends with traces.

Without an endpoint nothing of OpenTelemetry's SDK is imported. With one, no request waits for the collector, and a
process that ends does so for at most ``CLOSE_SECONDS``, then drops what is left. Called by each process that answers or
works, after it was forked, since the thread that sends does not outlive a fork.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.util import Finalize
from typing import Final

from bounty_protocol.chain import json_rpc

from service_common.traces.port import client, used
from service_common.traces.settings import TraceSettings

CLOSE_SECONDS: Final = 2.0
CHILD_CLOSE_SECONDS: Final = 1.0


def start_traces(service: str, settings: TraceSettings) -> None:
    """Send this process's spans as those of ``service``, where an endpoint is set."""
    if settings.endpoint is None:
        return
    from service_common.traces.otel import OtelTracer  # the SDK: a process without traces does not load it

    used.tracer = OtelTracer(service, settings.endpoint, settings.ratio)
    json_rpc.watch = _watch_rpc
    # Unlike atexit, it also runs in a server's worker process, which multiprocessing ends on its own.
    Finalize(None, used.tracer.close, args=(CLOSE_SECONDS,), exitpriority=0)


@contextmanager
def in_forked_child() -> Iterator[None]:
    """Traces in the child that a worker forks for a job; what is left is sent before it ends."""
    if used.tracer is None:
        yield
        return
    used.tracer = used.tracer.forked()
    try:
        yield
    finally:
        used.tracer.close(CHILD_CLOSE_SECONDS)


def _watch_rpc(calls: Sequence[json_rpc.Call], place: int) -> AbstractContextManager[object]:
    """One request to the endpoint at this place of the configuration: its address may hold a secret."""
    methods = sorted({method for method, _ in calls})
    name = methods[0] if len(methods) == 1 else "batch"
    return client(
        name,
        {"rpc.system": "jsonrpc", "rpc.method": ",".join(methods), "rpc.calls": len(calls), "rpc.endpoint": place},
    )
