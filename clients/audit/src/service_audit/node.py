"""JSON-RPC of the chain, in batches as large as the endpoint takes, and logs in ranges as long as it gives."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from service_audit.http import MALFORMED, Requests, Unread, host_of, without_key

MAX_BATCH: Final = 100
FIRST_RANGE: Final = 2_000
"""Blocks of one query of logs: halved where it is refused, doubled where it is answered."""
PATIENT_ANSWERS: Final = 32
"""Answered ranges after which a longer one than was refused is tried again: what was refused may be a busy stretch."""
MAX_LOGS: Final = 1_000_000
"""Of one reading: a node that invents more ends the look, and not the machine's memory."""

Call = tuple[str, Sequence[object]]
"""Method and parameters."""


class NodeRefusal(Unread):
    """The node answers with an error: what it does not keep, or does not give."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Raise ``Unread`` where something is of another shape than documented."""
    try:
        yield
    except MALFORMED as error:
        raise Unread(f"{what} cannot be read: {type(error).__name__}") from None


def quantity(value: object) -> int:
    """Return a number that JSON-RPC wrote; ``ValueError`` for anything else."""
    if not isinstance(value, str) or not re.fullmatch("0x[0-9a-fA-F]{1,64}", value):
        raise ValueError("no number")
    return int(value, 16)


def octets(value: object, length: int | None = None) -> bytes:
    """Return bytes that JSON-RPC wrote, ``length`` of them where it is given; ``ValueError`` for anything else."""
    if not isinstance(value, str) or not re.fullmatch("0x[0-9a-fA-F]*", value):
        raise ValueError("no bytes")
    found = bytes.fromhex(value[2:])
    if length is not None and len(found) != length:
        raise ValueError(f"{len(found)} bytes in the place of {length}")
    return found


def hexadecimal(value: object, length: int) -> str:
    """Return so many bytes as hex in lower case; ``ValueError`` for anything else."""
    return "0x" + octets(value, length).hex()


@dataclass(slots=True)
class Node:
    """One JSON-RPC endpoint."""

    url: str
    requests: Requests
    _batch: int = MAX_BATCH
    _longest: int = 1 << 40
    """Blocks of a query of logs, the most that was not refused so far."""

    def call(self, method: str, *params: object) -> Any:
        """Return one result; raise ``NodeRefusal`` for an error of the node."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._result(method, self._sent(body))

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results in order; in the place of one that the node refuses stands its ``Unread``."""
        found = list[Any]()
        while len(found) < len(calls):
            part = calls[len(found) : len(found) + self._batch]
            if len(part) == 1:
                found.append(self._single(part[0]))
                continue
            try:
                found += self._together(part)
            except Unread:
                if self._batch == 1:
                    raise
                self._batch = max(1, len(part) // 2)
        return found

    def _together(self, calls: Sequence[Call]) -> list[Any]:
        """Send one batch; what is refused in it is asked alone, once."""
        bodies = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        answers = self._sent(bodies)
        if not isinstance(answers, list) or len(answers) != len(calls):
            raise Unread(f"{host_of(self.url)} answers no batch")
        with readable("a batch of answers"):
            by_id = {each["id"]: each for each in answers}
            ordered = [by_id[number] for number in range(len(calls))]
        return [
            answer["result"] if answer.get("error") is None and "result" in answer else self._single(call)
            for call, answer in zip(calls, ordered, strict=True)
        ]

    def _single(self, call: Call) -> Any:
        try:
            return self.call(call[0], *call[1])
        except NodeRefusal as refusal:
            return refusal

    def _sent(self, body: object) -> Any:
        headers = {"content-type": "application/json"}
        return self.requests.send("POST", self.url, json.dumps(body).encode(), headers).json()

    def _result(self, method: str, answer: Any) -> Any:
        if isinstance(answer, dict) and answer.get("error") is None and "result" in answer:
            return answer["result"]
        with readable(f"the node's answer to {method}"):
            text = f"the node answers {method} with {without_key(str(answer), self.url)[:200]}"
        raise NodeRefusal(text) if isinstance(answer, dict) and answer.get("error") is not None else Unread(text)

    def logs(
        self, begin: int, end: int, address: str, topics: Sequence[str | None] | None = None
    ) -> Iterator[list[Mapping[str, Any]]]:
        """Yield a contract's logs range by range, in their order; raise ``Unread`` for others, or for too many."""
        size, count, answered = min(FIRST_RANGE, self._longest), 0, 0
        while begin <= end:
            last = min(begin + size - 1, end)
            asked: dict[str, object] = {"address": address, "fromBlock": hex(begin), "toBlock": hex(last)}
            if topics is not None:
                asked["topics"] = topics
            try:
                part = self.call("eth_getLogs", asked)
            except Unread:
                if last == begin:
                    raise
                size = self._longest = max(1, (last - begin + 1) // 2)
                answered = 0
                continue
            _check_logs(part, begin, last, address)
            count += len(part)
            if count > MAX_LOGS:
                raise Unread(f"{host_of(self.url)} sent more than {MAX_LOGS:,} logs: use another endpoint in --rpc")
            yield part
            answered += 1
            if answered % PATIENT_ANSWERS == 0:
                self._longest *= 2
            begin, size = last + 1, min(size * 2, self._longest)


def _check_logs(part: object, begin: int, last: int, address: str) -> None:
    """Raise ``Unread`` for what is no list of this contract's logs of these blocks in their order."""
    with readable("a list of logs"):
        if not isinstance(part, list):
            raise TypeError("no list")
        places = [(quantity(log["blockNumber"]), quantity(log["logIndex"])) for log in part]
        if not all(begin <= number <= last for number, _ in places) or places != sorted(set(places)):
            raise ValueError("not the blocks that were asked for, in their order")
        if any(str(log["address"]).lower() != address for log in part):
            raise ValueError("logs of another contract")
