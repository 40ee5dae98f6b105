"""Each process's memory by the manifests."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Final

from kustomization.render import containers, pod_labels, render

BASE: Final = Path(__file__).resolve().parents[2] / "deploy/k8s/base"
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?([numkKMGTPE]i?)?")
_BINARY: Final = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)}
_SMALL: Final = {"m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001")}


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity such as ``256Mi``, ``1.5G``, ``500m`` or ``2e9``."""
    found = _QUANTITY.fullmatch(text)
    scales = {"": Decimal(1), **_BINARY, **_DECIMAL, **_SMALL}
    if found is None or (found[3] or "") not in scales or (found[2] and found[3]):
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(found[1] + (found[2] or "")) * scales[found[3] or ""]


def memory_requests() -> dict[str, int]:
    """Bytes of memory that the base requests for each process of the service, by the process's name."""
    return _memory("requests")


def memory_limits() -> dict[str, int]:
    """Bytes with which each process is ended."""
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
