"""The nightly dump, and the job that restores one. The whole way back is tests/indexer/test_restore.py."""

import os
import subprocess
from pathlib import Path

import pytest
from kustomization.render import Object, pod_labels, pod_spec
from local_stack.postgres import installed_programs

from .manifests import OVERLAYS, by_name


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


def test_dump__that_is_made__is_for_its_owner_alone() -> None:
    (container,) = _backup()["spec"]["containers"]
    assert container["command"][-1].startswith("umask 077\n")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_job_of_a_restore__is_confined_named_and_made_of_the_image_as_the_dump_is(overlay: str) -> None:
    restore, nightly = (by_name(OVERLAYS[overlay])["CronJob", name] for name in ("restore", "backup"))
    (own,), (other,) = (_spec(each)["containers"] for each in (restore, nightly))
    for name in ("image", "securityContext", "volumeMounts"):
        assert own[name] == other[name]
    assert _spec(restore)["securityContext"] == _spec(nightly)["securityContext"]
    assert pod_labels(restore) == pod_labels(nightly)
    assert restore["spec"]["suspend"] is True


def _spec(cron: Object) -> Object:
    pod = pod_spec(cron)
    assert pod is not None
    return pod


def _backup() -> Object:
    return {"spec": _spec(by_name(OVERLAYS["mainnet"])["CronJob", "backup"])}
