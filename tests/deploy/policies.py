"""What the network policies of rendered manifests let through between pods, as Kubernetes defines it.

A way is open where the policies of the one that connects let it out and those of the other let it in; a side that no
policy selects is open. An address block counts as reaching pods where it holds addresses that clusters give them, which
depends on the network's implementation: what is refused here is refused everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final

from tests.deploy.kustomize import Object, containers, pod_labels

NAME: Final = "app.kubernetes.io/name"
NAMESPACE: Final = "kubernetes.io/metadata.name"
_OF_PODS: Final = ip_address("10.0.0.1")
_DATABASE_PORTS: Final = frozenset({5432, 8000, 9187})


class PolicyError(Exception):
    """The part of a policy that is not evaluated here."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Pods of one set of labels, and the ports at which they listen."""

    name: str
    labels: Mapping[str, str]
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Pods of another namespace, by its labels."""

    name: str
    labels: Mapping[str, str]


def pods(objects: Sequence[Object]) -> list[Pod]:
    """Every pod of the manifests, once for each name; that of CloudNativePG's Cluster as its operator makes it."""
    found: dict[str, Pod] = {}
    for each in objects:
        if each["kind"] == "Cluster":
            labels = {"cnpg.io/cluster": each["metadata"]["name"]}
            found[each["metadata"]["name"]] = Pod(each["metadata"]["name"], labels, _DATABASE_PORTS)
        elif labels := pod_labels(each):
            name = labels[NAME]
            ports = {port["containerPort"] for container in containers(each) for port in container.get("ports", [])}
            former = found[name].ports if name in found else frozenset()
            found[name] = Pod(name, labels, former | ports)
    return list(found.values())


class Policies:
    """The policies of one namespace."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._specs = [each["spec"] for each in objects if each["kind"] == "NetworkPolicy"]
        (namespace,) = {each["metadata"]["namespace"] for each in objects if each["kind"] == "NetworkPolicy"}
        self._own = {NAMESPACE: namespace}

    def open(self, source: Pod | Elsewhere, target: Pod | Elsewhere, port: int) -> bool:
        """Whether ``source`` may connect to this port of ``target`` by TCP."""
        out = not isinstance(source, Pod) or self._lets(source, target, port, "Egress", "to")
        return out and (not isinstance(target, Pod) or self._lets(target, source, port, "Ingress", "from"))

    def reaches(self, source: Pod, address: str, port: int) -> bool:
        """Whether ``source`` may connect to this port of an address outside of the cluster."""
        specs = self._selecting(source, "Egress")
        return not specs or any(
            _names_port(rule, port) and ("to" not in rule or any(_holds(peer, address) for peer in rule["to"]))
            for spec in specs
            for rule in spec.get("egress", [])
        )

    def _lets(self, pod: Pod, other: Pod | Elsewhere, port: int, direction: str, field: str) -> bool:
        specs = self._selecting(pod, direction)
        return not specs or any(
            _names_port(rule, port) and (field not in rule or any(self._is(peer, other) for peer in rule[field]))
            for spec in specs
            for rule in spec.get(direction.lower(), [])
        )

    def _selecting(self, pod: Pod, direction: str) -> list[Object]:
        return [
            spec for spec in self._specs if direction in spec["policyTypes"] and _fits(spec["podSelector"], pod.labels)
        ]

    def _is(self, peer: Object, other: Pod | Elsewhere) -> bool:
        if "ipBlock" in peer:
            return _holds(peer, str(_OF_PODS))
        space = peer.get("namespaceSelector")
        if isinstance(other, Elsewhere):
            return space is not None and _fits(space, other.labels) and "podSelector" not in peer
        return (space is None or _fits(space, self._own)) and _fits(peer.get("podSelector", {}), other.labels)


def _names_port(rule: Object, port: int) -> bool:
    return "ports" not in rule or any(_port(each) == port for each in rule["ports"] if each["protocol"] == "TCP")


def _port(each: Object) -> int:
    if set(each) != {"protocol", "port"} or not isinstance(each["port"], int):
        raise PolicyError(f"a port has protocol and number: {each}")
    return each["port"]


def _holds(peer: Object, address: str) -> bool:
    if "ipBlock" not in peer:
        return False
    block, one = peer["ipBlock"], ip_address(address)
    return one in ip_network(block["cidr"]) and not any(one in ip_network(each) for each in block.get("except", []))


def _fits(selector: Object, labels: Mapping[str, str]) -> bool:
    return all(_requirements(selector, labels))


def _requirements(selector: Object, labels: Mapping[str, str]) -> Iterator[bool]:
    if unknown := set(selector) - {"matchLabels", "matchExpressions"}:
        raise PolicyError(f"a selector has {', '.join(sorted(unknown))}")
    yield from (labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    for each in selector.get("matchExpressions", []):
        if each["operator"] != "In":
            raise PolicyError(f"the operator {each['operator']}")
        yield labels.get(each["key"]) in each["values"]
