"""The api in a process of its own, and requests to it written byte by byte."""

import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime

from tests.scraping import Figures, scrape


@dataclass(frozen=True, slots=True)
class Answer:
    """A raw HTTP answer; ``status`` 0 where the server only closed the connection."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of its error envelope."""
        error = json.loads(self.body)["error"]
        assert {"code", "message", "issues", "next_action"} <= set(error)
        return str(error["code"])


@dataclass(frozen=True, slots=True)
class RunningApi:
    """Where it listens."""

    port: int
    internal_port: int
    child: Child

    def metrics(self) -> Figures:
        """What its internal port tells a scraper now."""
        return scrape(self.internal_port)

    def connect(self) -> socket.socket:
        """A connection without a request."""
        return socket.create_connection((HOST, self.port), timeout=20)

    def send(self, request: bytes, *, finish: bool = False) -> Answer:
        """One request as these bytes; ``finish`` closes the sending side after them."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
                if finish:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server has answered already and reads no further
            return read_answer(connection)

    def request(
        self, method: str, target: str, *headers: tuple[str, str], body: bytes = b"", length: int | None = None
    ) -> Answer:
        """One request with these header lines in this order."""
        lines = [f"{method} {target} HTTP/1.1", "Host: anything.example", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        if body or length is not None:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        head = "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n"
        return self.send(head + body, finish=length is not None and length > len(body))


def spawn_api(runtime: Runtime, variables: Mapping[str, str], port: int, internal_port: int) -> Child:
    """Start it, and wait for nothing."""
    ports = {"SERVICE_PORT": str(port), "SERVICE_INTERNAL_PORT": str(internal_port)}
    return runtime.family.spawn(
        f"api-{port}-{internal_port}",
        [Path(sys.executable).parent / "service-api", "serve"],
        environment=minimal_environment(runtime.logs) | dict(variables) | ports | {"SERVICE_LOG_LEVEL": "warning"},
        cwd=runtime.logs,
    )


def start_api(runtime: Runtime, variables: Mapping[str, str], *, port: int | None = None) -> RunningApi:
    """Start it, at ``port`` where one is given, and wait until it answers."""
    internal = runtime.port()

    def spawn(port: int) -> Child:
        return spawn_api(runtime, variables, port, internal)

    def answers(port: int) -> bool:
        try:
            return urllib3.request("GET", f"http://{HOST}:{port}/healthz", retries=False, timeout=2).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    if port is None:
        child, port = runtime.start_listening(spawn, answers, 60.0)
    else:
        child, given = spawn(port), port
        runtime.family.wait(child, lambda: answers(given), 60.0)
    return RunningApi(port, internal, child)


def read_answer(connection: socket.socket) -> Answer:
    """What the server says, up to its end."""
    data = b""
    try:
        while piece := connection.recv(65_536):
            data += piece
            head, separator, body = data.partition(b"\r\n\r\n")
            if separator and len(body) >= int(_headers(head).get("content-length", 1 << 40)):
                break
    except OSError:
        pass  # a refused request's connection may be reset after the answer
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return Answer(0, {}, b"")
    return Answer(int(head.split(b" ", 2)[1]), _headers(head), body)


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
