"""docs/deploying.md: what each process was measured to use, and what the pods of each overlay request of a cluster."""

from collections.abc import Iterator, Mapping
from typing import Final

from kustomization.render import render
from kustomization.requests import Demand, Demands, totals, workloads

from tools.generate.derived import TOP, part

SMALL_NODE: Final = Demand(1500, 6 * 2**30)
"""What is left for the service of a node with two cores and 8 GB, beside the system's own pods."""
SMALL_NODES: Final = 2
OVERLAYS: Final = ("staging", "mainnet", "small")
MEASURED: Final[Mapping[str, tuple[float, int]]] = {
    "api": (5.7, 1),
    "api-worker": (3.0, 1),
    "delivery": (2.1, 1),
    "delivery-worker": (2.0, 3),
    "reviewer": (2.1, 1),
    "reviewer-worker": (1.9, 1),
    "indexer-worker": (6.7, 53),
    "indexer-scheduler": (1.3, 3),
    "settler": (3.2, 27),
    "web": (2.1, 1),
}
"""Seconds of a core that a process took in its first minute, and thousandths of one afterwards without requests.

Of the local stack on two cores, with a block each second and 60 seconds of rest; the start of the api is the longest of
those on a real cluster.
"""


def totals_of(overlay: str) -> Demands:
    """What an overlay requests."""
    return totals(render(TOP / "deploy/k8s/overlays" / overlay))


def cores(request: Demand) -> str:
    """CPU and memory as a cell of a table."""
    return f"{request.cpu:,}m, {request.memory / 2**30:.1f} GiB"


_OVERLAYS: Final = (
    "| overlay | at rest | while every Deployment surges | former pods still ending, every Job running"
    " | at the autoscalers' most | all of it at once |\n|---|---|---|---|---|---|"
)
_PODS: Final = (
    "| pod | pods at rest | requests of each | seconds of a core to start | at rest without requests |\n"
    "|---|---|---|---|---|"
)


def _tables() -> Iterator[str]:
    yield "\n".join([_OVERLAYS, *(_row(name, totals_of(name)) for name in OVERLAYS)])
    requests = {each.name: each for each in workloads(render(TOP / "deploy/k8s/overlays/staging"))}
    rows = (
        f"| {name} | {requests[name].least} | {cores(requests[name].request)} | {start} | {rest}m |"
        for name, (start, rest) in MEASURED.items()
    )
    yield "\n".join([_PODS, *rows])


def _row(name: str, total: Demands) -> str:
    cells = (total.rest, total.surging, total.ending, total.most, total.most_ending)
    return f"| `{name}` | {' | '.join(map(cores, cells))} |"


REQUESTS: Final = part("docs/deploying.md", "requests", _tables)
