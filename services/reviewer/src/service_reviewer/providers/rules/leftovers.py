"""Rubric 5, what is left open: placeholders, template text, promises of text that is not there yet."""

from collections.abc import Iterator
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.reading import Passage, Reading
from service_reviewer.providers.rules.wording import Wording

MIN_BODY_WORDS: Final = 30

_PLACEHOLDER: Final = Wording(
    r"(?<![\"'“‘`])\b(TBD|TBA|FIXME|TODO)\b(?![\"'”’`])"
    r"(?! (list|app|apps|item|items|comment|comments|marker|markers|box|boxes|tag|tags|file|note|notes|manager|s\b))"
    r"|\bXXX\b|(?<!\S)\?\?\?(?!\S)|_{4,}"
    r"|\blorem ipsum\b(?! (generator|text generator|placeholder|library|plugin))"
    r"|\bto be (determined|decided|announced|confirmed)\b(?! by (you|the (solver|participant|submission)|whoever))"
    r"|\bcoming soon\b|\b(details|texts?|more|specs?|description|examples?) (will |to )follow\b"
    r"|<(your|insert|fill|another|title)\b[^<>]*>|<[a-z][^<>=/:@]* [^<>=/:@]*>"
    r"|\[(your|insert|fill|add|enter|put)\b[^\]]*\]|\{\{[^}]*\}\}|\bWIP\b"
    r"|\bstill (to be )?(writing|being written|working on|written|missing|under construction)\b"
    r"|\b(is|are) still (open|unclear|undecided|being (decided|discussed))\b(?! (for|to|until))"
    r"|\b(is|are) (not yet|still not) (written|finished|final|decided|defined|agreed)\b|\bunder construction\b"
    r"|\b(remove|delete) this (paragraph|line|section)\b"
    r"|\bdo not publish( this)? yet\b|\bnot (yet )?ready to (be )?publish",
    "tbd|tba|fixme|todo|xxx|???|____|lorem|to be det|to be dec|to be ann|to be conf|coming soon|will follow|to follow"
    "|<|[|{{|wip|this paragraph|this line|this section|publish yet|publish this|ready to|still writ|still be|still work"
    "|still miss|still under|still to|still open|still unclear|still undecided|not yet|still not|under con",
)
_SHOUTED: Final = frozenset({"TBD", "TBA", "FIXME", "TODO", "XXX", "WIP"})
"""Words that are placeholders only in capitals."""
_PROMISED: Final = Wording(
    r"\b(we|i)('ll| will| can| are going to) (send|share|provide|add|describe|publish|explain|announce|upload|define|"
    r"specify|decide|deliver)\b[^.]{0,60}\b(later|soon|here|afterwards|next (week|month)|separately|in due course|"
    r"after (the |your )?(start|submission|application))\b"
    r"|\bcan (send|share|provide) (it|them|this|that) (later|soon)\b",
    "later|soon|here|afterwards|next |separately|in due course|after ",
)


def find_leftovers(reading: Reading) -> Iterator[Issue]:
    """What still has to be written."""
    if len(reading.page.body.split()) < MIN_BODY_WORDS:
        yield Issue(
            "body", f"Describes the challenge in fewer than {MIN_BODY_WORDS} words. Say what is needed and why."
        )
    for passage in reading.prose:
        if not passage.prose.lstrip().startswith("<!--"):
            yield from _placeholders(passage)
        for at, sentence in passage.sentences:
            if found := _PROMISED.search(sentence):
                yield passage.issue(
                    f"Promises something for later ({found.group()[:80]!r}). What counts has to be on the page now, "
                    "since its bytes are fixed: write it out, or leave it out.",
                    at + found.start(),
                )


def _placeholders(passage: Passage) -> Iterator[Issue]:
    seen = set()
    for found in _PLACEHOLDER.finditer(passage.prose):
        word = found.group()
        if (word.upper() in _SHOUTED and word not in _SHOUTED) or word in seen:
            continue
        seen.add(word)
        yield passage.issue(f"Holds the placeholder {word[:60]!r}. Replace it with the final text.", found.start())
