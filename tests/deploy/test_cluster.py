"""What ``./noxw -s cluster`` applies, and how it reports what a machine lacks."""

from pathlib import Path

import pytest
import yaml
from kustomization.render import ENTRANCES

from tools import cluster

from .conftest import REPOSITORY


def test_programs__of_a_machine__are_those_of_its_assets_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    for name in ("etcd", "kubectl"):
        (tmp_path / name).touch(mode=0o755)
    with pytest.raises(cluster.NoCluster, match=r"has kube-apiserver$"):
        cluster.find_programs()
    (tmp_path / "kube-apiserver").touch(mode=0o755)
    assert cluster.find_programs() == {name: tmp_path / name for name in cluster.PROGRAMS}


def test_deployments__between_them__have_every_component() -> None:
    entrances = [*ENTRANCES, *(f"agents/with-{name}" for name in ENTRANCES)]  # of which an overlay has one
    used = {REPOSITORY / "deploy/k8s/components" / name for name in entrances}
    folders = list(cluster.OVERLAYS.values())
    for folder in folders:
        spec = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
        used |= {(folder / name).resolve() for name in spec.get("components", [])}
    components = {path.parent for path in (REPOSITORY / "deploy/k8s/components").rglob("kustomization.yaml")}
    assert used == components
    assert [name for name, objects in cluster.rendered() if objects] == [
        *cluster.OVERLAYS,
        *(f"staging by {entrance}" for entrance in ENTRANCES),
    ]


def test_definitions__of_a_folder__are_asked_for_by_kind(tmp_path: Path) -> None:
    own = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    foreign = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}
    assert cluster.find_definitions(tmp_path / "none", [[own]]) == []
    with pytest.raises(cluster.NoCluster, match=r"of ScaledObject\.keda\.sh$"):
        cluster.find_definitions(tmp_path, [[own, foreign]])
    spec = {"group": "keda.sh", "names": {"kind": "ScaledObject"}}
    definition = {"kind": "CustomResourceDefinition", "spec": spec}
    (tmp_path / "keda.yaml").write_text(yaml.safe_dump_all([{"kind": "Namespace"}, definition]))
    assert cluster.find_definitions(tmp_path, [[own, foreign]]) == [definition]
