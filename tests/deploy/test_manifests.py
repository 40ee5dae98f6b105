"""The Kubernetes manifests are valid, and the renderer makes of them what kustomize makes."""

import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from kustomization.render import RenderError, render

from .manifests import FOLDERS, OVERLAYS, by_name

KUBERNETES_VERSION = "1.33"
FOREIGN = {"ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule"}
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
