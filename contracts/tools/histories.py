#!/usr/bin/env python3
"""The long run of random histories, and how often each transition happened in it.

Runs forge's whole suite in the `assurance` profile (the caller sets FOUNDRY_PROFILE), then prints per
function the share of calls that the Hub accepted, and exits as forge did. Every history checks by itself that each
transition happened, refused neighbours included.

    histories.py --forge FORGE
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections import Counter
from itertools import groupby

CONTRACTS = pathlib.Path(__file__).resolve().parent.parent
RECORD = CONTRACTS / ".local" / "histories.jsonl"
FUNCTIONS = {
    "createBounty": (("created",), ()),
    "submit": (("submitted", "resubmitted"), ("submission refused",)),
    "recordVerdict": (("verdict", "verdict replaced"), ("verdict refused",)),
    "settle": (("settled empty", "settled silent", "settled without quorum"), ("settlement refused",)),
    "claim": (("award",), ("award refused",)),
    "claimRefund": (("refund",), ("refund refused",)),
    "claimGuardianFee": (("guardian fee",), ("guardian fee refused",)),
    "claimProtocolFee": (("protocol fee",), ("protocol fee refused",)),
    "publishRoster": (("roster",), ()),
    "setFeePolicy": (("fee policy",), ()),
}
"""The counters of each function's calls: accepted, refused."""


def counted() -> tuple[int, Counter[str]]:
    """How many histories there were, and the sum of their counts; forge plays the last one twice."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    distinct = [line for line, _ in groupby(lines)]
    total: Counter[str] = Counter()
    for line in distinct:
        total.update(json.loads(line))
    return len(distinct), total


def shares(total: Counter[str]) -> str:
    told = []
    for function, (accepted, refused) in FUNCTIONS.items():
        yes, no = sum(total[name] for name in accepted), sum(total[name] for name in refused)
        told.append(f"{function} {yes:,} of {yes + no:,} ({yes / max(yes + no, 1):.0%})")
    return ", ".join(told)


def main() -> int:
    parser = argparse.ArgumentParser(description="The long run of random histories.")
    parser.add_argument("--forge", required=True, help="the native forge binary")
    forge = parser.parse_args().forge
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.unlink(missing_ok=True)
    environment = {**os.environ, "HUB_HISTORIES": str(RECORD)}
    command = [forge, "test", "--root", str(CONTRACTS), "--no-match-contract", "GasTest"]
    code = subprocess.run(command, cwd=CONTRACTS, env=environment, check=False).returncode
    if RECORD.exists():
        histories, total = counted()
        outcome = "passed" if code == 0 else "did not pass"
        print(f"{histories} histories {outcome}; accepted by the Hub: {shares(total)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
