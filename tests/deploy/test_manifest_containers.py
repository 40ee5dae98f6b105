"""The manifests against the code: what a container is told, starts, answers to probes, and may do."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import service_api.config
import service_audit.main
import service_delivery.config
import service_indexer.config
import service_reviewer.config
from bounty_protocol.crypto.x25519 import Identity
from service_api.config import DEFAULT_REVIEW_WAIT_SECONDS

from tests.deploy.kustomize import Object, containers
from tools.image_folders import FOLDERS

from .conftest import REPOSITORY
from .manifests import (
    ENTRY_POINTS,
    OVERLAYS,
    environment,
    of_people,
    own_containers,
    pause_before_stop,
    workloads,
)


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
    "SERVICE_RPC_URLS": "https://rpc.example/key,https://other.example/key",
    "SERVICE_RPC_URL": "https://rpc-of-another-provider.example/key",
    "SERVICE_OPENAI_API_KEY": "sk-example",
    "SERVICE_SETTLER_PRIVATE_KEY": "0x" + "11" * 32,
    "SERVICE_DELIVERY_PRIVATE_KEYS": json.dumps([Identity.generate().to_text()]),
}
LEFT_EMPTY = {
    "SERVICE_HUB_ADDRESS": "0x" + "22" * 20,
    "SERVICE_DEPLOY_BLOCK": "7",
    "SERVICE_API_BASE_URL": "https://bounties.example",
    "SERVICE_STORAGE_BUCKET": "bounty-escrow-work",
}
"""What an operator fills in; see the .env files of an overlay."""
WITH_MODEL = {
    "SERVICE_REVIEW_PROVIDER": "openai",
    "SERVICE_OPENAI_BASE_URL": "https://model.example/v1",
    "SERVICE_OPENAI_MODEL": "a-model",
}
"""What an operator sets in ``reviewer.env`` so that the key in the Secret is read."""
CONFIGURATIONS: dict[str, Callable[[Mapping[str, str]], object]] = {
    "service-api": service_api.config.read_config,
    "pages": lambda told: service_api.config.read_config(told, pages_alone=True),
    "service-indexer": service_indexer.config.read_config,
    "service-reviewer": service_reviewer.config.read_config,
    "reviewer": service_reviewer.config.read_serving_config,
    "service-delivery": service_delivery.config.read_config,
    "service-audit": lambda told: service_audit.main.parsed(["--watch"], told),
}
WITHOUT_DATABASE = {"reviewer", "audit"}
OWN_OF_PYTHON = {"SERVICE_INTERNAL_HOST"}


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
def test_environment_is_read_whole_by_its_code(overlay: str, tmp_path: Path) -> None:
    seen = set()
    for name, _, container in own_containers(overlay):
        process = container["args"][0]
        if process in {"await-schema", "migrate"}:
            continue
        with_model = WITH_MODEL if name == "reviewer-worker" else {}
        told = Recorder(filled(overlay, container, tmp_path) | with_model)
        own = CONFIGURATIONS[container["image"].partition(":")[0]]
        CONFIGURATIONS.get(process, CONFIGURATIONS.get(name, own))(told)
        known = told.asked | OWN_OF_PYTHON | {f"{each}_FILE" for each in told.asked}
        # All share the ConfigMap of the chain, and the pages the api's; what is told one by one has to be read.
        shared = {*CHAIN, "SERVICE_DELIVERY_URL"} if name == "pages" else set(CHAIN)
        assert set(dict(told)) - known - shared == set(), name
        seen.add(name)
    assert seen - {"audit", "pages"} == set(ENTRY_POINTS)


CHAIN = ("SERVICE_CHAIN_ID", "SERVICE_HUB_ADDRESS", "SERVICE_DEPLOY_BLOCK")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_container_secrets_are_files_of_its_pod(overlay: str) -> None:
    for _, pod, container in own_containers(overlay):
        volumes = {each["name"]: each for each in pod["volumes"]}
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        told = environment(overlay, container)
        assert not set(told) & set(SECRETS), "a secret in the environment"
        for variable, value in told.items():
            if variable.endswith("_FILE"):
                folder, _, file = value.rpartition("/")
                assert file == variable.removesuffix("_FILE")
                assert mounts[folder]["readOnly"]
                assert "secret" in volumes[mounts[folder]["name"]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_command_is_an_entry_point_of_its_image(overlay: str) -> None:
    started = {}
    for name, _, container in own_containers(overlay):
        image = container["image"].partition(":")[0]
        service = image.removeprefix("service-")
        code = (REPOSITORY / FOLDERS[service] / f"src/service_{service}/main.py").read_text(encoding="utf-8")
        assert f'"{container["args"][0]}"' in code
        if container["name"] == name:
            started[name] = (image, *container["args"])
    assert started.pop("migrate") == ("service-api", "migrate")
    assert started.pop("pages", ("service-api", "pages")) == ("service-api", "pages")
    assert started.pop("audit", ("service-audit", "--watch"))[:2] == ("service-audit", "--watch")
    assert started == ENTRY_POINTS


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_waits_for_the_schema(overlay: str) -> None:
    for each, pod in workloads(overlay):
        if each["kind"] == "Deployment" and each["metadata"]["name"] not in WITHOUT_DATABASE:
            (first,) = pod["initContainers"]
            assert first["args"] == ["await-schema"]
            assert first["image"] == pod["containers"][0]["image"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_probes_ask_what_the_process_answers(overlay: str) -> None:
    for name, _, container in own_containers(overlay):
        if container["name"] != name or name == "migrate":
            continue
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert ports["internal"] == 9090
        assert ("http" in ports) is (container["args"] in (["serve"], ["pages"]))
        # A dependency that is away neither restarts a pod nor takes it out of its Service.
        paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/serving"}
        for probe, path in paths.items():
            assert container[probe]["httpGet"] == {"path": path, "port": "internal"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_stop_may_take_longer_than_the_longest_work(overlay: str) -> None:
    longest = {"api": DEFAULT_REVIEW_WAIT_SECONDS}  # a job that is cut short is done again
    for name, pod, container in own_containers(overlay):
        if container["name"] == name and name != "migrate":
            assert pod["terminationGracePeriodSeconds"] > longest.get(name, 0) + 5 + pause_before_stop(container), name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_stop_comes_after_the_last_request(overlay: str) -> None:
    pauses = {
        name: pause_before_stop(container)
        for name, _, container in own_containers(overlay)
        if "http" in {port["name"] for port in container.get("ports", [])}
    }
    assert set(pauses) == of_people(overlay) | {"delivery", "reviewer"}
    assert min(pauses.values()) >= 5


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_strangers_reach_a_service_through_its_proxy(overlay: str) -> None:
    ports = {
        each["metadata"]["name"]: each["spec"]["ports"][0]["targetPort"]
        for each in OVERLAYS[overlay]
        if each["kind"] == "Service"
    }
    assert {name for name, port in ports.items() if port == "door"} == of_people(overlay)
    for each, pod in workloads(overlay):
        if each["metadata"]["name"] in of_people(overlay):
            served, door = pod["containers"]
            assert (door["name"], [port["containerPort"] for port in door["ports"]]) == ("door", [8081])
            assert pause_before_stop(served) > pause_before_stop(door) >= 5, "the door closes first"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_container_is_nobody_and_writes_nowhere(overlay: str) -> None:
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
            own = {"add": ["NET_BIND_SERVICE"]} if container["name"] == "door" else {}
            assert context["capabilities"] == {"drop": ["ALL"], **own}
            assert container["resources"]["limits"]["memory"]
            assert "@" in container["image"] or ":" in container["image"], "an image without a version"
    (namespace,) = [each for each in OVERLAYS[overlay] if each["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_delivery_keys__are_mounted_by_delivery_alone() -> None:
    holders = {
        name
        for name, _, container in own_containers("mainnet")
        if "SERVICE_DELIVERY_PRIVATE_KEYS_FILE" in environment("mainnet", container)
    }
    assert holders == {"delivery"}


@pytest.mark.spec(15, 129)
def test_gas_key__is_mounted_by_the_settler_alone() -> None:
    secrets = {
        each["metadata"]["name"]: {volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
        for each, pod in workloads("mainnet")
    }
    assert [name for name, mounted in secrets.items() if "settler" in mounted] == ["settler"]
    holders = {
        name
        for name, _, container in own_containers("mainnet")
        if "SERVICE_SETTLER_PRIVATE_KEY_FILE" in environment("mainnet", container)
    }
    assert holders == {"settler"}
