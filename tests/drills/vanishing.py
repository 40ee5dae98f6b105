"""Play that a pod's network is gone: run by ``test_vanished.py`` in a network namespace of its own, as its root.

A web server stands in a second namespace, at the other end of a cable. The kept connections of the client are then
led into a cable that nobody holds, as a cluster does with those of a node that is lost, while new ones reach a pod that
is there. Prints a line of JSON for each question.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from bounty_protocol.clock import SystemClock
from service_web.api.client import ApiReader, ApiUnavailable, Question

from tests.waiting import wait_until

HERE, THERE, PORT = "10.9.0.1", "10.9.0.2", 8080
SERVER: Final = f"""
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b'{{"path": "%s"}}' % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
ThreadingHTTPServer(("{THERE}", {PORT}), Answering).serve_forever()
"""


def typed(*command: str) -> str:
    """What a command prints; it has to succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def child(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the length of a with statement."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def cable(address: str, process: subprocess.Popen[bytes]) -> list[str]:
    """Lay a cable into the namespace of a process; what begins a command there."""
    typed("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(process.pid))
    there = ["nsenter", "--target", str(process.pid), "--net"]
    for prefix, device, end in (([], "near", HERE), (there, "far", address)):
        typed(*prefix, "ip", "addr", "add", f"{end}/24", "dev", device)
        typed(*prefix, "ip", "link", "set", device, "up")
    return there


def lead_astray(address: str) -> int:
    """Send what goes over the connections to this address where nobody is; how many there were."""
    kept = [line.split()[3].rpartition(":")[2] for line in typed("ss", "-tnH", "dst", address).splitlines()]
    typed("ip", "link", "add", "nowhere", "type", "veth", "peer", "name", "nobody")
    for device in ("nowhere", "nobody"):
        typed("ip", "link", "set", device, "up")
    typed("ip", "neigh", "add", address, "lladdr", "02:00:00:00:00:01", "dev", "nowhere")
    typed("ip", "route", "add", f"{address}/32", "dev", "nowhere", "table", "77")
    for port in kept:
        typed("ip", "rule", "add", "pref", "100", "ipproto", "tcp", "sport", port, "table", "77")
    return len(kept)


def asked(reader: ApiReader, path: str) -> object:
    """What is answered to a question, or None."""
    parse: Callable[[bytes], object] = json.loads
    try:
        return reader.ask(Question(path), parse).value
    except ApiUnavailable:
        return None


def main() -> None:
    """Ask over a connection, lose it, and ask on."""
    with child("unshare", "--net", "sleep", "600") as other:
        wait_until(lambda: other.poll() is None and _is_apart(other.pid), 10)
        there = cable(THERE, other)
        with child(*there, sys.executable, "-c", SERVER):
            reader = ApiReader(f"http://{THERE}:{PORT}", SystemClock())
            wait_until(_listens, 20)
            asked(reader, "/first")
            print(json.dumps({"lost": lead_astray(THERE)}))
            for path in ("/second", "/third", "/fourth"):
                print(json.dumps(asked(reader, path)))


def _is_apart(pid: int) -> bool:
    return typed("readlink", f"/proc/{pid}/ns/net") != typed("readlink", "/proc/self/ns/net")


def _listens() -> bool:
    try:
        socket.create_connection((THERE, PORT), timeout=1).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
