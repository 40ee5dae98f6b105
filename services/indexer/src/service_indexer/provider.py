"""What an RPC provider does with the calls of an index: one finding for each thing that the index needs of it.

Nothing that it answers is believed further than this: each answer passes the parsers of the index, each request has a
bound of time and bytes, all of them together have one, and of a text of its own only what can be printed is shown,
without anything that the provider's address may hold as a secret.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from bounty_protocol.chain.blocks import Header, parse_header
from bounty_protocol.chain.endpoints import TOLERATED_LAG
from bounty_protocol.chain.json_rpc import (
    AnswerTooLarge,
    Call,
    ChainUnavailable,
    RpcRefused,
    hash_of,
    hex_bytes,
    mapping,
    quantity,
)
from bounty_protocol.clock import Clock
from bounty_protocol.types import BlockNumber, Bytes32

from service_indexer.chain import LEAST_BATCH, parse_logs
from service_indexer.comparing import ROUND
from service_indexer.config import ReadingSettings
from service_indexer.contradiction import Contradiction
from service_indexer.follower import pause_between_looks
from service_indexer.headers import parse_proven_header
from service_indexer.merkle import storage_root
from service_indexer.patient_rpc import OutOfTime, PatientRpc
from service_indexer.proving import NEAR
from service_indexer.receipts import logs_of_receipts
from service_indexer.source import MAX_SPAN
from service_indexer.stretch import BLOCKS_PER_STEP
from service_indexer.trial import DAY_SECONDS, estimate

PACE_SECONDS: Final = 5.0
"""How long the follower's own pace is tried."""
HEADS: Final = 20
"""Requests of the newest block in a row."""
DEPTHS: Final = (0, 16, 128, NEAR, 10_000, 100_000)
"""Blocks behind the newest one whose state is requested, and in the end those of the Hub's whole history."""
_MOST_TEXT: Final = 160
_SHORTEST_SECRET: Final = 4


class Fitness(StrEnum):
    """What a finding means."""

    OK = "ok"
    NOTE = "note"
    """It works; what follows says at which price."""
    UNFIT = "unfit"


@dataclass(frozen=True, slots=True)
class RpcFinding:
    """One line: what was found, what follows from it, and the setting to change where there is one; ``figures`` are
    those of the text, for programs."""

    check: str
    verdict: Fitness
    found: str
    follows: str = ""
    setting: str | None = None
    figures: Mapping[str, int] = field(default_factory=dict)


@dataclass
class RpcProvider:
    """One endpoint, and what is known of it so far."""

    rpc: PatientRpc
    reading: ReadingSettings
    url: str = field(repr=False)
    clock: Clock = field(repr=False)
    latest: Header | None = None
    final: BlockNumber = field(default=BlockNumber(0))
    old_transaction: Bytes32 | None = None

    @property
    def newest(self) -> Header:
        """The newest block; the first checks end where there is none."""
        if self.latest is None:
            raise ChainUnavailable("no newest block")
        return self.latest

    def shown(self, text: str) -> str:
        """A text of the provider's for a terminal: in one line, short, without its address's secrets."""
        for secret in _secrets(self.url):
            text = re.sub(re.escape(secret), "…", text, flags=re.IGNORECASE)
        line = " ".join("".join(c if c.isprintable() else " " for c in text[:4_096]).split())
        return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"

    def why(self, error: Exception) -> str:
        """Why a call brought nothing."""
        if isinstance(error, RpcRefused):
            return self.shown(f'error {error.code}: "{error.message}"')
        cause = error.cause if isinstance(error, ChainUnavailable) else None
        return self.shown(cause or str(error))


Check = Callable[[RpcProvider], RpcFinding]


