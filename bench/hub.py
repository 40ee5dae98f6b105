"""The Hub's gas, as the contract tests measured it: contracts/snapshots/hub.gas.json, which the session pins."""

import json
from pathlib import Path
from typing import Final

from bench.figures import Figure, Report

SNAPSHOT: Final = Path(__file__).parents[1] / "contracts" / "snapshots" / "hub.gas.json"
BUDGETS: Final = {
    "hub.gas.create_with_authorization": 177_200,
    "hub.gas.create": 145_000,
    "hub.gas.submit": 56_900,
    "hub.gas.verdict": 64_600,
    "hub.gas.deciding_verdict": 49_400,
    "hub.gas.claim": 58_800,
    "hub.gas.refund": 58_200,
    "hub.gas.settle": 33_900,
    "hub.gas.guardian_fee": 60_500,
    "hub.gas.protocol_fee": 57_950,
    "hub.gas.lifecycle": 505_000,
}


def run(report: Report) -> None:
    """Report the group."""
    measured = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    for name, budget in BUDGETS.items():
        value = int(measured[name])
        report(Figure(name, value, "gas", f"<= {budget}", value <= budget))
