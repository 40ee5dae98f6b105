"""RFC 8785 canonical JSON, written and read back strictly.

``canonical_bytes`` gives the one encoding of a value; ``parse_canonical`` accepts exactly the bytes that
``canonical_bytes`` would write for the value in them. Everything else raises ``ValueError`` with a message for people:
other whitespace, key order or escapes, duplicate keys, floats, integers beyond 2^53 - 1, deep nesting, bytes that are
not UTF-8, oversize.
"""

import json
from typing import Final, NoReturn

MAX_SAFE_INTEGER: Final = 2**53 - 1
_MAX_DIGITS: Final = len(str(-MAX_SAFE_INTEGER))
MAX_CONTAINERS: Final = 500
"""Opening brackets and braces a text may hold, in strings too: bounds its depth, independent of the recursion limit."""


def canonical_bytes(value: object) -> bytes:
    """Return the canonical encoding of a JSON value without floats; ``ValueError`` if it has none."""
    import rfc8785

    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # checked by the library, refused below
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise ValueError("the value has no canonical JSON form") from None


def parse_canonical(data: bytes, max_bytes: int) -> object:
    """Read canonical JSON of at most ``max_bytes``."""
    if len(data) > max_bytes:
        raise ValueError(f"larger than {max_bytes} bytes")
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise ValueError("nested too deeply or with too many parts")
    try:
        value: object = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=_safe_integer,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError:
        raise ValueError("not JSON") from None
    try:
        again = canonical_bytes(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if again != data:
        raise ValueError("not in the canonical form of RFC 8785 (sorted keys, no spaces, shortest escapes)")
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value


def _safe_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS or abs(int(digits)) > MAX_SAFE_INTEGER:
        raise ValueError("integers must lie between -(2^53 - 1) and 2^53 - 1")
    return int(digits)


def _no_float(_: str) -> NoReturn:
    raise ValueError("numbers must be integers")
