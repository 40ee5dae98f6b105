"""The rendered overlays, and what the tests of the manifests ask of them."""

from collections.abc import Iterator

from local_stack.services import SERVICES

from tests.deploy.kustomize import Object, containers, pod_labels, pod_spec, render

from .conftest import REPOSITORY

K8S = REPOSITORY / "deploy/k8s"
FOLDERS = {name: K8S / "overlays" / name for name in ("staging", "mainnet", "small")}
OVERLAYS = {name: render(folder) for name, folder in FOLDERS.items()}
ENTRY_POINTS = {process.name: process.command for process in SERVICES}


def of_people(overlay: str) -> set[str]:
    """The pods that answer people: the api's, and on mainnet the pages' own beside them."""
    return {"api", "pages"} if overlay == "mainnet" else {"api"}


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
        reference = source["configMapRef"]
        told |= maps.get(reference["name"], {}) if reference.get("optional") else maps[reference["name"]]
    return told | {each["name"]: each["value"] for each in container.get("env", [])}


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """Objects by kind and name."""
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def pause_before_stop(container: Object) -> int:
    """How long it goes on after the cluster has decided to end it."""
    stop = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
    assert stop[0] == "sleep"
    return int(stop[1])
