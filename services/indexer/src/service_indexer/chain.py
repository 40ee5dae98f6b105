"""web3 as the indexer reads the chain: blocks and logs as our own types, and each endpoint queried on its own.

What an endpoint answers passes our own strict parsers, not web3's formatters, which accept more and read an eighth as
many logs a second. An endpoint that answers nothing usable is passed over and queried last for a while, and one whose
answer contradicts a header is counted, too; ``ChainUnavailable`` is raised where that leaves none.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import Final, TypeVar, cast

from bounty_protocol.chain.blocks import Header, parse_header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log, parse_log
from bounty_protocol.chain.rpc import LIMIT_WAITS, AnswerTooLarge, Call, ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.types import Address, BlockNumber, Bytes32
from service_common.log import get_logger
from service_common.web3_provider import make_web3
from web3 import Web3
from web3.method import Method
from web3.module import Module
from web3.types import RPCEndpoint

from service_indexer.contradiction import Contradiction
from service_indexer.headers import parse_proven_header

log = get_logger(__name__)

T = TypeVar("T")
_NO_METHOD: Final = frozenset({-32601, -32004})
WITHOUT_METHOD_SECONDS: Final = 600.0
"""How long an endpoint without a method that proves is not queried for it."""
LEAST_BATCH: Final = 2
"""Calls that are sent together whatever an endpoint takes: its tip and its newest final block are of one moment."""
LONGER_AFTER: Final = 32
"""Requests in a row that are answered before twice as many calls are sent in one again."""
LATE_SECONDS: Final = 0.5
"""How long endpoints that are queried side by side are waited for once those that answered suffice."""
Tag = str
"""``latest``, ``finalized`` or a number in hexadecimal digits."""


def _unchanged(_method: str) -> None:
    """Our methods change neither parameters nor ``null``."""


def _parsed_by(parse: Callable[[object], T]) -> Callable[[str, Module], Callable[[object], T]]:
    return lambda _method, _module: parse


def _read(method: str) -> Method[Callable[..., object]]:
    """A method whose answer is parsed by its caller."""
    return Method(
        RPCEndpoint(method),
        request_formatters=_unchanged,
        result_formatters=_parsed_by(lambda answer: answer),
        null_result_formatters=_unchanged,
    )


def parse_logs(answer: object) -> list[Log]:
    """Logs in order; raises ``ChainUnavailable`` for anything else. The list is empty afterwards: both forms of as many
    logs as a block has take more memory than a worker needs for anything else."""
    if not isinstance(answer, list):
        raise ChainUnavailable("an RPC endpoint answered no list of logs")
    answer.reverse()
    logs = [parse_log(answer.pop()) for _ in range(len(answer))]
    places = [(entry.block_number, entry.log_index) for entry in logs]
    if places != sorted(set(places)):
        raise Contradiction("an RPC endpoint answered logs out of order")
    return logs


class _MostCalls:
    """How many calls an endpoint takes in one request, as far as it is known."""

    def __init__(self) -> None:
        self.calls: int | None = None
        self._answered = 0

    def halve(self, refused: int) -> None:
        """So many were refused."""
        self.calls, self._answered = max(LEAST_BATCH, refused // 2), 0

    def note(self, answered: int) -> None:
        """So many were answered."""
        if self.calls is not None and answered == self.calls:
            self._answered += 1
            if self._answered >= LONGER_AFTER:
                self.calls, self._answered = 2 * self.calls, 0


class ChainModule(Module):
    """The indexer's queries, as a module of web3."""

    _block = _read("eth_getBlockByNumber")
    _logs = _read("eth_getLogs")
    _proof = _read("eth_getProof")
    _receipts = _read("eth_getBlockReceipts")

    def __init__(self, w3: Web3, parse: Callable[[object], Header]) -> None:
        super().__init__(w3)
        self._parse = parse
        self._missing = dict[str, float]()
        self._most = dict[str, _MostCalls]()

    def header(self, tag: Tag) -> Header:
        """One block's header."""
        return self._parse(self._block(tag, False))

    def headers(self, tags: Collection[Tag]) -> list[Header]:
        """Several, in one request where the endpoint takes as many."""
        return list(self.each_header(tags))

    def each_header(self, tags: Collection[Tag]) -> Iterator[Header]:
        """The same one by one: whoever stops at an error has those that came before it."""
        answers = self._together("eth_getBlockByNumber", lambda tag: self._block(tag, False), list(tags))
        for tag, answer in zip(tags, answers, strict=True):
            if answer is None:
                raise ChainUnavailable(f"an RPC endpoint has no block {tag if tag.isalpha() else int(tag, 16)}")
            yield self._parse(answer)

    def logs(self, place: Mapping[str, str]) -> list[Log]:
        """The logs that a filter names."""
        return parse_logs(self._logs(place))

    def proof(self, account: Address, number: BlockNumber) -> object:
        """The answer of ``eth_getProof`` for an account in a block; None where the endpoint proves none."""
        return self._optional("eth_getProof", lambda: self._proof(account, [], hex(number)))

    def receipts(self, blocks: Sequence[Bytes32]) -> list[object] | None:
        """``eth_getBlockReceipts`` of each block, as ``headers``; None where the endpoint shows none."""
        method = "eth_getBlockReceipts"
        return self._optional(method, lambda: list(self._together(method, lambda block: self._receipts(block), blocks)))  # noqa: PLW0108  # as _answered says

    def _together(self, method: str, call: Callable[[T], object], asked: Sequence[T]) -> Iterator[object]:
        """The answers to a call for each of these, in requests of as many as the endpoint takes.

        Providers limit the calls of a batch, and few say so in a way that can be told from an outage or from a limit of
        requests: where several are not answered and one alone is, half as many are sent from then on, and after a while
        twice as many are tried. Two are always sent together.
        """
        done = 0
        most = self._most.setdefault(method, _MostCalls())
        while done < len(asked):
            part = asked[done:][: most.calls]
            try:
                answers = self._answered(call, part)
            except AnswerTooLarge:  # the caller requests less
                raise
            except (ChainUnavailable, RpcRefused) as error:
                is_limited = isinstance(error, ChainUnavailable) and error.limited and error.refusal is None
                if len(part) <= LEAST_BATCH or is_limited:
                    raise
                self._answered(call, part[:1])  # raises where it is not their number
                most.halve(len(part))
            else:
                most.note(len(part))
                done += len(part)
                yield from answers

    def _answered(self, call: Callable[[T], object], asked: Sequence[T]) -> list[object]:
        """``call`` names the method anew each time: what that is to web3 depends on whether it collects a batch."""
        if len(asked) == 1:
            return [call(asked[0])]
        with self.w3.batch_requests() as batch:
            for one in asked:
                batch.add(call(one))
            return cast("list[object]", batch.execute())

    def _optional(self, method: str, ask: Callable[[], T]) -> T | None:
        """None where the endpoint refuses; one that does not have the method is not queried for it for a while."""
        if self._missing.get(method, 0.0) > time.monotonic():
            return None
        try:
            return ask()
        except RpcRefused as refusal:
            if refusal.code in _NO_METHOD:
                self._missing[method] = time.monotonic() + WITHOUT_METHOD_SECONDS
            return None
        except ChainUnavailable as error:
            # What reads as a limit of requests and outlasts every wait may be one of the plan.
            if error.refusal is None:
                raise
            return None


