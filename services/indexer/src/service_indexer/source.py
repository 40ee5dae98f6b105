"""The indexer's reads from the chain, and its checks of the answers.

Near the tip, logs are requested by block hash and only where the header's bloom filter admits one. Behind finality,
logs come by range, as large as the endpoint allows: a refused range is requested in smaller parts. A header counts only
where its hash is that of its fields, and an answer of the wrong block, address or order is never written; ``proofs``
shows that no log is missing or false. That a header is the chain's is the endpoints' word: with a ``quorum`` above one,
a block counts as final, and headers and logs as true and whole, only once that many answer the same.
``ChainUnavailable`` is raised where no endpoint answers well.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import TOLERATED_LAG, Endpoint
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import AnswerTooLarge, ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, UnixSeconds, to_bytes

from service_indexer.chain import ChainModule, ChainReader
from service_indexer.config import IndexerConfig
from service_indexer.contradiction import Contradiction
from service_indexer.proving import Proofs
from service_indexer.quorum import agree_on_finalized, first_tip, newest_shown, survey

MAX_SPAN: Final = 2_000
FIRST_SPAN: Final = 4
"""Blocks requested at once; halved when an endpoint refuses or the answer is large, doubled otherwise."""
MAX_LOGS: Final = 2_000
"""Logs of one step of the copy: bounds memory and the length of a transaction."""
COMPARE_SECONDS: Final = 2.0
"""How often several endpoints are held against each other."""

T = TypeVar("T")


class TooManyLogs(Exception):
    """An endpoint refused a range, or answered more than is read: too many results. A smaller one may do."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest block and the newest finalized one, requested at once. No finalized one: the quorum is not reached."""

    latest: Header
    finalized: Header | None


@dataclass(frozen=True, slots=True)
class SeenBlock:
    """The time of the newest block that endpoints showed, and when one answered last, by the monotonic clock."""

    time: UnixSeconds
    answered_at: float


@dataclass(frozen=True, slots=True)
class RangeLogs:
    """Logs of a range, up to and including block ``covered``."""

    logs: list[Log]
    covered: BlockNumber


