"""docs/install.md on a first deployment, held against a server and the manifests."""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from local_stack import postgres
from local_stack.postgres import PostgresServer, installed_programs
from local_stack.services import MIGRATOR, ROLES
from service_common.db.schema import create_schema

from .conftest import REPOSITORY

PAGE = (REPOSITORY / "docs/keys.md").read_text(encoding="utf-8")
INSTALL = (REPOSITORY / "docs/install.md").read_text(encoding="utf-8")
FIRST = INSTALL.split("### The first deployment")[1].split("\n## ")[0]
PASSWORD = "of-every-role"


def test_sql_makes_serves_dumps_and_restores(
    tmp_path: Path,
) -> None:
    with postgres.start() as server:
        _make_roles(server)
        create_schema(server.url("service", user=MIGRATOR, password=PASSWORD))
        _expect_service(server)
        dump = f"{tmp_path}/a.dump"
        _run(server, "backup", "service_backup", tmp_path, "pg_dump", "--format=custom", f"--file={dump}")
        (command,) = re.findall(r"kubectl exec --stdin job/restore -- (pg_restore .* service)\n", PAGE)
        _run(server, "restore", MIGRATOR, tmp_path, *command.split(), dump)
        _expect_service(server)
    with postgres.start() as empty:
        _make_roles(empty)
        _run(empty, "restore", MIGRATOR, tmp_path, *command.split(), dump)
        _expect_service(empty)


def _make_roles(server: PostgresServer) -> None:
    """As the administrator does on a new server."""
    (statements,) = re.findall(r"```sql\n(.*?)```", FIRST, re.DOTALL)
    with psycopg.connect(server.url(), autocommit=True) as administrator:
        for statement in statements.replace("LOGIN;", f"LOGIN PASSWORD '{PASSWORD}';").split(";"):
            if statement.strip():
                administrator.execute(statement)


def _expect_service(server: PostgresServer) -> None:
    """Every service's role gets in and sees the schema."""
    for role in ROLES:
        with psycopg.connect(server.url("service", user=role, password=PASSWORD)) as connection:
            assert connection.execute("SELECT count(*) FROM schema_version").fetchone() == (1,)


def _run(server: PostgresServer, section: str, user: str, folder: Path, program: str, *arguments: str) -> None:
    """As the pods do it, with the file that the page describes."""
    at = urlsplit(server.url("service"))
    lines = [f"[{section}]", f"host={at.hostname}", f"port={at.port}", "dbname=service", f"user={user}"]
    (folder / "pg_service.conf").write_text("\n".join([*lines, f"password={PASSWORD}"]) + "\n")
    environment = {"PGSERVICE": section, "PGSERVICEFILE": str(folder / "pg_service.conf"), "PATH": os.environ["PATH"]}
    command = [f"{installed_programs()}/{program}", "--no-password", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