def check_provider(provider: RpcProvider) -> Iterator[RpcFinding]:
    """Every finding, in the order in which they are found; few where the provider answers nothing or another chain."""
    first = ("chain", "head", "finality")
    for name, check in CHECKS.items():
        try:
            finding = check(provider)
        except OutOfTime as error:
            yield RpcFinding(name, Fitness.UNFIT, provider.why(error), "what is not listed was not checked")
            return
        except (ChainUnavailable, RpcRefused, ValueError) as error:
            finding = RpcFinding(name, Fitness.UNFIT, provider.why(error), "the index cannot do without it")
        yield finding
        if name in first and finding.verdict is Fitness.UNFIT:
            return


# ------------------------------------------------------------------------------------------------ what it is


def _chain(provider: RpcProvider) -> RpcFinding:
    """The chain id, and the Hub's code."""
    chain = provider.reading.chain
    found = quantity(provider.rpc.call("eth_chainId"))
    if found != chain.chain_id:
        follows = f"it serves another chain than {chain.chain_id}: take its address for that chain"
        return RpcFinding("chain", Fitness.UNFIT, f"chain {found}", follows, "SERVICE_CHAIN_ID")
    if provider.rpc.call("eth_getCode", chain.hub_address, "latest") in {"0x", None}:
        follows = "the address is wrong, or the provider is far behind the chain"
        return RpcFinding("chain", Fitness.UNFIT, f"chain {found}, no contract at the Hub's address", follows, _HUB)
    return RpcFinding("chain", Fitness.OK, f"chain {found}, with the Hub's code")


def _head(provider: RpcProvider) -> RpcFinding:
    """The newest block, and how old it is."""
    answer = provider.rpc.call("eth_getBlockByNumber", "latest", False)
    provider.latest = parse_header(answer)
    age = provider.clock.now() - provider.latest.time
    found = f"block {provider.latest.number}, {max(0, age)} s old"
    if age > provider.reading.chain.freshness_window * provider.reading.chain.block_time_seconds:
        return RpcFinding(
            "head", Fitness.UNFIT, found, "its nodes do not follow the chain: signatures would be refused"
        )
    if provider.reading.proofs:
        try:
            provider.latest = parse_proven_header(answer)
        except Contradiction:
            follows = "the index would refuse every block; `off` where the chain's headers are new to this release"
            return RpcFinding("head", Fitness.UNFIT, f"{found}; its hash is not that of its fields", follows, _PROOFS)
    if age > provider.reading.chain.unknown_after_seconds:
        return RpcFinding("head", Fitness.NOTE, found, "while it is so late, what is new counts as unknown")
    return RpcFinding("head", Fitness.OK, found)


def _finality(provider: RpcProvider) -> RpcFinding:
    """The tags `finalized` and `safe`."""
    depth = provider.reading.chain.finality_depth
    tags = {tag: _tag(provider, tag) for tag in ("finalized", "safe")}
    has_safe = "" if isinstance(tags["safe"], Header) else "; no `safe`, which nothing here reads"
    found = tags["finalized"]
    if depth is not None:
        provider.final = BlockNumber(max(0, provider.newest.number - depth))
        return RpcFinding("finality", Fitness.OK, f"{depth} blocks by SERVICE_FINALITY_DEPTH{has_safe}")
    if not isinstance(found, Header):
        follows = "nothing would become final: another provider, or a depth where the chain itself has no such tag"
        return RpcFinding("finality", Fitness.UNFIT, f"no `finalized`: {found}", follows, "SERVICE_FINALITY_DEPTH")
    if found.number > provider.newest.number + TOLERATED_LAG:
        follows = "the index would refuse its answers"
        return RpcFinding("finality", Fitness.UNFIT, f"it calls block {found.number} final before it exists", follows)
    provider.final = BlockNumber(min(found.number, provider.newest.number))
    behind = provider.newest.number - provider.final
    return RpcFinding("finality", Fitness.OK, f"`finalized` is {behind} blocks behind{has_safe}")


def _tag(provider: RpcProvider, tag: str) -> Header | str:
    try:
        return parse_header(provider.rpc.call("eth_getBlockByNumber", tag, False))
    except OutOfTime:
        raise
    except (ChainUnavailable, RpcRefused) as error:
        return provider.why(error)


