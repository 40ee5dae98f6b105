"""A night's backup as the cluster makes it, a database that is lost, and the restore of the runbook, with its times.

The scripts are those of the manifests; only folders and addresses are this machine's. It prints what was lost (RPO) and
how long the way back took (RTO).
"""

import os
import secrets
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.commitments import spec_commitment
from local_stack.gcs import GcsServer
from local_stack.postgres import installed_programs
from local_stack.services import MIGRATOR
from service_api.backup.dumps import fetch_dump, store_dumps
from service_api.storage.gcs import GcsStore
from service_common.db.schema import create_schema
from service_common.storage_settings import StorageSettings
from service_indexer.writer import Writer
from sqlalchemy import Engine, text

from tests.indexer.replay import contents, replayed
from tests.servers import Database, DatabaseServer, gcs_server
from tests.world import World, example_page

__all__ = ["gcs_server"]

TOP = Path(__file__).resolve().parents[2]
MANIFEST = TOP / "deploy/k8s/base/backup.yaml"
RUNBOOK = (TOP / "docs/keys.md").read_text(encoding="utf-8")
RESTORE = ("pg_restore", "--clean", "--if-exists", "--exit-on-error", "--dbname")
PAGES = int(os.environ.get("DRILL_PAGES", "10"))
PAGE_BYTES = 64 * 1024


def service_file(folder: Path, database: Database) -> Path:
    """What the Secret ``backup`` holds."""
    url = urlsplit(database.url())
    file = folder / "pg_service.conf"
    file.unlink(missing_ok=True)
    lines = [f"host={url.hostname}", f"port={url.port}", f"user={MIGRATOR}", f"password={url.password}"]
    file.write_text("\n".join(["[backup]", *lines, f"dbname={database.name}"]) + "\n")
    file.chmod(0o400)
    return file


def dump_script(made: Path) -> list[str]:
    """The command that makes a dump in the CronJob, writing to ``made``."""
    job = next(each for each in yaml.safe_load_all(MANIFEST.read_text()) if each["kind"] == "CronJob")
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["initContainers"]
    *shell, script = container["command"]
    return [*shell, script.replace("/dump/", f"{made}/")]


def run(command: list[str], service: Path) -> None:
    environment = {
        "PATH": f"{installed_programs()}{os.pathsep}{os.environ['PATH']}",
        "PGSERVICE": "backup",
        "PGSERVICEFILE": str(service),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def bucket(gcs_server: GcsServer) -> GcsStore:
    credentials = gcs_server.credentials_file.read_text()
    return GcsStore(StorageSettings(gcs_server.bucket, gcs_server.url, credentials), retry_seconds=1.0)


class Times:
    """What each step took, for the report of the drill."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def restart(self) -> None:
        self._last = time.monotonic()

    def note(self, step: str) -> None:
        now = time.monotonic()
        self.seconds[step], self._last = now - self._last, now


def write_pages(engine: Engine) -> None:
    """What people wrote: the page of the bounty, and others that do not compress."""
    page = example_page()
    with engine.begin() as connection:
        statement = text("INSERT INTO app.challenge_pages (spec_commitment, content) VALUES (:commitment, :content)")
        connection.execute(statement, {"commitment": spec_commitment(page), "content": page})
        for number in range(PAGES):
            row = {"commitment": f"0x{number:064x}", "content": secrets.token_bytes(PAGE_BYTES)}
            connection.execute(statement, row)


def audit(engine: Engine) -> None:
    """The old bounty's page is the one that the chain committed to, and its Submission is known."""
    with engine.connect() as connection:
        statement = text(
            "SELECT p.content, p.spec_commitment FROM app.challenge_pages p"
            " JOIN hub_index.bounties b ON b.spec_commitment = p.spec_commitment"
        )
        ((content, commitment),) = connection.execute(statement).all()
    assert spec_commitment(bytes(content)) == commitment


def test_backup__restored_onto_an_empty_database__is_whole_and_follows_the_chain_again(
    world: World, database_server: DatabaseServer, bucket: GcsStore, tmp_path: Path
) -> None:
    bounty_id = world.create(example_page(), seconds=100_000)
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    write_pages(world.engine("service_api"))
    before = contents(world.engine("service_indexer"))
    made, kept, fetched = (tmp_path / name for name in ("made", "kept", "fetched"))
    for each in (made, kept, fetched):
        each.mkdir()
    operator, times = Identity.generate(), Times()
    run(dump_script(made), service_file(tmp_path, world.database))
    times.note("dump")
    store_dumps(made, kept, [operator.public_key, Identity.generate().public_key], bucket, lambda _: None)
    times.note("encrypt and copy")
    (size,) = (each.stat().st_size for each in kept.iterdir())

    world.submit(bounty_id, world.solver(2))  # after the backup: on chain, not in the dump
    world.finalize()
    with world.engine("service_api").begin() as connection:  # as is what somebody wrote
        connection.execute(text("INSERT INTO app.challenge_pages (spec_commitment, content) VALUES ('0xlate', '')"))

    times.restart()
    dump = fetch_dump(bucket, fetched, [operator], lambda _: None)
    times.note("fetch and decrypt")
    lost = database_server.new()  # its roles are the server's
    assert " ".join(RESTORE) in RUNBOOK
    with lost.engine(MIGRATOR).begin() as connection:
        for schema in ("app", "hub_index", "hub_index_scratch", "review", "delivery", "settler"):
            connection.execute(text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
    times.restart()
    run([*RESTORE, lost.name, str(dump)], service_file(tmp_path, lost))
    create_schema(lost.url())
    times.note("restore and migrate")
    assert contents(lost.engine("service_indexer")) == before
    times.restart()
    writer = Writer(lost.engine("service_indexer"), world.chain_id, world.hub_address)
    follower = world.follower(world.chain, writer)
    while follower.step():
        pass
    times.note("catch up with the chain")
    assert contents(lost.engine("service_indexer")) == replayed(world, database_server)
    times.restart()
    audit(lost.engine("service_api"))
    times.note("audit an old bounty")
    with lost.engine("service_api").connect() as connection:
        pages = connection.execute(text("SELECT count(*) FROM app.challenge_pages")).scalar_one()
    assert pages == PAGES + 1, "what was written after the dump is missing, and nothing else"
    lost.close()
    report(times, size)


def report(times: Times, size: int) -> None:
    """What pytest shows of a drill."""
    back = sum(list(times.seconds.values())[2:])
    steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in times.seconds.items())
    print(f"{size / 1e6:.0f} MB of dump, {PAGES} pages of 64 KiB: {steps}")
    print("RPO: nothing of the chain; what people wrote after the dump (here the 1 page that was written after it)")
    print(f"RTO: {back:.1f} s from an empty server to an audited bounty")
