"""A night's backup as the CronJob makes it, a database that is lost, and the restore of the runbook.

The script is the manifest's; ``age`` is pyrage's, and ``gsutil cp`` copies into a folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pyrage
import pytest
import yaml
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from bounty_protocol.domain.challenge.commitments import spec_commitment
from local_stack.postgres import installed_programs
from local_stack.services import MIGRATOR
from service_common.db.schema import create_schema
from service_indexer.writer import Writer
from sqlalchemy import text

from tests.indexer.replay import contents, replayed
from tests.servers import Database, DatabaseServer
from tests.world import World, example_page

TOP = Path(__file__).resolve().parents[2]
AGE = f"""#!{sys.executable}
import sys, pyrage
recipients = [pyrage.x25519.Recipient.from_str(each) for each in sys.argv[2::2]]
sys.stdout.buffer.write(pyrage.encrypt(sys.stdin.buffer.read(), recipients))
"""
GSUTIL = """#!/bin/sh
[ "$1 $2 $3" = "-o GoogleCompute:service_account=default cp" ] && exec cp "$4" "$BUCKETS/${5#gs://}"
"""


def run(command: list[str], folder: Path, database: Database, given: bytes = b"", **variables: str) -> None:
    """Run a command of the jobs with their programs and the file of their Secret."""
    url = urlsplit(database.url())
    address = [f"host={url.hostname}", f"port={url.port}", f"user={MIGRATOR}", f"password={url.password}"]
    file = folder / "pg_service.conf"
    file.write_text("\n".join(["[backup]", *address, f"dbname={database.name}"]) + "\n")
    path = f"{folder}{os.pathsep}{installed_programs()}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "PGSERVICE": "backup", "PGSERVICEFILE": str(file), **variables}
    done = subprocess.run(command, input=given, env=environment, capture_output=True, check=False, timeout=600)
    if done.returncode:
        raise subprocess.SubprocessError(done.stderr.decode())


def back_up(folder: Path, database: Database, recipients: list[Identity]) -> None:
    """Run the CronJob's script; its bucket is the folder ``backups``."""
    manifest = TOP / "deploy/k8s/base/backup.yaml"
    job = next(each for each in yaml.safe_load_all(manifest.read_text()) if each["metadata"]["name"] == "backup")
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    *shell, script = container["command"]
    for name, program in (("age", AGE), ("gsutil", GSUTIL)):
        (folder / name).write_text(program)
        (folder / name).chmod(0o700)
    for name in ("sealed", "backups"):
        (folder / name).mkdir(exist_ok=True)
    run(
        [*shell, script.replace("/sealed/", f"{folder}/sealed/")],
        folder,
        database,
        BUCKETS=str(folder),
        SERVICE_BACKUP_BUCKET=".",
        SERVICE_BACKUP_RECIPIENTS=" ".join(recipient_text(each.public_key) for each in recipients),
    )


def test_backup_restored_onto_an_empty_database(world: World, database_server: DatabaseServer, tmp_path: Path) -> None:
    page = example_page()
    bounty_id = world.fund(page, seconds=100_000)
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    statement = text("INSERT INTO app.challenge_pages VALUES (:commitment, :content, 1)")
    with world.engine("service_api").begin() as connection:
        connection.execute(statement, {"commitment": spec_commitment(page), "content": page})
    before = contents(world.engine("service_indexer"))
    operators = [Identity.generate(), Identity.generate()]
    back_up(tmp_path, world.database, operators)
    (sealed,) = (each.read_bytes() for each in (tmp_path / "backups").iterdir())
    assert page[:100] not in sealed

    world.submit(bounty_id, world.solver(2))  # after the backup: on chain, not in the dump
    world.finalize()
    lost = database_server.new()  # its roles are the server's
    with lost.engine(MIGRATOR).begin() as connection:
        for schema in ("app", "hub_index", "hub_index_scratch", "review", "delivery", "settler"):
            connection.execute(text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
    runbook = (TOP / "docs/keys.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"kubectl exec --stdin job/restore -- (pg_restore .*) service\n", runbook)
    for operator in operators:  # each alone, and again onto what is there
        dump = pyrage.decrypt(sealed, [pyrage.x25519.Identity.from_str(operator.to_text())])
        run([*command.split(), lost.name], tmp_path, lost, dump)
    create_schema(lost.url())
    assert contents(lost.engine("service_indexer")) == before
    follower = world.follower(world.chain, Writer(lost.engine("service_indexer"), world.chain_id, world.hub_address))
    while follower.step():
        pass
    assert contents(lost.engine("service_indexer")) == replayed(world, database_server)
    with lost.engine("service_api").connect() as connection:
        rows = connection.execute(text("SELECT spec_commitment, content FROM app.challenge_pages")).all()
    assert [(row.spec_commitment, bytes(row.content)) for row in rows] == [(spec_commitment(page), page)]
    lost.close()


def test_dump_that_fails_is_not_copied(database_server: DatabaseServer, tmp_path: Path) -> None:
    gone = database_server.new()
    gone.close()
    with pytest.raises(subprocess.SubprocessError, match="does not exist"):
        back_up(tmp_path, gone, [Identity.generate()])
    assert not list((tmp_path / "backups").iterdir())
