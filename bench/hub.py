"""The Hub's gas, as the contract tests measured it: contracts/snapshots/hub.gas.json, which the session pins."""

import json
from pathlib import Path
from typing import Final

from bench.figures import Figure, Report

SNAPSHOT: Final = Path(__file__).parents[1] / "contracts" / "snapshots" / "hub.gas.json"
BUDGETS: Final = {
    "hub.gas.create_with_authorization": 180_000,
    "hub.gas.create": 150_000,
    "hub.gas.submit": 58_000,
    "hub.gas.verdict": 68_000,
    "hub.gas.deciding_verdict": 60_000,
    "hub.gas.claim": 60_000,
    "hub.gas.lifecycle": 540_000,
}


def run(report: Report) -> None:
    """Report the group."""
    measured = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    for name, budget in BUDGETS.items():
        value = int(measured[name])
        report(Figure(name, value, "gas", f"<= {budget}", value <= budget))
