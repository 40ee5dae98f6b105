"""When the front door's certificate ends, seen as a client sees it, whoever issues and renews it."""

import socket
import ssl
from collections.abc import Iterator
from typing import Final

from bounty_protocol.clock import Clock
from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.log import get_logger

LOOK_EVERY_SECONDS: Final = 600.0
TIMEOUT_SECONDS: Final = 5.0
PORT: Final = 443

log = get_logger(__name__)


class CertificateCollector(Collector):
    """Asks the public host for its certificate at a scrape, at most once in ten minutes; keeps what it saw last.

    A deployment that cannot reach its own front door, or has none with TLS, shows nothing.
    """

    def __init__(self, public_host: str, clock: Clock) -> None:
        self._host, self._clock = public_host, clock
        self._looked_at = float("-inf")
        self._ends: float | None = None

    def collect(self) -> Iterator[Metric]:
        """The figure of this moment."""
        if self._clock.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = self._clock.monotonic()
            try:
                self._ends = end_of_certificate(self._host)
            except (OSError, ValueError) as error:
                log.info("the front door's certificate was not seen", reason=f"{type(error).__name__}: {error}"[:200])
        if self._ends is not None:
            yield GaugeMetricFamily(
                "service_certificate_seconds",
                "Until the certificate of the public host ends, as it was seen last; below 0 it has ended",
                self._ends - self._clock.now(),
            )


def end_of_certificate(public_host: str) -> float:
    """When the certificate that this host shows ends, in seconds since 1970. Nothing of it is trusted but its date, so
    that one that has ended is seen, too. ``OSError`` where none is shown, ``ValueError`` where it cannot be read."""
    name, _, port = public_host.partition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((name, int(port or PORT)), timeout=TIMEOUT_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        shown = secure.getpeercert(binary_form=True)
    if shown is None:
        raise ValueError("no certificate was shown")
    return x509.load_der_x509_certificate(shown).not_valid_after_utc.timestamp()
