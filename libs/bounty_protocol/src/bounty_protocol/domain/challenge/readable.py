"""Text of strangers made harmless for a reader's eyes: what hides, reorders or draws over others becomes visible.

Decided by a character's properties in Unicode, and by its neighbours: a joiner stays where a script joins letters, a
zero-width space where a script has no other spaces, marks stay in the number that languages put on a letter. What does
not is shown by its number, ``[U+202E]``, and what repeats by how often, ``[U+3000 ×57]`` or ``[+27]`` for marks. Titles
and summaries in any language stay as they are. Escaping is others' work.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from bounty_protocol.domain.challenge.invisible_characters import JOINERS, SELECTORS, UNSEEN_RANGES

MAX_MARKS: Final = 5
"""Marks on one letter, one after the other: as many as a mantra in Tibetan has."""
MAX_ALIKE: Final = 2
"""Marks that are the same, or in the same place: as Vietnamese and Greek have."""
MAX_JOINED: Final = 10
"""Letters and signs of a cluster that is written as one, as in Sanskrit."""
MAX_SPACES: Final = 8
"""Spaces other than U+0020, one after the other."""

_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_PRIVATE: Final = "\ud800-\uf8ff\U000f0000-\U0010ffff"
"""Halves of characters, and those that every font draws as it likes."""
_NO_CHARACTERS: Final = "\ufffe\uffff"
"""XML takes neither: one in a title, and nobody could read the feed that has it."""
_HIDING: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSEEN_RANGES) + JOINERS + SELECTORS
_UNREADABLE: Final = re.compile(f"([{_CONTROLS}{_PRIVATE}{_NO_CHARACTERS}{_HIDING}])\\1*")
_WIDE: Final = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_SPACES: Final = re.compile(f"({_WIDE}){_WIDE}{{{MAX_SPACES},}}")
_SPACE_RUN: Final = re.compile(r"\s\s+|[^\S\u00a0\u2007\u202f\u3000]")
_ZERO_WIDTH_SPACE: Final = "\u200b"
_KEY_CAP: Final = "\u20e3"
_UNSPACED: Final = frozenset({"THAI", "LAO", "KHMER", "MYANMAR", "TAI", "NEW", "BALINESE", "JAVANESE", "TIBETAN"})
"""Scripts, as the names of their letters begin, in which a zero-width space is between words."""
_JOINING: Final = _UNSPACED | {
    "ARABIC", "SYRIAC", "MANDAIC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA",
    "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "SUNDANESE", "LIMBU", "LEPCHA", "MEETEI", "CHAKMA", "GRANTHA",
    "NEWA",
}  # fmt: skip
"""Scripts in which a joiner changes how letters are joined."""


def readable(text: str) -> str:
    """Return the text, of any number of lines, with everything visible; the same text if nothing is hidden."""
    if text.isascii():
        return _UNREADABLE.sub(_numbered, text)
    text = _marks().sub(_fewer_marks, text)
    if _joining_marks().search(text):
        text = _clusters().sub(lambda found: found[0][:MAX_JOINED] + f"[+{len(found[0]) - MAX_JOINED}]", text)
    text = _SPACES.sub(_numbered, text)
    return _UNREADABLE.sub(_numbered, text)


def readable_line(text: str) -> str:
    """Return one line (a title, a summary, a name) with everything visible, and single spaces."""
    return readable(_SPACE_RUN.sub(" ", text)).strip()


def _numbered(found: re.Match[str]) -> str:
    """Write a run of one character as its number, unless the run is legitimate there."""
    run, character = found[0], found[1]
    if len(run) == 1 and _is_in_place(character, found.string, found.start()):
        return run
    count = f" ×{len(run)}" if len(run) > 1 else ""
    return f"[U+{ord(character):04X}{count}]"


def _is_in_place(character: str, text: str, at: int) -> bool:
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if character == _ZERO_WIDTH_SPACE:
        return bool(before and after) and bool({_script(before), _script(after)} & _UNSPACED)
    if character in JOINERS:
        return _joins(text, at, before, after)
    if character in SELECTORS:
        return after == _KEY_CAP or (bool(before) and not before.isascii() and not _is_cased(before))
    if unicodedata.category(character) == "Mn":  # the other selectors: variants of ideographs, of symbols, of Mongolian
        return unicodedata.category(before or " ") in {"Lo", "Sm", "So"} and character not in "\u034f\u17b4\u17b5"
    return False


def _joins(text: str, at: int, before: str, after: str) -> bool:
    """Return whether letters or symbols written that way are joined or kept apart."""
    base = next((one for one in reversed(text[max(0, at - MAX_MARKS) : at]) if not _is_mark(one)), "")
    if not base:
        return False
    if _script(base) in _JOINING:
        return unicodedata.combining(before) == 9 or bool(after and not after.isascii())
    is_symbol = unicodedata.category(base) in {"So", "Sk", "Cn"} or before in SELECTORS
    return is_symbol and bool(after) and not after.isascii() and not _is_cased(after)


def _is_mark(character: str) -> bool:
    return character in SELECTORS or unicodedata.category(character) in {"Mn", "Mc", "Me"}


def _is_cased(character: str) -> bool:
    return unicodedata.category(character) in {"Lu", "Ll", "Lt"}


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _fewer_marks(found: re.Match[str]) -> str:
    return _fewer(found[0])


@lru_cache(maxsize=4_096)
def _fewer(marks: str) -> str:
    """Return the first marks, limited in total and in one place, and how many more there were."""
    kept: list[str] = []
    places: dict[object, int] = {}
    for mark in marks:
        place = unicodedata.combining(mark) or mark
        if len(kept) < MAX_MARKS and places.get(place, 0) < MAX_ALIKE:
            places[place] = places.get(place, 0) + 1
            kept.append(mark)
    left = len(marks) - len(kept)
    return "".join(kept) + (f"[+{left}]" if left else "")


@cache
def _marks() -> re.Pattern[str]:
    """Match three or more marks in a row that are not selectors."""
    return re.compile(f"[{_class_of_marks()}]{{3,}}")


@cache
def _joining_marks() -> re.Pattern[str]:
    """Match marks that put the next letter below or into the previous one."""
    return re.compile(f"[{''.join(chr(code) for code in _mark_codes() if unicodedata.combining(chr(code)) == 9)}]")


@cache
def _clusters() -> re.Pattern[str]:
    """Match marks, and the letters that they join, beyond what a script writes as one cluster."""
    return re.compile(f"(?:[{_class_of_marks()}]|(?<={_joining_marks().pattern})\\w){{{MAX_JOINED + 1},}}")


def _class_of_marks() -> str:
    return "".join(chr(code) for code in _mark_codes())


@cache
def _mark_codes() -> tuple[int, ...]:
    """Return every mark but the selectors; all are in the first two planes."""
    hiding = re.compile(f"[{_HIDING}]")
    codes = (code for code in range(0x300, 0x20000) if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"})
    return tuple(code for code in codes if not hiding.match(chr(code)))
