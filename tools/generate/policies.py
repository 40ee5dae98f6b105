"""docs/operations.md: who may connect to whom, from the rendered network policies."""

from collections.abc import Iterator
from typing import Final

from kustomization.policies import NAMESPACE, Elsewhere, Pod, Policies, pods
from kustomization.render import render

from tools.generate.derived import TOP, part, table

ENTRANCE: Final = Elsewhere("the entrance", {"bounty-escrow-entrance": "true"})
MONITORING: Final = Elsewhere("monitoring", {NAMESPACE: "monitoring"})
ANY: Final = Elsewhere("any other namespace", {NAMESPACE: "another"})
OUTSIDE: Final = (("1.1.1.1", 443), ("169.254.169.254", 80))
"""An address of each kind, with the port at which it is asked."""


def _table() -> Iterator[str]:
    objects = render(TOP / "deploy/k8s/overlays/staging")
    policies, every = Policies(objects), pods(objects)
    asking: list[Pod | Elsewhere] = [*every, ENTRANCE]
    reached = [each for each in every if any(_open(policies, one, each) for one in asking)]
    others = [each for each in every if each.ports and each not in reached]
    columns = ["from", *(each.name for each in reached), "each other pod", "public addresses", "workload identity"]
    rows = [[one.name, *_cells(policies, one, reached, others)] for one in [*asking, MONITORING, ANY]]
    lines = [" ".join(f"| {cell}".rstrip() for cell in row) + " |" for row in (columns, *rows)]
    yield table(lines[0], lines[1:])


def _cells(policies: Policies, one: Pod | Elsewhere, reached: list[Pod], others: list[Pod]) -> Iterator[str]:
    yield from (_open(policies, one, each) for each in reached)
    (same,) = {_open(policies, one, each) for each in others}
    yield same
    for address, port in OUTSIDE:
        yield str(port) if isinstance(one, Pod) and policies.reaches(one, address, port) else ""


def _open(policies: Policies, source: Pod | Elsewhere, target: Pod) -> str:
    return ", ".join(str(port) for port in sorted(target.ports) if policies.open(source, target, port))


POLICIES: Final = part("docs/operations.md", "policies", _table)
