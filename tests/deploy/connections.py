"""How many connections to PostgreSQL a pod may open, by the code's pools, and an overlay in all."""

import ast
import inspect
from collections.abc import Iterator
from typing import Final

from service_api.resources import make_resources

from tests.deploy.kustomize import Object, render

from .conftest import REPOSITORY

ENGINES_OF: Final = {
    "api": ("api", "api-health"),
    "pages": ("pages", "pages-health"),
    "api-worker": ("api-worker", "api-health", "jobs"),
    "delivery": ("delivery", "delivery-health", "delivery-sweep"),
    "reviewer": (),
    "reviewer-worker": ("a job", "reviewer-health", "jobs"),
    "indexer-worker": ("indexer", "indexer-health", "jobs"),
    "settler": ("a job", "indexer-health", "jobs"),
}
"""What each process connects as; a worker does one job at a time."""
JOBS: Final = 4
"""The migration, the dump, and pods that wait for the schema."""


def per_pod() -> dict[str, int]:
    """The connections of each pod: a pool may open as many again as it keeps (``max_overflow``)."""
    pools = dict(_pools())
    return {name: 2 * sum(pools[each] for each in engines) for name, engines in ENGINES_OF.items()}


def of_overlay(overlay: str) -> tuple[int, int]:
    """The connections of an overlay at rest, and with every autoscaler at its most, a rollout of all, and the jobs."""
    each = per_pod()
    replicas = _replicas(render(REPOSITORY / "deploy/k8s/overlays" / overlay))
    rest, most = (sum(each.get(name, 0) * found[at] for name, found in replicas.items()) for at in (0, 1))
    return rest, most + sum(each.values()) + JOBS


def _pools() -> Iterator[tuple[str, int]]:
    """The size of every pool of the code, by the name it connects as."""
    yield "api", inspect.signature(make_resources).parameters["pool_size"].default
    for folder in ("services", "libs"):
        for file in (REPOSITORY / folder).rglob("src/**/*.py"):
            for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                named = {each.arg: each.value for each in call.keywords} if isinstance(call, ast.Call) else {}
                size = named.get("pool_size")
                if isinstance(size, ast.Constant) and isinstance(size.value, int):
                    name = named.get("application")
                    yield str(name.value) if isinstance(name, ast.Constant) else "a job", size.value


def _replicas(objects: list[Object]) -> dict[str, tuple[int, int]]:
    """How many pods of each Deployment there are at rest and at most."""
    fixed = [each for each in objects if each["kind"] == "Deployment" and "replicas" in each["spec"]]
    found = {each["metadata"]["name"]: (each["spec"]["replicas"],) * 2 for each in fixed}
    scaled = [each["spec"] for each in objects if each["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}]
    return found | {spec["scaleTargetRef"]["name"]: _bounds(spec) for spec in scaled}


def _bounds(spec: Object) -> tuple[int, int]:
    kind = "Replicas" if "minReplicas" in spec else "ReplicaCount"
    return spec[f"min{kind}"], spec[f"max{kind}"]
