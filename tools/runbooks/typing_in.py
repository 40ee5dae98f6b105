"""Typing a runbook's commands at a local stack: ``kubectl`` stands for the cluster as far as one machine can."""

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

PAGE: Final = TOP / "docs/operations.md"
CLUSTER_ALONE: Final = 3
"""The exit code of what only a cluster answers."""
_AT: Final = re.compile(r'"timestamp": "([^"]*)"')
_PROGRAM: Final = """#!{python}
import json, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({socket!r})
asked.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
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
    """A shell in which ``kubectl`` and the page's own ``ask`` reach the processes of a stack."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self._stack, self._folder = stack, folder
        (self._ask,) = re.findall(r"(?ms)^```sh\n(ask\(\) .*?)^```", PAGE.read_text(encoding="utf-8"))
        self._socket = folder / "kubectl.socket"
        self._lock = threading.Lock()
        self._exported: list[str] = []
        program = folder / "bin" / "kubectl"
        program.parent.mkdir()
        program.write_text(_PROGRAM.format(python=sys.executable, socket=str(self._socket)))
        program.chmod(0o755)
        people = folder / "noxw"  # who signs a notice is a Safe's owners, each at a wallet of their own
        people.write_text('#!/bin/sh\necho "noxw $*: only a cluster\'s people do that" >&2\n')
        people.chmod(0o755)
        shell = self

        class _Handler(StreamRequestHandler):
            def handle(self) -> None:
                code, out, err = shell.answer(json.loads(self.rfile.readline()))
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
        host = self._stack.api_base_url
        text = block.replace("https://HOST", host).replace("https://RPC-OF-ANOTHER-PROVIDER", self._stack.anvil.url)
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
                since = [word.partition("=")[2] for word in words if word.startswith("--since=")]
                return self._logs(words[1].removeprefix("deployment/"), int(since[0].rstrip("m")) if since else None)
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

    def _logs(self, name: str, minutes: int | None) -> tuple[int, str, str]:
        log = self._stack.runtime.logs / f"{name}.log"
        if not log.exists():
            return 1, "", f"no pod of {name} runs\n"
        lines = log.read_text(errors="replace").splitlines()[-1_000:]
        if minutes is not None:
            earliest = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
            lines = [line for line in lines if (at := _AT.search(line)) is None or at[1] >= earliest]
        return 0, "\n".join(lines) + "\n", ""

    def _restart(self, names: list[str]) -> tuple[int, str, str]:
        for name in names:
            process = self._stack.services[name]
            process.stop()
            process.restart()
        return 0, "".join(f"deployment.apps/{name} restarted\n" for name in names), ""
