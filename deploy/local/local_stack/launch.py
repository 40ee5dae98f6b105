"""Starting the service's own processes from the list in ``services``.

A process gets the variables its list entry names and no others, secrets as files of mode 0600. It is ready when its
internal port's ``/readyz`` answers 200 and its public port, where it has one, answers; its temporary files are in the
runtime directory.
"""

import http.client
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from local_stack.ports import HOST
from local_stack.process import Child, ChildFailed, StopRule, describe
from local_stack.runtime import Runtime
from local_stack.services import ServiceProcess

READY_SECONDS: Final = 120.0
RANK: Final = 2
"""Services stop before the servers they use, which have rank 0."""
_RULE: Final = StopRule(grace=8.0, ask_again=2.0)
_STARTING: Final = StopRule(grace=1.5)
"""Until it is ready a process has nothing to finish, and may not listen to signals yet."""


class RunningProcess:
    """One process of the service; ``kill``, ``stop`` and ``restart`` are for tests of what the others do then."""

    def __init__(self, launcher: "Launcher", process: ServiceProcess) -> None:
        self._launcher, self.process = launcher, process
        self.internal_port = launcher.runtime.port()
        self.port = launcher.port(process.name) if process.serves else None
        self.environment = launcher.environment(process, self.port, self.internal_port)
        self.child: Child | None = None

    def start(self) -> None:
        """Start it without waiting."""
        self.child = self._launcher.spawn(self.process, self.environment)

    def wait_ready(self) -> None:
        """Wait until it is ready; ``ChildFailed`` when it dies or takes too long."""
        if self.child is not None:
            self._launcher.runtime.family.wait(self.child, self.is_ready, READY_SECONDS)
            self.child.rule = _RULE

    def is_ready(self) -> bool:
        """Return whether ``/readyz`` answers 200 now, and the public port answers at all."""
        if self.port is not None and _status(self.port, "/healthz") is None:
            return False
        return _status(self.internal_port, "/readyz") == http.client.OK

    def kill(self) -> None:
        """SIGKILL, with every process it started."""
        if self.child is not None:
            self._launcher.runtime.family.end([self.child], kill=True)

    def stop(self) -> None:
        """Regular stop."""
        if self.child is not None:
            self._launcher.runtime.family.end([self.child])

    def restart(self, changed: Mapping[str, str] | None = None) -> None:
        """Start it again on its ports, maybe with other variables, and wait until it is ready."""
        self.environment.update(changed or {})
        self.start()
        self.wait_ready()

    def variables(self) -> dict[str, str]:
        """Return the environment with which an operator's command sees what this process sees; secrets stay in their
        files.
        """
        own = {"SERVICE_PORT", "SERVICE_INTERNAL_PORT", "SERVICE_HOST", "SERVICE_INTERNAL_HOST"}
        return {
            name: value for name, value in self.environment.items() if name.startswith("SERVICE_") and name not in own
        }

    def addresses(self) -> dict[str, str]:
        """Return where it listens."""
        addresses = {"internal": f"http://{HOST}:{self.internal_port}"}
        return addresses if self.port is None else {"url": f"http://{HOST}:{self.port}", **addresses}


class Launcher:
    """Knows every value of the configuration and passes each process its part."""

    def __init__(
        self,
        runtime: Runtime,
        extra: Mapping[str, str],
        programs: Mapping[str, Path],
    ) -> None:
        """``extra`` reaches every process, over what the stack itself sets; ``programs`` are folders of entry points
        other than this environment's own, by the entry point's name."""
        self.runtime, self._extra, self._programs = runtime, extra, programs
        self.variables: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        self.databases: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        self._home = runtime.directory("services")
        self._secrets = runtime.directory("secrets")

    def port(self, name: str) -> int:
        """Return the public port of a process, the same at each call."""
        if name not in self._ports:
            self._ports[name] = self.runtime.port()
        return self._ports[name]

    def environment(self, process: ServiceProcess, port: int | None, internal_port: int) -> dict[str, str]:
        """Return all variables of a process."""
        home = self._home / process.name
        home.mkdir(mode=0o700)
        values = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": f"{HOST},localhost",
            "no_proxy": f"{HOST},localhost",
            "SERVICE_HOST": HOST,
            "SERVICE_INTERNAL_HOST": HOST,
            "SERVICE_INTERNAL_PORT": str(internal_port),
            **{name: self.variables[name] for name in process.variables},
            **{f"{name}_FILE": self._file(process, name, self.secrets[name]) for name in process.secrets},
        }
        if process.role is not None:
            values["SERVICE_DATABASE_URL_FILE"] = self._file(
                process, "SERVICE_DATABASE_URL", self.databases[process.role]
            )
        if port is not None:
            values["SERVICE_PORT"] = str(port)
        return {**values, **self._extra}

    def spawn(self, process: ServiceProcess, environment: Mapping[str, str]) -> Child:
        """Start a process through its console entry point."""
        folder = self._programs.get(process.command[0], Path(sys.executable).parent)
        program = folder / process.command[0]
        return self.runtime.family.spawn(
            process.name,
            [program, *process.command[1:]],
            environment=environment,
            cwd=self._home / process.name,
            rule=_STARTING,
            rank=RANK,
        )

    def start_once(self, process: ServiceProcess) -> Child:
        """Start a process that ends on its own; ``finish`` waits for it."""
        return self.spawn(process, self.environment(process, None, self.runtime.port()))

    def finish(self, child: Child) -> None:
        """Wait for a one-shot process; ``ChildFailed`` unless it succeeded."""
        family = self.runtime.family
        try:
            family.wait(child, lambda: child.exit_status() is not None, READY_SECONDS, "did not finish")
            if (status := child.exit_status()) != 0:
                raise ChildFailed(child, f"failed ({describe(status)})")
        finally:
            family.end([child], kill=True)

    def start_all(self, processes: Sequence[ServiceProcess]) -> dict[str, RunningProcess]:
        """Start all at once, then wait for each."""
        started = {process.name: RunningProcess(self, process) for process in processes}
        for service in started.values():
            service.start()
        for service in started.values():
            service.wait_ready()
        return started

    def _file(self, process: ServiceProcess, name: str, value: str) -> str:
        return str(self.runtime.secret(f"{self._secrets.name}/{process.name}.{name}", value))


def _status(port: int, path: str) -> int | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
