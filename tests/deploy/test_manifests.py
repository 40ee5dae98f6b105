"""The Kubernetes manifests against the code: what they start, tell, mount, reach and probe is what the code is."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import kubernetes_validate
import pytest
import service_api.config
import service_delivery.config
import service_indexer.config
import service_reviewer.config
import yaml
from kustomization.render import Object, RenderError, containers, pod_labels, pod_spec, render
from local_stack.services import SERVICES
from rq import Queue
from service_api.config import DEFAULT_REVIEW_WAIT_SECONDS
from service_common.crypto.x25519 import Identity
from service_common.jobs.queues import QueueName

from tools.drill import DRILLS

from .conftest import REPOSITORY

K8S = REPOSITORY / "deploy/k8s"
OVERLAYS = {name: render(K8S / "overlays" / name) for name in ("staging", "mainnet")}
KUBERNETES_VERSION = "1.33"
FOREIGN = {"ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule"}
"""Kinds that other operators define; their schemas are not Kubernetes' own."""
ENTRY_POINTS = {process.name: process.command for process in SERVICES}


def workloads(overlay: str) -> Iterator[tuple[Object, Object]]:
    """Every object that runs pods, and its pod."""
    for each in OVERLAYS[overlay]:
        pod = pod_spec(each)
        if pod is not None:
            yield each, pod


def own_containers(overlay: str) -> Iterator[tuple[str, Object, Object]]:
    """The name of its pod, the pod, and each container that runs our code."""
    for each, pod in workloads(overlay):
        for container in containers(each):
            if container["image"].startswith("service-"):
                yield pod_labels(each)["app.kubernetes.io/name"], pod, container


def environment(overlay: str, container: Object) -> dict[str, str]:
    """What a container is told, ConfigMaps included."""
    maps = {each["metadata"]["name"]: each["data"] for each in OVERLAYS[overlay] if each["kind"] == "ConfigMap"}
    told: dict[str, str] = {}
    for source in container.get("envFrom", []):
        told |= maps[source["configMapRef"]["name"]]
    return told | {each["name"]: each["value"] for each in container.get("env", [])}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_objects__of_an_overlay__are_valid_kubernetes(overlay: str) -> None:
    checked = 0
    for each in OVERLAYS[overlay]:
        if each["kind"] not in FOREIGN:
            kubernetes_validate.validate(each, KUBERNETES_VERSION, strict=True)
            checked += 1
    assert checked > 30