# ------------------------------------------------------------------------------------------------ how often


def _pace(provider: RpcProvider) -> RpcFinding:
    """Which of the follower's requests are refused at its own pace.

    Before the checks that request much, which a provider may count.
    """
    pause = pause_between_looks(provider.reading.chain.block_time_seconds)
    looks = max(2, math.ceil(PACE_SECONDS / pause))
    rate = f"{looks} requests, one each {pause:g} s"
    final = [] if provider.reading.chain.finality_depth is not None else ["finalized"]
    tip: list[Call] = [("eth_getBlockByNumber", [tag, False]) for tag in ("latest", *final)]
    with provider.rpc.impatient():
        for place in range(looks):
            try:
                provider.rpc.batch(tip)
            except OutOfTime:
                raise
            except ChainUnavailable as error:
                if not error.limited:
                    follows = "see batches: the index reads its tip by one request"
                    return RpcFinding("pace", Fitness.NOTE, f"not tried: {provider.why(error)}", follows)
                wish = "without Retry-After" if error.retry_after is None else f"Retry-After: {error.retry_after}"
                found = f"{rate}: number {place + 1} refused, {wish} ({provider.why(error)})"
                follows = "the index would be late: a larger plan, or a further endpoint beside it"
                return RpcFinding("pace", Fitness.UNFIT, found, follows, _URLS)
            provider.clock.sleep(pause)
    return RpcFinding("pace", Fitness.OK, f"{rate}: none refused")


def _heads(provider: RpcProvider) -> RpcFinding:
    """Whether answers in a row go back: nodes at different heights."""
    shown = list[BlockNumber]()
    hashes = defaultdict[BlockNumber, set[Bytes32]](set)
    for _ in range(HEADS):
        provider.rpc.reconnect()
        header = parse_header(provider.rpc.call("eth_getBlockByNumber", "latest", False))
        shown.append(header.number)
        hashes[header.number].add(header.hash)
    back = max((before - after for before, after in pairwise(shown)), default=0)
    if any(len(each) > 1 for each in hashes.values()):
        follows = "a reorg meanwhile, or nodes on different branches: run the check again"
        return RpcFinding("nodes", Fitness.NOTE, "two blocks of one number", follows)
    if back <= 0:
        return RpcFinding("nodes", Fitness.OK, f"{HEADS} requests in a row, none answered with an older block")
    found = f"answers go back by up to {back} blocks: nodes at different heights"
    if back > TOLERATED_LAG:
        chain = provider.reading.chain
        is_unknown = back * chain.block_time_seconds > chain.unknown_after_seconds
        follows = (
            "what is new is unknown to the services whenever a node behind answers: another provider, or a second one"
        )
        return RpcFinding("nodes", Fitness.UNFIT if is_unknown else Fitness.NOTE, found, follows, _URLS)
    return RpcFinding("nodes", Fitness.NOTE, found, "the index waits for the node behind, a block or so")


# ------------------------------------------------------------------------------------------------ logs


