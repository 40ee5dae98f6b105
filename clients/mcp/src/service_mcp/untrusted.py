"""A stranger's text for a model: bounded, with everything shown that drives a terminal or hides in a text."""

import unicodedata

from service_mcp.answers import StrangersText

TITLE_LETTERS = 200
SUMMARY_LETTERS = 500
PAGE_LETTERS = 40_000
_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}
"""Unicode categories of what is not seen: controls, directions, tags, private use, half pairs, nothing."""
_KEPT = str.maketrans("", "", "\n\t")


def shown(text: str, most: int) -> str:
    """Return the first ``most`` letters; invisible ones by their number, ``⟨U+202E⟩``, but for tabs and line ends."""
    cut = text[:most]
    if cut.isascii() and cut.translate(_KEPT).isprintable():
        return cut
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in _HIDDEN else f"⟨U+{ord(letter):04X}⟩"
        for letter in cut
    )


def strangers_text(title: str | None = None, summary: str | None = None, page: str | None = None) -> StrangersText:
    """Return what a page says, for a field named ``untrusted``."""
    lengths = ((title, TITLE_LETTERS), (summary, SUMMARY_LETTERS), (page, PAGE_LETTERS))
    seen = [None if text is None else shown(text, most) for text, most in lengths]
    cut = any(text is not None and len(text) > most for text, most in lengths)
    return StrangersText(seen[0], seen[1], seen[2], cut)
