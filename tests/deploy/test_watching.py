"""What is watched exists: metrics of alerts, dashboards and scalers with their labels, the runbooks they name, and a
drill for each; and what exists is watched."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.errors import PROBLEMS
from local_stack.services import SERVICES
from rq import Queue
from service_common.jobs import QueueName
from service_common.web.edge import SECONDS

from tests.api.contract import operations
from tests.deploy.kustomize import Object, render
from tools.debian import NoPackage, unpacked

from .conftest import REPOSITORY
from .manifests import OVERLAYS, by_name
from .metrics import counters, families

CASES = REPOSITORY / "tests/deploy/alerts.test.yaml"
SELECTOR = re.compile(r"\b(\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')
GROUPING = re.compile(r"\bby \(([^)]*)\)")
OF_THE_TARGET = {"namespace", "pod", "container"}
"""What the PodMonitor adds to every series."""
OF_THE_CLUSTER = {
    "container_cpu_usage_seconds_total": set[str](),
    "container_memory_working_set_bytes": set[str](),
    "kube_deployment_status_replicas_unavailable": {"deployment"},
    "kube_pod_container_status_restarts_total": set[str](),
    "kube_cronjob_status_last_successful_time": {"cronjob"},
    "kube_deployment_created": {"deployment"},
    "kube_cronjob_created": {"cronjob"},
    "kubelet_volume_stats_available_bytes": {"persistentvolumeclaim"},
    "kubelet_volume_stats_capacity_bytes": {"persistentvolumeclaim"},
    "certmanager_certificate_expiration_timestamp_seconds": {"name"},
    "up": {"job", "instance"},
    "audit_differences": {"requirement"},
    "audit_ended_timestamp_seconds": set[str](),
}
"""Series of the kubelet, of kube-state-metrics, of cert-manager, of Prometheus itself and of the audit."""
OURS_OR_THEIRS = re.compile(r"\b(?:(?:service|container|kube|kubelet|certmanager|audit)_\w+|up\b)")

OF_OBJECTS = {"cronjob", "deployment"}
"""Labels of the cluster's series that name an object of ours."""
FAMILIES = families()
COUNTERS = tuple(counters().values())
LABELS = {name + end: set(family.labels) for name, family in FAMILIES.items() for end in family.ends} | OF_THE_CLUSTER


