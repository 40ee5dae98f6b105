"""Which addresses a webhook may have, and which machines its messages may reach.

An address is parsed once, when it is registered. The machines behind its name are looked up again at each attempt; all
of them have to be public, and the connection goes to one of those that were looked up, so that an answer that changes
between the check and the connection changes nothing.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from bounty_protocol.wire.webhooks import MAX_URL

from service_api.webhooks.names import Lookup

HTTPS_PORT: Final = 443
MAX_TRIED: Final = 3
"""Machines that one attempt tries."""
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_URL: Final = re.compile(r"(https?)://([A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?(/[!-\"$-\[\]-~]*)?(\?[!-\"$-\[\]-~]*)?")
"""Scheme, host, port, path and query: printable ASCII without a user, a fragment, a space or a backslash."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost"})
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NOT_A_NAME: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label with which a host is an IPv4 address, in one of the forms that resolvers know."""
_GLOBAL_V6: Final = ipaddress.ip_network("2000::/3")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""Not for hosts, in part not known to the ``ipaddress`` of the oldest supported Python."""


class NotPublic(OSError):
    """A name has a machine that is not on the public internet, or that nothing may be sent to."""


@dataclass(frozen=True, slots=True)
class ReceiverRules:
    """A deployment's rules for receivers. ``loopback``: http, and this machine; for the local network alone."""

    ports: frozenset[int] = frozenset({HTTPS_PORT})
    loopback: bool = False


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where messages of a webhook go. ``target`` is path and query, which may hold a secret of the receiver's."""

    secure: bool
    host: str
    port: int
    target: str

    @property
    def host_field(self) -> str:
        """The field ``Host``."""
        return self.host if self.port == (HTTPS_PORT if self.secure else 80) else f"{self.host}:{self.port}"


def parse_receiver(text: str, rules: ReceiverRules) -> Receiver:
    """Read the address of a webhook; ``ValueError`` names what it must be."""
    found = _URL.fullmatch(text) if len(text) <= MAX_URL else None
    if found is None:
        raise ValueError(
            f"an https address of at most {MAX_URL} printable ASCII characters, without a user and a fragment"
        )
    scheme, host, port_text, path, query = found.groups()
    host, secure = host.lower(), scheme == "https"
    port = int(port_text) if port_text else HTTPS_PORT if secure else 80
    target = (path or "/") + (query or "")
    if rules.loopback and host in _LOOPBACK and 0 < port < 65_536:
        return Receiver(secure, host, port, target)
    if not secure:
        raise ValueError("an https address")
    labels = host.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels) or _NOT_A_NAME.fullmatch(labels[-1]):
        raise ValueError("an address with a public DNS name (xn-- where it has other letters), not an IP address")
    if port not in rules.ports:
        raise ValueError(f"an address with the port {' or '.join(str(each) for each in sorted(rules.ports))}")
    return Receiver(secure, host, port, target)


def machines_of(receiver: Receiver, rules: ReceiverRules, lookup: Lookup, seconds: float) -> list[IpAddress]:
    """The machines that the receiver's name has at this moment, at most ``MAX_TRIED``, looked up within ``seconds``.

    Raises ``OSError`` where there are none, ``NotPublic`` where one of them may not be reached.
    """
    if rules.loopback and receiver.host in _LOOPBACK:
        return [ipaddress.IPv4Address("127.0.0.1")]
    machines = [ipaddress.ip_address(each) for each in lookup(receiver.host, seconds)]
    if not machines:
        raise OSError("the name has no address")
    if not all(map(is_public, machines)):
        raise NotPublic
    return list(dict.fromkeys(machines))[:MAX_TRIED]


def is_public(machine: IpAddress) -> bool:
    """Whether this is an address of one machine on the public internet.

    An IPv6 address that only carries an IPv4 address counts as that one where a network translates it (NAT64), and is
    refused where a tunnel would (6to4, Teredo), or where it is another way to write one (IPv4-mapped).
    """
    if isinstance(machine, ipaddress.IPv6Address):
        if machine in _NAT64:
            return is_public(ipaddress.IPv4Address(int(machine) & 0xFFFF_FFFF))
        if machine not in _GLOBAL_V6:
            return False
    if any(machine in network for network in _SPECIAL if network.version == machine.version):
        return False
    return machine.is_global and not machine.is_multicast and not machine.is_reserved
