"""Every value of every answer that a command reads, told wrongly one at a time.

A lie is told each time that the same question is asked, so that an endpoint does not contradict itself.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.cli.servers import Reply, Request, Server

Path = tuple[str | int, ...]
_WORD = 64
_MOST = 40


@dataclass(frozen=True, slots=True)
class Lie:
    """The question, the place in its answer's JSON, and which 32-byte word of a long text there (None: all of it)."""

    question: str
    path: Path
    word: int | None


Tell = Callable[[str, object], object]
"""From a question and its honest answer to the answer that is given."""


def listen(server: Server, tell: Tell) -> None:
    """Let every good answer of a server pass through ``tell``."""

    def alter(request: Request, reply: Reply) -> Reply:
        status, body, headers = reply
        if status not in {200, 201}:
            return reply
        asked = _json(request.body)
        if request.method == "POST" and (isinstance(asked, list) or (isinstance(asked, dict) and "jsonrpc" in asked)):
            return status, json.dumps(_rpc(asked, json.loads(body), tell)).encode(), headers
        question = re.sub(r"0x[0-9a-f]+|(?<=/)\d+", "…", f"{request.method} {request.path}".split(" ", 1)[1])
        question = f"{request.method} {re.sub(r'/objects/.*', '/objects/…', question)}"
        answer = _json(body)
        if isinstance(answer, dict):
            return status, json.dumps(tell(question, answer)).encode(), headers
        told = tell(question, body.decode("latin-1"))
        return status, str(told).encode("latin-1"), headers

    server.alter = alter


def lie_at(*path: str | int, value: object = None) -> Callable[[dict[str, object]], object]:
    """An answer with one field altered: a number grows, a text changes its last character, ``value`` wins."""

    def alter(answer: dict[str, object]) -> object:
        place: object = answer
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]  # a JSON tree
        old = place[path[-1]]  # type: ignore[index]
        place[path[-1]] = value if value is not None else _other(old, None)  # type: ignore[index]
        return answer

    return alter


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, int | None]]:
    """Each place that holds a value, long hexadecimal texts word by word."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    elif isinstance(value, str) and len(value) > 2 + _WORD and re.fullmatch(r"0x[0-9a-f]+", value):
        words = -(-(len(value) - 2) // _WORD)
        for word in range(words if words <= _MOST else 1):  # more is a contract's code
            yield path, word
    elif value not in (None, "", "0x"):
        yield path, None


def forged(value: object, lie: Lie) -> object:
    """The answer with the lie in it; unchanged where it has no such place."""
    if not lie.path:
        return _other(value, lie.word)
    step, *rest = lie.path
    inner = Lie(lie.question, tuple(rest), lie.word)
    if isinstance(value, dict) and step in value:
        return {**value, step: forged(value[str(step)], inner)}
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [forged(item, inner) if place == step else item for place, item in enumerate(value)]
    return value


def _other(value: object, word: int | None) -> object:
    """Nearly the same: the last digit of a number or of a word, the last letter of a text."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    text = str(value)
    end = len(text) if word is None else min(len(text), 2 + _WORD * (word + 1))
    return text[: end - 1] + ("1" if text[end - 1] != "1" else "2") + text[end:] if text else text


def _rpc(asked: object, answers: object, tell: Tell) -> object:
    if isinstance(asked, list) and isinstance(answers, list):
        return [_rpc(one, answer, tell) for one, answer in zip(asked, answers, strict=True)]
    if not isinstance(asked, dict) or not isinstance(answers, dict) or "result" not in answers:
        return answers
    question, parameters = str(asked["method"]), asked["params"]
    if question == "eth_call":
        question += f" {parameters[0]['data'][:10]}"
    return answers | {"result": tell(question, answers["result"])}


def _json(body: bytes) -> object:
    try:
        found: object = json.loads(body)
    except ValueError:
        return None
    return found
