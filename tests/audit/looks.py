"""An auditor of a hand-made node, with a clock that only waiting moves."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from service_audit.http import HttpReply, Requests, Transport
from service_audit.look import AuditOptions, Auditor

from tests.audit.logs import HUB, Written
from tests.audit.node import NODE, HandMadeNode
from tests.clocks import HandClock

API: Final = "http://api"
TX: Final = "0x" + "a" * 64
HISTORY: Final = Written().deployed().created().submitted().judged(0).judged(1, tx_hash=TX).ended(tx_hash=TX)


def auditor(transport: Transport, clock: HandClock | None = None, **options: Any) -> Auditor:
    """An auditor of what answers so, of this chain alone unless an API is named."""
    clock = clock or HandClock()
    requests = Requests(transport, clock.monotonic, clock.sleep)
    return Auditor(AuditOptions(NODE, HUB, **options), requests)


def with_api(node: HandMadeNode, answer: Callable[[str], HttpReply]) -> Transport:
    """A transport of a node, and of an API that answers to paths so."""

    def transport(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        return node(method, url, body, headers) if url == NODE else answer(url.removeprefix(API))

    return transport
