"""RPC endpoints over TLS: one whose certificate is not good is passed over, and never told a word."""

import ssl
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.serving import serving

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
ANSWER = b'{"jsonrpc":"2.0","id":0,"result":"0x10"}'


def certificate(folder: Path, *, ends: datetime = NOW + DAY, address: str = "127.0.0.1") -> Path:
    """A key and its certificate, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "endpoint")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 30 * DAY)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .sign(key, SHA256())
    )
    file = folder / f"{made.serial_number}.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + made.public_bytes(Encoding.PEM))
    return file


@pytest.mark.parametrize(
    ("fault", "is_trusted"),
    [({}, True), ({}, False), ({"ends": NOW - DAY}, True), ({"address": "127.0.0.2"}, True)],
    ids=["good", "self-signed", "expired", "for another address"],
)
def test_bad_certificate_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, object], is_trusted: bool
) -> None:
    asked: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        def get_request(self):  # type: ignore[no-untyped-def]
            connection, address = self.socket.accept()
            connection.settimeout(10)
            return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that does not trust it hangs up."""

    context, file = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate(tmp_path, **fault)  # type: ignore[arg-type]
    context.load_cert_chain(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file if is_trusted else certificate(tmp_path)))
    server = Server(("127.0.0.1", 0), Handler)
    with serving(server):
        rpc = Rpc([f"https://127.0.0.1:{server.server_port}/v1/secret-key"])
        if not fault and is_trusted:
            assert rpc.call("eth_blockNumber") == "0x10"
            return
        with pytest.raises(ChainUnavailable) as refused:
            rpc.call("eth_blockNumber")
    assert "secret-key" not in str(refused.value)
    assert asked == []
