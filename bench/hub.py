"""The Hub's gas, as the contract tests measured it: contracts/snapshots/hub.gas.json, which the session pins."""

import json
from pathlib import Path
from typing import Final

from bench.figures import Figure, Report

SNAPSHOT: Final = Path(__file__).parents[1] / "contracts" / "snapshots" / "hub.gas.json"
AUTHORIZED: Final = 3_348
COLLECTED: Final = 1_239
PAID: Final = 1_207
"""What the checks of real USDC cost beyond those of the token for which the goals were set, measured once on the same
calls: in a creation with authorization, in one from an allowance, in a pull."""
BUDGETS: Final = {
    "hub.gas.create_with_authorization": 174_000 + AUTHORIZED,
    "hub.gas.create": 143_000 + COLLECTED,
    "hub.gas.submit": 57_000,
    "hub.gas.verdict": 66_000,
    "hub.gas.deciding_verdict": 51_500,
    "hub.gas.claim": 58_000 + PAID,
    "hub.gas.refund": 57_000 + PAID,
    "hub.gas.settle": 33_500,
    "hub.gas.guardian_fee": 59_500 + PAID,
    "hub.gas.protocol_fee": 57_000 + PAID,
    "hub.gas.lifecycle": 506_000 + AUTHORIZED + PAID,
}


def run(report: Report) -> None:
    """Report the group."""
    measured = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    for name, budget in BUDGETS.items():
        value = int(measured[name])
        report(Figure(name, value, "gas", f"<= {budget}", value <= budget))
