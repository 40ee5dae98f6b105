"""``./noxw -s drill -- NAME``: go through one runbook of ``docs/operations.md`` on this machine, with real servers.

A drill is the tests that break the thing and repair it as the runbook describes. Each section of that page that is a
runbook has one (a test compares the two).
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
DRILLS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "halt": (
        "The index has halted",
        (
            "tests/indexer/test_reorgs.py::test_reorg__below_finality__halts_and_stays_halted",
            "tests/indexer/test_replay.py::test_rebuild__of_a_halted_and_altered_copy__puts_the_chains_truth_in_its_place",
        ),
    ),
    "contradicted": (
        "The index contradicts the chain",
        ("tests/api/test_submissions.py", "tests/delivery/test_delivery.py"),
    ),
    "watchtower": ("The watchtower finds a difference", ("tests/checker/test_stack.py",)),
    "stands-still": ("The chain stands still", ("tests/indexer/test_status.py", "tests/indexer/test_metrics.py")),
    "lag": ("The index is behind", ("tests/indexer/test_kills.py",)),
    "replica": ("The read replica is behind or away", ("tests/api/test_read_replica.py",)),
    "unproven": ("The index is not proven", ("tests/indexer/test_proving.py",)),
    "endpoints": ("An RPC endpoint lies or fails", ("tests/indexer/test_quorum.py", "tests/indexer/test_replay.py")),
    "parked": (
        "Jobs are parked",
        (
            "tests/reviewer/test_jobs.py::test_message__of_an_unknown_version__is_parked_as_failed_and_visible",
            "tests/indexer/test_metrics.py::test_metrics__of_a_queue__count_what_waits_and_what_is_parked",
            "tests/common/jobs/test_parked.py",
        ),
    ),
    "settle": ("A settlement is stuck", ("tests/indexer/test_settler.py",)),
    "pending": ("Strangers fill the database", ("tests/api/test_pending.py",)),
    "provider": ("The review provider is out", ("tests/reviewer/test_model.py", "tests/api/test_reviews.py")),
    "errors": ("Answers are errors", ("tests/api/test_faults.py",)),
    "signatures": (
        "Signatures are refused",
        (
            "tests/protocol/auth/test_verify.py",
            "tests/api/test_running_server.py::test_refusals__of_each_check__are_counted_by_their_reason",
        ),
    ),
    "outages": (
        "A dependency is away",
        (
            "tests/drills/test_outages.py",
            "tests/drills/test_first_start.py",
            "tests/drills/test_slow_and_flapping.py",
            "tests/drills/test_server_faults.py",
            "tests/api/storage/test_credentials.py",
            "tests/protocol/chain/test_tls.py",
        ),
    ),
    "pods": ("A pod is away", ("tests/drills/test_first_start.py", "tests/drills/test_vanished.py")),
    "load": ("Answers are slow", ("tests/api/test_running_server.py",)),
    "pages": ("The pages cannot read the API", ("tests/web/test_client.py",)),
    "certificate": ("A certificate ends", ("tests/protocol/chain/test_tls.py",)),
    "volume": ("A volume is full", ("tests/drills/test_server_faults.py",)),
    "storage": ("Storage is out", ("tests/api/storage/test_gcs_outages.py",)),
    "budget": ("A budget is used up", ("tests/api/test_faults.py", "tests/api/test_running_server.py")),
    "backup": ("A backup is missing", ("tests/api/backup/test_dumps.py",)),
    "keys": ("A key is compromised", ("tests/delivery/test_rotation.py", "tests/deploy/test_hub_operations.py")),
    "acts": (
        "The Hub's owner did something",
        ("tests/indexer/test_solvency.py::test_metrics__of_the_owner__count_each_thing_that_it_does",),
    ),
    "owner": ("A key of the Hub's owner is stolen", ("tests/deploy/test_hub_owner.py",)),
    "flaw": (
        "The Hub has a flaw",
        (
            "tests/indexer/test_solvency.py",
            "tests/deploy/test_hub_notice.py",
            "tests/api/test_hub_notices.py",
            "tests/cli/witnesses/test_notices.py",
        ),
    ),
    "roster": ("Rotating the roster", ("tests/deploy/test_hub_operations.py",)),
    "delivery-key": ("Rotating the delivery key", ("tests/delivery/test_rotation.py",)),
    "restore": ("Restoring the database", ("tests/api/backup/test_dumps.py", "tests/indexer/test_restore.py")),
    "chain": ("A chain upgrade", ("tests/indexer/test_quorum.py",)),
}
"""A drill's name, the runbook's heading, and its tests."""

MEASURED: Final = {"restore": {"DRILL_PAGES": "8000"}}
"""Drills that print what they measured, and the size that they measure at."""
CAMPAIGN: Final = {"watchtower": {"SERVICE_CAMPAIGN": "full"}}
"""Drills whose tests run in a campaign alone: a stack of their own, ten minutes."""


def main() -> int:
    """Run one drill, or list them."""
    parser = argparse.ArgumentParser(prog="drill", description="Go through a runbook on this machine.")
    names = "\n".join(f"  {name:<14}{heading}" for name, (heading, _) in DRILLS.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"drills:\n{names}"
    parser.add_argument("name", choices=DRILLS, metavar="NAME")
    name = parser.parse_args().name
    heading, tests = DRILLS[name]
    print(f"drill: {heading} (docs/operations.md)", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pytest", "-v", *(["-rP"] if name in MEASURED else []), *tests]
    settings = MEASURED.get(name, {}) | CAMPAIGN.get(name, {})
    return subprocess.run(command, cwd=TOP, env=os.environ | settings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
