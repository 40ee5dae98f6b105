"""The RPC endpoints of the service: each may stall, refuse or lie while the others go on."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from bounty_protocol.chain.rpc import Rpc, block_number

from tests.endpoints import Endpoint, endpoint_before
from tools.market.drawn import ENDPOINTS

_BEHIND: Final = 60
_MOST_BYTES: Final = 1 << 26


@dataclass
class ServiceEndpoints:
    """Made when the node's address is known; closed by ``until``."""

    until: ExitStack
    made: list[Endpoint] = field(default_factory=list)
    _nodes: list[Rpc] = field(default_factory=list)

    def before(self, node: str) -> Sequence[str]:
        """Return the addresses of honest endpoints before a node."""
        self._nodes = [Rpc([node], max_answer_bytes=_MOST_BYTES, own=True)]
        self.made = [self.until.enter_context(endpoint_before(node)) for _ in range(ENDPOINTS)]
        return [each.url for each in self.made]

    def honest(self) -> None:
        """All pass on what the node says."""
        for each in self.made:
            each.hang_seconds, each.raw, each.change = 0.0, None, lambda _method, _params, result: result

    def lie(self, endpoint: Endpoint, how: str) -> None:
        """Have one endpoint say something else, in the way of a name of ``drawn.LIES``."""
        (node,) = self._nodes

        def change(method: str, params: list[Any], result: Any) -> Any:
            if method == "eth_getLogs" and how == "no-logs":
                return []
            if method == "eth_getLogs" and how == "other-amount":
                return [{**log, "data": log["data"][:-2] + "07"} if len(log["data"]) > 66 else log for log in result]
            if method == "eth_getBlockByNumber" and isinstance(result, dict):
                if how == "other-hash":
                    return {**result, "hash": "0x" + "5a" * 32}
                if how == "finalized-early" and params[0] == "finalized":
                    return node.call(method, "latest", params[1])
                if how == "behind" and params[0] == "latest":
                    return node.call(method, hex(max(1, block_number(result["number"]) - _BEHIND)), params[1])
            return result

        endpoint.change = change