class Source(Protocol):
    """The chain as the follower needs it."""

    def tip(self) -> Tip:
        """Where the chain is."""

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        """Headers of a range, both ends included."""

    def headers_from(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        """Headers of a range, or of its beginning where the rest is not shown; at least one."""

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        """The Hub's logs of a finalized range, or of its beginning when there are many, or the rest is not shown."""

    def logs_of_block(self, header: Header) -> list[Log]:
        """The Hub's logs of exactly this block."""

    @property
    def proofs(self) -> Proofs | None:
        """The proof that no log is missing or false; None where nothing does."""


class RpcSource:
    """A Hub on a chain reached over JSON-RPC. ``finality_depth`` is for a chain without a ``finalized`` tag; a source
    that is not ``proven`` takes headers and logs as they come, and has no proofs."""

    def __init__(
        self, rpc: Rpc, hub: Address, quorum: int = 1, finality_depth: int | None = None, *, proven: bool = True
    ) -> None:
        self._chain = ChainReader(rpc, proven=proven)
        self.proofs = Proofs(self._chain, hub) if proven else None
        self._hub, self._quorum, self._depth = hub, quorum, finality_depth
        self._span = FIRST_SPAN
        self._agreed: Header | None = None
        self._compared_at = float("-inf")
        self._shown: BlockNumber | None = None
        """The newest block that a quorum of several has come to."""
        self.newest: SeenBlock | None = None

    def tip(self) -> Tip:
        latest, finalized = first_tip(self._chain, self._depth)
        if self._quorum == 1:
            self._agreed = finalized
        if len(self._chain.rpc.endpoints.all) > 1:
            self._compare(latest)
        self.newest = SeenBlock(max(latest.time, self.newest.time if self.newest else latest.time), time.monotonic())
        return Tip(latest, self._agreed)

    def _compare(self, latest: Header) -> None:
        """Hold the endpoints against each other now and then, and at once where this newest block is far ahead of what
        a quorum showed; raises ``ChainUnavailable`` where it still is."""
        if not self._is_far_ahead(latest) and time.monotonic() - self._compared_at < COMPARE_SECONDS:
            return
        self._compared_at = time.monotonic()
        views = survey(self._chain, self._depth, self._quorum)
        if self._quorum == 1:
            return
        self._agreed = agree_on_finalized(self._chain, views, self._quorum, self._agreed)
        self._shown = newest_shown(views, self._quorum) if len(views) >= self._quorum else None
        if self._is_far_ahead(latest):
            place = self._chain.rpc.endpoints.preferred.place
            raise ChainUnavailable(f"block {latest.number} of RPC endpoint {place} is far ahead of what a quorum shows")

    def _is_far_ahead(self, latest: Header) -> bool:
        return self._shown is not None and latest.number > self._shown + TOLERATED_LAG

    def distrust(self) -> None:
        """Report that the last answers did not fit together: query another endpoint first, where there is one."""
        self._chain.rpc.distrust()

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        shown = self._chain.answers(lambda chain: list(_each_header(chain, first, last)))
        return self._first_agreed("headers", shown, blame=self._is_final(last))

    def headers_from(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        shown = list[list[Header]]()

        def ask(chain: ChainModule) -> list[Header]:
            headers = list[Header]()
            shown.append(headers)
            try:
                for header in _each_header(chain, first, last):
                    headers.append(header)  # what came before an error counts
            except Contradiction:
                headers.clear()
                raise
            return headers

        try:
            return self._first_agreed("headers", self._chain.answers(ask), blame=self._is_final(last))
        except ChainUnavailable:
            if beginning := _common_beginning(shown, self._quorum):
                return beginning
            raise

    def header(self, number: BlockNumber) -> Header:
        """One block's header."""
        return self.headers(number, number)[0]

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        part = self._part_of_range(first, last)
        logs = part.logs
        while part.covered < last and len(logs) < MAX_LOGS:
            try:
                part = self._part_of_range(BlockNumber(part.covered + 1), last)
            except ChainUnavailable:
                break
            logs += part.logs
        return RangeLogs(logs, part.covered)

    def _part_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        """As much of a range as one query lists."""
        while True:
            end = BlockNumber(min(last, first + self._span - 1))
            try:
                part = self._logs({"fromBlock": hex(first), "toBlock": hex(end)}, range(first, end + 1))
            except TooManyLogs:
                if end == first:
                    raise ChainUnavailable("an RPC endpoint refused to list the logs of one block") from None
                self._span = (end - first + 1) // 2
                continue
            # Providers limit results, and so does our memory: dense blocks are requested in short ranges.
            self._span = max(1, self._span // 2) if len(part) > MAX_LOGS // 2 else min(MAX_SPAN, self._span * 2)
            return RangeLogs(part, end)

    def logs_of_block(self, header: Header) -> list[Log]:
        if not bloom_admits(header.logs_bloom, to_bytes(self._hub)):
            return []
        try:
            return self._logs({"blockHash": header.hash}, range(header.number, header.number + 1))
        except TooManyLogs as refusal:
            raise ChainUnavailable("an RPC endpoint refused to list the logs of a block") from refusal

    def _is_final(self, last: BlockNumber) -> bool:
        """Whether a range up to this block is final: honest endpoints may differ about a block that is not."""
        return self._agreed is not None and last <= self._agreed.number

    def _logs(self, place: dict[str, str], blocks: range) -> list[Log]:
        """The answer on which ``quorum`` endpoints agree; one that refuses, or answers more than is read, has no vote.
        ``TooManyLogs`` with a quorum of one that refuses, and where too few others list a range."""
        refusals = list[Exception]()
        votes = Votes[list[Log]](self._quorum)
        try:
            logs = self._first_agreed("logs", self._listed(place, blocks, refusals), votes, blame=True)
        except ChainUnavailable:
            if refusals and "toBlock" in place:
                raise TooManyLogs from refusals[-1]
            raise
        if self.proofs is not None:
            others = [answer for _, answer in votes.cast if answer != logs]
            disputed = {entry.block_number for answer in others for entry in answer if entry not in logs}
            self.proofs.shown(blocks, [endpoint for endpoint, answer in votes.cast if answer == logs], disputed)
        return logs

    def _listed(
        self, place: dict[str, str], blocks: range, refusals: list[Exception]
    ) -> Iterator[tuple[Endpoint, list[Log]]]:
        def ask(chain: ChainModule) -> list[Log] | RpcRefused:
            try:
                return self._ask_for_logs(chain, place, blocks)
            except ChainUnavailable as error:  # passed over, as every endpoint that gives no usable answer
                # What reads as a limit of requests and outlasts every wait may be one of the range.
                if isinstance(error, AnswerTooLarge) or error.refusal is not None:
                    refusals.append(error.bare())
                raise

        for endpoint, answer in self._chain.answers(ask):
            if not isinstance(answer, RpcRefused):
                yield endpoint, answer
                continue
            if self._quorum == 1:
                raise TooManyLogs from answer
            refusals.append(answer)

    def _ask_for_logs(self, chain: ChainModule, place: dict[str, str], blocks: range) -> list[Log] | RpcRefused:
        try:
            logs = chain.logs({"address": self._hub, **place})
        except RpcRefused as refusal:
            return refusal
        if any(entry.address != self._hub for entry in logs):
            raise Contradiction("an RPC endpoint answered logs of another contract")
        if any(entry.block_number not in blocks for entry in logs):
            raise Contradiction("an RPC endpoint answered logs of other blocks than the requested ones")
        if any(entry.block_hash != place.get("blockHash", entry.block_hash) for entry in logs):
            raise Contradiction("an RPC endpoint answered logs of another block than the requested one")
        return logs

    def _first_agreed(
        self, what: str, answers: Iterator[tuple[Endpoint, T]], votes: "Votes[T] | None" = None, *, blame: bool
    ) -> T:
        """The first answer that ``quorum`` endpoints give; ``blame``: one that answered otherwise contradicted it."""
        votes = votes or Votes(self._quorum)
        for endpoint, answer in answers:
            if not votes.decided_by(endpoint, answer):
                continue
            for other in [each for each, vote in votes.cast if blame and vote != answer]:
                self._chain.contradicted(other, f"it contradicts the quorum about {what}")
            return answer
        raise ChainUnavailable(f"too few RPC endpoints agree on {what}")


class Votes(Generic[T]):
    """The answers of endpoints to one query, until ``quorum`` of them answer the same."""

    def __init__(self, quorum: int) -> None:
        self._quorum = quorum
        self.cast: list[tuple[Endpoint, T]] = []

    def decided_by(self, endpoint: Endpoint, answer: T) -> bool:
        """Whether there are enough of the same with this one."""
        self.cast.append((endpoint, answer))
        return sum(vote == answer for _, vote in self.cast) >= self._quorum


def source_of(config: IndexerConfig, rpc: Rpc) -> RpcSource:
    """The chain as a process is configured to read it."""
    return RpcSource(
        rpc, config.chain.hub_address, config.rpc_quorum, config.chain.finality_depth, proven=config.proofs
    )


def _each_header(chain: ChainModule, first: BlockNumber, last: BlockNumber) -> Iterator[Header]:
    """Of one endpoint; ``ChainUnavailable`` from the first on that it does not show."""
    numbers = range(first, last + 1)
    try:
        for number, header in zip(numbers, chain.each_header([hex(each) for each in numbers]), strict=True):
            if header.number != number:
                raise Contradiction("an RPC endpoint answered other blocks than the requested ones")
            yield header
    except RpcRefused as refusal:
        raise ChainUnavailable("an RPC endpoint refused to show a block") from refusal


def _common_beginning(shown: Sequence[list[Header]], quorum: int) -> list[Header]:
    """The longest beginning that so many of these lists have in common."""
    lengths = range(max(map(len, shown), default=0), 0, -1)
    beginnings = (headers[:length] for length in lengths for headers in shown if len(headers) >= length)
    return next((each for each in beginnings if sum(other[: len(each)] == each for other in shown) >= quorum), [])


def bloom_tells(bloom: bytes) -> bool:
    """Whether a filter is at most half full, so that it admits at most one in eight values by chance."""
    return int.from_bytes(bloom, "big").bit_count() <= 4 * len(bloom)


def bloom_admits(bloom: bytes, value: bytes) -> bool:
    """Whether a block's bloom filter admits ``value``; a missing filter admits everything."""
    if len(bloom) != 256:
        return True
    digest = keccak256(value)
    bits = (int.from_bytes(digest[i : i + 2], "big") & 2047 for i in (0, 2, 4))
    return all(bloom[255 - bit // 8] >> (bit % 8) & 1 for bit in bits)
