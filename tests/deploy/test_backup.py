"""The nightly dump, and the pod that restores one. The whole way back is tests/indexer/test_restore.py."""

import os
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from kustomization.render import Object, pod_labels, pod_spec
from local_stack.postgres import installed_programs

from .manifests import K8S, OVERLAYS, by_name

RESTORE: Object = yaml.safe_load((K8S / "restore.yaml").read_text(encoding="utf-8"))


def test_dump__that_fails__leaves_no_part_and_every_older_dump(tmp_path: Path) -> None:
    kept = [tmp_path / f"2020010{day}T021700Z.dump" for day in range(1, 10)]
    for path in (*kept, tmp_path / "20200101T021700Z.dump.part"):
        path.write_bytes(b"older")
    (tmp_path / "pg_service.conf").write_text("[backup]\nhost=127.0.0.1\nport=1\nuser=nobody\n")
    (container,) = _backup()["spec"]["containers"]
    *shell, script = container["command"]
    done = subprocess.run(
        [*shell, script.replace("/backups", str(tmp_path))],
        env={
            "PATH": f"{installed_programs()}{os.pathsep}{os.environ['PATH']}",
            "PGSERVICE": "backup",
            "PGSERVICEFILE": str(tmp_path / "pg_service.conf"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "port 1" in done.stderr
    assert sorted(tmp_path.glob("*.dump*")) == kept


def test_pod_of_a_restore__is_valid_and_confined_like_the_dump() -> None:
    kubernetes_validate.validate(RESTORE, "1.33", strict=True)
    (own,), (nightly,) = RESTORE["spec"]["containers"], _backup()["spec"]["containers"]
    assert own["securityContext"] == nightly["securityContext"]
    assert RESTORE["spec"]["securityContext"] == _backup()["spec"]["securityContext"]
    assert RESTORE["spec"]["serviceAccountName"] == "backup"
    assert own["volumeMounts"] == nightly["volumeMounts"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pod_of_a_restore__is_let_through_by_the_labels_and_runs_the_image_of_the_dump(overlay: str) -> None:
    cron = by_name(OVERLAYS[overlay])["CronJob", "backup"]
    assert RESTORE["metadata"]["labels"] == pod_labels(cron)
    assert RESTORE["spec"]["containers"][0]["image"] == _backup(overlay)["spec"]["containers"][0]["image"]


def _backup(overlay: str = "mainnet") -> Object:
    pod = pod_spec(by_name(OVERLAYS[overlay])["CronJob", "backup"])
    assert pod is not None
    return {"spec": pod}
