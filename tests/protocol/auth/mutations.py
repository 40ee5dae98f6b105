"""Requests an attacker makes out of a valid one: every mutation, and whether it still says the same.

``mutate`` changes one to three things. ``same`` is the oracle, written apart from the verifier: it compares what the
two requests mean, so only what is the same may be accepted (the verifier is stricter about letter case).
"""

import base64
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bounty_protocol.auth.verify import ReceivedRequest

Mutation = Callable[[random.Random, ReceivedRequest], ReceivedRequest]
_PRINTABLE: Final = "".join(map(chr, range(32, 127)))
_HOSTILE: Final = ("\0", "\n", "~", ",", "é", "\u2028", "%", "=", " ", "\x7f", "0x", "&", "+", "\ud800")


def mutate(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    """Another request."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        request = chance.choice(MUTATIONS)(chance, request)
    return request


def same(a: ReceivedRequest, b: ReceivedRequest) -> bool:
    """Whether both are one request: equal but for the case of the method, the scheme and hex digits."""
    return (
        (a.method.upper(), a.path, a.body, len(a.authorization)) == (b.method.upper(), b.path, b.body, 1)
        and _pairs(a.raw_query) == _pairs(b.raw_query)
        and _fields(a.authorization[0]) == _fields(b.authorization[0])
    )


def _pairs(query: str) -> object:
    from urllib.parse import parse_qsl

    return parse_qsl(query, keep_blank_values=True) if query.isascii() and query.isprintable() else object()


def _fields(text: str) -> object:
    try:
        scheme, payload = text.split(" ")
        joined = base64.b64decode(payload, validate=True).decode("ascii")
    except ValueError:
        return object()
    if base64.b64encode(joined.encode()).decode() != payload:
        return object()
    return scheme.lower(), joined.lower()


def _first(request: ReceivedRequest) -> str:
    return request.authorization[0] if request.authorization else ""


def _in_text(chance: random.Random, text: str) -> str:
    """A character changed, removed, added or moved."""
    if not text:
        return chance.choice(_HOSTILE)
    at = chance.randrange(len(text))
    letter = chance.choice(_HOSTILE) if chance.random() < 0.2 else chance.choice(_PRINTABLE)
    return chance.choice(
        (
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at],
            text[at:] + text[:at],
            text[:at] + text[at].swapcase() + text[at + 1 :],
            text + text,
        )
    )


def _in_bytes(chance: random.Random, data: bytes) -> bytes:
    if not data:
        return chance.randbytes(1)
    at = chance.randrange(len(data))
    flipped = bytes([data[at] ^ (1 << chance.randrange(8))])
    return chance.choice(
        (data[:at] + flipped + data[at + 1 :], data[:at], data + b"\n", data[:at] + data[at + 1 :], b"", data[::-1])
    )


def _header(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    return replace(request, authorization=(_in_text(chance, _first(request)), *request.authorization[1:]))


def _joined(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    """Change the fields inside the base64, which stays canonical."""
    scheme, _, payload = _first(request).partition(" ")
    try:
        fields = base64.b64decode(payload, validate=True).decode("ascii").split("~")
    except ValueError:
        return _header(chance, request)
    at = chance.randrange(len(fields))
    field = fields[at]
    kind = chance.randrange(5)
    if kind == 0:
        fields[at] = _in_text(chance, field)
    elif kind == 1 and field.startswith("0x") and len(field) > 4:
        digit = chance.randrange(2, len(field))
        fields[at] = field[:digit] + chance.choice("0123456789abcdef") + field[digit + 1 :]
    elif kind == 2 and field.isdigit():
        fields[at] = str(max(0, int(field) + chance.choice((-200, -151, -1, 1, 3, 2**40))))
    elif kind == 3:
        other = chance.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    else:
        fields[at] = chance.choice(("", "0x", "0", "-1", "0x" + "00" * 20, "0x" + "00" * 65, "0x" + "00" * 32))
    text = "~".join(fields).encode("utf-8", "replace")
    return replace(request, authorization=(f"{scheme} {base64.b64encode(text).decode()}",))


def _headers(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    given = request.authorization
    return replace(request, authorization=chance.choice(((), given * 2, (*given, ""), ("", *given), ("",))))


def _path(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    return replace(request, path=_in_text(chance, request.path))


def _query(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    return replace(request, raw_query=_in_text(chance, request.raw_query))


def _body(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    return replace(request, body=_in_bytes(chance, request.body))


def _method(chance: random.Random, request: ReceivedRequest) -> ReceivedRequest:
    return replace(request, method=chance.choice(("GET", "PUT", "POST ", "HEAD", "post", "", "DELETE")))


MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_header, _header, _header, _joined, _joined, _joined, _joined, _joined),
    *(_headers, _path, _query, _body, _method),
)
