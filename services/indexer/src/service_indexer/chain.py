"""web3 as the indexer reads the chain: blocks and logs as our own types, and each endpoint queried on its own.

What an endpoint answers passes our own strict parsers, not web3's formatters, which accept more and read an eighth as
many logs a second. An endpoint that answers nothing usable is passed over and queried last for a while;
``ChainUnavailable`` is raised where that leaves none.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, TypeVar, cast

from service_common.chain.blocks import Header, parse_header
from service_common.chain.endpoints import Endpoint
from service_common.chain.events import Log, parse_log
from service_common.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused
from service_common.types import BlockNumber
from service_common.web3_provider import make_web3
from web3.method import Method
from web3.module import Module
from web3.types import RPCEndpoint

T = TypeVar("T")
Tag = str
"""``latest``, ``finalized`` or a number in hexadecimal digits."""


def _unchanged(_method: str) -> None:
    """What our methods do to parameters and to ``null``: nothing."""


def _parsed_by(parse: Callable[[object], T]) -> Callable[[str, Module], Callable[[object], T]]:
    return lambda _method, _module: parse


def parse_logs(answer: object) -> list[Log]:
    """Logs in order; raises ``ChainUnavailable`` for anything else."""
    if not isinstance(answer, list):
        raise ChainUnavailable("an RPC endpoint answered no list of logs")
    logs = [parse_log(item) for item in answer]
    places = [(entry.block_number, entry.log_index) for entry in logs]
    if places != sorted(set(places)):
        raise ChainUnavailable("an RPC endpoint answered logs out of order")
    return logs


class ChainModule(Module):
    """The indexer's queries, as a module of web3."""

    _header: Method[Callable[[Tag, bool], Header]] = Method(
        RPCEndpoint("eth_getBlockByNumber"),
        request_formatters=_unchanged,
        result_formatters=_parsed_by(parse_header),
        null_result_formatters=_unchanged,
    )
    _logs: Method[Callable[[Mapping[str, str]], list[Log]]] = Method(
        RPCEndpoint("eth_getLogs"),
        request_formatters=_unchanged,
        result_formatters=_parsed_by(parse_logs),
        null_result_formatters=_unchanged,
    )

    def header(self, tag: Tag) -> Header:
        """One block's header."""
        return self._header(tag, False)

    def headers(self, tags: Collection[Tag]) -> list[Header]:
        """Several in one request."""
        if len(tags) < 2:
            return [self.header(tag) for tag in tags]
        with self.w3.batch_requests() as batch:
            for tag in tags:
                batch.add(self._header(tag, False))
            return cast("list[Header]", batch.execute())

    def logs(self, place: Mapping[str, str]) -> list[Log]:
        """The logs that a filter names."""
        return self._logs(place)


class ChainReader:
    """The chain behind several endpoints: as one, or each for itself."""

    def __init__(self, rpc: JsonRpc) -> None:
        self.rpc = rpc
        self.any: Final = _module(rpc.batch)
        self._each = {endpoint.place: _module(partial(rpc.ask, endpoint)) for endpoint in rpc.endpoints.all}

    def answers(self, question: Callable[[ChainModule], T]) -> Iterator[tuple[Endpoint, T]]:
        """What one endpoint after the other answers to the same query."""
        failure, first = None, True
        for endpoint in self.rpc.endpoints.in_order():
            answer = self._ask(endpoint, question)
            if isinstance(answer, ChainUnavailable):
                failure = answer
                continue
            self.rpc.endpoints.succeeded(endpoint, prefer=first)
            first = False
            yield endpoint, answer
        if first and failure is not None:
            raise failure

    def answers_of_all(
        self, question: Callable[[ChainModule], T], places: Collection[int] | None = None
    ) -> list[tuple[Endpoint, T]]:
        """What every endpoint, or those of ``places``, answer to the same query, sent side by side."""
        asked = [each for each in self.rpc.endpoints.in_order() if places is None or each.place in places]
        with ThreadPoolExecutor(max(1, len(asked))) as pool:
            # Each in a copy of the caller's context: what is logged and traced there belongs to the caller.
            answers = [pool.submit(copy_context().run, self._ask, endpoint, question) for endpoint in asked]
        heard = [(endpoint, each.result()) for endpoint, each in zip(asked, answers, strict=True)]
        return [(endpoint, answer) for endpoint, answer in heard if not isinstance(answer, ChainUnavailable)]

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        """Headers of all blocks from ``first`` to ``last``, both included, of one endpoint."""
        try:
            return self.any.headers([hex(number) for number in range(first, last + 1)])
        except RpcRefused as refusal:
            raise ChainUnavailable("an RPC endpoint refused to show a block") from refusal

    def _ask(self, endpoint: Endpoint, question: Callable[[ChainModule], T]) -> T | ChainUnavailable:
        try:
            return question(self._each[endpoint.place])
        except ChainUnavailable as error:
            self.rpc.endpoints.failed(endpoint)
            return error.bare()


def _module(ask: Callable[..., list[object]]) -> ChainModule:
    return ChainModule(make_web3(ask))
