"""Receivers of webhooks: one that answers as a test says, and one that writes bytes and no more."""

import json
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.serving import serving

Answer = tuple[int, bytes]


@dataclass(frozen=True)
class Got:
    """One request that a receiver got."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def echo(got: Got) -> Answer:
    """As a good receiver does: the challenge is repeated, everything else taken."""
    if got.message["type"] == "webhook.challenge":
        return 200, json.dumps({"challenge": got.message["data"]["challenge"]}).encode()
    return 204, b""


@dataclass
class Receiving:
    """A running receiver; ``answer`` may be exchanged at any time."""

    port: int
    answer: Callable[[Got], Answer] = echo
    got: list[Got] = field(default_factory=list)
    _news: SimpleQueue[Got] = field(default_factory=SimpleQueue)

    def take(self, got: Got) -> Answer:
        """Keep what came, and answer it."""
        self.got.append(got)
        self._news.put(got)
        return self.answer(got)

    def wait_for(self, kind: str) -> Got:
        """The next of this type that nobody waited for yet."""
        while (got := self._news.get(timeout=60)).message["type"] != kind:
            pass
        return got

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def of_type(self, kind: str) -> list[Got]:
        return [each for each in self.got if each.message["type"] == kind]

    def facts(self) -> list[dict[str, Any]]:
        return [change for each in self.of_type("hub.facts") for change in each.message["data"]["changes"]]


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiving]:
    """A receiver on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got = Got(self.path, dict(self.headers), body)
            status, answer = state.take(got)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "http://127.0.0.1/elsewhere")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that goes away is what some tests want."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    state = Receiving(server.server_address[1])
    with serving(server):
        yield state


@contextmanager
def writing_bytes(pieces: Iterator[bytes]) -> Iterator[int]:
    """A server that reads once, and then writes these bytes for as long as it is listened to; its port."""
    server = socket.create_server(("127.0.0.1", 0))
    done: SimpleQueue[None] = SimpleQueue()

    def serve() -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                for piece in pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                done.get()

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        done.put(None)
        server.close()


def certificate_for(
    host: str, folder: Path, lasts: timedelta = timedelta(days=1)
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate of this name, and a client's that trusts it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + lasts)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, SHA256())
    )
    file = folder / f"{secrets.token_hex(4)}.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=made.public_bytes(Encoding.PEM).decode())
