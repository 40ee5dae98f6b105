"""An RPC provider with its quirks, in front of a real node: limits, pruned history, missing tags, two nodes in turn.

The texts of errors are those of real providers, with figures that fit a short chain. Several quirks may be set at once;
at first there is none.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event

from bounty_protocol.chain.rpc import Rpc, block_number, mapping
from bounty_protocol.types import BlockNumber

from tests.cli.servers import Params, Reply, Request, RpcProxy, as_json

Error = tuple[int, str]
RANGE_LIMITS: dict[str, tuple[int, Error]] = {
    "alchemy": (
        10,
        (-32600, "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range."),
    ),
    "quicknode": (100, (-32614, "eth_getLogs is limited to a 100 range")),
    "infura": (250, (-32602, "range 300 exceeds limit of 250")),
    "publicnode": (50, (-32701, "exceed maximum block range: 50")),
    "drpc": (120, (35, "ranges over 120 blocks are not supported on freetier")),
    "cloudflare": (80, (-32047, "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 80")),
    "by results": (1, (-32005, "query returned more than 10000 results")),
}
"""By provider: the most blocks of a range, and what is answered to more; the figures are of a short chain."""
NO_METHOD: Error = (-32601, "the method does not exist")
PRUNED: Error = (4444, "Pruned history unavailable")
NO_PROOF: Error = (-32602, "distance to target block exceeds maximum proof window")
TOO_OFTEN: Error = (429, "Your app has exceeded its compute units per second capacity.")
NO_CREDITS: Error = (-32012, "credits limited to 6000/sec")
SMALL_BATCH: Error = (31, "Batch of more than 3 requests are not allowed on free tier")


@dataclass
class ProviderTwin:
    """A provider before the node at ``node_url``. ``monotonic`` is the time by which it counts requests."""

    node_url: str
    monotonic: Callable[[], float] = lambda: 0.0
    early: int = 0
    """Requests that came before the time that Retry-After named."""
    largest_batch: int = 0
    """The most calls that came in one request."""
    _befores: list[Callable[[str, Params], dict[str, object] | None]] = field(default_factory=list)
    _afters: list[Callable[[str, Params, object], object]] = field(default_factory=list)
    _refusals: list[Callable[[int], Reply | None]] = field(default_factory=list)
    _free: Event = field(default_factory=Event)
    requests: int = 0

    def __post_init__(self) -> None:
        self._node = Rpc([self.node_url])
        self.proxy = RpcProxy(self.node_url)
        self.proxy.before, self.proxy.after, self.proxy.refuse = self._before, self._after, self._refuse

    @property
    def url(self) -> str:
        return f"{self.proxy.url}/v2/key-of-a-customer?token=another-secret"

    def limit_ranges(self, most: int, error: Error) -> None:
        """Refuse longer ranges of logs."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            place = mapping(params[0]) if method == "eth_getLogs" else {}
            if "fromBlock" not in place:
                return None
            span = block_number(place["toBlock"]) - block_number(place["fromBlock"]) + 1
            return _refused(error) if span > most else None

        self._befores.append(before)

    def want_bounds(self) -> None:
        """Refuse to estimate a call with the gas of a whole block, which is more than a transaction may have."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            unbounded = method == "eth_estimateGas" and "gas" not in mapping(params[0])
            return _refused((-32000, "intrinsic gas too high")) if unbounded else None

        self._befores.append(before)

    def lack(self, error: Error, *names: str) -> None:
        """Refuse these methods, and blocks by these tags."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            return _refused(error) if method in names or any(tag in params for tag in names) else None

        self._befores.append(before)

    def refuse_first(self, error: Error, method: str) -> None:
        """Refuse this method once."""
        left = [error]

        def before(asked: str, _params: Params) -> dict[str, object] | None:
            return _refused(left.pop()) if left and asked == method else None

        self._befores.append(before)

    def count_mined(self) -> None:
        """Count no transaction that is in no block yet: `pending` is `latest`."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            if method != "eth_getTransactionCount" or params[1] != "pending":
                return None
            return {"result": self._node.call(method, params[0], "latest")}

        self._befores.append(before)

    def prune(self, kept: int, *methods: str, error: Error | None = PRUNED) -> None:
        """Of all but the newest ``kept`` blocks refuse what these methods show, or with no error answer null."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            oldest = self._tip() - kept + 1
            if method not in methods or all(number >= oldest for number in self._blocks(params)):
                return None
            return {"result": None} if error is None else _refused(error)

        self._befores.append(before)

    def limit_batches(self, most: int, error: Error = SMALL_BATCH) -> None:
        """Answer a longer batch with one error."""
        self._refusals.append(lambda calls: _one_error(error) if calls > most else None)

    def shuffle(self) -> None:
        """Answer the calls of a batch in another order."""

        def alter(_request: Request, reply: Reply) -> Reply:
            answers = json.loads(reply[1])
            return as_json(answers[::-1]) if isinstance(answers, list) else reply

        self.proxy.server.alter = alter

    def lose(self, calls: int) -> None:
        """Give no usable answer to the next request of that many calls or more."""
        left = [calls]

        def refuse(count: int) -> Reply | None:
            return (502, b"", {}) if left and count >= left[0] and left.pop() else None

        self._refusals.append(refuse)

    def lose_one_of(self, number: int, status: int = 502) -> None:
        """Answer one of so many requests with a status and no body, as a CDN in front does.

        By chance: a provider does not keep step with who asks.
        """
        drawn = Random(number)

        def refuse(_calls: int) -> Reply | None:
            return None if drawn.randrange(number) else (status, b"", {})

        self._refusals.append(refuse)

    def limit_rate(self, most: int, seconds: float, *, retry_after: str | None, by_status: bool = True) -> None:
        """After ``most`` requests within so many seconds refuse all until they are over."""
        began, count = float("-inf"), 0

        def refuse(calls: int) -> Reply | None:
            nonlocal began, count
            now = self.monotonic()
            if now >= began + seconds:
                began, count = now, 0
            count += 1
            if count <= most:
                return None
            self.early += count > most + 1
            headers = {} if retry_after is None else {"Retry-After": retry_after}
            return _too_often(calls, by_status=by_status, **headers)

        self._refusals.append(refuse)

    def refuse_each(self, number: int, *, by_status: bool = True) -> None:
        """Refuse each request of this number for having been queried too often."""
        self._refusals.append(lambda calls: None if self.requests % number else _too_often(calls, by_status=by_status))

    def answer_by_two_nodes(self, behind: int, is_behind: Callable[[int], bool] = lambda place: place % 2 == 0) -> None:
        """Have each second request, or those of these places, answered by a node that is so many blocks behind."""

        def before(method: str, params: Params) -> dict[str, object] | None:
            if not is_behind(self.requests):
                return None
            head = BlockNumber(max(0, self._tip() - behind))
            if method == "eth_getBlockByNumber" and params[0] in {"latest", "finalized", "safe"}:
                shown = block_number(mapping(self._node.call(method, params[0], False))["number"])
                return {"result": self._node.call(method, hex(min(head, shown)), params[1])}
            if all(number <= head for number in self._blocks(params)):
                return None
            return {"result": None} if method == "eth_getBlockByNumber" else _refused((-32000, "unknown block"))

        self._befores.append(before)

    def hang(self, *methods: str) -> None:
        """Never answer these methods; without any, nothing at all."""

        def before(method: str, _params: Params) -> dict[str, object] | None:
            if not methods or method in methods:
                self._free.wait()
            return None

        self._befores.append(before)

    def hang_every(self, nth: int) -> None:
        """Never answer each request whose number this divides."""

        def refuse(_calls: int) -> Reply | None:
            if self.requests % nth == 0:
                self._free.wait()
            return None

        self._refusals.append(refuse)

    def change(self, after: Callable[[str, Params, object], object]) -> None:
        """Alter what the node answers."""
        self._afters.append(after)

    def close(self) -> None:
        self._free.set()
        self.proxy.close()

    def _refuse(self, calls: int) -> Reply | None:
        self.requests += 1
        self.largest_batch = max(self.largest_batch, calls)
        answers = (refuse(calls) for refuse in self._refusals)
        return next((answer for answer in answers if answer is not None), None)

    def _before(self, method: str, params: Params) -> dict[str, object] | None:
        answers = (before(method, params) for before in self._befores)
        return next((answer for answer in answers if answer is not None), None)

    def _after(self, method: str, params: Params, found: object) -> object:
        for after in self._afters:
            found = after(method, params, found)
        return found

    def _tip(self) -> BlockNumber:
        return block_number(self._node.call("eth_blockNumber"))

    def _blocks(self, params: Sequence[object]) -> Iterator[BlockNumber]:
        """The blocks that the parameters of a call name, by number or hash."""
        for place in _places(params):
            if not isinstance(place, str) or not place.startswith("0x"):
                continue
            if len(place) == 66:
                found = self._node.call("eth_getBlockByHash", place, False)
                found = found or mapping(self._node.call("eth_getTransactionByHash", place)) | {"number": None}
                shown = mapping(found)
                yield block_number(shown["number"] or shown["blockNumber"])
            elif len(place) < 20:
                yield block_number(place)