def alert_rules(overlay: str) -> list[Object]:
    """The rules of an overlay."""
    groups = by_name(OVERLAYS[overlay])["PrometheusRule", "bounty-escrow"]["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def shown(overlay: str) -> list[str]:
    """The expressions of alerts and dashboards."""
    objects = by_name(OVERLAYS[overlay])
    boards = [json.loads(text) for text in objects["ConfigMap", "dashboards"]["data"].values()]
    panels = [panel for board in boards for panel in board["panels"] if panel["type"] != "row"]
    return [rule["expr"] for rule in alert_rules(overlay)] + [t["expr"] for panel in panels for t in panel["targets"]]


def expressions(overlay: str) -> list[str]:
    """Those, and what the scalers ask."""
    scalers = [each for each in OVERLAYS[overlay] if each["kind"] == "ScaledObject"]
    queries = [t["metadata"]["query"] for s in scalers for t in s["spec"]["triggers"] if t["type"] == "prometheus"]
    return shown(overlay) + queries


def named(expression: str) -> set[str]:
    """The series that an expression names."""
    return set(re.findall(OURS_OR_THEIRS, MATCHER.sub("", expression)))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_alerts_and_boards_name_existing_metrics(overlay: str) -> None:
    used = {name for expression in expressions(overlay) for name in named(expression)}
    assert len(used) > 20
    assert used - set(LABELS) == set()


def test_every_metric_is_on_a_board() -> None:
    """A figure that nobody sees is not worth its series."""
    used = {name for expression in shown("mainnet") for name in named(expression)}
    assert len(FAMILIES) > 25
    assert [name for name, family in FAMILIES.items() if not used & {name + end for end in family.ends}] == []
    assert [name for name, family in FAMILIES.items() if not family.about] == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_expressions_use_existing_labels(overlay: str) -> None:
    for expression in expressions(overlay):
        for name, inside in SELECTOR.findall(expression):
            known = LABELS[name] | OF_THE_TARGET | ({"le"} if name.endswith("_bucket") else set())
            unknown = {label for label, _, _ in MATCHER.findall(inside)} - known
            assert unknown == set(), expression
        of_all = set[str]().union(*(LABELS[name] for name in named(expression)))
        buckets = {"le"} if "_bucket" in expression else set()
        for inside in GROUPING.findall(expression):
            assert set(inside.split(", ")) <= of_all | OF_THE_TARGET | buckets, expression


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_expressions__select_by_values_that_occur(overlay: str) -> None:
    """A misspelt value selects nothing, and its alert is silent for ever."""
    routes = {re.sub(r"{(\w+)}", r"<\1>", each.path) for each in operations()}
    kinds = {
        ("service_jobs", "queue"): {queue.value for queue in QueueName},
        ("service_jobs", "state"): {"waiting", "started", "failed"},
        ("service_bounties", "state"): {"open", "final", "overdue"},
        ("service_errors_total", "code"): set(PROBLEMS),
        ("service_http_requests_total", "container"): {each.name for each in SERVICES},
        ("service_http_request_seconds_bucket", "route"): routes,
        ("service_http_request_seconds_count", "route"): routes,
        ("service_http_request_seconds_bucket", "le"): {f"{bound:g}" for bound in SECONDS._upper_bounds},
        ("service_http_request_seconds_bucket", "container"): {each.name for each in SERVICES},
        **{(f"{each._name}_total", each._labelnames[0]): {labels[0] for labels in each._metrics} for each in COUNTERS},
    }
    kinds["kube_deployment_created", "deployment"] = {"audit"}
    kinds |= {(name, "cronjob"): {"backup"} for name in OF_THE_CLUSTER if "cronjob" in name}
    assert ("CronJob", "backup") in by_name(OVERLAYS[overlay])
    seen = 0
    for expression in expressions(overlay):
        for name, inside in SELECTOR.findall(expression):
            for label, how, value in MATCHER.findall(inside):
                if label in {"namespace", "pod"} or (name in OF_THE_CLUSTER and label not in OF_OBJECTS):
                    continue
                seen += 1
                parts = value.split("|") if how in {"=~", "!~"} else [re.escape(value)]
                for part in parts:
                    assert any(re.fullmatch(part, kind) for kind in kinds[name, label]), (expression, part)
    assert seen >= 8


def test_alerts__each_have_a_runbook_that_is_there() -> None:
    page = (REPOSITORY / "docs/run.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).strip().replace(" ", "-")
        for line in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }
    rules = alert_rules("mainnet")
    assert len(rules) >= 8
    for rule in rules:
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (REPOSITORY / file).exists()
        assert anchor in anchors, rule["alert"]


def rule_groups(folder: Path) -> list[Object]:
    """The groups that the component makes for a deployment in the namespace ``one``, as a rules file has them."""
    (folder / "namespace.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
    component = os.path.relpath(REPOSITORY / "deploy/k8s/components/monitoring", folder.resolve())
    (folder / "kustomization.yaml").write_text(f"resources: [namespace.yaml]\ncomponents: [{component}]\n")
    (rules,) = [each for each in render(folder) if each["kind"] == "PrometheusRule"]
    return list(rules["spec"]["groups"])


def test_alerts_each_have_a_case(tmp_path: Path) -> None:
    rules = [rule["alert"] for group in rule_groups(tmp_path) for rule in group["rules"]]
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    asked = [(one["expr"], bool(one["exp_samples"])) for case in cases for one in case["promql_expr_test"]]
    expressions = {f'ALERTS{{alertname="{name}",alertstate="firing"}}' for name in rules}
    assert set(asked) == {(expression, fires) for expression in expressions for fires in (True, False)}


@pytest.mark.nightly
def test_alerts_fire_and_stay_silent_as_stated(tmp_path: Path) -> None:
    try:
        promtool = (
            shutil.which("promtool") or unpacked(REPOSITORY / ".local/prometheus", ["prometheus"]) / "usr/bin/promtool"
        )
    except NoPackage as reason:
        pytest.skip(f"NOT RUN: no promtool on PATH, and {reason}")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rule_groups(tmp_path)}), encoding="utf-8")
    shutil.copy(CASES, tmp_path)
    done = subprocess.run(
        [promtool, "test", "rules", CASES.name], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_alert_on_an_old_index_is_at_a_still_chain(tmp_path: Path) -> None:
    (rule,) = [each for group in rule_groups(tmp_path) for each in group["rules"] if each["alert"] == "IndexBehind"]
    assert f'service_index_lag_seconds{{namespace="one"}}) > {STANDS_STILL_SECONDS}\n' in rule["expr"]
    assert f"older than {STANDS_STILL_SECONDS // 60} minutes" in rule["annotations"]["summary"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_latency_that_scales_is_of_this_namespace(overlay: str) -> None:
    scalers = [each for each in OVERLAYS[overlay] if each["kind"] == "ScaledObject"]
    triggers = [(s, t) for s in scalers for t in s["spec"]["triggers"] if t["type"] == "prometheus"]
    assert [s["metadata"]["name"] for s, _ in triggers] == (["api", "delivery"] if overlay == "mainnet" else [])
    for scaler, trigger in triggers:
        query, name = trigger["metadata"]["query"], scaler["spec"]["scaleTargetRef"]["name"]
        assert trigger["metricType"] == "Value"
        assert f'namespace="{scaler["metadata"]["namespace"]}",container="{name}"' in query
        assert query.endswith(">= 0) or vector(0)")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_alerts_look_at_their_namespace_alone(overlay: str) -> None:
    (namespace,) = [each["metadata"]["name"] for each in OVERLAYS[overlay] if each["kind"] == "Namespace"]
    for rule in alert_rules(overlay):
        selected = [dict(re.findall(r'(\w+)="([^"]*)"', inside)) for _, inside in SELECTOR.findall(rule["expr"])]
        assert {each.get("namespace") for each in selected} == {namespace}, rule["alert"]
        assert len(selected) == len(re.findall(OURS_OR_THEIRS, MATCHER.sub("", rule["expr"]))), rule["alert"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_queue_that_scales_the_reviewer_is_its_own(overlay: str) -> None:
    for each in OVERLAYS[overlay]:
        if each["kind"] == "ScaledObject" and each["metadata"]["name"] == "reviewer-worker":
            assert (
                each["spec"]["triggers"][0]["metadata"]["listName"]
                == Queue.redis_queue_namespace_prefix + QueueName.REVIEWS
            )
