"""A night's backup as the cluster makes it, a database that is lost, and the restore of the runbook.

The script is the one of the manifests; only the folders and the database's address are this machine's.
"""

import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from local_stack.postgres import installed_programs
from local_stack.services import MIGRATOR
from service_common.chain.blocks import header_at
from service_common.db.migrate import migrate
from service_common.types import BlockNumber
from service_indexer.follower import advance
from service_indexer.writer import only_writer
from sqlalchemy import text

from tests.indexer.replay import contents, replayed
from tests.servers import Database, DatabaseServer
from tests.world import World

TOP = Path(__file__).resolve().parents[2]
MANIFEST = TOP / "deploy/k8s/base/backup.yaml"
RUNBOOK = (TOP / "docs/operations.md").read_text(encoding="utf-8")
RESTORE = ("pg_restore", "--clean", "--if-exists")


def service_file(folder: Path, database: Database) -> Path:
    """What the Secret ``backup`` holds."""
    url = urlsplit(database.url())
    file = folder / "pg_service.conf"
    lines = [f"host={url.hostname}", f"port={url.port}", f"user={MIGRATOR}", f"password={url.password}"]
    file.write_text("\n".join(["[backup]", *lines, f"dbname={database.name}"]) + "\n")
    file.chmod(0o400)
    return file


def backup_script(backups: Path) -> list[str]:
    """The command of the CronJob, writing to ``backups``."""
    job = next(each for each in yaml.safe_load_all(MANIFEST.read_text()) if each["kind"] == "CronJob")
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    *shell, script = container["command"]
    return [*shell, script.replace("/backups", str(backups))]


def run(command: list[str], service: Path) -> None:
    environment = {
        "PATH": f"{installed_programs()}{os.pathsep}{os.environ['PATH']}",
        "PGSERVICE": "backup",
        "PGSERVICEFILE": str(service),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_backup__restored_into_an_empty_database__is_whole_and_follows_the_chain_again(
    world: World, database_server: DatabaseServer, tmp_path: Path
) -> None:
    bounty_id = world.create(seconds=100_000)
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    with world.engine("service_api").begin() as connection:
        row = "('0x01', 'kept', 1, '0x02')"
        connection.execute(
            text(f"INSERT INTO app.written_verdicts (report_commitment, content, bounty_id, guardian) VALUES {row}")
        )
    before = contents(world.engine("service_indexer"))
    for day in range(1, 9):
        (tmp_path / f"2020010{day}T021700Z.dump").write_bytes(b"older")
    run(backup_script(tmp_path), service_file(tmp_path, world.database))
    (tmp_path / "pg_service.conf").unlink()
    kept = sorted(tmp_path.glob("*.dump"))
    assert [path.name[:8] for path in kept[:-1]] == [f"2020010{day}" for day in range(3, 9)]
    newest = kept[-1]

    world.submit(bounty_id, world.solver(2))  # after the backup: on chain, not in the dump
    world.finalize()
    lost = database_server.new()  # an empty one, its roles are the server's
    restore = [*RESTORE, "--dbname", lost.name, str(newest)]
    assert " ".join(RESTORE) in RUNBOOK
    run(restore, service_file(tmp_path, lost))
    migrate(lost.url())
    assert contents(lost.engine("service_indexer")) == before
    with lost.engine("service_api").connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM app.written_verdicts")).scalar_one() == 1
    world.writer_lock.close()
    start = header_at(world.rpc, BlockNumber(max(0, world.hub.deploy_block - 1)))
    with only_writer(lost.engine("service_indexer"), world.chain_id, world.hub_address, start) as writer:
        while advance(world.source, writer):
            pass
    assert contents(lost.engine("service_indexer")) == replayed(world, database_server)
    lost.close()
