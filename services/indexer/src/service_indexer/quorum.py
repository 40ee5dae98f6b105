"""Comparison of several RPC endpoints' answers about the chain's tip.

A block is final only if ``quorum`` endpoints call it or a later block final and show the same header at its number. An
endpoint that shows another one contradicts the quorum and is queried last for a while; one that lags is distinguished
from one that does not. Where too few agree there is no answer: the copy goes on without calling anything new final, and
what needs finality waits.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.types import BlockNumber
from service_common.log import get_logger

from service_indexer.chain import ChainModule, ChainReader

FINAL_LAG_SECONDS: Final = 900
"""What an endpoint calls final is behind the others by up to this only because finality comes in leaps: of some six
minutes on Base, twice that where Ethereum leaves one out."""

N = TypeVar("N", bound=int)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """One endpoint's tip."""

    endpoint: Endpoint
    latest: Header
    finalized_number: BlockNumber
    dated: Header
    """The finalized block; on a chain without a tag for it the newest one, since that depth never stands still."""


def first_tip(chain: ChainReader, depth: int | None) -> tuple[Header, Header]:
    """The newest block and the newest final one, of the first endpoint that shows both.

    ``depth`` is for a chain without a ``finalized`` tag: the blocks behind the newest one that are not final.
    """
    for _, (latest, finalized) in chain.answers(lambda module: _tip(module, depth)):
        if finalized is not None:
            return latest, finalized
        for _, header in chain.answers(partial(_header_at, number=_behind(latest, depth))):
            return latest, header
    raise ChainUnavailable("no RPC endpoint shows the chain's tip")


def survey(chain: ChainReader, depth: int | None, quorum: int) -> list[View]:
    """The tips of the endpoints that do not rest. It is noted how far each is behind the newest block that ``quorum``
    of them have come to, or behind the newest final one where its own stands still."""
    asked = chain.rpc.endpoints.awake(quorum)
    shown = chain.answers_of_all(lambda module: _tip(module, depth), asked, lambda tips: len(tips) >= quorum)
    views = [
        View(endpoint, latest, finalized.number if finalized else _behind(latest, depth), finalized or latest)
        for endpoint, (latest, finalized) in shown
    ]
    if len(views) < quorum:
        return views
    newest, final = newest_shown(views, quorum), newest_final(views, quorum)
    time = _reached((view.dated.time for view in views), quorum)
    for view in views:
        stands_still = time - view.dated.time > FINAL_LAG_SECONDS
        view.endpoint.lag = max(0, newest - view.latest.number, final - view.finalized_number if stands_still else 0)
    return views


def newest_shown(views: list[View], quorum: int) -> BlockNumber:
    """The newest block that ``quorum`` of at least as many endpoints have come to."""
    return _reached((view.latest.number for view in views), quorum)


def newest_final(views: list[View], quorum: int) -> BlockNumber:
    """The newest block that ``quorum`` of at least as many endpoints call final."""
    return _reached((view.finalized_number for view in views), quorum)


def _reached(values: Iterable[N], quorum: int) -> N:
    return sorted(values, reverse=True)[quorum - 1]


def _tip(module: ChainModule, depth: int | None) -> tuple[Header, Header | None]:
    """One endpoint's newest block, and its newest final one where that has a tag."""
    try:
        if depth is not None:
            return module.header("latest"), None
        latest, finalized = module.headers(("latest", "finalized"))
    except RpcRefused as refusal:
        raise ChainUnavailable("an RPC endpoint refused to show its tip") from refusal
    if finalized.number > latest.number:
        raise ChainUnavailable("an RPC endpoint calls a block final that it has not produced yet")
    return latest, finalized


def _behind(latest: Header, depth: int | None) -> BlockNumber:
    return BlockNumber(max(0, latest.number - (depth or 0)))


def agree_on_finalized(chain: ChainReader, views: list[View], quorum: int, known: Header | None) -> Header | None:
    """The newest block that ``quorum`` endpoints call final; ``known``, that of before, where too few agree on a newer
    one."""
    if len(views) < quorum:
        log.warning("too few RPC endpoints answer for a quorum", answering=len(views), quorum=quorum)
        return known
    number = newest_final(views, quorum)
    if known is not None and number <= known.number:
        return known
    entitled = [view.endpoint for view in views if view.finalized_number >= number]
    shown = chain.answers_of_all(
        lambda module: _header_at(module, number), entitled, lambda headers: _most(headers)[1] >= quorum
    )
    leading, votes = _most([header for _, header in shown])
    if votes < quorum:
        log.error("RPC endpoints disagree about a final block", block=number, answering=len(shown), quorum=quorum)
        return known
    for endpoint, header in shown:
        if header != leading:
            log.error("an RPC endpoint shows another final block", endpoint=endpoint.place, block=number)
            chain.rpc.endpoints.contradicted(endpoint)
    return leading


def _most(headers: Sequence[Header]) -> tuple[Header | None, int]:
    """The header that most show, and how many."""
    return next(iter(Counter(headers).most_common(1)), (None, 0))


def _header_at(module: ChainModule, number: BlockNumber) -> Header:
    try:
        header = module.header(hex(number))
    except RpcRefused as refusal:
        raise ChainUnavailable("an RPC endpoint refused to show a block") from refusal
    if header.number != number:
        raise ChainUnavailable("an RPC endpoint answered another block than the requested one")
    return header
