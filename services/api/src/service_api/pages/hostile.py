"""Untrusted text, made harmless for a reader's eyes, and for a browser that lays it out.

What hides, reorders or draws over others is shown by ``bounty_protocol.domain.challenge.readable``. Escaping is the
templates' work; this is about text that shows something else than it holds.
"""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from bounty_protocol.domain.challenge.readable import readable, readable_line

_ENDLESS: Final = re.compile(r"[!-~]{500,}|\S{4000,}")
"""Words that nobody reads. A browser that looks where to break one of 200,000 letters hangs for half a minute; text in
scripts without spaces has paragraphs, which are shorter."""
_SHOWN_OF_ENDLESS: Final = 100
_MOST_OF_A_MAIL: Final = 300
"""Of a mail that a link begins: everything that it would hold is shown, or it is no link."""


def shortened(text: str) -> str:
    """Return the text with overlong runs without spaces cut, and how much was cut."""

    def cut(found: re.Match[str]) -> str:
        left = len(found.group()) - _SHOWN_OF_ENDLESS
        rest = f"{left:,} more characters without a space"
        return f"{found.group()[:_SHOWN_OF_ENDLESS]} […{rest}]"

    return _ENDLESS.sub(cut, text)


def outside_link(address: str) -> str | None:
    """Return where a stranger's link leads: the host in its ASCII form, or the mail address with its parameters; None
    for any other address.
    """
    if readable(address) != address or "\\" in address or len(address) > 2_000:
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        if parts.scheme == "mailto" and not parts.netloc and "@" in parts.path:
            mail = readable_line(unquote(address.partition(":")[2]))
            return mail if len(mail) <= _MOST_OF_A_MAIL else None
        if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc:
            return None
        return host.encode("idna").decode("ascii") + port
    except (ValueError, UnicodeError):
        return None
