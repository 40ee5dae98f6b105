"""The metrics of the services, from the calls that make them, and a dashboard of all.

``deploy/k8s/components/monitoring/bounty-escrow.json`` is the dashboard that people arranged; this one has a panel for
each metric, so that none is there that nobody can look at.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

from prometheus_client import Counter

from tools.generate.derived import TOP, Derived

MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Counter": ("_total",),
    "CounterMetricFamily": ("_total",),
    "counter_by": ("_total",),
    "Histogram": ("_bucket", "_sum", "_count"),
    "GaugeMetricFamily": ("",),
}
"""The calls that make metrics, and the ends of its series' names."""
_DASHBOARD: Final = "deploy/k8s/components/monitoring/every-metric.json"
_COLUMNS: Final = 3


@dataclass(frozen=True, slots=True)
class DescribedMetric:
    """One metric. ``labels`` of each have the values that are known in advance, or none."""

    name: str
    """Without the ends."""
    maker: str
    labels: Mapping[str, tuple[str, ...]]
    about: str

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends of its series."""
        return MAKERS[self.maker]

    @property
    def shown(self) -> str:
        """The name by which people look it up."""
        return self.name + (self.ends[0] if self.ends == ("_total",) else "")


@cache
def makers() -> tuple[tuple[str, ast.Call, str], ...]:
    """Return each call that makes a metric, and the module that it is in."""
    found: list[tuple[str, ast.Call, str]] = []
    for file in sorted(each for folder in ("libs", "services") for each in (TOP / folder).glob("*/src/**/*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(f"{maker}(" in text for maker in MAKERS):
            continue
        path = file.relative_to(TOP).with_suffix("").parts
        module = ".".join(path[path.index("src") + 1 :])
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        found += (
            (call.func.id, call, module) for call in calls if isinstance(call.func, ast.Name) and call.func.id in MAKERS
        )
    return tuple(found)


def counters() -> Mapping[str, Counter]:
    """Return the counters by kind, by name, of every module that calls ``counter_by``."""
    modules = sorted({module for maker, _, module in makers() if maker == "counter_by"})
    found = [each for module in modules for each in vars(import_module(module)).values()]
    return {
        each._name: each  # noqa: SLF001  # the library shows neither names nor values otherwise
        for each in found
        if isinstance(each, Counter) and each._labelnames  # noqa: SLF001
    }


def families() -> Mapping[str, DescribedMetric]:
    """Return every metric that the code makes, by name."""
    by_kind, found = counters(), {}
    for maker, call, _ in makers():
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        name = next((each.removesuffix("_total") for each in texts if each.startswith("service_")), None)
        if name is None:
            continue
        about = texts[-1]
        if about.startswith("service_"):
            raise ValueError(f"{name} has no description that can be read")
        if maker == "counter_by":
            labels = {texts[0]: tuple(values[0] for values in by_kind[name]._metrics)}  # noqa: SLF001
        else:
            lists = [each for each in given if isinstance(each, ast.List)]
            labels = {each.value: () for one in lists for each in one.elts}  # type: ignore[attr-defined]
        found[name] = DescribedMetric(name, maker, labels, about)
    return dict(sorted(found.items()))


def _expression(family: DescribedMetric) -> str:
    by = f" by ({', '.join(family.labels)})" if family.labels else ""
    where = '{namespace="$namespace"}'
    if family.ends == ("",):  # the same from every process that exports it
        return f"max{by} ({family.name}{where})"
    if family.ends == ("_total",):
        return f"sum{by} (rate({family.name}_total{where}[5m]))"
    buckets = ", ".join([*family.labels, "le"])
    return f"histogram_quantile(0.99, sum by ({buckets}) (rate({family.name}_bucket{where}[5m])))"


def _panel(number: int, family: DescribedMetric) -> Mapping[str, object]:
    row, column = divmod(number, _COLUMNS)
    width = 24 // _COLUMNS
    legend = " ".join(f"{{{{{name}}}}}" for name in family.labels)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": family.shown.removeprefix("service_"),
        "description": family.about,
        "gridPos": {"h": 8, "w": width, "x": column * width, "y": row * 8},
        "fieldConfig": {"defaults": {"unit": "s" if family.name.endswith("_seconds") else "short", "min": 0}},
        "targets": [{"refId": "A", "expr": _expression(family), "legendFormat": legend or family.name}],
    }


def _dashboard() -> Mapping[str, bytes]:
    arranged = json.loads((TOP / _DASHBOARD).with_name("bounty-escrow.json").read_text(encoding="utf-8"))
    board = {
        **arranged,
        "title": "Bounty Escrow Service: every metric",
        "uid": "bounty-escrow-every-metric",
        "panels": [_panel(number, family) for number, family in enumerate(families().values())],
    }
    return {_DASHBOARD: (json.dumps(board, indent=2, ensure_ascii=False) + "\n").encode()}


DASHBOARD: Final = Derived("dashboard", _DASHBOARD, _dashboard)
