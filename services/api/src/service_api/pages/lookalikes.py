"""Titles whose letters look like others: which are marked, so that nobody takes them for somebody else's.

Scripts and look-alikes are Unicode's own data (UTS 39), by ``confusable_homoglyphs``. A title in any language is not
marked for being in it: only a word that mixes scripts, one of which imitates Latin; text of a script of which every
letter looks like a Latin one; and Latin in letters of mathematics, in circles, or in small capitals.
"""

import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import Final

from bounty_protocol.domain.readable import readable
from confusable_homoglyphs import categories
from confusable_homoglyphs.utils import load

_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_LETTERS: Final = 1_000
_LEAST_WORD: Final = 3
"""Letters of a word that is taken for a Latin one; α and Δ are signs."""
_NEITHER: Final = frozenset({"COMMON", "INHERITED", "UNKNOWN"})
_WRITTEN_TOGETHER: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
)
"""Scripts that one word may have in Japanese, Korean and Chinese."""
_STYLES: Final = frozenset({"<font>", "<circle>", "<square>", "<wide>", "<small-capital>"})


def may_mislead(text: str) -> bool:
    """Whether a title is marked: letters of it look like others, or it has characters that hide or pile up."""
    if text.isascii():
        return False
    if readable(text) != text:
        return True
    words = _WORD.findall(text[:_MOST_LETTERS])
    return any(map(_mixes_scripts, words)) or _imitates_latin(words) or _is_styled(text[:_MOST_LETTERS])


def _mixes_scripts(word: str) -> bool:
    scripts = frozenset(map(_script, word)) - _NEITHER
    if len(scripts) < 2 or any(scripts <= together for together in _WRITTEN_TOGETHER):
        return False
    return any(_looks_latin(letter) for letter in word if _script(letter) != "LATIN")


def _imitates_latin(words: list[str]) -> bool:
    """Whether every letter of one of the text's scripts looks like a Latin one, in a word that is more than a sign."""
    letters: dict[str, set[str]] = defaultdict(set)
    longest: dict[str, int] = defaultdict(int)
    for word in words:
        for letter in word:
            letters[_script(letter)].add(letter)
            longest[_script(letter)] = max(longest[_script(letter)], len(word))
    others = letters.keys() - _NEITHER - {"LATIN"}
    return any(longest[script] >= _LEAST_WORD and all(map(_looks_latin, letters[script])) for script in others)


def _is_styled(text: str) -> bool:
    """Whether Latin letters are written one after the other as signs of mathematics and the like."""
    is_east_asian = any(_script(letter) in {"HAN", "HIRAGANA", "KATAKANA", "HANGUL"} for letter in text)
    wanted = _STYLES - {"<wide>"} if is_east_asian else _STYLES
    styled = [_style(letter) in wanted for letter in text]
    letters = [letter.isascii() and letter.isalpha() for letter in text]
    return any(
        (one and (other or after)) or (before and other)
        for (one, other), (before, after) in zip(pairwise(styled), pairwise(letters), strict=True)
    )


def _style(letter: str) -> str:
    """How a compatible form of a Latin letter differs from it; empty for every other character."""
    if letter.isascii():
        return ""
    if unicodedata.name(letter, "").startswith("LATIN LETTER SMALL CAPITAL"):
        return "<small-capital>"
    plain = unicodedata.normalize("NFKC", letter)
    return unicodedata.decomposition(letter).partition(" ")[0] if plain.isascii() and plain.isalpha() else ""


@cache
def _looks_latin(letter: str) -> bool:
    return letter in _latin_lookalikes()


@cache
def _script(letter: str) -> str:
    return str(categories.alias(letter))


@cache
def _latin_lookalikes() -> frozenset[str]:
    """Every letter of another script that Unicode lists beside an ASCII letter."""
    table = load("confusables.json")
    return frozenset(
        letter
        for letter, others in table.items()
        if any(each["c"].isascii() and each["c"].isalpha() for each in others)
    )
