"""web3.py over our own JSON-RPC client: the chain library of the settler and of what the operator runs.

It behaves as ``chain.rpc`` does, with the same order of endpoints, bounds and exceptions: through every method of
web3 a refusal reaches the caller as ``RpcRefused`` and silence as ``ChainUnavailable``, and web3 knows no endpoint's
address. No name is resolved, and no address that a contract names is fetched, since such a revert is a refusal like any
other. The recursion limit, which a dependency raises, is put back, so nobody imports web3 or eth_account before this.
Whatever answers a request, and the client, go without it: it takes half a second and 50 MB.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_limit = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402  # the limit is read before and restored after these imports
from eth_account.signers.local import LocalAccount  # noqa: E402
from web3 import Web3  # noqa: E402
from web3.exceptions import Web3Exception  # noqa: E402
from web3.providers.base import JSONBaseProvider  # noqa: E402
from web3.types import RPCEndpoint, RPCResponse  # noqa: E402

sys.setrecursionlimit(_limit)

from bounty_protocol.chain.rpc import Call, ChainUnavailable, RpcRefused  # noqa: E402

__all__ = [
    "Account", "LocalAccount", "Web3", "Web3Provider", "make_web3", "usable_answers",
]  # fmt: skip

Ask = Callable[[Sequence[Call]], Sequence[object]]
"""Sends calls in one request; each answer is its ``result`` or the ``RpcRefused`` it met: ``Rpc.batch``."""


class Web3Provider(JSONBaseProvider):
    """Passes web3's requests on."""

    def __init__(self, ask: Ask) -> None:
        super().__init__()
        self._ask = ask

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        return self.make_batch_request([(method, params)])[0]

    def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        answers = self._ask([(method, list(params)) for method, params in requests])
        for answer in answers:
            if isinstance(answer, RpcRefused):
                raise answer
        return [{"jsonrpc": "2.0", "id": place, "result": answer} for place, answer in enumerate(answers)]


def make_web3(ask: Ask) -> Web3:
    """Make a web3 over the endpoints behind ``ask``, without its middleware, which resolves names and
    repeats checks.
    """
    return Web3(Web3Provider(ask), middleware=())


@contextmanager
def usable_answers() -> Iterator[None]:
    """Raise ``ChainUnavailable`` if web3 cannot read what an endpoint answered."""
    try:
        yield
    except (Web3Exception, ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise ChainUnavailable("an RPC endpoint answered something that cannot be read") from error