# ---------------------------------------------------------------- the renderer


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def test_renderer__of_every_feature__makes_what_kustomize_made() -> None:
    folder = Path(__file__).parent / "kustomization"
    recorded = list(yaml.safe_load_all((folder / "expected.yaml").read_text(encoding="utf-8")))
    assert by_name(render(folder / "overlay")) == by_name(recorded)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_renderer__of_an_overlay__agrees_with_kustomize_where_there_is_one(overlay: str) -> None:
    for command in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, K8S / "overlays" / overlay], capture_output=True, check=False, timeout=60)
            if done.returncode == 0:  # an older one knows no components
                assert by_name(list(yaml.safe_load_all(done.stdout))) == by_name(OVERLAYS[overlay])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("secretGenerator: []", "no support for secretGenerator"),
        ("configMapGenerator: [{name: a, literals: [B=c]}]", "with a hash are not supported"),
        ("patches: [{patch: '{kind: Deployment, metadata: {name: other}, spec: {}}'}]", "a patch fits no object"),
        ("replicas: [{name: other, count: 1}]", "there is no Deployment other"),
        ("resources: [one.yaml, one.yaml]", "two objects Namespace one"),
    ],
)
def test_renderer__of_what_it_does_not_know__refuses_by_name(tmp_path: Path, change: str, words: str) -> None:
    (tmp_path / "one.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
    (tmp_path / "kustomization.yaml").write_text(
        change if change.startswith("resources") else f"resources: [one.yaml]\n{change}"
    )
    with pytest.raises(RenderError, match=words):
        render(tmp_path)


# ---------------------------------------------------------------- what the containers are told


class Recorder(Mapping[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values, self.asked = values, set[str]()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


SECRETS = {
    "SERVICE_DATABASE_URL": "postgresql://service@postgresql/service",
    "SERVICE_REDIS_URL": "redis://valkey",
    "SERVICE_RPC_URLS": "https://rpc.example/key",
    "SERVICE_SETTLER_PRIVATE_KEY": "0x" + "11" * 32,
    "SERVICE_DELIVERY_PRIVATE_KEYS": json.dumps([Identity.generate().to_text()]),
}
LEFT_EMPTY = {
    "SERVICE_HUB_ADDRESS": "0x" + "22" * 20,
    "SERVICE_DEPLOY_BLOCK": "7",
    "SERVICE_STORAGE_BUCKET": "bounty-escrow-work",
}
"""What an operator fills in; see the .env files of an overlay."""
CONFIGURATIONS = {
    "service-api": service_api.config.read_config,
    "service-indexer": service_indexer.config.read_config,
    "service-reviewer": service_reviewer.config.read_config,
    "service-delivery": service_delivery.config.read_config,
}
OWN_OF_PYTHON = {"PROMETHEUS_MULTIPROC_DIR", "SERVICE_INTERNAL_HOST"}


def filled(overlay: str, container: Object, folder: Path) -> dict[str, str]:
    """What a container is told, with an operator's values and secrets in place of the mounted files."""
    told = environment(overlay, container)
    for name, value in told.items():
        if name.endswith("_FILE"):
            secret = folder / Path(value).name
            secret.unlink(missing_ok=True)
            secret.write_text(SECRETS[name.removesuffix("_FILE")])
            secret.chmod(0o440)  # as the manifests mount it
            told[name] = str(secret)
        elif not value:
            told[name] = LEFT_EMPTY[name]
    return told


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_environment__of_every_service__is_read_whole_by_its_code_and_holds_nothing_else(
    overlay: str, tmp_path: Path
) -> None:
    seen = set()
    for name, _, container in own_containers(overlay):
        if container["args"][0] in {"await-schema", "migrate"}:
            continue
        told = Recorder(filled(overlay, container, tmp_path))
        CONFIGURATIONS[container["image"].partition(":")[0]](told)
        known = told.asked | OWN_OF_PYTHON | {f"{each}_FILE" for each in told.asked}
        # Every service of a deployment shares the ConfigMap of its chain; what is told one by one has to be read.
        assert set(dict(told)) - known - set(CHAIN) == set(), name
        seen.add(name)
    assert seen == set(ENTRY_POINTS)


CHAIN = ("SERVICE_CHAIN_ID", "SERVICE_HUB_ADDRESS", "SERVICE_DEPLOY_BLOCK")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_secrets__of_every_container__are_files_of_a_secret_that_its_pod_mounts(overlay: str) -> None:
    for _, pod, container in own_containers(overlay):
        volumes = {each["name"]: each for each in pod["volumes"]}
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        told = environment(overlay, container)
        assert not [name for name in told if name in SECRETS], "a secret in the environment"
        for name, value in told.items():
            if name.endswith("_FILE"):
                folder, _, file = value.rpartition("/")
                assert file == name.removesuffix("_FILE")
                assert mounts[folder]["readOnly"]
                assert "secret" in volumes[mounts[folder]["name"]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_host__of_the_ingress__is_the_audience_of_every_signature(overlay: str) -> None:
    objects = by_name(OVERLAYS[overlay])
    ingress, web = objects["Ingress", "api"]["spec"], objects["ConfigMap", "web"]["data"]
    assert [rule["host"] for rule in ingress["rules"]] == [web["SERVICE_PUBLIC_HOST"]]
    assert ingress["tls"][0]["hosts"] == [web["SERVICE_PUBLIC_HOST"]]
    assert [each["metadata"]["name"] for each in OVERLAYS[overlay] if each["kind"] == "Ingress"] == ["api"]


# ---------------------------------------------------------------- what the containers start, and how they are probed


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_command__of_every_process__is_an_entry_point_of_its_image(overlay: str) -> None:
    started = {}
    for name, _, container in own_containers(overlay):
        image = container["image"].partition(":")[0]
        service = image.removeprefix("service-")
        code = (REPOSITORY / f"services/{service}/src/service_{service}/main.py").read_text(encoding="utf-8")
        assert f'"{container["args"][0]}"' in code
        if container["name"] == name:
            started[name] = (image, *container["args"])
    assert started.pop("migrate") == ("service-api", "migrate")
    assert started == ENTRY_POINTS


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_schema__is_waited_for_by_every_pod_before_it_starts(overlay: str) -> None:
    for each, pod in workloads(overlay):
        if each["kind"] == "Deployment":
            (first,) = pod["initContainers"]
            assert first["args"] == ["await-schema"]
            assert first["image"] == pod["containers"][0]["image"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_probes__of_every_service__ask_what_the_process_answers(overlay: str) -> None:
    for name, _, container in own_containers(overlay):
        if container["name"] != name or name == "migrate":
            continue
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert ports["internal"] == 9090
        assert ("http" in ports) is (container["args"] == ["serve"])
        for probe in ("startupProbe", "readinessProbe"):
            assert container[probe]["httpGet"] == {"path": "/readyz", "port": "internal"}
        # Alive is not ready: a database that is away must not restart every pod.
        assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert container["livenessProbe"]["httpGet"]["port"] == ("http" if "http" in ports else "internal")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_stop__of_every_process__may_take_longer_than_its_longest_work(overlay: str) -> None:
    longest = {"api": DEFAULT_REVIEW_WAIT_SECONDS}  # a job that is cut short is done again
    for name, pod, container in own_containers(overlay):
        if container["name"] == name and name != "migrate":
            assert pod["terminationGracePeriodSeconds"] > longest.get(name, 0) + 5, name


# ---------------------------------------------------------------- least privilege


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_container__of_any_pod__is_nobody_and_writes_nowhere_but_its_volumes(overlay: str) -> None:
    for each, pod in workloads(overlay):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            assert field not in pod
        for container in containers(each):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert "@" in container["image"] or ":" in container["image"], "an image without a version"
    (namespace,) = [each for each in OVERLAYS[overlay] if each["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_delivery_keys__are_mounted_by_the_delivery_pods_alone() -> None:
    holders = {
        name
        for name, _, container in own_containers("mainnet")
        if "SERVICE_DELIVERY_PRIVATE_KEYS_FILE" in environment("mainnet", container)
    }
    assert holders == {"delivery", "delivery-worker"}


# ---------------------------------------------------------------- who talks to whom

PUBLIC, POSTGRES, REDIS, DELIVERY = "the internet", "postgresql", "redis", "delivery"
EDGE_OF_VARIABLE = {
    "SERVICE_DATABASE_URL": POSTGRES,
    "SERVICE_REDIS_URL": REDIS,
    "SERVICE_RPC_URLS": PUBLIC,
    "SERVICE_STORAGE_BUCKET": PUBLIC,
    "SERVICE_OPENAI_API_KEY": PUBLIC,
    "SERVICE_DELIVERY_URL": DELIVERY,
}
"""What a process that is told this reaches."""


def edges_of_policies(overlay: str) -> set[tuple[str, str]]:
    """Every way out that the policies of the service open."""
    edges = set()
    for each in OVERLAYS[overlay]:
        if each["kind"] != "NetworkPolicy" or each["metadata"]["name"] in {"deny", "names", "to-local-datastores"}:
            continue
        for rule in each["spec"].get("egress", []):
            for name in each["spec"]["podSelector"]["matchExpressions"][0]["values"]:
                edges |= {(name, _goal(peer, port["port"])) for peer in rule["to"] for port in rule["ports"]}
    return edges


def _goal(peer: Object, port: int) -> str:
    if "podSelector" in peer:
        return str(peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"])
    if peer["ipBlock"]["cidr"] == "0.0.0.0/0":
        assert port == 443
        assert "10.0.0.0/8" in peer["ipBlock"]["except"]
        return PUBLIC
    return {5432: POSTGRES, 6379: REDIS}[port]


def edges_of_code(overlay: str) -> set[tuple[str, str]]:
    edges = {("backup", POSTGRES)}
    for name, _, container in own_containers(overlay):
        told = {each.removesuffix("_FILE") for each in environment(overlay, container)}
        edges |= {(name, EDGE_OF_VARIABLE[each]) for each in told if each in EDGE_OF_VARIABLE}
    # Only the serving api forwards; only the worker of the reviews may ask a provider, once one is configured.
    return (edges - {("api-worker", DELIVERY)}) | {("reviewer-worker", PUBLIC)}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_policies__of_the_network__open_exactly_the_ways_the_code_goes(overlay: str) -> None:
    assert edges_of_policies(overlay) == edges_of_code(overlay)
    deny = by_name(OVERLAYS[overlay])["NetworkPolicy", "deny"]["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_policies__into_the_service__let_the_ingress_reach_the_api_and_the_api_reach_delivery(overlay: str) -> None:
    opened = {}
    for each in OVERLAYS[overlay]:
        if each["kind"] == "NetworkPolicy" and each["spec"].get("ingress"):
            for rule in each["spec"]["ingress"]:
                target = each["spec"]["podSelector"].get("matchLabels", {}).get("app.kubernetes.io/name", "all")
                opened[target, rule["ports"][0]["port"]] = rule["from"]
    web = {target: peers for (target, port), peers in opened.items() if port == 8080}
    assert set(web) == {"api", "delivery"}
    assert "namespaceSelector" in web["api"][0]
    assert web["delivery"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "api"}}}]


# ---------------------------------------------------------------- what is watched

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


# ---------------------------------------------------------------- the runbooks


def test_drills__one_for_each_runbook__are_tests_that_exist() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading for heading, _ in DRILLS.values()] == headings[headings.index("What is watched") + 1 :]
    for _, tests in DRILLS.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert f"def {name}(" in (REPOSITORY / file).read_text(encoding="utf-8") or not name
