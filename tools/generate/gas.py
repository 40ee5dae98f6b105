"""docs/hub.md: what each call was measured to take, beside the least that any code takes."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from tools.generate.derived import TOP, part, table

SNAPSHOT: Final = TOP / "contracts/snapshots/hub.gas.json"
FLOORS: Final = TOP / "tests/contracts/floors.json"
"""By the same names; ``tests/contracts/test_floors.py`` computes them on a node."""
ROWS: Final[Mapping[str, str]] = {
    "create_with_authorization": "`createBountyWithAuthorization`",
    "create": "`createBounty`",
    "submit": "`submit`, the first",
    "verdict": "`recordVerdict`, the first",
    "deciding_verdict": "`recordVerdict`, the deciding one",
    "claim": "`claim`",
    "refund": "`claimRefund`",
    "settle": "`settle`",
    "guardian_fee": "`claimGuardianFee`",
    "protocol_fee": "`claimProtocolFee`",
    "four_guardian_fees": "`claimMany` of four guardian fees",
    "thirty_two_awards": "`claimMany` of 32 awards",
    "deciding_verdict_of_fifteen": "`recordVerdict`, the deciding one of fifteen",
    "verdict_of_a_former_roster": "`recordVerdict`, the first, of a Guardian whom a newer roster names, too",
    "settle_of_fifteen": "`settle` with a roster of fifteen",
    "heartbeat": "`heartbeat`, the first",
    "approve": "`approve` of the token",
    "lifecycle": "whole life: authorization, two Submissions, three Verdicts, claim",
}
"""What was called, by the snapshot's name for it."""


def figures() -> dict[str, int]:
    """Return the measured gas, by name."""
    found = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return {name.removeprefix("hub.gas."): int(used) for name, used in found.items()}


def _gas() -> Iterator[str]:
    used, floors = figures(), json.loads(FLOORS.read_text(encoding="utf-8"))
    rows = (f"| {row} | {used[name]:,} |{_floor(floors.get(name))} |" for name, row in ROWS.items())
    yield table("| call | gas | floor |", rows)


def _floor(gas: int | None) -> str:
    return "" if gas is None else f" {gas:,}"


GAS: Final = part("docs/hub.md", "gas", _gas)