def _ranges(provider: RpcProvider) -> RpcFinding:
    """The longest range of `eth_getLogs`."""
    most, hub = min(MAX_SPAN, provider.final + 1), provider.reading.chain.hub_address

    def refusal(span: int) -> str | None:
        first = hex(provider.final - span + 1)
        try:
            parse_logs(
                provider.rpc.call("eth_getLogs", {"address": hub, "fromBlock": first, "toBlock": hex(provider.final)})
            )
        except (RpcRefused, AnswerTooLarge) as error:
            return provider.why(error)
        return None

    widest, why = _widest(most, refusal)
    figures = {"blocks": widest}
    if widest == most:
        short = "" if most == MAX_SPAN else ", all that are final"
        return RpcFinding("ranges", Fitness.OK, f"eth_getLogs of {most:,} blocks{short}", figures=figures)
    if widest == 0:
        return RpcFinding("ranges", Fitness.UNFIT, f"no eth_getLogs, not of one block: {why}", "no index without it")
    found = f"eth_getLogs of {widest:,} blocks at most: {why}"
    asks = DAY_SECONDS / provider.reading.chain.block_time_seconds / widest
    asks += _blocks_of_hub(provider, provider.newest) / widest / ROUND.days
    wanted = math.ceil(asks)
    follows = f"the index requests shorter ranges on its own; comparing it takes {wanted:,} calls a day"
    if 0 < provider.reading.compare_calls < wanted:
        follows += f", more than it may have: set {wanted}"
        figures["compare_calls"] = wanted
        return RpcFinding("ranges", Fitness.NOTE, found, follows, "SERVICE_INDEX_COMPARE_CALLS", figures)
    return RpcFinding("ranges", Fitness.NOTE, found, follows, figures=figures)


def _block_logs(provider: RpcProvider) -> RpcFinding:
    """Logs of one block."""
    block = parse_header(provider.rpc.call("eth_getBlockByNumber", hex(provider.final), False))
    parse_logs(
        provider.rpc.call("eth_getLogs", {"address": provider.reading.chain.hub_address, "blockHash": block.hash})
    )
    return RpcFinding("block logs", Fitness.OK, "eth_getLogs of one block by its hash")


def _history(provider: RpcProvider) -> RpcFinding:
    """The logs of the Hub's first block."""
    chain = provider.reading.chain
    if not 0 < chain.deploy_block <= provider.final:
        follows = "name the Hub's block, and run the check again"
        return RpcFinding("old logs", Fitness.NOTE, "not checked", follows, "SERVICE_DEPLOY_BLOCK")
    place = hex(chain.deploy_block)
    try:
        logs = parse_logs(
            provider.rpc.call("eth_getLogs", {"address": chain.hub_address, "fromBlock": place, "toBlock": place})
        )
    except RpcRefused as error:
        follows = "no index can be built from it: a plan with history, or another provider for the first build"
        return RpcFinding(
            "old logs", Fitness.UNFIT, f"none of block {chain.deploy_block}: {provider.why(error)}", follows
        )
    if not logs:
        follows = "it hides old logs, or this is not the Hub's block"
        return RpcFinding(
            "old logs", Fitness.UNFIT, f"none in the Hub's block {chain.deploy_block}", follows, "SERVICE_DEPLOY_BLOCK"
        )
    provider.old_transaction = logs[0].tx_hash
    return RpcFinding("old logs", Fitness.OK, f"{len(logs)} of the Hub's own block {chain.deploy_block}")


# ------------------------------------------------------------------------------------------------ proofs


def _receipts(provider: RpcProvider) -> RpcFinding:
    """Receipts of new and old blocks."""
    places = {"new": provider.final, "old": BlockNumber(max(1, provider.reading.chain.deploy_block))}
    missing = {name: why for name, place in places.items() if (why := _no_receipts(provider, place)) is not None}
    one = ""
    if provider.old_transaction is not None:
        try:
            mapping(provider.rpc.call("eth_getTransactionReceipt", provider.old_transaction))
        except (ChainUnavailable, RpcRefused) as error:
            one = f"; eth_getTransactionReceipt of the Hub's creation: {provider.why(error)}"
    if not missing:
        follows = "links to old transactions stay empty" if one else ""
        found = f"eth_getBlockReceipts of a new and of an old block{one}"
        return RpcFinding("receipts", Fitness.NOTE if one else Fitness.OK, found, follows)
    if not provider.reading.proofs:
        return RpcFinding("receipts", Fitness.NOTE, f"none: {_listed(missing)}", f"{_PROOFS}=off does without them")
    follows = _UNPROVEN if "new" in missing else "an index that is built from it is not shown to be whole: " + _SECOND
    return RpcFinding("receipts", Fitness.NOTE, f"none of {_listed(missing)}{one}", follows, _QUORUM)


