"""Text of strangers, made harmless for a reader's eyes: characters that reorder or hide others become visible.

Escaping is the templates' work; this is about text that shows something else than it holds.
"""

import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

from service_web.texts import gettext

_TRICKS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls, marks that change the direction of text, invisible letters and spaces, and tags. The joiners U+200C and
U+200D are not among them: Persian and emoji need them."""
_MARKS: Final = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}")
"""More marks on one letter than any language has: they draw over the lines around them."""
_ENDLESS: Final = re.compile(r"[!-~]{500,}|\S{4000,}")
"""Words that nobody reads. A browser that looks where to break one of 200,000 letters hangs for half a minute; text in
scripts without spaces has paragraphs, which are shorter."""
_SHOWN_OF_ENDLESS: Final = 100
_WORD: Final = re.compile(r"[^\W\d_]+")
_MIXED: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
_MOST_WORDS: Final = 400


def visible(text: str) -> str:
    """The text with each such character as its name: ``U+202E`` in brackets."""
    shown = _TRICKS.sub(lambda found: f"[U+{ord(found.group()):04X}]", text)
    return _MARKS.sub(lambda found: found.group()[:3], shown)


def shortened(text: str) -> str:
    """The text with what is no word cut, and how much was."""

    def cut(found: re.Match[str]) -> str:
        left = len(found.group()) - _SHOWN_OF_ENDLESS
        rest = gettext("%(count)s more characters without a space", count=f"{left:,}")
        return f"{found.group()[:_SHOWN_OF_ENDLESS]} […{rest}]"

    return _ENDLESS.sub(cut, text)


def mixes_scripts(text: str) -> bool:
    """Whether one word mixes alphabets whose letters look alike, as a forged name does."""
    return any(
        len(_scripts(word.group())) > 1 for _, word in zip(range(_MOST_WORDS), _WORD.finditer(text), strict=False)
    )


def _scripts(word: str) -> frozenset[str]:
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in word[:64] if not letter.isascii())
    found = frozenset(names) & _MIXED
    return found | {"LATIN"} if any(letter.isascii() for letter in word[:64]) and found else found


def outside_link(address: str) -> str | None:
    """Where a stranger's link leads: the host in its ASCII form, or the mail address; None for what is no such link."""
    if _TRICKS.search(address) or "\\" in address or len(address) > 2_000:
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        if parts.scheme == "mailto" and not parts.netloc and "@" in parts.path:
            return parts.path
        if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc:
            return None
        return host.encode("idna").decode("ascii") + port
    except (ValueError, UnicodeError):
        return None
