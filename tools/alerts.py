"""Every alert fires on what it is for and is silent beside it: promtool over the rules of ``deploy/k8s``.

The rules are those of the manifest, whole. ``tests/deploy/alerts.yaml`` states for each alert by which series it fires,
and by which neighbours it does not; the ones that fire carry their labels and their runbook. promtool is the system's,
else Debian's package unpacked below ``.local`` without installing it. Exit code 1 with promtool's output when any
expectation fails, with one line when there is no promtool. Run by ``./noxw -s assurance -- alerts``.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

TOP: Final = Path(__file__).resolve().parent.parent
MANIFEST: Final = TOP / "deploy/k8s/components/monitoring/alerts.yaml"
CASES: Final = TOP / "tests/deploy/alerts.yaml"
WORK: Final = TOP / ".local/assurance/alerts"
UNPACKED: Final = TOP / ".local/promtool"


def main() -> int:
    """Check the rules, then their cases."""
    groups, cases = rule_groups(), yaml.safe_load(CASES.read_text(encoding="utf-8"))
    tests = promtool_tests(groups, cases)
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    (WORK / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    promtool = find_promtool()
    for arguments in (("check", "rules", "rules.yaml"), ("test", "rules", "tests.yaml")):
        if subprocess.run([promtool, *arguments], cwd=WORK, check=False).returncode:
            return 1
    silent = sum(len(case["silent"]) for case in cases.values())
    print(f"{len(cases)} alerts passed: each fired on its series, none on {silent} neighbours")
    return 0


def rule_groups() -> list[dict[str, Any]]:
    """The groups of the manifest, as a rules file has them."""
    return list(yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["spec"]["groups"])


def promtool_tests(groups: list[dict[str, Any]], cases: dict[str, Any]) -> dict[str, Any]:
    """A test file of promtool: one test for each case and each neighbour."""
    rules = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    tests = []
    for name, case in cases.items():
        rule = rules[name]
        alert = {
            "exp_labels": {**rule["labels"], **case.get("labels", {})},
            "exp_annotations": rule["annotations"],
        }
        tests.append(_test(name, case["at"], case["fires"], [alert]))
        tests += [_test(name, series.get("at", case["at"]), series, []) for series in case["silent"]]
    return {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}


def _test(name: str, at: str, series: dict[str, str], expected: list[object]) -> dict[str, object]:
    return {
        "name": f"{name} {'fires' if expected else 'is silent'}",
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items() if each != "at"],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": expected}],
    }


def find_promtool() -> Path:
    """The system's promtool, else Debian's, downloaded once."""
    if (installed := shutil.which("promtool")) is not None:
        return Path(installed)
    program = UNPACKED / "usr/bin/promtool"
    if not program.exists():
        _unpack()
    return program


def _unpack() -> None:
    """Debian's own package of Prometheus, unpacked without installing it; only its promtool is kept."""
    draft = UNPACKED / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        subprocess.run(["apt-get", "download", "prometheus"], cwd=draft, check=True, capture_output=True)
        (package,) = draft.glob("prometheus_*.deb")
        subprocess.run(["dpkg-deb", "--extract", package, draft], check=True, capture_output=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        sys.exit("alerts: no promtool: neither on PATH nor from Debian's package prometheus (apt-get download failed)")
    (UNPACKED / "usr/bin").mkdir(parents=True, exist_ok=True)
    (draft / "usr/bin/promtool").rename(UNPACKED / "usr/bin/promtool")
    shutil.rmtree(draft)


if __name__ == "__main__":
    sys.exit(main())
