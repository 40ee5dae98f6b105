"""The Hub's gas, as the contract tests measured it: contracts/snapshots/hub.gas.json, which the session pins."""

import json
from pathlib import Path
from typing import Final

from bench.figures import Figure, Report

SNAPSHOT: Final = Path(__file__).parents[1] / "contracts" / "snapshots" / "hub.gas.json"
BUDGETS: Final = {
    "hub.gas.create_with_authorization": 177_232,
    "hub.gas.create": 145_056,
    "hub.gas.submit": 57_000,
    "hub.gas.verdict": 64_900,
    "hub.gas.deciding_verdict": 49_750,
    "hub.gas.claim": 58_629,
    "hub.gas.refund": 58_229,
    "hub.gas.settle": 33_900,
    "hub.gas.guardian_fee": 60_186,
    "hub.gas.protocol_fee": 57_686,
    "hub.gas.lifecycle": 506_011,
}


def run(report: Report) -> None:
    """Report the group."""
    measured = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    for name, budget in BUDGETS.items():
        value = int(measured[name])
        report(Figure(name, value, "gas", f"<= {budget}", value <= budget))
