"""The machines behind a name that anyone may have chosen, from the DNS alone, in bounded time and memory.

The operating system's own lookup waits as long as it is configured to, cannot be ended, and knows names that are
nobody else's business: of this machine, of its cluster, of its network. Here a name is looked up as it is, without a
list of domains to search, from the name servers of ``/etc/resolv.conf``.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Final

import dns.exception
import dns.message
import dns.nameserver
import dns.rdatatype
import dns.resolver

LOOKUP_SECONDS: Final = 3.0
"""For a name, also where its servers are silent."""
TRY_SECONDS: Final = 1.0
"""For one question to one name server, which is repeated while there is time."""
LONGEST_ANSWER: Final = 1_232
"""Bytes: what fits in one packet everywhere; about 70 addresses. A longer one counts as none."""
Lookup = Callable[[str, float], Sequence[str]]
"""The addresses of a name, as far as they are found in time."""


class NameLookups:
    """Lookups for one process. Thread-safe."""

    def __init__(self, servers: Sequence[tuple[str, int]] | None = None) -> None:
        """``servers`` are name servers and their ports, where they are not those of this machine."""
        self._servers, self._lock = servers, Lock()
        self._resolver: dns.resolver.Resolver | None = None

    def addresses(self, name: str, seconds: float) -> list[str]:
        """IPv4 addresses, then IPv6 addresses; none where the name has none or nobody answers."""
        ends, found = time.monotonic() + seconds, list[str]()
        with suppress(dns.exception.DNSException):
            resolver = self._configured()
            for kind in (dns.rdatatype.A, dns.rdatatype.AAAA):
                left = ends - time.monotonic()
                # A server that is silent about IPv6 alone does not take the whole time.
                found += _addresses(resolver, name, kind, min(left, TRY_SECONDS) if found else left)
        return found

    def _configured(self) -> dns.resolver.Resolver:
        with self._lock:
            if self._resolver is None:
                made = dns.resolver.Resolver(configure=self._servers is None)
                servers = self._servers or [(str(address), made.port) for address in made.nameservers]
                made.nameservers = [_Datagrams(address, port) for address, port in servers]
                made.timeout = TRY_SECONDS
                made.use_edns(0, 0, LONGEST_ANSWER)
                self._resolver = made
            return self._resolver


class _Datagrams(dns.nameserver.Do53Nameserver):
    """A name server whose answers come in one packet."""

    def query(
        self,
        request: dns.message.QueryMessage,
        timeout: float,
        source: str | None,
        source_port: int,
        max_size: bool,
        one_rr_per_rrset: bool = False,
        ignore_trailing: bool = False,
    ) -> dns.message.Message:
        if max_size:  # again over TCP, since the answer did not fit
            raise dns.exception.FormError
        return super().query(request, timeout, source, source_port, False, one_rr_per_rrset, ignore_trailing)


def _addresses(resolver: dns.resolver.Resolver, name: str, kind: dns.rdatatype.RdataType, seconds: float) -> list[str]:
    """Those of one kind."""
    if seconds <= 0:
        return []
    try:
        answer = resolver.resolve(f"{name}.", kind, raise_on_no_answer=False, lifetime=seconds, search=False)
    except (dns.resolver.LifetimeTimeout, dns.resolver.NoNameservers):
        return []
    return [record.address for record in answer]