def _no_receipts(provider: RpcProvider, place: BlockNumber) -> str | None:
    """Why a block's receipts are not shown; ``Contradiction`` where they are not its own."""
    parse = parse_proven_header if provider.reading.proofs else parse_header
    try:
        header = parse(provider.rpc.call("eth_getBlockByNumber", hex(place), False))
        answer = provider.rpc.call("eth_getBlockReceipts", header.hash)
    except (OutOfTime, Contradiction):
        raise
    except (ChainUnavailable, RpcRefused) as error:
        return provider.why(error)
    if answer is None:
        return "null"
    if header.receipts_root is not None:
        logs_of_receipts(header, answer, provider.reading.chain.hub_address)
    return None


def _archive(provider: RpcProvider) -> RpcFinding:
    """How far back `eth_getProof`, `eth_call` and `eth_getBalance` answer."""
    hub = provider.reading.chain.hub_address
    known = BlockNumber(max(0, provider.newest.number - TOLERATED_LAG))  # each of its nodes has it
    parse = parse_proven_header if provider.reading.proofs else parse_header
    newest = parse(provider.rpc.call("eth_getBlockByNumber", hex(known), False))
    asked: dict[str, Callable[[str], Call]] = {
        "eth_getProof": lambda place: ("eth_getProof", [hub, [], place]),
        "eth_call": lambda place: ("eth_call", [{"to": hub, "data": "0x"}, place]),
        "eth_getBalance": lambda place: ("eth_getBalance", [hub, place]),
    }
    deepest, texts = dict[str, int | None](), list[str]()
    for method, call in asked.items():
        deepest[method], why = _deepest(provider, newest, method, call)
        texts.append(f"{method} {_depth(deepest[method])}{f' ({why})' if why else ''}")
    found, proven = "; ".join(texts), deepest["eth_getProof"]
    if not provider.reading.proofs or (proven is not None and proven >= min(NEAR, _blocks_of_hub(provider, newest))):
        return RpcFinding("archive", Fitness.OK, found, "nothing here reads state that is older than that")
    if proven is None:
        return RpcFinding("archive", Fitness.NOTE, found, _UNPROVEN, _QUORUM)
    follows = f"logs are proven as they come; an index more than {proven} blocks behind, only once it has caught up"
    return RpcFinding("archive", Fitness.NOTE, found, follows)


def _deepest(provider: RpcProvider, newest: Header, method: str, call: Callable[[str], Call]) -> tuple[int | None, str]:
    """How many blocks before this one it answers, None for not even the newest one, and why not further."""
    reached = None
    whole = _blocks_of_hub(provider, newest)
    for depth in (*(each for each in DEPTHS if each < whole), whole):
        name, params = call(hex(newest.number - depth))
        try:
            answer = provider.rpc.call(name, *params)
        except OutOfTime:
            raise
        except RpcRefused as error:
            if not (method == "eth_call" and error.is_revert):  # the Hub's own answer: it has no fallback
                return reached, provider.why(error)
        except ChainUnavailable as error:
            return reached, provider.why(error)
        else:
            if answer is None:
                return reached, "null"
            if method == "eth_getProof" and depth == 0 and (why := _false_proof(provider, newest, answer)):
                return reached, why
        reached = depth
    return reached, ""


def _false_proof(provider: RpcProvider, header: Header, answer: object) -> str:
    if header.state_root is None:
        return ""
    nodes = mapping(answer).get("accountProof")
    try:
        proof = [hex_bytes(node) for node in nodes] if isinstance(nodes, list) else []
        storage_root(header.state_root, provider.reading.chain.hub_address, proof)
    except ValueError:
        return "its proof is not of the block"
    return ""


# ------------------------------------------------------------------------------------------------ batches, calls


