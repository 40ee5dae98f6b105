"""``docs/benchmarks.md``: a run of one group keeps what the page has of the others."""

import json
from pathlib import Path

import pytest

from bench import record
from bench.figures import Figure

PAGE = "# Benchmarks\n\n## auth\n\n2026-01-02, `00`, 0.1 processes.\n\n| `auth.verify` | 1 |\n\n## hub\n\nOld.\n"


def test_page__after_a_run_of_one_group__keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE)
    monkeypatch.setattr(record, "PAGE", page)
    monkeypatch.setattr(record, "KEPT", tmp_path / "kept")
    record.keep("hub", [Figure("hub.gas", 7.0, "gas", "<= 8", True)])
    record.write_page(["auth", "hub", "web"])
    kept = record.sections(page.read_text())
    assert kept["auth"] == record.sections(PAGE)["auth"]
    assert "| `hub.gas` | 7.0 gas |" in kept["hub"]
    assert "Old." not in kept["hub"]
    assert kept["web"].split() == ["##", "web", "Not", "measured", "yet."]
    assert json.loads((tmp_path / "kept" / "hub.json").read_text())["figures"][0]["value"] == 7.0
