"""Where the pods of the manifests run: apart from each other, before others, and out of a drain's way."""

import pytest

from tests.deploy.kustomize import Object, pod_labels

from .manifests import OVERLAYS, by_name, workloads

NODE, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WAITS_FOR_ROOM = {"backup", "restore"}


def of_kind(overlay: str, kind: str) -> list[Object]:
    return [each for each in OVERLAYS[overlay] if each["kind"] == kind]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_spread_is_over_nodes_and_zones(overlay: str) -> None:
    """Counted with the pods that a rollout replaces, both new ones fit on the node that holds no old one."""
    for each, pod in workloads(overlay):
        if each["kind"] != "Deployment":
            continue
        found = {one["topologyKey"]: one for one in pod["topologySpreadConstraints"]}
        assert set(found) == {NODE, ZONE}
        for one in found.values():
            assert one["maxSkew"] == 1
            assert one["whenUnsatisfiable"] == "ScheduleAnyway", "one node that is left runs everything"
            assert one["matchLabelKeys"] == ["pod-template-hash"]
            assert one["labelSelector"]["matchLabels"] == {"app.kubernetes.io/name": each["metadata"]["name"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_several_pods_are_on_different_nodes(
    overlay: str,
) -> None:
    """The scheduler leaves nodes without a label of the spread's keys out of its score: then this one is left."""
    apart = {
        each["metadata"]["name"]: pod.get("affinity")
        for each, pod in workloads(overlay)
        if each["kind"] == "Deployment"
    }
    several = {each["metadata"]["name"] for each in of_kind(overlay, "Deployment") if several_pods(each)}
    assert {name for name, affinity in apart.items() if affinity} == several
    assert "api" in several
    for name in several:
        term = {
            "topologyKey": NODE,
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "matchLabelKeys": ["pod-template-hash"],
        }
        preferred = [{"weight": 100, "podAffinityTerm": term}]
        assert apart[name] == {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_single_pod_of_a_lost_node_starts_elsewhere(overlay: str) -> None:
    """A StatefulSet's pod does not start elsewhere before its node is known to be gone."""
    taints = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    soon = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for key, seconds in zip(taints, (30, 30), strict=True)
    ]
    for each, pod in workloads(overlay):
        single = each["kind"] == "Deployment" and not several_pods(each)
        assert pod.get("tolerations") == (soon if single else None), each["metadata"]["name"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_priority_is_the_services(overlay: str) -> None:
    (own,) = of_kind(overlay, "PriorityClass")
    (namespace,) = of_kind(overlay, "Namespace")
    assert own["metadata"] == {**own["metadata"], "name": namespace["metadata"]["name"]}
    assert "namespace" not in own["metadata"], "it is the cluster's"
    assert {each["metadata"]["name"]: pod.get("priorityClassName") for each, pod in workloads(overlay)} == {
        name: None if name in WAITS_FOR_ROOM else own["metadata"]["name"]
        for name in (each["metadata"]["name"] for each, _ in workloads(overlay))
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_disruption_takes_one_pod_at_a_time(overlay: str) -> None:
    budgets = {name: each["spec"] for (kind, name), each in by_name(OVERLAYS[overlay]).items() if "Budget" in kind}
    several = {each["metadata"]["name"]: each for each in of_kind(overlay, "Deployment") if several_pods(each)}
    assert set(budgets) == set(several)
    for name, budget in budgets.items():
        assert budget["maxUnavailable"] == 1
        assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        assert budget["selector"]["matchLabels"].items() <= pod_labels(several[name]).items()


def several_pods(deployment: Object) -> bool:
    """What an autoscaler scales has no number of its own, and two pods at least."""
    return int(deployment["spec"].get("replicas", 2)) > 1
