"""Every pair of pods, by the rendered policies: what the service needs is let through, and nothing else."""

from collections.abc import Iterator

import pytest

from tests.deploy.kustomize import Object, render
from tests.deploy.policies import Elsewhere, Pod, Policies, pods

from .conftest import REPOSITORY
from .manifests import OVERLAYS, of_people
from .test_network_policies import POSTGRES, PUBLIC, REDIS, edges_of_code

COMPLETE = render(REPOSITORY / "tests/deploy/complete")
DATASTORES = {"postgresql": (POSTGRES, 5432), "valkey": (REDIS, 6379), "database": (POSTGRES, 5432)}
ENTRANCE = Elsewhere("entrance", {"bounty-escrow-entrance": "true"})
MONITORING = Elsewhere("monitoring", {"kubernetes.io/metadata.name": "monitoring"})
OPERATOR = Elsewhere("operator", {"kubernetes.io/metadata.name": "cnpg-system"})
NEIGHBOUR = Elsewhere("neighbour", {"kubernetes.io/metadata.name": "neighbour"})
DOOR = 8081
"""Of the proxy in the pod of what strangers reach; nothing reaches the service past it."""
OWN_SERVED = {"postgresql", "valkey", "database"}
"""Without a port for probes and metrics of their own."""
SEVERAL_INSTANCES = {"database"}
SILENT = {"reviewer"}
"""What judges what anyone sends, and the restored copy: no datastore of the deployment."""


def needed(overlay: str, every: list[Pod]) -> set[tuple[str, str, int]]:
    """By what each process is told, as in test_network_policies."""
    names = {each.name for each in every}
    ports = {"api": DOOR, "delivery": 8080, "reviewer": 8080}
    found = {(source, goal, ports[goal]) for source, goal in edges_of_code(overlay) if goal in ports}
    for name, (store, port) in DATASTORES.items():
        if name in names:
            found |= {(source, name, port) for source, goal in edges_of_code(overlay) if goal == store}
    return found | {(one, one, port) for one in names & SEVERAL_INSTANCES for port in (5432, 8000)}


def opened(objects: list[Object]) -> Iterator[tuple[str, str, int]]:
    """Each pair that is let through, with the port; every port of any pod is tried at each."""
    policies, every = Policies(objects), pods(objects)
    ports = {port for each in every for port in each.ports}
    for source in every:
        for target in every:
            yield from ((source.name, target.name, port) for port in ports if policies.open(source, target, port))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pairs_are_let_through_where_needed(
    overlay: str,
) -> None:
    every = pods(OVERLAYS[overlay])
    assert len(every) >= 10
    assert set(opened(OVERLAYS[overlay])) == needed(overlay, every)


def test_pairs_with_the_operators_database() -> None:
    assert set(opened(COMPLETE)) == needed("mainnet", pods(COMPLETE))


@pytest.mark.parametrize("objects", [OVERLAYS["staging"], COMPLETE], ids=["staging", "complete"])
def test_datastores_are_closed_to_what_reads_strangers(objects: list[Object]) -> None:
    reached = {(source, target) for source, target, _ in opened(objects) if source != target}
    stores = {target for _, target in reached} & set(DATASTORES)
    assert stores
    assert not {source for source, target in reached if target in stores} & SILENT
    assert ("api", "postgresql") in reached or ("api", "database") in reached


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_other_namespaces_reach_people_and_metrics(overlay: str) -> None:
    policies, every = Policies(OVERLAYS[overlay]), pods(OVERLAYS[overlay])
    tried = [(each, port) for each in every for port in (8080, DOOR, 9090, 5432, 6379)]
    assert {(each.name, port) for each, port in tried if policies.open(ENTRANCE, each, port)} == {
        (name, DOOR) for name in of_people(overlay)
    }
    assert {(each.name, port) for each, port in tried if policies.open(MONITORING, each, port)} == {
        (each.name, 9090) for each in every if each.name not in OWN_SERVED
    }
    assert not [each for each, port in tried if policies.open(NEIGHBOUR, each, port)]
    assert not [each for each in every for port in (80, 443, 8080, DOOR, 9090) if policies.open(each, NEIGHBOUR, port)]


def test_database_is_reached_by_its_operator() -> None:
    policies = Policies(COMPLETE)
    (database,) = [each for each in pods(COMPLETE) if each.name == "database"]
    open_to = {each.name: {p for p in database.ports if policies.open(each, database, p)} for each in
               (OPERATOR, MONITORING, ENTRANCE, NEIGHBOUR)}  # fmt: skip
    assert open_to == {"operator": {5432, 8000}, "monitoring": {9187}, "entrance": set(), "neighbour": set()}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_addresses_outside_are_reached_where_needed(overlay: str) -> None:
    policies, every = Policies(OVERLAYS[overlay]), pods(OVERLAYS[overlay])
    public = {each.name for each in every if policies.reaches(each, "1.1.1.1", 443)}
    assert public == {source for source, goal in edges_of_code(overlay) if goal == PUBLIC}
    assert not [each for each in every if policies.reaches(each, "1.1.1.1", 80)]
    assert not [each for each in every if policies.reaches(each, "192.168.0.1", 443)]


SOURCE = Pod("one", {"app": "one"}, frozenset())


def policy(selector: Object, direction: str, **rules: list[Object]) -> Object:
    spec = {"podSelector": selector, "policyTypes": [direction], **rules}
    return {"kind": "NetworkPolicy", "metadata": {"name": "one", "namespace": "own"}, "spec": spec}


OTHER = {"podSelector": {"matchLabels": {"app": "other"}}}
BLOCK = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}
