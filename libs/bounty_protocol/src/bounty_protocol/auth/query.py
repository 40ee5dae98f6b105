"""The canonical form of a query string, byte for byte what URLSearchParams serializes.

For every ASCII raw query this is the text of a browser's ``new URLSearchParams(raw).toString()``. A raw query with a
character outside printable ASCII raises ``ValueError``: there is no agreed canonical form of it.
"""

import re
from typing import Final
from urllib.parse import quote_plus, unquote_to_bytes

_PRINTABLE: Final = re.compile(r"[!-~]*")


def canonical_query(raw: str) -> str:
    """Parse ``raw`` (without the ``?``) as application/x-www-form-urlencoded and serialize it again."""
    return "&".join(f"{_serialize(name)}={_serialize(value)}" for name, value in parse_query(raw))


def parse_query(raw: str) -> list[tuple[str, str]]:
    """Return names and values in order; a piece without ``=`` has an empty value, an empty piece is dropped."""
    if not raw:
        return []
    if _PRINTABLE.fullmatch(raw) is None:
        raise ValueError("the query holds a character outside printable ASCII")
    pairs = (piece.partition("=") for piece in raw.split("&") if piece)
    return [(_decode(name), _decode(value)) for name, _, value in pairs]


def _decode(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def _serialize(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")