class ChainReader:
    """The chain behind several endpoints, each queried on its own. ``proven``: a header counts only where its hash is
    that of its fields."""

    def __init__(self, rpc: Rpc, *, proven: bool = True) -> None:
        self.rpc = rpc
        parse = parse_proven_header if proven else parse_header
        self._each: Final = {
            endpoint.place: ChainModule(make_web3(partial(self._send, endpoint)), parse)
            for endpoint in rpc.endpoints.all
        }
        self._sent = dict[int, Future[object]]()
        """The query that each endpoint was sent last beside others."""

    def answers(self, question: Callable[[ChainModule], T]) -> Iterator[tuple[Endpoint, T]]:
        """The answers of one endpoint after the other to the same query; last of those that have not answered yet what
        they were sent beside others."""
        failure, first = None, True
        is_late = self._is_silent(self.rpc.endpoints.preferred)  # and goes on to be preferred, unless it fails
        for endpoint in sorted(self.rpc.endpoints.in_order(), key=self._is_silent):
            answer = self._ask(endpoint, question)
            if isinstance(answer, ChainUnavailable):
                failure = answer
                continue
            self.rpc.endpoints.succeeded(endpoint, prefer=first and not is_late)
            first = False
            yield endpoint, answer
        if first and failure is not None:
            raise failure

    def answers_of_all(
        self,
        question: Callable[[ChainModule], T],
        endpoints: Collection[Endpoint] | None = None,
        suffices: Callable[[Sequence[T]], bool] = lambda _: False,
    ) -> list[tuple[Endpoint, T]]:
        """The answers of every endpoint, or of these, to the same query, sent side by side.

        Once what came ``suffices``, the others are waited for ``LATE_SECONDS`` more, and only those of them that
        answered the query before. One that has not answered that yet is not queried again until it has, or its time is
        up. So an endpoint that hangs holds up once whoever has enough without it; a program that ends waits for it.
        """
        asked = [
            each
            for each in (self.rpc.endpoints.in_order() if endpoints is None else endpoints)
            if not self._is_silent(each)
        ]
        prompt = {each.place for each in asked if each.place not in self._sent or _has_answer(self._sent[each.place])}
        pool = ThreadPoolExecutor(max(1, len(asked)))
        # Each in a copy of the caller's context: what is logged there belongs to the caller.
        sent = {each.place: pool.submit(copy_context().run, self._ask_beside, each, question) for each in asked}
        pool.shutdown(wait=False)
        for place, future in sent.items():
            self._sent[place] = cast("Future[object]", future)
        ends: float | None = None
        while True:
            missing = {place: future for place, future in sent.items() if not future.done()}
            heard = [(each, sent[each.place].result()) for each in asked if each.place not in missing]
            answers = [(each, answer) for each, answer in heard if not isinstance(answer, ChainUnavailable)]
            if suffices([answer for _, answer in answers]):
                missing = {place: future for place, future in missing.items() if place in prompt}
                ends = ends or time.monotonic() + LATE_SECONDS
            if not missing or (ends is not None and time.monotonic() >= ends):
                return answers
            wait(missing.values(), None if ends is None else max(0.0, ends - time.monotonic()), FIRST_COMPLETED)

    def _is_silent(self, endpoint: Endpoint) -> bool:
        """Whether it has not answered yet what it was sent beside others."""
        return endpoint.place in self._sent and not self._sent[endpoint.place].done()

    def _ask_beside(self, endpoint: Endpoint, question: Callable[[ChainModule], T]) -> T | ChainUnavailable:
        answer = self._ask(endpoint, question)
        if not isinstance(answer, ChainUnavailable):
            self.rpc.endpoints.answered(endpoint)
        return answer

    def _ask(self, endpoint: Endpoint, question: Callable[[ChainModule], T]) -> T | ChainUnavailable:
        try:
            return question(self._each[endpoint.place])
        except Contradiction as error:
            self.contradicted(endpoint, str(error))
            return error.bare()
        except ChainUnavailable as error:
            self.rpc.endpoints.failed(endpoint)
            return error.bare()

    def _send(self, endpoint: Endpoint, calls: Sequence[Call]) -> Sequence[object]:
        """One request. The only endpoint gets it again where it was queried too often: a step of the copy takes many,
        and one that began anew with each refusal would never come to its end."""
        for pause in LIMIT_WAITS if len(self.rpc.endpoints.all) == 1 else ():
            try:
                return self.rpc.ask(endpoint, calls)
            except ChainUnavailable as error:
                wished = error.retry_after or pause
                if not error.limited or wished > LIMIT_WAITS[-1]:
                    raise
            time.sleep(wished)
        return self.rpc.ask(endpoint, calls)

    def contradicted(self, endpoint: Endpoint, why: str) -> None:
        """Report an answer that is not true of the chain."""
        log.warning("an RPC endpoint contradicts the chain", endpoint=endpoint.place, reason=why)
        self.rpc.endpoints.contradicted(endpoint)


def _has_answer(future: Future[object]) -> bool:
    """Whether a query that is done was answered."""
    return future.exception() is None and not isinstance(future.result(), ChainUnavailable)
