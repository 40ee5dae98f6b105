"""What ``./noxw -s cluster`` applies, and how it reports what a machine lacks."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kustomization.render import ENTRANCES, Object, pod_spec, render

from tools import cluster
from tools.definitions import DefinitionFile, OtherContent, Unpinned, fetch, pin, table

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
    with pytest.raises(cluster.NoCluster, match=r"of ScaledObject\.keda\.sh; --fetch gets them$"):
        cluster.find_definitions(tmp_path, [[own, foreign]])
    spec = {"group": "keda.sh", "names": {"kind": "ScaledObject"}}
    definition = {"kind": "CustomResourceDefinition", "spec": spec}
    (tmp_path / "keda.yaml").write_text(yaml.safe_dump_all([{"kind": "Namespace"}, definition]))
    assert cluster.find_definitions(tmp_path, [[own, foreign]]) == [definition]


def test_definitions__of_the_table__are_of_every_group_that_the_deployments_use_each_with_its_version() -> None:
    groups = {each["apiVersion"].rpartition("/")[0] for _, objects in cluster.rendered() for each in objects}
    foreign = {group for group in groups if "." in group} - cluster._OWN_GROUPS
    assert {each.group for each in table()} == foreign
    for each in table():
        assert each.address.startswith("https://")
        assert f"v{each.version}/" in each.address
        assert each.sha256 == "" or len(bytes.fromhex(each.sha256)) == 32


KEDA = {"kind": "CustomResourceDefinition", "spec": {"group": "keda.sh", "names": {"kind": "ScaledObject"}}}
OTHERS = {"kind": "CustomResourceDefinition", "spec": {"group": "other.sh", "names": {"kind": "Thing"}}}
RELEASE = yaml.safe_dump_all([{"kind": "Namespace"}, KEDA, OTHERS]).encode()
DIGEST = hashlib.sha256(RELEASE).hexdigest()


def test_definitions__that_are_fetched__are_the_pinned_bytes_of_the_group_or_none(tmp_path: Path) -> None:
    asked = list[str]()

    def get(address: str) -> bytes:
        asked.append(address)
        return RELEASE

    pinned = DefinitionFile("keda.sh", "1", "https://one", DIGEST)
    fetch(tmp_path, [pinned], get)
    fetch(tmp_path, [pinned], get)
    assert asked == ["https://one"]
    (file,) = tmp_path.iterdir()
    assert list(yaml.safe_load_all(file.read_text())) == [KEDA]
    with pytest.raises(OtherContent, match=f"{DIGEST}, not {'00' * 32}$"):
        fetch(tmp_path, [DefinitionFile("keda.sh", "2", "https://one", "00" * 32)], get)
    with pytest.raises(OtherContent, match="no definition of it"):
        fetch(tmp_path, [DefinitionFile("none.sh", "1", "https://one", DIGEST)], get)
    with pytest.raises(Unpinned, match=r"of keda\.sh 3: "):
        fetch(tmp_path, [pinned, DefinitionFile("keda.sh", "3", "https://one", "")], get)
    assert [each.name for each in tmp_path.iterdir()] == [pinned.name]


def test_digests__that_are_missing__are_written_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "definitions.toml"
    entry = '["{}"]\nversion = "1"\naddress = "https://one"\nsha256 = "{}"\n'
    path.write_text("# One.\n" + entry.format("keda.sh", "") + entry.format("other.sh", "11"))
    assert list(pin(path, lambda _: RELEASE)) == [f"keda.sh 1: {DIGEST}"]
    assert path.read_text() == "# One.\n" + entry.format("keda.sh", DIGEST) + entry.format("other.sh", "11")
    assert list(pin(path, lambda _: b"other")) == []


def test_pod__of_a_stateful_set__has_the_volume_of_each_claim_that_it_mounts() -> None:
    found = 0
    for each in render(cluster.OVERLAYS["staging"]):
        if (specification := pod_spec(each)) is not None:
            spec = cluster.pod_of(each, specification)["spec"]
            volumes = [one["name"] for one in spec.get("volumes", [])]
            mounted = {one["name"] for container in spec["containers"] for one in container.get("volumeMounts", [])}
            assert mounted <= set(volumes)
            assert len(volumes) == len(set(volumes))
            found += each["kind"] == "StatefulSet"
    assert found == 2


def object_of(kind: str, generation: int | None, resource_version: str, **rest: object) -> Object:
    metadata: Object = {
        "name": "one",
        "uid": "u",
        "resourceVersion": resource_version,
        "annotations": {"a": resource_version},
    }
    return {"kind": kind, "metadata": metadata | ({} if generation is None else {"generation": generation}), **rest}


@pytest.mark.parametrize(
    ("before", "after", "different"),
    [
        (object_of("Deployment", 1, "1"), object_of("Deployment", 1, "2"), False),
        (object_of("Deployment", 1, "1"), object_of("Deployment", 2, "2"), True),
        (object_of("ConfigMap", None, "1", data={"a": "1"}), object_of("ConfigMap", None, "2", data={"a": "1"}), False),
        (object_of("ConfigMap", None, "1", data={"a": "1"}), object_of("ConfigMap", None, "2", data={"a": "2"}), True),
        (object_of("Service", None, "1", status={}), object_of("Service", None, "1", status={"a": 1}), False),
    ],
)
def test_change__of_an_object__is_of_its_content_and_not_of_what_kubectl_prints(
    before: Object, after: Object, different: bool
) -> None:
    name = cluster.name_of(before)
    found = cluster.changed({name: cluster.content_of(before)}, {name: cluster.content_of(after)})
    assert found == ({name} if different else set())
    assert cluster.changed({}, {name: cluster.content_of(after)}) == {name}


def test_session__without_an_api_server__ends_with_the_code_of_not_run(tmp_path: Path) -> None:
    text = (REPOSITORY / "noxfile.py").read_text(encoding="utf-8")
    session = text.split("def cluster(")[1].split("@nox.session")[0]
    assert "hand_over(" in session, "a session that runs it ends with 1 for every code"
    environment = {**os.environ, "PATH": str(tmp_path), "KUBEBUILDER_ASSETS": ""}
    done = subprocess.run(
        [sys.executable, "-m", "tools.cluster"], cwd=REPOSITORY, env=environment, capture_output=True, check=False
    )
    assert done.returncode == cluster.NOT_RUN
    assert done.stdout.startswith(b"not run: ")
