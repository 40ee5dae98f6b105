"""What several RPC endpoints say about the chain's tip, compared.

Promises: a block is final only if ``quorum`` endpoints call it or a later block final and show the same hash at its
number; an endpoint that shows another hash stands against the quorum and is asked last for a while; one that lags is
told from one that does not. Where too few agree there is no answer: the copy goes on without calling anything new
final, and what needs finality waits.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from service_common.chain.blocks import Header, header_at, parse_header
from service_common.chain.endpoints import Endpoint
from service_common.chain.json_rpc import Call, ChainUnavailable, JsonRpc, RpcRefused
from service_common.log import get_logger
from service_common.types import BlockNumber

TIP_CALLS: Final[tuple[Call, ...]] = (
    ("eth_getBlockByNumber", ["latest", False]),
    ("eth_getBlockByNumber", ["finalized", False]),
)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """One endpoint's tip."""

    endpoint: Endpoint
    latest: Header
    finalized_number: BlockNumber


def first_tip(rpc: JsonRpc, depth: int | None) -> tuple[Header, Header]:
    """The newest block and the newest final one, of the first endpoint that shows both.

    ``depth`` is for a chain without a ``finalized`` tag: so many blocks behind the newest one is final.
    """
    failure: ChainUnavailable | None = None
    for endpoint, answers in rpc.answers(_calls(depth)):
        try:
            latest, finalized = _parsed(answers)
        except ChainUnavailable as error:
            failure = error
            rpc.endpoints.failed(endpoint)
            continue
        return latest, finalized or header_at(rpc, BlockNumber(max(0, latest.number - (depth or 0))))
    raise failure or ChainUnavailable("no RPC endpoint shows the chain's tip")


def survey(rpc: JsonRpc, depth: int | None) -> list[View]:
    """Every endpoint's tip; how far each is behind the furthest is noted."""
    views = []
    for endpoint, answers in rpc.answers_of_all(_calls(depth)):
        try:
            latest, finalized = _parsed(answers)
        except ChainUnavailable:
            rpc.endpoints.failed(endpoint)
            continue
        number = finalized.number if finalized else BlockNumber(max(0, latest.number - (depth or 0)))
        views.append(View(endpoint, latest, number))
    newest = max((view.latest.number for view in views), default=BlockNumber(0))
    for view in views:
        view.endpoint.lag = newest - view.latest.number
    return views


def _calls(depth: int | None) -> tuple[Call, ...]:
    return TIP_CALLS if depth is None else TIP_CALLS[:1]


def _parsed(answers: list[object]) -> tuple[Header, Header | None]:
    """The newest block, and the newest final one where it was asked for."""
    for answer in answers:
        if isinstance(answer, RpcRefused):
            raise ChainUnavailable("an RPC endpoint refused to show its tip") from answer
    latest, *tagged = map(parse_header, answers)
    if not tagged:
        return latest, None
    if tagged[0].number > latest.number:
        raise ChainUnavailable("an RPC endpoint calls a block final that it has not produced yet")
    return latest, tagged[0]


def agree_on_finalized(rpc: JsonRpc, views: list[View], quorum: int) -> Header | None:
    """The newest block that ``quorum`` endpoints call final, or None where too few agree."""
    if len(views) < quorum:
        log.warning("too few RPC endpoints answer for a quorum", answering=len(views), quorum=quorum)
        return None
    number = sorted((view.finalized_number for view in views), reverse=True)[quorum - 1]
    entitled = {view.endpoint.place for view in views if view.finalized_number >= number}
    shown = _headers_at(rpc, number, entitled)
    counted = Counter(header.hash for _, header in shown).most_common(1)
    if not counted or counted[0][1] < quorum:
        log.error("RPC endpoints disagree about a final block", block=number, answering=len(shown), quorum=quorum)
        return None
    leading = counted[0][0]
    for endpoint, header in shown:
        if header.hash != leading:
            log.error("an RPC endpoint shows another final block", endpoint=endpoint.place, block=number)
            rpc.endpoints.contradicted(endpoint)
    return next(header for _, header in shown if header.hash == leading)


def _headers_at(rpc: JsonRpc, number: BlockNumber, entitled: set[int]) -> list[tuple[Endpoint, Header]]:
    shown = []
    for endpoint, (answer,) in rpc.answers_of_all([("eth_getBlockByNumber", [hex(number), False])]):
        if endpoint.place not in entitled or isinstance(answer, RpcRefused):
            continue
        try:
            header = parse_header(answer)
        except ChainUnavailable:
            continue
        if header.number == number:
            shown.append((endpoint, header))
    return shown
