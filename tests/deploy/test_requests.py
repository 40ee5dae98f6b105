"""What the manifests request of a cluster: enough for what was measured, and no more than a small one has."""

import pytest
from kustomization.render import Object
from kustomization.requests import Demand, Workload, fits_anywhere, request_of, totals, workloads

from tools.generate.requests import MEASURED, SMALL_NODE, SMALL_NODES

from .manifests import ENTRY_POINTS, OVERLAYS, by_name

MIB, GIB = 2**20, 2**30


def container(cpu: str, memory: str, **more: str) -> Object:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def deployment(name: str, replicas: int | None, strategy: Object) -> Object:
    spec = {"strategy": strategy, "template": {"spec": {"containers": [container("100m", "1Mi")]}}}
    own = {} if replicas is None else {"replicas": replicas}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": {**spec, **own}}


ONE_MORE = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}


@pytest.mark.parametrize(
    ("before", "own", "asked"),
    [
        ([], [container("100m", "64Mi"), container("0.2", "1Gi")], Demand(300, 1088 * MIB)),
        ([container("10m", "96Mi")], [container("100m", "64Mi")], Demand(100, 96 * MIB)),
        ([container("500m", "1Mi"), container("400m", "2Mi")], [container("100m", "1Mi")], Demand(500, 2 * MIB)),
        (
            [container("250m", "2Mi", restartPolicy="Always"), container("300m", "1Mi")],
            [container("100m", "4Mi")],
            Demand(550, 6 * MIB),
        ),
        ([container("300m", "1Mi"), container("250m", "2Mi", restartPolicy="Always")], [container("20m", "1Mi")],
         Demand(300, 3 * MIB)),
    ],
    ids=["together", "what prepares asks less", "one after the other", "beside both", "begins later"],
)  # fmt: skip
def test_request__of_a_pod__is_what_the_scheduler_counts(
    before: list[Object], own: list[Object], asked: Demand
) -> None:
    assert request_of({"initContainers": before, "containers": own}) == asked


def test_totals__of_manifests__are_of_pods_at_rest_surging_ending_and_scaled() -> None:
    spec: Object = {"jobTemplate": {"spec": {"template": {"spec": {"containers": [container("7m", "1Mi")]}}}}}
    job: Object = {"kind": "CronJob", "metadata": {"name": "job"}, "spec": spec}
    by_hand: Object = {"kind": "CronJob", "metadata": {"name": "by hand"}, "spec": {**spec, "suspend": True}}
    scaler = {"scaleTargetRef": {"name": "two"}, "minReplicas": 2, "maxReplicas": 5}
    objects: list[Object] = [
        deployment("two", None, ONE_MORE),
        deployment("one", 1, ONE_MORE),
        deployment("none", 0, ONE_MORE),
        deployment("alone", 1, {"type": "Recreate"}),
        {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "two"}, "spec": scaler},
        {"kind": "Service", "metadata": {"name": "two"}, "spec": {}},
        job,
        by_hand,
    ]
    found = totals(objects)
    assert [found.rest.cpu, found.surging.cpu, found.ending.cpu] == [400, 600, 707]
    assert [found.most.cpu, found.most_ending.cpu] == [700, 1307]
    assert found.rest.memory == 4 * MIB
    assert Workload("job", Demand(7, MIB), 1, 1, 0, job=True) in workloads(objects)


@pytest.mark.parametrize(
    ("pods", "fit"),
    [
        ([Demand(500, 1)] * 3, True),
        ([*[Demand(300, 1)] * 4, Demand(600, 1)], False),  # each node may hold two of the small ones
        ([Demand(100, 1)] * 19, True),
        ([Demand(100, 1)] * 20, False),
        ([Demand(10, 500)] * 3, True),
        ([Demand(10, 500)] * 4, False),
        ([Demand(900, 100), Demand(100, 900), Demand(100, 100)], False),
        ([Demand(1100, 1)], False),
    ],
)
def test_fit__of_pods__is_stated_only_where_every_order_fits(pods: list[Demand], fit: bool) -> None:
    assert fits_anywhere(pods, [Demand(1000, 1000)] * 2) is fit


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_request__of_every_process__starts_it_in_time_on_a_full_node_and_holds_what_it_uses(name: str) -> None:
    """On a full node a pod gets what it requests and no more; its start is given up after the startup probe's time."""
    pods = by_name(OVERLAYS["mainnet"])["Deployment", name]["spec"]["template"]["spec"]
    (own,) = pods["containers"]
    probe = own["startupProbe"]
    seconds = probe["periodSeconds"] * probe["failureThreshold"]
    cpu = request_of(pods).cpu
    start, rest = MEASURED[name]
    assert cpu * seconds >= start * 1000
    assert rest <= cpu <= max(4.0 * rest, start * 30)


def test_measured__are_all_processes() -> None:
    assert set(MEASURED) == set(ENTRY_POINTS)


def test_staging__at_rest__requests_little_more_than_a_core_and_less_than_two_while_it_surges() -> None:
    found = totals(OVERLAYS["staging"])
    assert 1000 < found.rest.cpu < 1250
    assert found.surging.cpu < 2000
    assert found.most.cpu < 4000, "two nodes of two cores start every pod that the autoscalers may ask for"


def test_small_cluster__while_everything_is_replaced_and_every_job_runs__has_a_place_for_each_pod() -> None:
    pods = [
        each.request for each in workloads(OVERLAYS["small"]) for _ in range(each.ending(each.most))
    ]  # at the autoscalers' most
    assert fits_anywhere(pods, [SMALL_NODE] * SMALL_NODES)
    assert not fits_anywhere([*pods, *pods], [SMALL_NODE] * SMALL_NODES)


def test_small_cluster__with_one_node_away__runs_everything_on_the_other() -> None:
    rest = totals(OVERLAYS["small"]).rest
    assert rest.share_of(SMALL_NODE) <= 1


def test_small_cluster__beside_staging__differs_in_the_autoscalers_alone() -> None:
    small, staging = by_name(OVERLAYS["small"]), by_name(OVERLAYS["staging"])
    assert set(small) == set(staging)
    assert {kind for kind, name in small if small[kind, name] != staging[kind, name]} == {"HorizontalPodAutoscaler"}
    for each in workloads(OVERLAYS["small"]):
        assert each.least == each.most


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_autoscalers__of_an_overlay__compare_what_a_pod_uses_and_not_its_share_of_a_request(overlay: str) -> None:
    """A request is what a pod needs to run beside others; scaled by its share, a start alone would add pods."""
    asked = {}
    for each in OVERLAYS[overlay]:
        spec = each.get("spec") or {}
        if each["kind"] == "HorizontalPodAutoscaler":
            (target,) = [one["resource"]["target"] for one in spec["metrics"]]
            assert set(target) == {"type", "averageValue"}
            asked[each["metadata"]["name"]] = target["type"], target["averageValue"]
        elif each["kind"] == "ScaledObject":
            of_cpu = [one for one in spec["triggers"] if one["type"] == "cpu"]
            for one in of_cpu:
                asked[each["metadata"]["name"]] = one["metricType"], one["metadata"]["value"]
    assert asked.pop("reviewer-worker", ("AverageValue", "150m")) == ("AverageValue", "150m")
    assert asked == {"api": ("AverageValue", "325m")} | dict.fromkeys(
        ("web", "delivery", "reviewer"), ("AverageValue", "160m")
    )
