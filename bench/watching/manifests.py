"""Each process's memory by the manifests."""

from pathlib import Path
from typing import Final

from tests.deploy.kustomize import containers, pod_labels, quantity, render

BASE: Final = Path(__file__).resolve().parents[2] / "deploy/k8s/base"


def memory_requests() -> dict[str, int]:
    """Return bytes of memory that the base requests for each process of the service, by the process's name."""
    return _memory("requests")


def memory_limits() -> dict[str, int]:
    """Return bytes with which each process is ended."""
    return _memory("limits")


def _memory(kind: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in render(BASE):
        for container in containers(each):
            if each["kind"] == "Deployment" and container["image"].startswith("service-"):
                name = pod_labels(each)["app.kubernetes.io/name"]
                stated = int(quantity(container["resources"][kind]["memory"]))
                found[name] = max(stated, found.get(name, 0))  # what only prepares the pod asks for less
    return found
