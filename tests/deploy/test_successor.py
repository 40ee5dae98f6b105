"""Two deployments on one cluster, made as docs/successor-hub.md has it: what they share, and what they must not."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from kustomization.render import Object, containers, pod_spec, render

from .conftest import REPOSITORY
from .manifests import K8S, by_name
from .test_manifests import FOREIGN, KUBERNETES_VERSION

PAGE = (REPOSITORY / "docs/successor-hub.md").read_text(encoding="utf-8")
CLUSTER_WIDE = {"Namespace", "PriorityClass"}
NAMESPACES = {"bounty-escrow-mainnet", "bounty-escrow-mainnet-2"}
STOPPED = {"reviewer", "reviewer-worker", "settler"}


@pytest.fixture(scope="module")
def overlays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of overlays, after the commands of the page."""
    top = tmp_path_factory.mktemp("copy")
    shutil.copytree(K8S, top / "deploy/k8s")
    (commands,) = re.findall(r"```sh\n((?: *(?:cp|sed) .*\n)+) *```", PAGE)
    subprocess.run(["sh", "-euc", commands], cwd=top, check=True)
    return top / "deploy/k8s/overlays"


@pytest.fixture(scope="module")
def both(overlays: Path) -> tuple[list[Object], list[Object]]:
    return render(overlays / "mainnet"), render(overlays / "mainnet-2")


def places(objects: list[Object]) -> set[tuple[str, str, str]]:
    return {
        ("" if each["kind"] in CLUSTER_WIDE else each["metadata"]["namespace"], each["kind"], each["metadata"]["name"])
        for each in objects
    }


def texts(value: object) -> Iterator[str]:
    """Every text in an object, keys left out."""
    if isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


def test_deployments__side_by_side__have_no_object_in_common(both: tuple[list[Object], list[Object]]) -> None:
    first, second = both
    assert not places(first) & places(second)
    assert len(places(first)) == len(places(second)) > 60
    for each in second:
        if each["kind"] not in FOREIGN:
            kubernetes_validate.validate(each, KUBERNETES_VERSION, strict=True)
    former = re.compile(r"bounty-escrow-mainnet(?!-2)")
    assert not [text for text in texts(second) if former.search(text)], "alerts, queries and priorities are its own"


def test_deployments__side_by_side__run_the_same_images_and_let_nobody_across(
    both: tuple[list[Object], list[Object]],
) -> None:
    first, second = ({str(c["image"]) for each in objects for c in containers(each)} for objects in both)
    assert first == second
    for objects in both:
        for each in objects:
            if each["kind"] == "NetworkPolicy":
                assert not NAMESPACES & set(texts(each["spec"]))


def test_former_hub__in_place_of_what_scales__runs_one_pod_of_what_claims_need(tmp_path: Path) -> None:
    overlays = shutil.copytree(K8S, tmp_path / "k8s") / "overlays"
    (component,) = re.findall(r"^ *- (\.\./\.\./components/former-hub)$", PAGE, re.MULTILINE)
    for name, scaling in (("mainnet", "queue-scaling"), ("staging", "autoscaling")):
        file = overlays / name / "kustomization.yaml"
        changed = file.read_text().replace(f"../../components/{scaling}", component)
        assert component in changed
        file.write_text(changed)
        objects = render(overlays / name)
        assert not {each["kind"] for each in objects} & {"HorizontalPodAutoscaler", "ScaledObject"}
        counts = {
            each["metadata"]["name"]: each["spec"]["replicas"] for each in objects if each["kind"] == "Deployment"
        }
        assert {process for process, count in counts.items() if count == 0} == STOPPED
        assert set(counts.values()) == {0, 1}
        (api,) = [c for c in containers(by_name(objects)["Deployment", "api"]) if c["name"] == "api"]
        assert {"name": "SERVICE_PUBLICATIONS", "value": "off"} in api["env"], "nobody would review what is published"


def test_page__of_what_stays__names_every_process_once() -> None:
    table = PAGE.split("## Keep the old one served")[1].split("\n## ")[0]
    named = [
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    ]
    rendered = render(K8S / "overlays/mainnet")
    processes = {each["metadata"]["name"] for each in rendered if each["kind"] == "Deployment" and pod_spec(each)}
    assert sorted(named) == sorted(processes)
    (stopped,) = [row for row in table.splitlines() if "nothing that is still needed" in row]
    assert set(re.findall(r"`([\w-]+)`", stopped)) == STOPPED


def test_former_hub__on_one_machine__runs_what_the_component_runs() -> None:
    """The file that docs/successor-hub.md names, by the lines that it gives."""
    (named,) = re.findall(r"^echo COMPOSE_FILE=compose\.yaml:(\S+) >> \.env$", PAGE, re.MULTILINE)
    services = yaml.safe_load((REPOSITORY / "deploy/compose" / named).read_text(encoding="utf-8"))["services"]
    assert {name for name, service in services.items() if service == {"scale": 0}} == STOPPED
    component = yaml.safe_load((K8S / "components/former-hub/kustomization.yaml").read_text(encoding="utf-8"))
    (patch,) = (yaml.safe_load(each["patch"]) for each in component["patches"])
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert {name: service for name, service in services.items() if name not in STOPPED} == {
        container["name"]: {"environment": environment}
    }
