"""The budget of connections in docs/operations.md is what the code's pools and the manifests' replicas add up to."""

import ast
import inspect
import re
from collections.abc import Iterator

import pytest
from kustomization.render import Object
from service_api.dependencies import make_dependencies

from .conftest import REPOSITORY
from .manifests import ENTRY_POINTS, OVERLAYS, by_name

PAGE = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
BUDGET = PAGE.split("## Connections to PostgreSQL")[1].split("\n## ")[0]
JOBS = 4
"""The migration, the dump, and pods that wait for the schema."""
ENGINES_OF = {
    "api": ("api", "api-health"),
    "api-worker": ("api-worker", "api-health"),
    "delivery": ("delivery", "delivery-health"),
    "delivery-worker": ("a job", "delivery-health"),
    "reviewer": (),
    "reviewer-worker": ("a job", "reviewer-health"),
    "indexer-worker": ("indexer", "indexer-health"),
    "indexer-scheduler": (),
    "settler": ("a job", "indexer-health"),
    "web": (),
    "webhooks": ("webhooks", "webhooks-health"),
}
"""What each process connects as; a worker does one job at a time."""


def _pools() -> Iterator[tuple[str, int]]:
    """The size of every pool of the code, by the name it connects as."""
    yield "api", inspect.signature(make_dependencies).parameters["pool_size"].default
    for folder in ("services", "libs"):
        for file in (REPOSITORY / folder).rglob("src/**/*.py"):
            for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                told = {each.arg: each.value for each in call.keywords} if isinstance(call, ast.Call) else {}
                size = told.get("pool_size")
                if isinstance(size, ast.Constant) and isinstance(size.value, int):
                    name = told.get("application")
                    yield str(name.value) if isinstance(name, ast.Constant) else "a job", size.value


POOLS = dict(_pools())
PER_POD = {name: 2 * sum(POOLS[each] for each in engines) for name, engines in ENGINES_OF.items()}
"""A pool may open as many again as it keeps (``max_overflow``)."""


def test_budget__of_each_pod__is_what_its_pools_may_open() -> None:
    engine = (REPOSITORY / "libs/service_common/src/service_common/db/engine.py").read_text(encoding="utf-8")
    assert "max_overflow=pool_size" in engine
    assert set(PER_POD) == set(ENTRY_POINTS)
    assert {
        name: int(count) for name, count in re.findall(r"^\| ([a-z-]+) \| (\d+) \|", BUDGET, re.MULTILINE)
    } == PER_POD


@pytest.mark.parametrize("overlay", ["staging", "mainnet"])
def test_budget__of_an_overlay__is_told_and_fits_the_server_of_the_trials(overlay: str) -> None:
    rest, most = (sum(PER_POD[name] * each[at] for name, each in _replicas(overlay).items()) for at in (0, 1))
    assert f"{rest} at rest" in BUDGET
    surge = sum(PER_POD.values())
    assert f"{overlay} may open {most + surge + JOBS}" in BUDGET or f"{overlay} {most + surge + JOBS}" in BUDGET
    server = by_name(OVERLAYS["staging"])["StatefulSet", "postgresql"]["spec"]["template"]["spec"]["containers"][0]
    (limit,) = (int(word.partition("=")[2]) for word in server["args"] if word.startswith("max_connections="))
    assert most + surge + JOBS < limit


def _replicas(overlay: str) -> dict[str, tuple[int, int]]:
    """How many pods of each Deployment there are at rest and at most."""
    objects = OVERLAYS[overlay]
    fixed = [each for each in objects if each["kind"] == "Deployment" and "replicas" in each["spec"]]
    found = {each["metadata"]["name"]: (each["spec"]["replicas"],) * 2 for each in fixed}
    return found | {each["spec"]["scaleTargetRef"]["name"]: _bounds(each["spec"]) for each in objects if _scales(each)}


def _scales(each: Object) -> bool:
    return each["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}


def _bounds(spec: Object) -> tuple[int, int]:
    kind = "Replicas" if "minReplicas" in spec else "ReplicaCount"
    return spec[f"min{kind}"], spec[f"max{kind}"]
