"""The Kubernetes manifests are valid, and the renderer makes of them what kustomize makes."""

import copy
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from kustomization.__main__ import main
from kustomization.quantity import quantity
from kustomization.render import Object, RenderError, containers, render
from kustomization.unset import unset
from local_stack.services import SERVICES

from bench.watching.manifests import memory_requests

from .manifests import FOLDERS, OVERLAYS, by_name

KUBERNETES_VERSION = "1.33"
FOREIGN = {
    *("ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule"),
    *("Gateway", "HTTPRoute", "BackendTrafficPolicy", "ClientTrafficPolicy"),
}
"""Kinds that other operators define; their schemas are not Kubernetes' own."""


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_objects__of_an_overlay__are_valid_kubernetes(overlay: str) -> None:
    checked = 0
    for each in OVERLAYS[overlay]:
        if each["kind"] not in FOREIGN:
            kubernetes_validate.validate(each, KUBERNETES_VERSION, strict=True)
            checked += 1
    assert checked > 30


def test_renderer__of_every_feature__makes_what_kustomize_made() -> None:
    folder = Path(__file__).parent / "kustomization"
    recorded = list(yaml.safe_load_all((folder / "expected.yaml").read_text(encoding="utf-8")))
    assert by_name(render(folder / "overlay")) == by_name(recorded)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_renderer__of_an_overlay__agrees_with_kustomize_where_there_is_one(overlay: str) -> None:
    for command in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, FOLDERS[overlay]], capture_output=True, check=False, timeout=60)
            if done.returncode == 0:  # an older one knows no components
                assert by_name(list(yaml.safe_load_all(done.stdout))) == by_name(OVERLAYS[overlay])


def _replacement(path: str, options: str = "") -> str:
    target = f"{{select: {{kind: Namespace}}, fieldPaths: [{path}], options: {{{options}}}}}"
    return f"replacements: [{{source: {{kind: Namespace}}, targets: [{target}]}}]"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("secretGenerator: []", "no support for secretGenerator"),
        ("configMapGenerator: [{name: a, literals: [B=c]}]", "with a hash are not supported"),
        ("patches: [{patch: '{kind: Deployment, metadata: {name: other}, spec: {}}'}]", "a patch fits no object"),
        ("replicas: [{name: other, count: 1}]", "there is no Deployment other"),
        ("resources: [one.yaml, one.yaml]", "two objects Namespace one"),
        ("replacements: [{source: {kind: Service}, targets: []}]", "0 objects are the source"),
        ("replacements: [{source: {kind: Namespace, fieldPath: spec.a}, targets: []}]", "0 fields spec.a"),
        (_replacement("metadata.labels.a"), "no object has metadata.labels.a"),
        (_replacement("metadata.name", "delimiter: '.', index: 1"), "has 1 pieces, and none at 1"),
        (_replacement("metadata.name", "create: true"), "no support for create"),
    ],
)
def test_renderer__of_what_it_does_not_know__refuses_by_name(tmp_path: Path, change: str, words: str) -> None:
    (tmp_path / "one.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
    (tmp_path / "kustomization.yaml").write_text(
        change if change.startswith("resources") else f"resources: [one.yaml]\n{change}"
    )
    with pytest.raises(RenderError, match=words):
        render(tmp_path)


def test_replacement__of_a_kind_that_is_not_there__changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
    target = "{select: {kind: Gateway}, fieldPaths: [spec.listeners.*.hostname]}"
    (tmp_path / "kustomization.yaml").write_text(
        f"resources: [one.yaml]\nreplacements: [{{source: {{kind: Namespace}}, targets: [{target}]}}]"
    )
    assert [each["metadata"] for each in render(tmp_path)] == [{"name": "one"}]


def test_manifests__of_an_overlay_as_it_comes__say_what_is_to_be_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["manifests", "staging"])
    assert main() == 0
    told = capsys.readouterr()
    assert by_name(list(yaml.safe_load_all(told.out))) == by_name(OVERLAYS["staging"])
    assert told.err.splitlines() == [
        *(
            f"manifests: to be set: the image service-{name}:0.1.0 names no registry"
            for name in ("api", "indexer", "reviewer", "delivery", "web")
        ),
        "manifests: to be set: the host of the Ingress is still staging.bounties.example",
        "manifests: to be set: SERVICE_HUB_ADDRESS in the ConfigMap chain is empty",
        "manifests: to be set: SERVICE_DEPLOY_BLOCK in the ConfigMap chain is empty",
        "manifests: to be set: SERVICE_PUBLIC_HOST in the ConfigMap web is still staging.bounties.example",
        "manifests: to be set: SERVICE_STORAGE_BUCKET in the ConfigMap storage is empty",
        "manifests: to be set: SERVICE_BACKUP_BUCKET in the ConfigMap backup is empty",
        "manifests: to be set: SERVICE_BACKUP_RECIPIENTS in the ConfigMap backup is empty",
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests__of_a_filled_overlay__ask_for_nothing(overlay: str) -> None:
    assert unset(_filled(overlay)) == []


def _filled(overlay: str) -> list[Object]:
    objects = copy.deepcopy(OVERLAYS[overlay])
    for each in objects:
        for container in containers(each):
            container["image"] = f"registry.internal/{container['image']}"
        if each["kind"] == "ConfigMap":
            each["data"] = {key: value or "set" for key, value in each["data"].items()}
            each["data"] |= {key: "bounties.org" for key in each["data"] if key == "SERVICE_PUBLIC_HOST"}
        if each["kind"] == "Ingress":
            each["spec"]["rules"] = [{**one, "host": "bounties.org"} for one in each["spec"]["rules"]]
        if each["kind"] == "Gateway":
            each["spec"]["listeners"] = [{**one, "hostname": "bounties.org"} for one in each["spec"]["listeners"]]
    return objects


def test_memory__of_every_process_of_the_service__is_requested() -> None:
    assert set(memory_requests()) == {process.name for process in SERVICES}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256Mi", 2**28),
        ("1.5Gi", 3 * 2**29),
        ("128974848", 128_974_848),
        ("129e6", 129_000_000),
        ("1E", 10**18),
        ("2k", 2_000),
    ],
)
def test_quantity__of_kubernetes__is_its_number(text: str, value: int) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "Mi", "1 Mi", "-1Mi", "1mi", "1e3Mi", "1Zi"])
def test_quantity__that_kubernetes_refuses__is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        quantity(text)
