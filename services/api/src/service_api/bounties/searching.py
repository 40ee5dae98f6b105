"""Search within words, in every script, by runs of letters of our own.

A text is compared as it folds: compatibility forms as one (NFKC), without case, spaces joined. All its runs of three
letters are kept as hashes in a column under a GIN index of PostgreSQL's core; and its runs of two where both letters
are of a script that puts no spaces between words, so that two letters suffice there. The index finds candidates, the
folded text decides. What is kept of a page is bounded by ``MOST_FOLDED`` letters.
"""

import re
import unicodedata
import zlib
from typing import Final

from service_common.db import app
from sqlalchemy import ColumnElement, Integer, and_, func, literal, not_, true
from sqlalchemy.dialects.postgresql import ARRAY

MOST_FOLDED: Final = 4_000
"""Letters of a title and a summary together, which have 2,201; a single one can fold to eighteen."""
_TEXTS: Final = app.challenge_summaries.c
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003134f]{2}"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, kana, Han, and Hangul, whose words are short."""
_TERM: Final = re.compile(r'(-?)(?:"([^"]+)"|(\S+))')
_EDGES: Final = re.compile(r"^[\W_]+|[\W_]+$")


def fold(text: str) -> str:
    """Fold a text for comparison."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(plain.split())[:MOST_FOLDED]


def grams(folded: str) -> list[int]:
    """Return the hashes of a folded text's runs, each once."""
    pairs = {folded[place : place + 2] for place in range(len(folded) - 1) if _UNSPACED.match(folded, place)}
    runs = pairs | {folded[place : place + 3] for place in range(len(folded) - 2)}
    return sorted({_hash(run) for run in runs})


def terms(search: str) -> list[tuple[str, bool]]:
    """Split a search into folded words without surrounding punctuation, and quoted texts unchanged, each with whether
    a page has to have it; a hyphen before one means that it must be absent.
    """
    found = []
    for hyphen, quoted, word in _TERM.findall(search):
        text = fold(quoted) if quoted else _EDGES.sub("", fold(word))
        if text:
            found.append((text, not hyphen))
    return list(dict.fromkeys(found))


def has_terms(search: str) -> ColumnElement[bool]:
    """Return whether title or summary of a page have everything that a search asks for; true for an empty search."""
    return and_(true(), *(_has(text) if is_wanted else not_(_has(text)) for text, is_wanted in terms(search)))


def _has(term: str) -> ColumnElement[bool]:
    whole_word: ColumnElement[bool] = _TEXTS.words.op("@@")(func.plainto_tsquery("simple", term))
    wanted = grams(term)
    if not wanted:  # one letter, or two of a script with spaces: as a word
        return whole_word
    candidate = _TEXTS.grams.contains(literal(wanted, ARRAY(Integer)))
    return and_(candidate, func.strpos(_TEXTS.folded, term) > 0)


def folded_page(title: str, summary: str) -> tuple[str, list[int]]:
    """Return ``folded`` and ``grams`` of a page."""
    folded = fold(f"{title} {summary}")
    return folded, grams(folded)


def _hash(run: str) -> int:
    """Hash a run to a signed 32-bit number; two runs may collide."""
    number = zlib.crc32(run.encode("utf-8", "surrogatepass"))
    return number - 2**32 if number >= 2**31 else number
