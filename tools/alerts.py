"""Every alert fires on what it is for and is silent beside it: promtool over the rules of ``deploy/k8s``.

The rules are those that the component ``monitoring`` renders for a namespace: checked whole, and each alert tried with
the rule that is its own, since promtool evaluates all it is given for every minute of a case.

``tests/deploy/alerts.yaml`` states for each alert by which series it fires, and by which neighbours it does not; the
ones that fire carry their labels and their runbook.

promtool is the system's, else Debian's package unpacked below ``.local`` without installing it. Exit code 1 with
promtool's output when any expectation fails, with one line when there is no promtool. Run by
``./noxw -s nightly -- alerts``.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from tests.deploy.kustomize import render
from tools.debian import NoPackage, unpacked

TOP: Final = Path(__file__).resolve().parent.parent
COMPONENT: Final = TOP / "deploy/k8s/components/monitoring"
CASES: Final = TOP / "tests/deploy/alerts.yaml"
WORK: Final = TOP / ".local/assurance/alerts"
UNPACKED: Final = TOP / ".local/promtool"
NAMESPACE: Final = "one"
"""Of the deployment that the cases are written for."""


def main() -> int:
    """Check the rules, then their cases."""
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    groups = rule_groups(NAMESPACE)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    _write("rules.yaml", {"groups": groups})
    for name, case in cases.items():
        _write(f"{name}.rules.yaml", {"groups": [_with_one_rule(groups, name)]})
        tests = promtool_tests(groups, name, case)
        _write(f"{name}.yaml", {"rule_files": [f"{name}.rules.yaml"], "evaluation_interval": "1m", "tests": tests})
    promtool = find_debian_program("promtool")
    for arguments in (("check", "rules", "rules.yaml"), ("test", "rules", *(f"{name}.yaml" for name in cases))):
        if subprocess.run([promtool, *arguments], cwd=WORK, check=False).returncode:
            return 1
    silent = sum(len(case["silent"]) for case in cases.values())
    print(f"{len(cases)} alerts passed: each fired on its series, none on {silent} neighbours")
    return 0


def rule_groups(namespace: str) -> list[dict[str, Any]]:
    """Return the groups that the component makes for a deployment in this namespace, as a rules file has them."""
    with TemporaryDirectory() as made:
        folder = Path(made).resolve()
        (folder / "namespace.yaml").write_text(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}")
        (folder / "kustomization.yaml").write_text(
            f"resources: [namespace.yaml]\ncomponents: [{os.path.relpath(COMPONENT, folder)}]\n"
        )
        (rules,) = [each for each in render(folder) if each["kind"] == "PrometheusRule"]
    return list(rules["spec"]["groups"])


Tests = list[dict[str, Any]]


def promtool_tests(groups: list[dict[str, Any]], name: str, case: dict[str, Any]) -> Tests:
    """Return promtool's tests of an alert: on its series, and on each neighbour."""
    fires = _test(f"{name} fires", name, case["at"], case["fires"], [_expected(groups, name, case)])
    silent = [_test(f"{name} is silent", name, each.get("at", case["at"]), each, []) for each in case["silent"]]
    return [fires, *silent]


def _with_one_rule(groups: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [{**group, "rules": [rule]} for group in groups for rule in group["rules"] if rule["alert"] == name]
    return found


def _write(name: str, content: dict[str, object]) -> None:
    (WORK / name).write_text(yaml.safe_dump(content), encoding="utf-8")


def _expected(groups: list[dict[str, Any]], name: str, case: dict[str, Any]) -> dict[str, Any]:
    (rule,) = _with_one_rule(groups, name)["rules"]
    return {"exp_labels": {**rule["labels"], **case["labels"]}, "exp_annotations": rule["annotations"]}


def _test(title: str, name: str, at: str, series: dict[str, str], expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": title,
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items() if each != "at"],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": expected}],
    }


def find_debian_program(name: str) -> Path:
    """Return ``promtool`` or ``prometheus``: the system's, else Debian's, downloaded once."""
    if (installed := shutil.which(name)) is not None:
        return Path(installed)
    program = UNPACKED / "usr/bin" / name
    if not program.exists():
        _unpack()
    return program


def _unpack() -> None:
    """Debian's own package of Prometheus; only its programs are kept."""
    try:
        whole = unpacked(UNPACKED / "whole", ["prometheus"])
    except NoPackage as reason:
        sys.exit(f"alerts: no promtool on PATH, and {reason}")
    (UNPACKED / "usr/bin").mkdir(parents=True, exist_ok=True)
    for name in ("promtool", "prometheus"):
        (whole / "usr/bin" / name).rename(UNPACKED / "usr/bin" / name)
    shutil.rmtree(whole)


if __name__ == "__main__":
    sys.exit(main())
