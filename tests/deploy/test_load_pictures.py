"""Pictures of the service under load: what they are drawn from is computed rightly, the committed ones are small."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.watching import pictures
from bench.watching.curves import SPAN, Watched
from bench.watching.processes import Taken, taken
from bench.watching.sampler import Sample, Series

from .conftest import REPOSITORY

LOAD = REPOSITORY / "docs/load"
NAMES = {"requests.svg", "processes.svg", "work.svg"}
ROUTE = ("route", "/api/bounties")


def told(second: int) -> dict[Series, float]:
    """An api that answers 20 requests a second: 15 within a millisecond, 4 more within 2, one within 4."""
    buckets = {"0.001": 15, "0.002": 19, "0.004": 20, "+Inf": 20}
    series = {
        (f"{pictures.SECONDS}_bucket", tuple(sorted([ROUTE, ("le", le)]))): float(each * second)
        for le, each in buckets.items()
    }
    return {**series, (pictures.HTTP, (ROUTE, ("status", "200"))): 20.0 * second}


@pytest.fixture
def watched() -> Watched:
    silent: dict[str, dict[Series, float]] = {name: {} for name in ("delivery", *pictures.WORKERS)}
    samples = [
        Sample(100.0 + second, {"api": Taken(0.25 * second, 50 * 2**20)}, {"api": told(second), **silent})
        for second in range(12)
    ]
    return Watched(samples, began=100.0)


def test_curves__of_known_samples__are_the_known_figures(watched: Watched) -> None:
    assert watched.rate("api", pictures.HTTP, route=ROUTE[1]) == [(float(n), 20.0) for n in range(SPAN, 12)]
    assert watched.rate("api", pictures.HTTP, route="another") == [(float(n), 0.0) for n in range(SPAN, 12)]
    assert {value for _, value in watched.cores("api")} == {0.25}
    assert {value for _, value in watched.megabytes("api")} == {50.0}


@pytest.mark.parametrize(("part", "seconds"), [(0.5, 10 / 15 / 1000), (0.85, 0.0015), (0.95, 0.002), (0.975, 0.003)])
def test_quantile__of_known_buckets__lies_where_a_line_between_their_bounds_says(
    watched: Watched, part: float, seconds: float
) -> None:
    found = watched.quantile(part, "api", pictures.SECONDS, route=ROUTE[1])
    assert [value for _, value in found] == pytest.approx([seconds] * (12 - SPAN))
    assert watched.quantile(part, "api", pictures.SECONDS, route="another") == []


def test_pictures__of_the_same_samples__are_the_same_bytes(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.draw(watched, 6.0, (200, 500))
    drawn = {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()}
    assert set(drawn) == NAMES
    assert "/api/bounties</text>" in drawn["requests.svg"]
    title = "The api by route: 200 requests/s, then 500 (from the dashed line)"
    pictures._save("requests.svg", title, pictures._requests(watched), 6.0)
    assert (tmp_path / "requests.svg").read_text(encoding="utf-8") == drawn["requests.svg"]


def test_pictures__that_are_committed__are_small_and_shown_by_the_pages() -> None:
    assert {each.name for each in LOAD.iterdir() if not each.name.startswith("flame-")} == NAMES
    for page in ("docs/scale.md", "docs/operations.md"):
        assert set(re.findall(r"\(load/(\w+\.svg)\)", (REPOSITORY / page).read_text(encoding="utf-8"))) == NAMES
    for name in NAMES:
        assert (LOAD / name).stat().st_size < 150_000
        text = (LOAD / name).read_text(encoding="utf-8")
        assert "seconds</text>" in text
        assert ": 200 requests/s, then 500 (from the dashed line)</text>" in text


def test_flames__that_are_committed__are_shown_and_name_no_path_of_a_machine() -> None:
    shown = re.findall(r"\(load/(flame-[\w-]+\.svg)\)", (REPOSITORY / "docs/scale.md").read_text(encoding="utf-8"))
    assert sorted(set(shown)) == sorted(each.name for each in LOAD.glob("flame-*"))
    for name in shown:
        text = (LOAD / name).read_text(encoding="utf-8")
        assert len(text) < 250_000
        assert re.findall(r"/(?:home|root|work|tmp|Users)/", text) == []


def test_processes__with_what_they_started__are_summed() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = bytearray(2**26); input()'])"
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    try:
        while (found := taken({"it": process.pid, "gone": 2**22 + 1}))["it"].resident < 2**26:
            assert process.poll() is None
    finally:
        process.communicate(b"\n")
    assert set(found) == {"it"}
    assert taken({"self": os.getpid()})["self"].cpu > 0
