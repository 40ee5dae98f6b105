"""The metrics of the services, from the calls that make them."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

from prometheus_client import Counter

from .conftest import REPOSITORY

MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Counter": ("_total",),
    "CounterMetricFamily": ("_total",),
    "counter_by": ("_total",),
    "Histogram": ("_bucket", "_sum", "_count"),
    "GaugeMetricFamily": ("",),
}
"""The calls that make metrics, and the ends of its series' names."""


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


@cache
def makers() -> tuple[tuple[str, ast.Call, str], ...]:
    """Return each call that makes a metric, and the module that it is in."""
    found: list[tuple[str, ast.Call, str]] = []
    for file in sorted(each for folder in ("libs", "services") for each in (REPOSITORY / folder).glob("*/src/**/*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(f"{maker}(" in text for maker in MAKERS):
            continue
        path = file.relative_to(REPOSITORY).with_suffix("").parts
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
        each._name: each  # the library shows neither names nor values otherwise
        for each in found
        if isinstance(each, Counter) and each._labelnames
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
            labels = {texts[0]: tuple(values[0] for values in by_kind[name]._metrics)}
        else:
            lists = [each for each in given if isinstance(each, ast.List)]
            labels = {each.value: () for one in lists for each in one.elts}  # type: ignore[attr-defined]
        found[name] = DescribedMetric(name, maker, labels, about)
    return dict(sorted(found.items()))
