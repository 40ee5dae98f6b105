"""Which deployments are served beside this one: the successor that takes new bounties, and the one before it."""

from dataclasses import dataclass

from bounty_protocol.types import Address, parse_address
from bounty_protocol.wire.deployment import NeighbourDeployment

from service_common.config import EnvironmentReader
from service_common.web.settings import parse_public_host

_FORM = "a Hub and an origin, such as 0x… https://bounties.example"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """None where the operator names none."""

    successor: NeighbourDeployment | None = None
    predecessor: NeighbourDeployment | None = None


def read_neighbours(reader: EnvironmentReader, hub_address: Address, public_host: str) -> Neighbours:
    """``SERVICE_SUCCESSOR`` and ``SERVICE_PREDECESSOR``; one that is this deployment, or both at once, is a mistake."""

    def parse(text: str) -> NeighbourDeployment:
        named = parse_neighbour(text)
        if named.hub_address == hub_address:
            raise ValueError("another Hub than SERVICE_HUB_ADDRESS")
        if named.url.partition("://")[2] == public_host:
            raise ValueError("another host than SERVICE_PUBLIC_HOST, which signatures name")
        return named

    successor = reader.optional(
        "SERVICE_SUCCESSOR",
        parse,
        None,
        "the deployment that takes new bounties in place of this one: its Hub and where it is served, such as "
        "`0x… https://bounties.example` ([successor-hub.md](successor-hub.md))",
        shown="none",
    )

    def parse_other(text: str) -> NeighbourDeployment:
        named = parse(text)
        if successor is not None and successor.hub_address == named.hub_address:
            raise ValueError("another Hub than that of SERVICE_SUCCESSOR")
        return named

    predecessor = reader.optional(
        "SERVICE_PREDECESSOR",
        parse_other,
        None,
        "the deployment whose bounties are from before this one, in the same form",
        shown="none",
    )
    return Neighbours(successor, predecessor)


def parse_neighbour(text: str) -> NeighbourDeployment:
    """``HUB ORIGIN``; raises ``ValueError`` for anything else."""
    try:
        hub, url = text.split()
        scheme, separator, host = url.partition("://")
        if scheme not in {"http", "https"} or not separator:
            raise ValueError
        return NeighbourDeployment(parse_address(hub), f"{scheme}://{parse_public_host(host)}")
    except ValueError:
        raise ValueError(_FORM) from None
