"""A source that lies in one way at a time, over the real one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import Call, Rpc, RpcRefused
from bounty_protocol.types import BlockNumber
from service_indexer.proving import Proofs
from service_indexer.source import RangeLogs, RpcSource, Tip

from tests.world import World


@dataclass
class LyingSource:
    """Passes everything through, except what a test replaces."""

    real: RpcSource
    change_tip: Callable[[Tip], Tip] = lambda tip: tip
    change_headers: Callable[[list[Header]], list[Header]] = lambda headers: headers
    change_range: Callable[[list[Log]], list[Log]] = lambda logs: logs
    asked: list[tuple[int, int]] = field(default_factory=list)

    def tip(self) -> Tip:
        return self.change_tip(self.real.tip())

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        return self.change_headers(self.real.headers(first, last))

    def headers_from(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        return self.change_headers(self.real.headers_from(first, last))

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        self.asked.append((first, last))
        answer = self.real.logs_of_range(first, last)
        return RangeLogs(self.change_range(answer.logs), answer.covered)

    def logs_of_block(self, header: Header) -> list[Log]:
        return self.real.logs_of_block(header)

    @property
    def proofs(self) -> Proofs | None:
        return self.real.proofs


class LimitedRpc(Rpc):
    """A client whose endpoint refuses log ranges over ``limit`` blocks."""

    def __init__(self, world: World, limit: int) -> None:
        super().__init__([world.node.url])
        self._limit = limit
        self.spans: list[int] = []

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        answers = super().ask(endpoint, calls)
        return [self._limited(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def _limited(self, call: Call, answer: object) -> object:
        method, params = call
        if method == "eth_getLogs" and isinstance(params[0], dict) and "fromBlock" in params[0]:
            span = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            self.spans.append(span)
            if span > self._limit:
                return RpcRefused(-32005, "query returned more than 10000 results")
        return answer
