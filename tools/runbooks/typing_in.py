"""Typing a runbook's commands at a local stack: ``kubectl`` stands for the cluster as far as one machine can, and
``systemctl`` for the machine of the watchtower."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import Final

from local_stack.stack import Stack

from tests.serving import serving
from tools.generate.derived import TOP
from tools.runbooks.watchtower import Watchtower

PAGE: Final = TOP / "docs/operations.md"
CLUSTER_ALONE: Final = 3
"""The exit code of what only a cluster answers."""
_AT: Final = re.compile(r'"timestamp": "([^"]*)"')
_UNITS: Final = {"m": "minutes", "h": "hours"}
_PROGRAM: Final = """#!{python}
import json, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({socket!r})
asked.sendall(json.dumps([{name!r}, *sys.argv[1:]]).encode() + b"\\n")
answer = json.loads(asked.makefile().read())
sys.stdout.write(answer["out"])
sys.stderr.write(answer["err"])
sys.exit(answer["code"])
"""


@dataclass(frozen=True, slots=True)
class Typed:
    """What a block of commands printed, and how many lines of it only a cluster can answer."""

    out: str
    commands: int
    left_out: int


def section(heading: str) -> str:
    """A runbook of the page, without what is told below it."""
    page = PAGE.read_text(encoding="utf-8")
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]


def blocks(heading: str, part: str, until: str) -> list[str]:
    """The blocks of commands of one part of a runbook."""
    text = section(heading).partition(f"**{part}.**")[2].partition(f"**{until}.**")[0]
    return re.findall(r"(?ms)^ *```sh\n(.*?)^ *```", text)


class Shell:
    """A shell in which ``kubectl`` and the page's own ``ask`` reach the processes of a stack, ``systemctl`` its
    watchtower, and the page's placeholders are the stack's addresses; ``front`` is its public one."""

    def __init__(self, stack: Stack, folder: Path, front: str, watchtower: Watchtower) -> None:
        self._stack, self._folder, self._watchtower = stack, folder, watchtower
        self.since = datetime.now(UTC)
        """What was logged before is of an earlier fault, and not shown."""
        self._places = {
            "https://HOST": front,
            "https://RPC-OF-ANOTHER-PROVIDER": stack.anvil.url,
            "0xHUB": stack.hub.hub.address,
            "--from-block BLOCK": f"--from-block {stack.hub.deploy_block}",
        }
        (self._ask,) = re.findall(r"(?ms)^```sh\n(ask\(\) .*?)^```", PAGE.read_text(encoding="utf-8"))
        self._socket = folder / "kubectl.socket"
        self._lock = threading.Lock()
        self._exported: list[str] = []
        (folder / "bin").mkdir()
        for name in ("kubectl", "systemctl"):
            program = folder / "bin" / name
            program.write_text(_PROGRAM.format(python=sys.executable, socket=str(self._socket), name=name))
            program.chmod(0o755)
        people = folder / "noxw"  # who signs a notice is a Safe's owners, each at a wallet of their own
        people.write_text('#!/bin/sh\necho "noxw $*: only a cluster\'s people do that" >&2\n')
        people.chmod(0o755)
        shell = self

        class _Handler(StreamRequestHandler):
            def handle(self) -> None:
                program, *words = json.loads(self.rfile.readline())
                code, out, err = shell.unit(words) if program == "systemctl" else shell.answer(words)
                self.wfile.write(json.dumps({"code": code, "out": out, "err": err}).encode())

        class _Server(ThreadingUnixStreamServer):
            daemon_threads = True

        self.serving = serving(_Server(str(self._socket), _Handler))

    def type_in(self, block: str, inside: str | None = None) -> Typed:
        """Type a block, line by line as a person does, in the pod of a process where one is named."""
        environment = {
            **os.environ,
            **self._stack.common,
            "PATH": f"{self._folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        if inside is not None:
            environment |= self._stack.services[inside].environment
        text = block
        for name, place in self._places.items():
            text = text.replace(name, place)
        done = subprocess.run(
            ["sh", "-c", "\n".join([self._ask, *self._exported, text])],
            env=environment, cwd=self._folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        self._exported += [line for line in text.splitlines() if line.startswith("export ")]
        lines = [line for line in re.sub(r"'\n.*?\n'", "", text, flags=re.DOTALL).splitlines() if line.strip()]
        commands = sum(max(1, line.count("kubectl ")) for line in lines)
        return Typed(done.stdout + done.stderr, commands, done.stderr.count("only a cluster"))

    def answer(self, words: list[str]) -> tuple[int, str, str]:
        """What ``kubectl`` prints; the exit code first."""
        with self._lock:
            if words[:1] == ["exec"]:
                return self._exec(words[1].removeprefix("deployment/"), words[words.index("--") + 1 :])
            if words[:1] == ["logs"]:
                return self._logs(words[1].removeprefix("deployment/"), words[2:])
            if words[:2] == ["rollout", "restart"]:
                return self._restart([word.removeprefix("deployment/") for word in words[2:] if word != "deployment"])
        return CLUSTER_ALONE, "", f"kubectl {' '.join(words)}: only a cluster answers that\n"

    def _exec(self, name: str, command: list[str]) -> tuple[int, str, str]:
        process = self._stack.services.get(name)
        if process is None:
            return CLUSTER_ALONE, "", f"{name}: only a cluster has it\n"
        if process.child is None or process.child.exit_status() is not None:
            return 1, "", f"error: timed out waiting for the condition: no pod of {name} runs\n"
        done = subprocess.run(
            command, env=process.environment, capture_output=True, text=True, timeout=200, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def unit(self, words: list[str]) -> tuple[int, str, str]:
        """What ``systemctl`` prints on the watchtower's machine; the exit code first."""
        with self._lock:
            if words[:1] == ["status"]:
                code, text = self._watchtower.state()
                return code, text, ""
            self._watchtower.start()
        return 0, "", ""

    def _logs(self, name: str, options: list[str]) -> tuple[int, str, str]:
        log = self._stack.runtime.logs / f"{name}.log"
        if not log.exists():
            return 1, "", f"no pod of {name} runs\n"
        given = {option: value for option, _, value in (each.partition("=") for each in options)}
        since = given.get("--since", "24h")
        earliest = max(self.since, datetime.now(UTC) - timedelta(**{_UNITS[since[-1]]: int(since[:-1])}))
        lines = [line for line in log.read_text(errors="replace").splitlines() if _is_since(line, earliest)]
        return 0, "\n".join(lines[-int(given.get("--tail", "0")) :]) + "\n", ""

    def _restart(self, names: list[str]) -> tuple[int, str, str]:
        for name in names:
            process = self._stack.services[name]
            process.stop()
            process.restart()
        return 0, "".join(f"deployment.apps/{name} restarted\n" for name in names), ""


def _is_since(line: str, earliest: datetime) -> bool:
    """Whether a line of a log is of a moment or later; one without its time belongs to those around it."""
    at = _AT.search(line)
    return at is None or at[1] >= earliest.isoformat()
