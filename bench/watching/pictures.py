"""Small multiples of a run as SVG in ``docs/load``: text stays text, and the same samples make the same bytes."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench.watching.curves import Point, Watched

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs/load"
INK, GRID, FIRST, SECOND = "#333333", "#dddddd", "#1f5fa8", "#d1662b"
HTTP: Final = "service_http_requests_total"
SECONDS: Final = "service_http_request_seconds"
WORKERS: Final = {
    "indexer-worker": "index",
    "api-worker": "artifacts",
    "reviewer-worker": "reviews",
    "delivery-worker": "delivery",
    "settler": "settle",
}
"""Which process reports which queue."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of a row: what its axis shows, its curves by name, the least that the axis reaches to."""

    unit: str
    curves: Mapping[str, list[Point]]
    reaches: float = 1.0
    log: bool = False


Row = tuple[str, Sequence[Panel]]


def draw(watched: Watched, changes: float, rates: tuple[int, int]) -> None:
    """Every picture. At ``changes`` seconds the load went from the first of ``rates`` to the second."""
    FOLDER.mkdir(exist_ok=True)
    under = f"{rates[0]} requests/s, then {rates[1]} (from the dashed line)"
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "service", "font.size": 8, "axes.edgecolor": INK, "text.color": INK}
    )
    _save("requests.svg", f"The api by route: {under}", _requests(watched), changes)
    _save("processes.svg", f"What each process takes: {under}", _processes(watched), changes)
    _save("work.svg", f"Errors, index and queues: {under}", _work(watched), changes)


def _requests(watched: Watched) -> list[Row]:
    rows: list[Row] = []
    for route in watched.labels("api", HTTP, "route"):
        rate = watched.rate("api", HTTP, route=route)
        if max((value for _, value in rate), default=0.0) >= 1:
            parts = {f"p{part}": watched.quantile(part / 100, "api", SECONDS, route=route) for part in (50, 99)}
            times = {name: [(at, value * 1000) for at, value in curve] for name, curve in parts.items()}
            name = "answered from what is kept" if route == "kept" else route.replace("submission_comm", "comm")
            rows.append((name, (Panel("requests/s", {"": rate}), Panel("ms", times, 1_000, log=True))))
    return rows


def _processes(watched: Watched) -> list[Row]:
    return [
        (name, (Panel("cores", {"": watched.cores(name)}, 0.05), Panel("MB", {"": watched.megabytes(name)}, 10)))
        for name in watched.samples[0].taken
    ]


def _work(watched: Watched) -> list[Row]:
    errors = _added([watched.rate(name, "service_errors_total") for name in ("api", "delivery")])
    jobs = {
        label: _added(
            [watched.gauge(name, "service_jobs", queue=queue, state=state) for name, queue in WORKERS.items()]
        )
        for state, label in (("waiting", "waiting"), ("started", "at work"))
    }
    lag = watched.gauge("indexer-worker", "service_index_lag_seconds")
    behind = watched.gauge("indexer-worker", "service_index_lag_blocks")
    return [
        ("Errors answered", (Panel("errors/s", {"": errors}),)),
        ("Index: age of the newest indexed block", (Panel("s", {"": lag}, 2),)),
        ("Index: blocks behind the chain", (Panel("blocks", {"": behind}, 2),)),
        ("Jobs of all queues", (Panel("jobs", jobs, 2),)),
    ]


def _added(curves: Sequence[list[Point]]) -> list[Point]:
    return [(points[0][0], sum(value for _, value in points)) for points in zip(*curves, strict=True)]


def _save(name: str, title: str, rows: Sequence[Row], changes: float) -> None:
    figure = Figure(figsize=(9.0, 0.7 + 0.98 * len(rows)), layout="constrained")
    figure.suptitle(title, fontsize=11, fontweight="bold")
    grid = figure.subplots(len(rows), len(rows[0][1]), sharex=True, squeeze=False)
    for (label, panels), axes in zip(rows, grid, strict=True):
        for panel, ax in zip(panels, axes, strict=True):
            _paint(ax, panel, changes)
        axes[0].set_title(label, loc="left", fontsize=8.5, pad=3)
    for ax in grid[:-1].flat:
        ax.tick_params(bottom=False)
    for bottom in grid[-1]:
        bottom.set_xlabel("seconds", color=INK)
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    (FOLDER / name).write_text(_shortened(written.getvalue()), encoding="utf-8")


def _paint(ax: Axes, panel: Panel, changes: float) -> None:
    for color, (name, points) in zip((FIRST, SECOND), panel.curves.items(), strict=False):
        ax.plot([at for at, _ in points], [value for _, value in points], color=color, linewidth=1.1, label=name)
    highest = max((value for points in panel.curves.values() for _, value in points), default=0.0)
    ax.axvline(changes, color=INK, linewidth=0.7, linestyle=(0, (4, 3)))
    ax.set_ylabel(panel.unit, color=INK)
    if panel.log:
        ax.set_yscale("log")
        ax.set_ylim(0.3, max(highest, panel.reaches))
        ax.yaxis.set_major_locator(LogLocator(numticks=4))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.set_ylim(0, max(highest * 1.15, panel.reaches))
        ax.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    if not highest:
        ax.text(0.5, 0.5, "0 throughout", transform=ax.transAxes, ha="center", va="center", color="#888888")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK)
    ax.grid(axis="y", color=GRID, linewidth=0.6)
    if len(panel.curves) > 1:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, frameon=False, fontsize=7, borderaxespad=0)


def _shortened(svg: str) -> str:
    """Coordinates to a tenth of a point, any sans-serif font that the reader has, no comments and no indentation."""
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", svg)
    return re.sub(r"^[ \t]+|[ \t]+$", "", re.sub(r" *<!--.*?-->\n?", "", svg), flags=re.MULTILINE)
