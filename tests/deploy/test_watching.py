"""What is watched exists: metrics of alerts, dashboards and scalers, the runbooks they name, and a drill for each."""

import json
import re

import pytest
from rq import Queue
from service_common.jobs.queues import QueueName

from tools.drill import DRILLS

from .conftest import REPOSITORY
from .manifests import OVERLAYS, by_name

NAME = re.compile(r"\bservice_[a-z_]+")


def metric_names() -> set[str]:
    """Every series that the code makes, by its name in the code."""
    names: set[str] = set()
    for folder in ("libs", "services"):
        for file in (REPOSITORY / folder).rglob("*.py"):
            for kind, name in re.findall(r"(Counter|Histogram|Gauge)\w*\(\s*f?\"(service_[a-z_{}]+)", file.read_text()):
                ends = {"Counter": ("_total",), "Histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
                names |= {name.removesuffix("_total") + end for end in ends}
    return names | {
        f"service_rpc_endpoint_{each}" for each in ("preferred", "failures", "lag_blocks", "contradictions")
    }


def expressions(overlay: str) -> list[str]:
    objects = by_name(OVERLAYS[overlay])
    rules = objects["PrometheusRule", "bounty-escrow"]["spec"]["groups"][0]["rules"]
    board = json.loads(objects["ConfigMap", "dashboards"]["data"]["bounty-escrow.json"])
    scalers = [each for each in OVERLAYS[overlay] if each["kind"] == "ScaledObject"]
    queries = [t["metadata"]["query"] for s in scalers for t in s["spec"]["triggers"] if t["type"] == "prometheus"]
    return [rule["expr"] for rule in rules] + [t["expr"] for p in board["panels"] for t in p["targets"]] + queries


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_alerts_and_dashboards__name_only_metrics_that_exist(overlay: str) -> None:
    used = {name for expression in expressions(overlay) for name in NAME.findall(expression)}
    assert len(used) > 10
    assert used - metric_names() == set()


def test_alerts__each_have_a_runbook_that_is_there() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).strip().replace(" ", "-")
        for line in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }
    rules = by_name(OVERLAYS["mainnet"])["PrometheusRule", "bounty-escrow"]["spec"]["groups"][0]["rules"]
    assert len(rules) >= 8
    for rule in rules:
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (REPOSITORY / file).exists()
        assert anchor in anchors, rule["alert"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_queue__that_scales_the_reviewer__is_the_one_it_works_on(overlay: str) -> None:
    for each in OVERLAYS[overlay]:
        if each["kind"] == "ScaledObject" and each["metadata"]["name"] == "reviewer-worker":
            assert (
                each["spec"]["triggers"][0]["metadata"]["listName"]
                == Queue.redis_queue_namespace_prefix + QueueName.REVIEWS
            )


def test_drills__one_for_each_runbook__are_tests_that_exist() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading for heading, _ in DRILLS.values()] == headings[headings.index("What is watched") + 1 :]
    for _, tests in DRILLS.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert f"def {name}(" in (REPOSITORY / file).read_text(encoding="utf-8") or not name