def _batches(provider: RpcProvider) -> RpcFinding:
    """Calls in one request."""
    newest = provider.final  # each of its nodes has it

    def refusal(count: int) -> str | None:
        calls: list[Call] = [
            ("eth_getBlockByNumber", [hex(newest - place % (newest + 1)), False]) for place in range(count)
        ]
        try:
            answers = provider.rpc.batch(calls)
        except OutOfTime:
            raise
        except ChainUnavailable as error:
            return provider.why(error)
        bad = next((each for each in answers if isinstance(each, RpcRefused)), None)
        if bad is None:
            for answer in answers:
                hash_of(mapping(answer).get("hash"))
        return None if bad is None else provider.why(bad)

    widest, why = _widest(BLOCKS_PER_STEP, refusal)
    if widest == BLOCKS_PER_STEP:
        return RpcFinding("batches", Fitness.OK, f"{widest} calls in one request", figures={"calls": widest})
    if widest < LEAST_BATCH:
        return RpcFinding(
            "batches", Fitness.UNFIT, f"none: {why}", "the index reads its tip by two calls in one request"
        )
    times = math.ceil(BLOCKS_PER_STEP / widest)
    follows = f"the index sends fewer at once on its own; building it takes {times} requests in place of one"
    found = f"{widest} calls in one request at most: {why}"
    return RpcFinding("batches", Fitness.NOTE, found, follows, figures={"calls": widest})


def _calls(provider: RpcProvider) -> RpcFinding:
    """Calls a day, as counted while it reads the newest blocks."""
    found = estimate(provider.rpc, provider.reading)
    parts = ", ".join(f"{part.calls:,} {part.name}" for part in found.parts)
    follows = "compare with the plan; each pod's probes and each scrape of metrics read the chain, too"
    limits = f"; {provider.rpc.limited} requests of this check were refused for now" if provider.rpc.limited else ""
    shown = f"at most {found.calls:,} a day: {parts}{limits}"
    return RpcFinding("calls", Fitness.OK, shown, follows, figures={"calls_a_day": found.calls})


def _widest(most: int, refusal: Callable[[int], str | None]) -> tuple[int, str]:
    """The largest number up to ``most`` that is not refused, by bisection, and why ``most`` was."""
    why = refusal(most)
    if why is None:
        return most, ""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if refusal(middle) is None:
            low = middle
        else:
            high = middle
    return low, why


def _blocks_of_hub(provider: RpcProvider, until: Header) -> int:
    """How long the Hub's history is up to this block."""
    return max(0, until.number - provider.reading.chain.first_block)


def _depth(blocks: int | None) -> str:
    return "not at all" if blocks is None else f"{blocks:,} blocks back" if blocks else "of the newest block"


def _listed(missing: dict[str, str]) -> str:
    return ", ".join(f"{name} blocks ({why})" for name, why in missing.items())


def _secrets(url: str) -> list[str]:
    """What of an address may be a secret, the longest first."""
    parts = urlsplit(url)
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query)), parts.query, parts.fragment]
    pieces += [parts.username or "", parts.password or "", parts.path]
    found = {text for piece in pieces for text in (piece, unquote(piece)) if len(text) >= _SHORTEST_SECRET}
    return sorted(found, key=len, reverse=True)


_HUB: Final = "SERVICE_HUB_ADDRESS"
_PROOFS: Final = "SERVICE_RPC_PROOFS"
_QUORUM: Final = "SERVICE_RPC_QUORUM"
_URLS: Final = "SERVICE_RPC_URLS"
_SECOND: Final = "a second provider beside it, and a quorum of 2"
_UNPROVEN: Final = f"nothing shows that the index is whole (alert IndexUnproven): {_SECOND}"
CHECKS: Final[dict[str, Check]] = {
    "chain": _chain,
    "head": _head,
    "finality": _finality,
    "pace": _pace,
    "nodes": _heads,
    "ranges": _ranges,
    "block logs": _block_logs,
    "old logs": _history,
    "receipts": _receipts,
    "archive": _archive,
    "batches": _batches,
    "calls": _calls,
}
