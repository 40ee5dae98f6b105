"""RPC endpoints over TLS: one whose certificate is not good is passed over, and never told a word."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, quantity
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.serving import serving

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
ANSWER = b'{"jsonrpc":"2.0","id":0,"result":"0x10"}'


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of one test run."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(
    authority: Authority | None, folder: Path, *, starts: datetime, ends: datetime, address: str = "127.0.0.1"
) -> Path:
    """A key and its certificate in one file; signed by itself without an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = name("endpoint") if authority is None else authority.certificate.subject
    made = (
        x509.CertificateBuilder()
        .subject_name(name("endpoint"))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((authority.key if authority else key).public_key()),
            critical=False,
        )
        .sign(authority.key if authority else key, SHA256())
    )
    file = folder / f"{made.serial_number}.pem"
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM)
    )
    return file


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """One that this machine trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        x509.CertificateBuilder()
        .subject_name(name("authority"))
        .issuer_name(name("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 100 * DAY)
        .not_valid_after(NOW + 100 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)  # Python 3.13 trusts no authority without it
        .sign(key, SHA256())
    )
    (tmp_path / "trusted.pem").write_bytes(made.public_bytes(Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
    return Authority(key, made)


@dataclass(frozen=True, slots=True)
class TlsEndpoint:
    url: str
    asked: list[bytes]


@contextmanager
def endpoint(file: Path) -> Iterator[TlsEndpoint]:
    """An endpoint with this certificate; what it was told is kept."""
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

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = Server(("127.0.0.1", 0), Handler)
    with serving(server):
        yield TlsEndpoint(f"https://127.0.0.1:{server.server_port}/v1/secret-key", asked)


@pytest.mark.parametrize("fault", ["expired", "not yet valid", "self-signed", "for another address"])
def test_bad_certificate_gets_nothing(authority: Authority, tmp_path: Path, fault: str) -> None:
    file = {
        "expired": lambda: certificate(authority, tmp_path, starts=NOW - 30 * DAY, ends=NOW - DAY),
        "not yet valid": lambda: certificate(authority, tmp_path, starts=NOW + DAY, ends=NOW + 30 * DAY),
        "self-signed": lambda: certificate(None, tmp_path, starts=NOW - DAY, ends=NOW + DAY),
        "for another address": lambda: certificate(
            authority, tmp_path, starts=NOW - DAY, ends=NOW + DAY, address="127.0.0.2"
        ),
    }[fault]()
    with ExitStack() as stack:
        bad = stack.enter_context(endpoint(file))
        good = stack.enter_context(endpoint(certificate(authority, tmp_path, starts=NOW - DAY, ends=NOW + DAY)))
        rpc = Rpc([bad.url, good.url])
        assert quantity(rpc.call("eth_blockNumber")) == 16
        assert rpc.endpoints.preferred.place == 2
        assert (bad.asked, len(good.asked)) == ([], 1)
        with pytest.raises(ChainUnavailable) as refused:
            Rpc([bad.url]).call("eth_blockNumber")
        assert "secret-key" not in str(refused.value)
    assert bad.asked == []
