"""What an operator's insider has: each service's role in the database, its Secrets, the bucket, Redis, a shell."""

import base64
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
from local_stack.interrupts import Interrupted
from local_stack.stack import DATABASE
from service_audit.http import Requests
from service_audit.look import AuditOptions, Auditor

from tests.kept import kept_by
from tools.market.people import Town

_COMMAND_SECONDS: Final = 600.0
_ANY_LAG: Final = 1_000_000
"""Seconds: while people act and things break, what is late is no finding."""
Row = tuple[Any, ...]


class NotDone(Exception):
    """A step that did not succeed at the moment; it is tried again."""


@dataclass
class InsiderReach:
    """Of one stack; ``folder`` is the insider's own."""

    town: Town
    folder: Path
    shown_before: set[str] = field(default_factory=set)
    """The documents that a watch read before the insider's act."""
    _auditor: Auditor | None = None
    """Of the looks so far: the chain is not read anew by each."""

    # --- what the insider does

    def rows(self, role: str, statement: LiteralString, *values: object) -> list[Row]:
        """What a service's role reads."""
        with self._connection(role) as connection:
            return connection.execute(statement, values).fetchall()

    def write(self, role: str, statement: LiteralString, *values: object) -> None:
        """Have a service's role change a row; ``NotDone`` where none is changed."""
        with self._connection(role) as connection:
            if not connection.execute(statement, values).rowcount:
                raise NotDone("no row is changed")

    def command(self, process: str, *words: str, given: bytes = b"") -> tuple[int, str]:
        """The exit code of a command in a process's pod, and what it prints; ``given`` is its standard input."""
        service = self.town.stack.services[process]
        folder = Path(sys.executable).parent
        ran = subprocess.run(
            [folder / words[0], *words[1:]], env={"LANG": "C.UTF-8", **service.variables()}, cwd=self.folder,
            input=given, capture_output=True, timeout=_COMMAND_SECONDS, check=False,
        )  # fmt: skip
        return ran.returncode, (ran.stdout + ran.stderr).decode(errors="replace")

    def find_stored(self, canaries: Sequence[bytes]) -> list[str]:
        """Where any of these stands in what is stored: all rows as text, all objects, all of Redis."""
        stored = self.folder / "stored"
        stored.mkdir(exist_ok=True)
        with psycopg.connect(self.town.stack.postgres.url(DATABASE)) as connection:
            tables = connection.execute(
                "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN"
                " (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema'))"
            ).fetchall()
            for (name,) in tables:
                with connection.cursor().copy(f"COPY {name} TO STDOUT".encode()) as copied:
                    (stored / f"{name}.rows").write_bytes(b"".join(copied))
        with kept_by(self.town.stack) as deps:
            for number, info in enumerate(deps.store.list("")):
                (stored / f"object-{number}").write_bytes(b"".join(deps.store.read(info)))
            keys = deps.redis.scan_iter(count=1_000)
            values = [value for key in keys if (value := deps.redis.dump(key)) is not None]
            (stored / "redis").write_bytes(b"\n".join(values))
        return find_secrets([stored], canaries)

    # --- what the operator looks at, and puts right by docs/run.md

    def rebuild(self) -> None:
        """The index contradicts the chain."""
        code, printed = self.command("indexer-worker", "service-indexer", "rebuild")
        if code:
            raise NotDone(f"rebuild ended with {code}: {printed[-300:]}")

    def checked(self, requirement: str, bounty: int | None = None, part: str | None = None) -> bool:
        """Whether the audit, which looks at a bounty and a part of these, names a requirement.

        ``NotDone`` where it could not read everything, so that its silence says nothing.
        """
        self._auditor = auditor = self._auditor or self._made()
        auditor.seen_before = set(self.shown_before)
        auditor.differing |= set() if bounty is None else {bounty}
        auditor.differing_parts |= set() if part is None else {part}
        found = auditor.look_at_news()
        seen = [each for each in found.found if each.requirement == requirement]
        self.town.log.write(
            "audit", requirement, bounty=bounty, seen=[f"{each.where}: {each.seen}" for each in seen][:3]
        )
        if not seen and found.unread:
            raise NotDone("the audit did not read everything")
        return bool(seen)

    def _made(self) -> Auditor:
        stack = self.town.stack
        options = AuditOptions(
            stack.anvil.url, stack.hub.hub.address, stack.api_base_url, max_lag_seconds=_ANY_LAG,
            max_unsettled_seconds=_ANY_LAG, sample=1, hiccup_seconds=0.0,
        )  # fmt: skip
        return Auditor(options, Requests())

    def until(self, what: Callable[[], object], seconds: float) -> str | None:
        """Try a step until it ends without an error, and returns no False; what went wrong last, or None."""
        ends, last = time.monotonic() + seconds, "it was not so"
        while True:
            try:
                if what() is not False:
                    return None
            except Interrupted:
                raise
            except Exception as error:  # noqa: BLE001 - something else is broken meanwhile; the last one is reported
                last = f"{type(error).__name__}: {error}"[:400]
            if time.monotonic() > ends:
                return last
            self.town.pause(1.0)

    def _connection(self, role: str) -> psycopg.Connection:
        url = self.town.stack.launcher.databases[role]
        return psycopg.connect(url, autocommit=True, connect_timeout=5, options="-c statement_timeout=10s")


def find_secrets(places: Sequence[Path], canaries: Sequence[bytes]) -> list[str]:
    """Where any of these stands below folders, as it is, in hex or in base64."""
    forms = [
        form for each in canaries for form in (each, each.hex().encode(), base64.b64encode(each).rstrip(b"=")[:-1])
    ]
    found = list[str]()
    for path in (file for place in places for file in sorted(place.rglob("*"))):
        with suppress(FileNotFoundError):  # a database removes its files meanwhile
            if path.is_file() and any(form in path.read_bytes() for form in forms):
                found.append(str(path))
    return found
