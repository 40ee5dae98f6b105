"""The end of the front door's certificate, as the api's worker shows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from prometheus_client import CollectorRegistry
from service_api.certificate import LOOK_EVERY_SECONDS, CertificateCollector

from tests.api.webhooks.receiving import certificate_for
from tests.clocks import HandClock
from tests.serving import serving

DAY = 86_400


class Greeted(StreamRequestHandler):
    def handle(self) -> None:
        """Nothing: the handshake is all that is asked for."""


@contextmanager
def front_door(folder: Path) -> Iterator[str]:
    """A host with a certificate that lasts a day from now."""
    context, _ = certificate_for("localhost", folder)

    class Door(ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up after the handshake is what is meant."""

    server = Door(("127.0.0.1", 0), Greeted)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"127.0.0.1:{server.server_address[1]}"


def shown(collector: CertificateCollector) -> float | None:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry.get_sample_value("service_certificate_seconds")


def test_certificate__of_a_door__is_told_by_its_end_also_when_nobody_trusts_it_and_the_door_is_gone(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    with front_door(tmp_path) as host:
        collector = CertificateCollector(host, clock)
        first = shown(collector)
    assert first is not None
    assert first > DAY  # of a clock that stands at 1970
    clock.time += LOOK_EVERY_SECONDS
    assert shown(collector) == first - LOOK_EVERY_SECONDS
    clock.time += first
    assert shown(collector) == -LOOK_EVERY_SECONDS


def test_certificate__of_a_door_without_tls_or_none__is_not_told(tmp_path: Path) -> None:
    server = ThreadingTCPServer(("127.0.0.1", 0), Greeted)
    with serving(server):
        assert shown(CertificateCollector(f"127.0.0.1:{server.server_address[1]}", HandClock())) is None
    assert shown(CertificateCollector("127.0.0.1:1", HandClock())) is None
