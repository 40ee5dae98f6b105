"""Who talks to whom: the network policies open exactly the ways that the code goes."""

import pytest

from tests.deploy.kustomize import Object

from .manifests import OVERLAYS, by_name, environment, of_people, own_containers

PUBLIC, POSTGRES, REDIS, DELIVERY = "the internet", "postgresql", "redis", "delivery"
REVIEWER = "reviewer"
IDENTITY = "the metadata server"
METADATA_SERVERS = {"169.254.169.254/32", "169.254.169.252/32"}
"""Where a pod asks for the token of its workload identity, by how the cluster leads it there."""
EDGE_OF_VARIABLE = {
    "SERVICE_DATABASE_URL": POSTGRES,
    "SERVICE_REDIS_URL": REDIS,
    "SERVICE_RPC_URLS": PUBLIC,
    "SERVICE_RPC_URL": PUBLIC,
    "SERVICE_STORAGE_BUCKET": PUBLIC,
    "SERVICE_OPENAI_API_KEY": PUBLIC,
    "SERVICE_DELIVERY_URL": DELIVERY,
    "SERVICE_REVIEWER_URL": REVIEWER,
}
"""What a process that is told this reaches."""


def edges_of_policies(overlay: str) -> set[tuple[str, str]]:
    """Every way out that the policies of the service open."""
    edges = set()
    for each in OVERLAYS[overlay]:
        if each["kind"] != "NetworkPolicy" or each["metadata"]["name"] in {"deny", "names"}:
            continue
        for rule in each["spec"].get("egress", []):
            for name in each["spec"]["podSelector"]["matchExpressions"][0]["values"]:
                edges |= {(name, _goal(peer, port["port"])) for peer in rule["to"] for port in rule["ports"]}
    return edges


def _goal(peer: Object, port: int) -> str:
    if "podSelector" in peer:
        name = str(peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"])
        return REDIS if name == "valkey" else name
    if peer["ipBlock"]["cidr"] == "2000::/3":
        assert port == 443
        return PUBLIC
    if peer["ipBlock"]["cidr"] == "0.0.0.0/0":
        assert port == 443
        assert "10.0.0.0/8" in peer["ipBlock"]["except"]
        return PUBLIC
    if peer["ipBlock"]["cidr"] in METADATA_SERVERS:
        assert port in {80, 988}
        return IDENTITY
    return {5432: POSTGRES, 6379: REDIS}[port]


def edges_of_code(overlay: str) -> set[tuple[str, str]]:
    edges = {("backup", POSTGRES), ("backup", PUBLIC), ("backup", IDENTITY)}
    for name, _, container in own_containers(overlay):
        told = {each.removesuffix("_FILE") for each in environment(overlay, container)}
        edges |= {(name, EDGE_OF_VARIABLE[each]) for each in told if each in EDGE_OF_VARIABLE}
        if "SERVICE_STORAGE_BUCKET" in told and "SERVICE_STORAGE_CREDENTIALS" not in told:
            edges.add((name, IDENTITY))  # the storage's account is the pod's own
    # Only the serving api forwards; only the worker of the reviews may ask a provider, once one is configured.
    for name in ("api-worker", "pages"):
        edges -= {(name, DELIVERY), (name, REVIEWER)}
    edges -= {("pages", IDENTITY)}  # they name the bucket in their policy alone
    return edges | {("reviewer-worker", PUBLIC)}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_policies_open_exactly_the_ways_of_the_code(overlay: str) -> None:
    assert edges_of_policies(overlay) == edges_of_code(overlay)
    deny = by_name(OVERLAYS[overlay])["NetworkPolicy", "deny"]["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_open_port_53_and_nothing_else(overlay: str) -> None:
    spec = by_name(OVERLAYS[overlay])["NetworkPolicy", "names"]["spec"]
    assert spec["podSelector"] == {}
    (rule,) = spec["egress"]
    assert rule["ports"] == [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    assert rule["to"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_policies_open_the_ways_into_the_service(overlay: str) -> None:
    opened = {}
    for each in OVERLAYS[overlay]:
        if each["kind"] == "NetworkPolicy" and each["spec"].get("ingress"):
            for rule in each["spec"]["ingress"]:
                target = each["spec"]["podSelector"].get("matchLabels", {}).get("app.kubernetes.io/name", "all")
                opened[target, rule["ports"][0]["port"]] = rule["from"]
    into = {target: peers for (target, port), peers in opened.items() if port in {8080, 8081}}
    assert set(into) == of_people(overlay) | {"delivery", "reviewer"}
    serving = {
        name for name, _, container in own_containers(overlay) if container.get("args") in (["serve"], ["pages"])
    }
    services = {each["metadata"]["name"] for each in OVERLAYS[overlay] if each["kind"] == "Service"}
    assert serving == set(into) == services - {"postgresql", "valkey"}, "what serves is reached by somebody"
    for name in of_people(overlay):
        (entrance,) = into[name]
        assert "namespaceSelector" in entrance
    assert into["delivery"] == into["reviewer"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "api"}}}]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_reviewer_reaches_nothing_and_has_no_secret(
    overlay: str,
) -> None:
    ways = {goal for name, goal in edges_of_policies(overlay) if name == "reviewer"}
    assert ways == set()
    ((pod, container),) = [(pod, one) for name, pod, one in own_containers(overlay) if name == "reviewer"]
    assert not any("secret" in each for each in pod["volumes"])
    assert not any(name.endswith("_FILE") for name in environment(overlay, container))