def _places(params: Sequence[object]) -> Iterator[object]:
    for each in params:
        if isinstance(each, dict):
            yield from (each[name] for name in ("blockHash", "fromBlock", "toBlock") if name in each)
        else:
            yield each


@contextmanager
def provider_before(node_url: str, monotonic: Callable[[], float] = lambda: 0.0) -> Iterator[ProviderTwin]:
    """A provider for the time of the block."""
    twin = ProviderTwin(node_url, monotonic)
    try:
        yield twin
    finally:
        twin.close()


def _with_unknown_fields(_method: str, _params: Params, found: object) -> object:
    """Fields of a fork that nobody here knows, in each answer and each log, and a type of transaction."""
    if isinstance(found, list):
        return [each | {"newField": "0x1"} if isinstance(each, dict) else each for each in found]
    return found | {"slotNumber": "0x1", "type": "0x79"} if isinstance(found, dict) else found


def _by_lot(place: int) -> bool:
    """Not in turn: a program with an even number of requests would always meet the same node."""
    return Random(place).random() < 0.5


QUIRKS: dict[str, Callable[[ProviderTwin], object]] = {
    "single calls": lambda twin: twin.limit_batches(1),
    "batches of ten": lambda twin: twin.limit_batches(10),
    "batches in another order": ProviderTwin.shuffle,
    "ranges of one block": lambda twin: twin.limit_ranges(1, RANGE_LIMITS["by results"][1]),
    "ranges of two blocks": lambda twin: twin.limit_ranges(2, RANGE_LIMITS["alchemy"][1]),
    "ranges of five blocks": lambda twin: twin.limit_ranges(5, RANGE_LIMITS["infura"][1]),
    "a node one block behind": lambda twin: twin.answer_by_two_nodes(1, _by_lot),
    "a node three blocks behind": lambda twin: twin.answer_by_two_nodes(3, _by_lot),
    "a node ten blocks behind": lambda twin: twin.answer_by_two_nodes(10, _by_lot),
    "no estimates": lambda twin: twin.lack((-32000, "intrinsic gas too high"), "eth_estimateGas"),
    "no unbounded estimates": ProviderTwin.want_bounds,
    "a full pool, once": lambda twin: twin.refuse_first((-32000, "txpool is full"), "eth_sendRawTransaction"),
    "one transaction in flight, once": lambda twin: twin.refuse_first(
        (-32000, "in-flight transaction limit reached for delegated accounts"), "eth_sendRawTransaction"
    ),
    "`pending` as `latest`": ProviderTwin.count_mined,
    "unknown fields": lambda twin: twin.change(_with_unknown_fields),
    "429": lambda twin: twin.refuse_each(3),
    "a limit by an error": lambda twin: twin.refuse_each(3, by_status=False),
    "520": lambda twin: twin.lose_one_of(3, 520),
    "524": lambda twin: twin.lose_one_of(3, 524),
}
"""What a provider may refuse or do: rows that are played against each program that waits for nothing."""


def _one_error(error: Error, status: int = 200, **headers: str) -> Reply:
    """An error in place of the answer to a whole request."""
    return as_json({"jsonrpc": "2.0", "id": 0, **_refused(error)}, status, **headers)


def _too_often(calls: int, *, by_status: bool, **headers: str) -> Reply:
    """The refusal of a request of so many calls: by the status of the answer, or by an error for each call."""
    if by_status:
        return _one_error(TOO_OFTEN, 429, **headers)
    errors = [{"jsonrpc": "2.0", "id": place, **_refused(NO_CREDITS)} for place in range(calls)]
    return as_json(errors if calls > 1 else errors[0])


def _refused(error: Error) -> dict[str, object]:
    code, message = error
    return {"error": {"code": code, "message": message}}
