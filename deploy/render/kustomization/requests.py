"""What the pods of rendered manifests request of a cluster: at rest, during an upgrade, at the autoscalers' most."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from kustomization.quantity import quantity
from kustomization.render import Object, pod_spec

_AUTOSCALERS: Final = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount"),
}
_JOBS: Final = frozenset({"Job", "CronJob"})


@dataclass(frozen=True, slots=True)
class Demand:
    """CPU in thousandths of a core, memory in bytes."""

    cpu: int
    memory: int

    def __add__(self, other: "Demand") -> "Demand":
        return Demand(self.cpu + other.cpu, self.memory + other.memory)

    def __mul__(self, count: int) -> "Demand":
        return Demand(self.cpu * count, self.memory * count)

    def share_of(self, node: "Demand") -> Decimal:
        """The part of a node that it takes: of what it takes most of."""
        return max(Decimal(self.cpu) / node.cpu, Decimal(self.memory) / node.memory)


NOTHING: Final = Demand(0, 0)


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods of one kind, and how many of them there are."""

    name: str
    request: Demand
    """Of one pod."""
    least: int
    most: int
    surge: int
    """Further pods at a time while it is replaced."""
    job: bool

    def surging(self, pods: int) -> int:
        """Its pods while it is replaced, those that are ending aside."""
        return pods + min(self.surge, pods)

    def ending(self, pods: int) -> int:
        """Its pods where the last one is replaced before the first one has ended: an ending pod keeps its place."""
        return 2 * pods if self.surge else pods


@dataclass(frozen=True, slots=True)
class Demands:
    """What a deployment requests, Jobs aside where they are not named."""

    rest: Demand
    surging: Demand
    """Each Deployment has its further pod."""
    ending: Demand
    """Each Deployment has all its new pods, none of the former has ended, and every Job runs."""
    most: Demand
    """At the autoscalers' most, nothing replaced."""
    most_ending: Demand
    """Everything at once."""


def totals(objects: Sequence[Object]) -> Demands:
    """What these objects request together."""
    each = workloads(objects)
    return Demands(
        rest=_sum(one.request * one.least for one in each if not one.job),
        surging=_sum(one.request * one.surging(one.least) for one in each if not one.job),
        ending=_sum(one.request * one.ending(one.least) for one in each),
        most=_sum(one.request * one.most for one in each if not one.job),
        most_ending=_sum(one.request * one.ending(one.most) for one in each),
    )


def fits_anywhere(pods: Sequence[Demand], nodes: Sequence[Demand]) -> bool:
    """Whether all of these find a place on equal nodes, wherever the scheduler put those before.

    A pod finds none only where each node has less left than it takes, so it finds one while what all take, the largest
    once more for each further node, is no more than the nodes have.
    """
    shares = [pod.share_of(nodes[0]) for pod in pods]
    return sum(shares) + (len(nodes) - 1) * max(shares) <= len(nodes)


def workloads(objects: Sequence[Object]) -> list[Workload]:
    """Everything that runs pods; what is suspended is started by hand while the rest is stopped, and left out."""
    return list(_workloads(objects))


def _workloads(objects: Sequence[Object]) -> Iterator[Workload]:
    scaled = {
        each["spec"]["scaleTargetRef"]["name"]: tuple(each["spec"][name] for name in _AUTOSCALERS[each["kind"]])
        for each in objects
        if each["kind"] in _AUTOSCALERS
    }
    for each in objects:
        pod, spec = pod_spec(each), each.get("spec") or {}
        if pod is None or spec.get("suspend"):
            continue
        name, job = each["metadata"]["name"], each["kind"] in _JOBS
        fixed = spec.get("replicas", 1)
        least, most = scaled.get(name, (fixed, fixed)) if each["kind"] == "Deployment" else (fixed, fixed)
        yield Workload(name, request_of(pod), least, most, _surge(each), job)


def _surge(each: Object) -> int:
    strategy = each["spec"].get("strategy", {})
    if each["kind"] != "Deployment" or strategy.get("type") == "Recreate":
        return 0
    return int(strategy["rollingUpdate"]["maxSurge"])


def request_of(pod: Object) -> Demand:
    """What the scheduler counts for a pod.

    Its containers with those that run beside them, or the largest of what prepares it, with those that run by then.
    """
    beside, largest = NOTHING, NOTHING
    for each in pod.get("initContainers", []):
        if each.get("restartPolicy") == "Always":
            beside += _of_container(each)
            largest = _larger(largest, beside)
        else:
            largest = _larger(largest, beside + _of_container(each))
    return _larger(largest, beside + _sum(map(_of_container, pod["containers"])))


def _of_container(container: Object) -> Demand:
    requests = container["resources"]["requests"]
    return Demand(int(quantity(requests["cpu"]) * 1000), int(quantity(requests["memory"])))


def _larger(one: Demand, other: Demand) -> Demand:
    return Demand(max(one.cpu, other.cpu), max(one.memory, other.memory))


def _sum(requests: Iterable[Demand]) -> Demand:
    return sum(requests, NOTHING)
