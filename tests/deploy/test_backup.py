"""The jobs that dump, restore and test a restore. The whole way back is tests/indexer/test_restore.py."""

import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from local_stack import postgres
from local_stack.postgres import PostgresServer, installed_programs
from local_stack.services import MIGRATOR
from service_common.db.schema import create_schema

from tests.deploy.kustomize import Object, containers, pod_labels, pod_spec

from .conftest import REPOSITORY
from .manifests import OVERLAYS, by_name, environment


def test_dump__that_fails__leaves_nothing_to_store(tmp_path: Path) -> None:
    for name in ("20200101T021700Z.dump.part", "20200101T021700Z.dump"):
        (tmp_path / name).write_bytes(b"of one that was killed")
    (tmp_path / "pg_service.conf").write_text("[backup]\nhost=127.0.0.1\nport=1\nuser=nobody\n")
    dump, _ = containers(_job("mainnet", "backup"))
    *shell, script = dump["command"]
    done = subprocess.run(
        [*shell, script.replace("/dump/", f"{tmp_path}/")],
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
    assert not list(tmp_path.glob("*.dump"))


@pytest.mark.parametrize("name", ["backup", "restore", "restore-test"])
def test_dump__that_is_plain__lies_on_a_disk_of_its_pod_alone(name: str) -> None:
    job = _job("mainnet", name)
    volumes = {each["name"]: each for each in _spec(job)["volumes"]}
    assert "ephemeral" in volumes["dump"]
    for container in containers(job):
        mounts = {each["name"]: each for each in container["volumeMounts"]}
        if container["image"].startswith("postgres"):
            assert "backups" not in mounts, "what is kept is encrypted"
    dump, _ = containers(_job("mainnet", "backup"))
    assert dump["command"][-1].startswith("umask 077\n")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_job_of_a_restore__is_confined_and_named_as_the_dump_is_and_never_runs_alone(overlay: str) -> None:
    restore, nightly = (_job(overlay, name) for name in ("restore", "backup"))
    images = [{container["image"] for container in containers(each)} for each in (restore, nightly)]
    assert images[0] == images[1]
    assert _spec(restore)["securityContext"] == _spec(nightly)["securityContext"]
    assert pod_labels(restore) == pod_labels(nightly)
    assert restore["spec"]["suspend"] is True


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_job_that_tests_a_restore__goes_through_the_runbook_on_a_server_of_its_own(overlay: str) -> None:
    page = "".join((REPOSITORY / "docs" / name).read_text(encoding="utf-8") for name in ("install.md", "keys.md"))
    (statements,) = re.findall(r"```sql\n(.*?)```", page.split("## The first deployment")[1], re.DOTALL)[:1]
    (command,) = re.findall(r"-- (pg_restore .*?) --dbname service /dump/NAME.dump", page)
    job = _job(overlay, "restore-test")
    steps = {each["name"]: each for each in containers(job)}
    assert list(steps) == ["fetch", "postgresql", "restore", "migrate", "rebuild"]
    assert steps["postgresql"]["restartPolicy"] == "Always", "it runs beside those that follow"
    script = steps["restore"]["command"][-1]
    assert statements in script
    assert command in script
    reached = {
        value
        for name in ("restore", "migrate", "rebuild")
        for variable, value in environment(overlay, steps[name]).items()
        if variable in {"PGHOST", "SERVICE_DATABASE_URL"}
    }
    assert all("127.0.0.1" in each for each in reached)
    assert len(reached) == 3
    named = {each["secret"]["secretName"] for each in _spec(job)["volumes"] if "secret" in each}
    assert named == {"restore-test"}, "no database of the deployment"


def test_script_of_the_restores_test__on_an_empty_server__restores_a_dump_and_counts_its_rows(tmp_path: Path) -> None:
    steps = {each["name"]: each for each in containers(_job("mainnet", "restore-test"))}
    *shell, script = steps["restore"]["command"]
    roles = re.findall(r"^(?:CREATE|GRANT) .*;$", script, re.MULTILINE)
    with postgres.start() as server:
        with psycopg.connect(server.url(), autocommit=True) as administrator:
            for statement in roles:
                administrator.execute(_with_password(statement))
        create_schema(server.url("service", user=MIGRATOR, password=PASSWORD))
        dump = ["pg_dump", "--format=custom", f"--username={MIGRATOR}", f"--file={tmp_path}/a.dump", "service"]
        _run(dump, server, tmp_path)
    with postgres.start() as empty:
        adapted = _with_password(script.replace("/dump/", f"{tmp_path}/"))
        counted = _run([*shell, adapted], empty, tmp_path)
        assert counted == "bounties 0|challenge pages 0|envelopes 0|written verdicts 0|wraps 0\n"
    whole = (tmp_path / "a.dump").read_bytes()
    (tmp_path / "a.dump").write_bytes(whole[: len(whole) // 2])
    with postgres.start() as another, pytest.raises(AssertionError, match="pg_restore: error"):
        _run([*shell, adapted], another, tmp_path)


PASSWORD = "of-every-role"


def _with_password(statements: str) -> str:
    """In its pod the server trusts everybody; here it asks."""
    return statements.replace("LOGIN;", f"LOGIN PASSWORD '{PASSWORD}';")


def _run(command: list[str], server: PostgresServer, folder: Path) -> str:
    admin = psycopg.conninfo.conninfo_to_dict(server.url())
    passwords = folder / "passwords"
    passwords.write_text(f"*:*:*:{MIGRATOR}:{PASSWORD}\n*:*:*:*:{admin['password']}\n")
    passwords.chmod(0o600)
    environment = {
        "PATH": f"{installed_programs()}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": str(admin["host"]),
        "PGPORT": str(admin["port"]),
        "PGUSER": str(admin["user"]),
        "PGDATABASE": str(admin["dbname"]),
        "PGPASSFILE": str(passwords),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _job(overlay: str, name: str) -> Object:
    return by_name(OVERLAYS[overlay])["CronJob", name]


def _spec(cron: Object) -> Object:
    pod = pod_spec(cron)
    assert pod is not None
    return pod
